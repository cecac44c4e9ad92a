"""Records of a training folder: the settings that two processes must share to continue it."""

from __future__ import annotations

import msgspec

from windtunnel.core.records import GeometryRecord, Number, Record, TensorRecord


class ModuleRecord(Record, frozen=True):
    """A torch module: its class, the shapes of its weights, and a digest of its text in torch.

    Attributes:
        fixed: the digest of given weights that training does not change, of frozen layers or a teacher; ""
            if there are none.
    """

    name: str
    shapes: dict[str, tuple[int, ...]]
    printed: str
    fixed: str = ""


class TrainingData(Record, frozen=True):
    """The images and classes that a module is trained on.

    Attributes:
        shares: of several sets, the share of each in an epoch; empty for one set.
    """

    digest: str
    count: int
    classes: tuple[str, ...]
    shares: tuple[float, ...] = ()


class PreprocessRecord(Record, frozen=True):
    """How files become the module's input."""

    geometry: GeometryRecord
    tensor: TensorRecord
    assets: dict[str, str] = msgspec.field(default_factory=dict)


class SettingsRecord(Record, frozen=True):
    """The settings of the optimiser and of the training images."""

    epochs: int
    batch: int
    learning_rate: float
    momentum: float
    weight_decay: float
    area: tuple[float, float]
    mirror: bool
    seed: int
    drop_after: tuple[int, ...] = ()
    reset_momentum: bool = False


class MixRecord(Record, frozen=True):
    """The decoders and resizers that training images are drawn with."""

    decoders: tuple[str, ...]
    resizers: tuple[str, ...]
    per: str
    assets: dict[str, str] = msgspec.field(default_factory=dict)


class AugmentationRecord(Record, frozen=True):
    """How often an epoch contains each image, clean and corrupted."""

    corruptions: tuple[str, ...]
    clean_copies: int
    corrupted_copies: int
    conditions: dict[str, str] = msgspec.field(default_factory=dict)


class RemedyRecord(Record, frozen=True):
    """A remedy with all its settings, and the digest of a third-party remedy's file."""

    name: str
    settings: dict[str, Number | str]
    assets: dict[str, str] = msgspec.field(default_factory=dict)


class RemediesRecord(Record, frozen=True):
    """The remedies of a training."""

    images: tuple[RemedyRecord, ...]
    batch: RemedyRecord | None
    loss: RemedyRecord
    ema: float
    layers: str


class TrainingRecipe(Record, frozen=True):
    """Everything that determines a training.

    Attributes:
        augmentation: None if every epoch has each image once, clean.
        remedies: None for none.
    """

    module: ModuleRecord
    data: TrainingData
    preprocess: PreprocessRecord
    settings: SettingsRecord
    mix: MixRecord
    augmentation: AugmentationRecord | None = None
    remedies: RemediesRecord | None = None
