"""Remote files and folders by fsspec URL, with the members of `pathlib.Path` that readers need."""

from __future__ import annotations

import fnmatch
import io
import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal

from windtunnel.core.errors import UserError
from windtunnel.core.locations import cache
from windtunnel.core.locations.failures import filesystem, reporting_failures
from windtunnel.core.locations.listing import Catalogue, Listing, Live, RemoteEntry, Version

# Schemes of web servers.
READ_ONLY = frozenset({"http", "https"})


@dataclass(frozen=True)
class Status:
    """The status of a remote file, as far as it is known."""

    st_size: int


@dataclass(frozen=True, order=True)
class RemotePath:
    """A remote file or folder.

    It holds no connection: every process makes its own file system, so that a path can be sent to workers.
    Locations below a path share its catalogue.

    Attributes:
        scheme: `s3`, `gs`, `https` ...
        key: the rest of the URL, without a slash at the end.
        catalogue: what is known of the files.
    """

    scheme: str
    key: str
    catalogue: Catalogue = field(default_factory=Listing, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.key}"

    def __truediv__(self, name: str) -> RemotePath:
        key = f"{self.key}/{name}".rstrip("/")
        relative = not {".", ".."}.isdisjoint(name.split("/"))
        return replace(self, key=posixpath.normpath(key) if relative else key)

    def live(self) -> RemotePath:
        """The same location, about which the store is asked at every access."""
        return replace(self, catalogue=Live())

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        """The suffix of the name, with its dot."""
        return PurePosixPath(self.name).suffix

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the key."""
        return tuple(self.key.split("/"))

    @property
    def parent(self) -> RemotePath:
        """The folder that contains it."""
        return replace(self, key=self.key.rpartition("/")[0])

    def with_name(self, name: str) -> RemotePath:
        """Another file in the same folder."""
        return self.parent / name

    def resolve(self) -> RemotePath:
        """Itself: a store has neither links nor relative keys."""
        return self

    def is_relative_to(self, other: object) -> bool:
        """Whether it is the other location, or below it."""
        return f"{self}/".startswith(f"{other}/")

    def exists(self) -> bool:
        """Whether there is such a file or folder."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Whether there is such a file."""
        try:
            self._version()
        except (FileNotFoundError, IsADirectoryError):
            return False
        return True

    def is_dir(self) -> bool:
        """Whether there is such a folder: in an object store, whether a key begins with its name."""
        return self.catalogue.is_folder(self.scheme, self.key)

    def entries(self) -> Iterator[RemoteEntry]:
        """The files and folders in the folder."""
        children = self.catalogue.children(self.scheme, self.key)
        return (RemoteEntry(name, is_folder) for name, is_folder in children.items())

    def iterdir(self) -> Iterator[RemotePath]:
        """The locations of the files and folders in the folder."""
        return (self / entry.name for entry in self.entries())

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """The locations in the folder whose name matches a pattern such as `*.npy`."""
        found = self.iterdir() if self.is_dir() else iter(())
        return (path for path in found if fnmatch.fnmatchcase(path.name, pattern))

    def stat(self) -> Status:
        """The size of the file."""
        return Status(self._version().size)

    def open(self, mode: Literal["rb"] = "rb") -> BinaryIO:
        """The cached content, open for reading."""
        return self.local_file().open(mode)

    def read_bytes(self) -> bytes:
        """The whole content."""
        return self.local_file().read_bytes()

    def read_text(self, encoding: str | None = None) -> str:
        """The whole content as text."""
        return io.StringIO(self.read_bytes().decode(encoding or "utf-8"), newline=None).read()

    def local_file(self, check_size: Callable[[int], None] = lambda _size: None) -> Path:
        """The cached copy of the file; it is downloaded if `check_size` accepts its size in bytes."""
        version = self._version()
        check_size(version.size)
        return cache.fetched(str(self), version, self._download, self.live()._version)

    def local_files(self, needed: Callable[[Path], Iterable[str]]) -> Path:
        """The cached copy of the file in a folder with the files that it needs, as far as they exist."""
        files = {self.name: self.local_file()}
        for name in needed(files[self.name]):
            if (other := self.parent / name).is_file():
                files[name] = other.local_file()
        return cache.together(files) / self.name

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Nothing: folders appear with their first file."""

    def refuse_read_only(self) -> None:
        """Refuse a location that cannot be written to, whoever asks."""
        if self.scheme in READ_ONLY:
            raise UserError(f"{self} can only be read; give a local folder, or a store such as s3://.")

    def create(self, content: bytes) -> None:
        """Write a file that does not exist yet; raises FileExistsError if there is one."""
        self._write(content, "create")

    def write_bytes(self, content: bytes) -> None:
        """Write a file whole, or replace it."""
        self._write(content, "overwrite")

    def _write(self, content: bytes, mode: str) -> None:
        with reporting_failures(str(self)):
            store, key = self._store()
            try:
                store.pipe_file(key, content, mode=mode)
            except FileNotFoundError as error:
                if error.__cause__ is not None:  # no bucket
                    raise
                store.makedirs(store._parent(key), exist_ok=True)  # a store with real folders
                store.pipe_file(key, content, mode=mode)

    def _download(self, target: Path) -> None:
        with reporting_failures(str(self)):
            store, key = self._store()
            store.get_file(key, str(target))

    def _version(self) -> Version:
        return self.catalogue.version(self.scheme, self.key)

    def _store(self) -> tuple[Any, str]:
        store = filesystem(self.scheme)
        return store, store._strip_protocol(str(self))
