"""Records of made sets: what manifest.json stores."""

from __future__ import annotations

import msgspec

from windtunnel.core.conditions import digest
from windtunnel.core.option_names import spelled
from windtunnel.core.records import CanvasRecipe, Record


class SetData(Record, frozen=True):
    """The source images of a made set; `classes` is the rule that selects some of their classes."""

    count: int
    of: int
    label_space: str
    digest: str
    classes: str = ""


class SetRecipe(Record, frozen=True):
    """The settings that two `make` commands must share to use the same folder."""

    suite: str
    layout: str
    data: SetData
    canvas: CanvasRecipe
    codec: str
    seed: int
    stream: int
    chunk: int
    class_folders: str = ""
    split: str = ""

    @property
    def digest(self) -> str:
        """128 bits over the canonical JSON of the recipe."""
        return digest(self.to_json())


class SetClasses(Record, frozen=True):
    """The classes of a made set's source."""

    name: str
    order: str
    names: tuple[str, ...]


class FixedFile(Record, frozen=True):
    """A file of a made set that belongs to no image; a digest of its first bytes is stored."""

    bytes: int
    digest: str
    size: int


class SetInfo(Record, frozen=True):
    """Further facts about a made set.

    Attributes:
        left_out: images that could not be read, and why.
        notes: notes for the reader, stored as `remarks`; options in them are tokens of `option_names.py`.
        fixed: files that belong to no image.
        samples: digest of the list of images.
    """

    source: str
    classes: SetClasses
    left_out: dict[str, str]
    notes: tuple[str, ...] = msgspec.field(name="remarks")
    settings: tuple[str, ...]
    versions: dict[str, str]
    fixed: dict[str, FixedFile] = msgspec.field(default_factory=dict)
    samples: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, with options as the current interface spells them."""
        return tuple(map(spelled, self.notes))
