"""Made sets in WebDataset shards: `<corruption>/<severity>/<number>.tar` and `clean/<number>.tar`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset, is_image_name
from windtunnel.data.manifest import Manifest
from windtunnel.data.precomputed import CLEAN
from windtunnel.data.precomputed_folders import corruption_folder
from windtunnel.data.shelf import Place
from windtunnel.data.tar_index import read_member, tar_index

WEBDATASET = "webdataset"
# The number of shards whose index is kept: one for each condition of a large suite.
INDEXES_KEPT = 128


def shard_path(folder: str, number: int) -> str:
    """The path of a shard in a set."""
    return f"{folder}/{number:06d}.tar"


@dataclass(frozen=True)
class ShardShelf:
    """The shards of every corruption and severity of a made set.

    Attributes:
        root: the set's folder.
        places: the corruptions and severities.
        samples: the images, sorted by id.
        label_space: their classes.
        rows: by name of an image, its place in the set.
        chunk: the number of images in a shard.
    """

    root: Location
    places: Sequence[Place]
    samples: Sequence[Sample]
    label_space: LabelSpace
    rows: dict[str, int]
    chunk: int

    by_row = False
    rare: frozenset[str] = frozenset()
    notes: Sequence[str] = ()

    def read(self, name: str, place: Place) -> bytes:
        """The member of an image under a corruption and a severity."""
        return self.member(name, corruption_folder(place))

    def member(self, name: str, folder: str) -> bytes:
        """The bytes of an image in the shards of a folder."""
        shard = self.root / shard_path(folder, self.rows[name] // self.chunk)
        try:
            members = _image_members(shard, shard.stat().st_size)
        except OSError as error:
            raise ImageError("unreadable", f"cannot read the shard: {error.strerror or error}") from error
        except UserError as error:
            raise ImageError("unreadable", str(error)) from error
        if name not in members:
            raise ImageError("unreadable", f"{shard.name} has no image of this name")
        return read_member(shard, *members[name])

    def digest(self) -> str:
        """None: a made set is identified by its recipe."""
        return ""

    def clean(self) -> Dataset | None:
        """The clean canvases of the set, or None."""
        if not (self.root / CLEAN).is_dir():
            return None
        return CleanShards(CLEAN, str(self.root / CLEAN), self.label_space, self)


@dataclass(frozen=True)
class CleanShards(Dataset):
    """The clean images of a made set, under the ids of their sources."""

    name: str
    location: str
    label_space: LabelSpace
    shelf: ShardShelf

    portable = True
    parallel_reads = True

    def samples(self) -> Sequence[Sample]:
        """Every image, sorted by id."""
        return self.shelf.samples

    def read(self, sample: Sample) -> bytes:
        """The member of the clean image."""
        return self.shelf.member(sample.meta["name"], CLEAN)


def shard_shelf(root: Location, manifest: Manifest | None) -> ShardShelf | None:
    """The shards of a made set; None for other folders."""
    if manifest is None or manifest.recipe.layout != WEBDATASET:
        return None
    samples = sorted(manifest.samples(), key=lambda sample: sample.id)
    rows = {sample.meta["name"]: int(sample.meta["place"]) for sample in samples}
    made = [condition for condition in manifest.conditions if condition.is_corruption]
    places = [(condition.unit, condition.level) for condition in made]
    return ShardShelf(root, places, samples, manifest.label_space, rows, manifest.chunk_px)


@lru_cache(maxsize=INDEXES_KEPT)
def _image_members(shard: Location, size: int) -> dict[str, tuple[int, int]]:  # noqa: ARG001 - a changed file
    """By name without suffix, the first byte and the size of every image of a shard."""
    return {
        member.name.rpartition(".")[0]: (member.start, member.size)
        for member in tar_index(shard).members
        if is_image_name(member.name)
    }
