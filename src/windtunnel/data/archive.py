"""Archives: class folders inside zip or tar files, read without unpacking."""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from typing import Protocol

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location, local_file, matching
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset, is_image_name, nfc
from windtunnel.data.folder import labelled_by_folder
from windtunnel.data.tar_index import is_ended
from windtunnel.imaging.files import check_bytes

SUFFIXES = (".zip", ".tar")
COMPRESSED_TAR = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")

# zipfile raises RuntimeError for encrypted members and NotImplementedError for an unknown compression;
# tarfile raises KeyError for a link without a target.
UNREADABLE = (
    OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, RuntimeError,
    KeyError,
)  # fmt: skip


class _Archive(Protocol):
    def names(self) -> list[str]: ...
    def read(self, name: str) -> bytes: ...


class _Zip:
    def __init__(self, path: Location) -> None:
        self._file = zipfile.ZipFile(local_file(path))

    def names(self) -> list[str]:
        return [entry.filename for entry in self._file.infolist() if not entry.is_dir()]

    def read(self, name: str) -> bytes:
        check_bytes(self._file.getinfo(name).file_size)  # no more than this is decompressed
        return self._file.read(name)


class _Tar:
    def __init__(self, path: Location) -> None:
        self._file = tarfile.open(local_file(path), "r:")  # noqa: SIM115 - kept open for later reads
        entries = [entry for entry in self._file if not entry.isdir()]
        is_ended(self._file, path)
        self._names = [entry.name.removeprefix("./") for entry in entries]
        self._members = dict(zip(self._names, entries, strict=True))

    def names(self) -> list[str]:
        return self._names

    def read(self, name: str) -> bytes:
        stream = self._file.extractfile(self._members[name])  # follows links within the archive
        if stream is None:
            raise ImageError("unreadable", "the member is no regular file")
        check_bytes(stream.seek(0, io.SEEK_END))
        stream.seek(0)
        return stream.read()


class ArchiveDataset(Dataset):
    """Images inside one or several archives.

    The id is the member's path. With several archives the archive's name comes first, so that one archive
    per class works like one folder per class.
    """

    name: str
    location: str
    label_space: LabelSpace
    portable = True

    def __init__(self, path: Location, archives: Sequence[Location]) -> None:
        self.name = path.resolve().stem
        self.location = str(path)
        if len({archive.stem for archive in archives}) < len(archives):
            raise UserError(
                f"{path} contains two archives of the same name; rename one: every image needs its own id."
            )
        self._files = {archive.stem if len(archives) > 1 else "": archive for archive in archives}
        self._open: dict[str, _Archive] = {}
        members: dict[str, tuple[str, str]] = {}
        for prefix in self._files:
            for name in self._archive(prefix).names():
                if is_image_name(name) and not name.startswith("__MACOSX/"):
                    id_ = nfc(f"{prefix}/{name}" if prefix else name)
                    if id_ in members:
                        raise UserError(f"{path} contains the member '{id_}' twice; remove one.")
                    members[id_] = (prefix, name)
        if not members:
            raise UserError(f"{path} contains no images; it must contain one folder of images per class.")
        samples, self.label_space = labelled_by_folder({id_: id_ for id_ in members}, str(path))
        self._samples = [
            Sample(
                sample.id, sample.labels, dict(zip(("archive", "member"), members[sample.id], strict=True))
            )
            for sample in samples
        ]

    def samples(self) -> Sequence[Sample]:
        """Every image, sorted by id."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The member's bytes."""
        try:
            return self._archive(sample.meta["archive"]).read(sample.meta["member"])
        except UNREADABLE as error:
            raise ImageError("unreadable", f"cannot read from the archive: {error}") from error

    def _archive(self, prefix: str) -> _Archive:
        if prefix not in self._open:
            path = self._files[prefix]
            try:
                self._open[prefix] = _Zip(path) if path.suffix.lower() == ".zip" else _Tar(path)
            except (OSError, zipfile.BadZipFile, tarfile.TarError, MemoryError) as error:
                raise UserError(f"{path} cannot be opened as an archive: {error}.") from error
        return self._open[prefix]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_open": {}}


def archives_in(folder: Location) -> list[Location]:
    """The archives of a folder that contains no other readable files."""
    entries = [entry for entry in matching(folder, "*") if not entry.name.startswith(".")]
    packed = [entry for entry in entries if entry.suffix.lower() in SUFFIXES and entry.is_file()]
    others = [entry for entry in entries if entry.is_dir() or is_image_name(entry.name)]
    return packed if packed and not others else []
