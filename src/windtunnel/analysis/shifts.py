"""Accuracy drops of runs: natural shifts and corruptions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from windtunnel.analysis.caveats import caveats
from windtunnel.core.scores import Score
from windtunnel.core.wording import counted
from windtunnel.metrics.headlines import PM_0, farthest_pm
from windtunnel.metrics.score import score_run
from windtunnel.metrics.scored_run import ScoredRun

NO_TAG = "no tag"


@dataclass(frozen=True)
class Share:
    """A share of images, or a difference of two shares, with its 95 % interval and number of images."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Shift:
    """A run's accuracy on clean and on shifted images.

    Attributes:
        run: its folder.
        model: the model's name.
        tags: the model's declared tags.
        suite: the suite, such as imagenet-a@1.
        data: the dataset.
        natural: whether the shift is natural, not synthetic.
        over: the conditions that the shifted accuracy averages.
        clean: accuracy on clean images; None if there are none.
        shifted: accuracy on shifted images; None if there are none.
        drop: clean minus shifted.
        frames: for frame sets the score in `shifted`, such as pm-10, with pm-0 in `clean`; else "".
        caveats: reasons why the scores are not comparable, a sentence each without its full stop.
    """

    run: str
    model: str
    tags: tuple[str, ...]
    suite: str
    data: str
    natural: bool
    over: str
    clean: Share | None
    shifted: Share | None
    drop: Share | None
    frames: str = ""
    caveats: tuple[str, ...] = ()

    @property
    def test(self) -> str:
        """The benchmark: suite and data, which drops must share to be comparable."""
        return f"{self.suite} on {self.data}"

    @property
    def of_fewer(self) -> str:
        """Number of images of the drop if it uses fewer than the two accuracies; else ""."""
        if self.clean is None or self.shifted is None or self.drop is None or not self.natural or self.frames:
            return ""
        every = self.clean.n + self.shifted.n
        return f"{self.drop.n:,} of {every:,} images" if self.drop.n < every else ""

    def to_json(self) -> dict[str, Any]:
        """The shift as a JSON object."""
        return {**asdict(self), "tags": list(self.tags), "caveats": list(self.caveats)}


@dataclass(frozen=True)
class TagDrop:
    """The drops of all runs of one benchmark whose models have a tag.

    Attributes:
        tag: the tag, or "no tag".
        test: suite and data.
        runs: number of runs.
        median: median of their drops.
        best: the smallest drop.
        best_model: the model with that drop.
    """

    tag: str
    test: str
    runs: int
    median: float
    best: float
    best_model: str


def shift_of(run: ScoredRun) -> Shift:
    """The accuracy drop of a run.

    Natural sets: accuracy on the clean part minus accuracy on the shifted part, different images.
    Frame sets: pm-0 minus pm-k at the largest k, the same anchor frames.
    Corruptions: accuracy on clean images minus the mean over all corrupted conditions, the same images.
    """
    model, data = run.info.model, run.info.data
    frames = ""
    if run.frame_sets is not None:
        scores = _scores(run, ("pm_k", "pm_drop"))
        frames = farthest_pm(scores)
        clean, shifted = (_share(scores.get(("pm_k", name))) for name in (PM_0, frames))
        drop, over = scores.get(("pm_drop", frames)), f"anchor frames, {PM_0} and {frames}"
    elif run.natural:
        scores = _scores(run, ("top1_error", "accuracy_drop"))
        names = {part.role: part.name for part in run.parts}
        errors = [scores.get(("top1_error", names.get(role, role))) for role in ("clean", "shifted")]
        clean, shifted = map(_accuracy, errors)
        drop, over = scores.get(("accuracy_drop", "")), "natural images"
    else:
        scores = _scores(run, ("top1_error", "mean_error", "residual_robustness"))
        errors = [scores.get(("top1_error", "clean")), scores.get(("mean_error", ""))]
        clean, shifted = map(_accuracy, errors)
        drop = scores.get(("residual_robustness", ""))
        over = _conditions_text(run)
    return Shift(
        str(run.path),
        model.name,
        model.tags,
        run.info.suite,
        data.name,
        bool(run.natural),
        over,
        clean,
        shifted,
        _share(drop),
        frames,
        tuple(caveats(run)),
    )


def _conditions_text(run: ScoredRun) -> str:
    """Number of conditions of each kind except clean, as text."""
    conditions = (
        (run.corruptions, "corrupted condition"),
        (run.sequences, "sequence"),
        (run.pipeline_steps, "replaced pipeline step"),
    )
    counts = [counted(len(members), noun) for members, noun in conditions if members]
    return ", ".join(counts) or "clean images only"


def drops_by_tag(shifts: Sequence[Shift]) -> list[TagDrop]:
    """Median and best drop of every tag and benchmark; runs without tags form one group.

    Empty for a single model, or if no model has a tag. Runs with caveats are left out: the drop of a network
    on images that it filtered is not comparable.
    """
    if not any(shift.tags for shift in shifts) or len({shift.model for shift in shifts}) < 2:
        return []
    drops_by_group: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for shift in shifts:
        for tag in shift.tags or (NO_TAG,):
            if shift.drop is not None and not shift.caveats:
                drops_by_group.setdefault((shift.test, tag), []).append((shift.drop.value, shift.model))
    return [
        TagDrop(tag, test, len(drops), median(value for value, _ in drops), *min(drops))
        for (test, tag), drops in sorted(
            drops_by_group.items(), key=lambda item: (item[0][0], item[0][1] == NO_TAG)
        )
    ]


def _scores(run: ScoredRun, metrics: Sequence[str]) -> dict[tuple[str, str], Score]:
    return {(score.metric, score.condition): score for score in score_run(run, metrics)}


def _share(score: Score | None) -> Share | None:
    return Share(score.value, score.low, score.high, score.n) if score else None


def _accuracy(error: Score | None) -> Share | None:
    return Share(1 - error.value, 1 - error.high, 1 - error.low, error.n) if error else None
