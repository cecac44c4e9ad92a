"""Records of the steps of curation projects: what `steps/NAME.json` stores.

Fields of summaries have no defaults, so that files and printed JSON have all of them.
"""

from __future__ import annotations

from windtunnel.core.records import FilterModelInfo, ModelRecipe, Record

# Two classes.
ClassPair = tuple[str, str]


class CollectRecipe(Record, frozen=True):
    """What determines the candidates of a batch; `labels` is a digest of the weak labels."""

    rows: int
    labels: str
    max_mb: int
    allow_private: bool
    ignore_robots: bool
    allow_outside_files: bool = False


class CollectSummary(Record, frozen=True):
    """The rows of a batch: how many there are, are stored, and have each status."""

    source: str
    rows: int
    stored: int
    statuses: dict[str, int]


class VideoRecipe(Record, frozen=True):
    """By video, the digest of what determines its frame sets."""

    videos: dict[str, str]


class VideoSummary(Record, frozen=True):
    """Videos by status, sets, frames, sets that the ends of videos cut off, and frames by flag."""

    videos: dict[str, int]
    sets: int
    frames: int
    cut_off: int
    flags: dict[str, int]


class ExportSummary(Record, frozen=True):
    """An exported set: its name, its images, and candidates by outcome."""

    set: str
    images: int
    outcomes: dict[str, int]


class FrameExportSummary(Record, frozen=True):
    """An exported set of frames: its name, its anchors, their neighbours, and frames by outcome."""

    set: str
    sets: int
    frames: int
    outcomes: dict[str, int]


class FilterModelRecord(Record, frozen=True):
    """A model of a curation step.

    Attributes:
        name: its declared name.
        model: the facts that determine its predictions.
        competing: the outputs that compete; () for all.
        family: its declared family; "" for unknown.
    """

    name: str
    model: ModelRecipe
    competing: tuple[int, ...] = ()
    family: str = ""

    @property
    def fingerprint(self) -> str:
        """The hash that identifies the model."""
        return self.model.fingerprint

    @property
    def weights(self) -> str:
        """The hash that identifies the model without its wrappers."""
        return self.model.weights

    @property
    def info(self) -> FilterModelInfo:
        """Name and fingerprint, as sets declare them."""
        base = self.weights if self.model.wrappers else ""
        return FilterModelInfo(self.name, self.fingerprint, base)


class FineTuneRecipe(Record, frozen=True):
    """What determines a fine-tuned model.

    Attributes:
        model: the model it starts from.
        classes: its classes, in the order of its outputs.
        images: digest of the training images and their classes.
        epochs, learning_rate, batch, mirror, seed: settings of the training loop.
    """

    model: FilterModelRecord
    classes: tuple[str, ...]
    images: str
    epochs: int
    learning_rate: float
    batch: int
    mirror: bool
    seed: int


class FineTuneSummary(Record, frozen=True):
    """A fine-tuned model.

    Attributes:
        model: its ONNX file, relative to the project.
        fingerprint: the hash that identifies it.
        images: training images, readable or not.
        left_out: images of the classes that are candidates, and so are not trained on.
        losses: the mean loss of every epoch.
        warnings: why the model may be wrong.
    """

    model: str
    fingerprint: str
    images: int
    left_out: int
    losses: tuple[float, ...]
    warnings: tuple[str, ...]


class RulesRecord(Record, frozen=True):
    """The thresholds of adversarial filtration; `curate/filtration.py` explains them."""

    max_true_confidence: float
    pair_cap: int
    pair_from: str
    keep_first: str
    centre_crop: int


class NearDuplicate(Record, frozen=True):
    """Two images that are almost equal, by their perceptual hashes, by features, or by both.

    Attributes:
        first, other: their ids, in order.
        bits: the number of bits in which their perceptual hashes differ.
        cosine: the cosine of their features; None without features.
        found_by: the rules that they meet: `hash`, `features`.
    """

    first: str
    other: str
    bits: int
    cosine: float | None
    found_by: tuple[str, ...]


class ClassOverlaps(Record, frozen=True):
    """Pairs of classes that overlap.

    Attributes:
        hierarchy: the second class is above the first.
        confusion: models confuse the classes in both directions.
    """

    hierarchy: tuple[ClassPair, ...]
    confusion: tuple[ClassPair, ...]


class HardRecipe(Record, frozen=True):
    """What determines an adversarial filtration.

    Attributes:
        candidates: digest of all candidates.
        classes: the chosen classes, which alone compete; () for all outputs.
        duplicate_bits, duplicate_cosine: the rules for near-duplicates.
        hierarchy: digest of the hierarchy; "" for none.
    """

    candidates: str
    models: tuple[FilterModelRecord, ...]
    classes: tuple[str, ...]
    rules: RulesRecord
    duplicate_bits: int
    duplicate_cosine: float
    hierarchy: str


class HardSummary(Record, frozen=True):
    """The result of an adversarial filtration.

    Attributes:
        stored: stored candidates.
        of_classes: those of the chosen classes.
        candidates: those with a prediction of every model.
        never_correct: those of which no crop of any model is correct.
        low_true_confidence: those with a low confidence in the true class in every crop.
        shortlist: those within the cap on their confusion.
        filter_models: the filter models.
        accuracies: by filter model, the share of `candidates` whose centre crop has the weak label.
        near_duplicates: pairs of the shortlist.
        features: the features that near-duplicates were searched by, or why there are none.
        warnings: why the numbers may be wrong.
    """

    stored: int
    of_classes: int
    candidates: int
    never_correct: int
    low_true_confidence: int
    shortlist: int
    filter_models: tuple[FilterModelInfo, ...]
    accuracies: tuple[float, ...]
    near_duplicates: tuple[NearDuplicate, ...]
    features: str
    overlapping_classes: ClassOverlaps
    warnings: tuple[str, ...]


class RelatedClass(Record, frozen=True):
    """A class of candidates that is not out of distribution.

    Attributes:
        name: the class.
        relation: `above` or `below`.
        known: the in-distribution class that it is above or below.
        candidates: the candidates that are dropped for it.
    """

    name: str
    relation: str
    known: str
    candidates: int


class OodRecipe(Record, frozen=True):
    """What determines an out-of-distribution selection; `in_distribution` are the models' classes."""

    candidates: str
    models: tuple[FilterModelRecord, ...]
    in_distribution: tuple[str, ...]
    min_confidence: float
    duplicate_bits: int
    duplicate_cosine: float
    hierarchy: str


class OodSummary(Record, frozen=True):
    """The result of an out-of-distribution selection.

    Attributes:
        stored: stored candidates.
        outside_label_space: those with a class that no filter model has.
        unrelated: those whose class is neither above nor below a class of the filter models.
        shortlist: those that every model is confident about.
        hierarchy_known: whether a hierarchy was given.
        related_classes: the classes that were dropped because of the hierarchy.
        filter_models: the filter models.
        near_duplicates: pairs of the shortlist.
        features: the features that near-duplicates were searched by, or why there are none.
        warnings: why the selection may be wrong.
    """

    stored: int
    outside_label_space: int
    unrelated: int
    shortlist: int
    hierarchy_known: bool
    related_classes: tuple[RelatedClass, ...]
    filter_models: tuple[FilterModelInfo, ...]
    near_duplicates: tuple[NearDuplicate, ...]
    features: str
    warnings: tuple[str, ...]


class TransferRecipe(Record, frozen=True):
    """What determines a measurement of transfer; `hard` is the digest of the filtration's recipe."""

    hard: str
    models: tuple[FilterModelRecord, ...]
    seed: int


class GroupAccuracy(Record, frozen=True):
    """The accuracy of a model on some candidates.

    Attributes:
        model: the model's name.
        fingerprint: the hash that identifies it.
        group: `shortlist`, `random` or `plain_errors`.
        n: candidates with a prediction of every model.
        correct: those whose centre crop is classified correctly.
        accuracy: correct / n; None if n is 0.
        low, high: Wilson's 95 % interval; None if n is 0.
        held_out: whether the model did not filter.
        note: what the reader must know of the model, or "".
    """

    model: str
    fingerprint: str
    group: str
    n: int
    correct: int
    accuracy: float | None
    low: float | None
    high: float | None
    held_out: bool
    note: str


class TransferSummary(Record, frozen=True):
    """The accuracies of held-out and filter models; `groups` says what each group of candidates is."""

    groups: dict[str, str]
    accuracies: tuple[GroupAccuracy, ...]
    warnings: tuple[str, ...]
