"""The manifest of a made set: recipe, conditions, images and checksums.

`manifest.json` is in the set's root; tables are in the hidden folder `.windtunnel`, so that programs that
walk the published layouts do not see them:

    manifest.json                 schema, recipe and its digest, conditions, versions, classes, fixed files
    .windtunnel/samples.parquet   id, class index and name, content hash of the source, name in this set
    .windtunnel/chunks/*.parquet  path, condition, first byte, bytes and digest of what a chunk wrote
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location, matching
from windtunnel.core.records import RecordError, read_conditions, read_record
from windtunnel.core.samples import Sample
from windtunnel.core.set_records import SetInfo, SetRecipe
from windtunnel.core.wording import counted
from windtunnel.store.recipe_folder import FolderKind, RecipeFolder

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST_FILE = "manifest.json"
HIDDEN_FOLDER = ".windtunnel"
LOCK = f"{HIDDEN_FOLDER}/lock"
SAMPLES_FILE = f"{HIDDEN_FOLDER}/samples.parquet"
CHUNKS_FOLDER = f"{HIDDEN_FOLDER}/chunks"
# The layout of sets of whole images, each condition a dataset of its own.
COPIES = "copies"
# The size of a checksum.
DIGEST_BYTES = 16

# The recipe fields in which an existing set may differ, with names for messages; the seed comes first,
# because it also chooses the images of a subset.
PARTS = {
    "seed": "seed",
    "class_folders": "naming of class folders",
    "data": "data",
    "layout": "layout",
    "codec": "codec",
    "canvas": "canvas or edition",
    "suite": "suite",
    "stream": "random stream version",
    "split": "split",
    "chunk": "chunk size",
}
SET = FolderKind("set", MANIFEST_FILE, 2, PARTS, LOCK)


class SetFolder(RecipeFolder):
    """The folder of a made set."""

    def __init__(self, path: Location) -> None:
        super().__init__(path, SET)


@dataclass(frozen=True)
class Manifest:
    """The description of a made set that is stored with it.

    Attributes:
        root: the set's folder.
        recipe: the settings that two `make` commands must share to use the same folder.
        digest: of the recipe.
        conditions: clean first, then every requested corruption and severity.
        info: source, images left out, settings, versions, classes, and files that belong to no image.
    """

    root: Location
    recipe: SetRecipe
    digest: str
    conditions: tuple[Condition, ...]
    info: SetInfo

    @property
    def chunk_px(self) -> int:
        """The number of images in a chunk."""
        return self.recipe.chunk

    @property
    def starts(self) -> range:
        """The index of the first image of every chunk."""
        return range(0, self.recipe.data.count, self.chunk_px)

    @property
    def label_space(self) -> LabelSpace:
        """The classes of the source."""
        classes = self.info.classes
        return LabelSpace(classes.name, classes.names, classes.order)

    def samples(self) -> list[Sample]:
        """The images in the order they were made, with the ids of their sources; `name` is the name here."""
        rows = read_table(self.root / SAMPLES_FILE).to_pylist()
        return [
            Sample(row["id"], (row["label"],), {"name": row["name"], "place": str(place)})
            for place, row in enumerate(rows)
        ]

    def sources(self, content: Mapping[str, str]) -> dict[str, str]:
        """By id, the content hash of the source image that each image was made from.

        `content` maps ids to the content hashes of the clean images in the set. An image that has changed
        since it was made is omitted. Rows of arrays and members of shards have no digest of their own and are
        not checked here; `windtunnel data verify` checks them.
        """
        made = self._clean_digests()
        rows = read_table(self.root / SAMPLES_FILE, ["id", "name", "content"]).to_pylist()
        return {
            row["id"]: row["content"]
            for row in rows
            if row["id"] in content
            and made.get(self._clean_name(row["name"]), content[row["id"]]) == content[row["id"]]
        }

    def _clean_digests(self) -> dict[str, str]:
        """By class and name, the digest of each clean file when it was made; empty for arrays and shards."""
        if self.recipe.layout in ("arrays", "webdataset"):
            return {}
        clean = {condition.name for condition in self.conditions if condition.is_clean}
        return {
            _without_suffix(row["path"].partition("/")[2]): row["digest"]
            for _, path in self.tables()
            for row in read_table(path, ["path", "condition", "digest"]).to_pylist()
            if row["condition"] in clean
        }

    def _clean_name(self, name: str) -> str:
        """The name of an image's clean file without its suffix; a clip's name has none."""
        return _without_suffix(name) if self.recipe.layout == "folders" else name

    def tables(self) -> Iterator[tuple[int, Location]]:
        """The checksum tables of the chunks that were made, by the index of their first image."""
        for path in matching(self.root / CHUNKS_FOLDER, "*.parquet"):
            yield int(path.name.partition("-")[0]), path

    @cached_property
    def made(self) -> dict[str, frozenset[int]]:
        """For every condition, the chunks (by their first image) in which all its images were made."""
        starts_by_name: dict[str, set[int]] = {condition.name: set() for condition in self.conditions}
        for start, path in self.tables():
            for name in read_table(path, ["condition"])["condition"].unique().to_pylist():
                starts_by_name.setdefault(name, set()).add(start)
        return {name: frozenset(starts) for name, starts in starts_by_name.items()}

    def is_made(self, condition: str, place: int) -> bool:
        """Whether the image at an index was made under a condition."""
        return place // self.chunk_px * self.chunk_px in self.made.get(condition, frozenset())

    @property
    def unfinished(self) -> str:
        """How many chunks are missing and what to do, or "" if the set is complete."""
        missing = sum(len(self.starts) - len(starts) for starts in self.made.values())
        if not missing:
            return ""
        return (
            f"unfinished: {missing} of {len(self.starts) * len(self.made)} pieces of work are not done; run "
            "the same make command to continue"
        )

    def notes(self) -> list[str]:
        """Notes for the user: an unfinished set, images left out, a subset."""
        notes = [f"The set is {self.unfinished}."] if self.unfinished else []
        data = self.recipe.data
        if data.count + len(self.info.left_out) < data.of:
            notes.append(f"The set was made from a subset: {data.count:,} of {data.of:,} images.")
        if self.info.left_out:
            left_out = counted(len(self.info.left_out), "image")
            notes.append(f"{left_out} could not be read when the set was made.")
        return notes


def read_manifest(root: Location) -> Manifest | None:
    """The manifest of a made set, or None if there is none."""
    if not (root / MANIFEST_FILE).is_file() or not (root / HIDDEN_FOLDER).is_dir():
        return None
    folder = SetFolder(root)
    content = folder.read_recipe_file()
    try:
        recipe, info = read_record(content["recipe"], SetRecipe), read_record(content["info"], SetInfo)
        return Manifest(root, recipe, content["recipe_digest"], read_conditions(content["conditions"]), info)
    except (RecordError, KeyError, TypeError) as error:
        raise folder.damaged(error) from error


def create_manifest(manifest: Manifest) -> bool:
    """Write manifest.json unless there is one, and return whether it was written."""
    return SetFolder(manifest.root).create_recipe_file(_manifest_json(manifest))


def write_manifest(manifest: Manifest) -> None:
    """Write manifest.json atomically, and only if its content has changed."""
    SetFolder(manifest.root).write_recipe_file(_manifest_json(manifest))


def _manifest_json(manifest: Manifest) -> dict[str, Any]:
    return {
        "recipe_digest": manifest.recipe.digest,
        "recipe": manifest.recipe.to_json(),
        "conditions": [condition.to_json() for condition in manifest.conditions],
        "info": manifest.info.to_json(),
    }


def read_table(path: Location, columns: list[str] | None = None) -> pa.Table:
    """Read one of a manifest's tables."""
    import pyarrow as pa  # imported here, because workers that only make images do not need it

    from windtunnel.store.parquet import read_parquet

    try:
        return read_parquet(path, columns)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{path} is damaged or missing ({reason}); run the same make command again."
        ) from error


def checksum(content: bytes | bytearray) -> str:
    """128 bits of BLAKE2b, as 32 hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


def _without_suffix(name: str) -> str:
    return str(PurePosixPath(name).with_suffix(""))
