"""What every run's shift costs its model: runs over natural sets beside runs over corruptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from windtunnel.analysis.caveats import marks
from windtunnel.core.scores import Score
from windtunnel.core.wording import counted
from windtunnel.metrics.headlines import PM_0, farthest_pm
from windtunnel.metrics.score import score_run
from windtunnel.metrics.scored_run import ScoredRun

NO_TAG = "no tag"
# What conditions of a kind are called.
NOUNS = {"corruption": "corrupted condition", "sequence": "sequence", "pipeline": "swapped step"}


@dataclass(frozen=True)
class Share:
    """A share of images, or a difference of two, with its 95 % interval and number of images."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Shift:
    """One run: how often its model is right on clean and on shifted images.

    Attributes:
        run: its folder.
        model: the model's name.
        tags: of the model, as declared.
        suite: what was run, such as imagenet-a@1.
        data: on what.
        natural: whether the shift was found rather than made.
        over: what the shifted accuracy is a mean over.
        clean: accuracy on clean images; None where there are none.
        shifted: accuracy on shifted images; None where the run has no such.
        drop: clean less shifted.
        frames: of frame sets the score that is `shifted`, such as pm-10, where pm-0 is `clean`; else "".
        marks: what makes these no numbers like others', a sentence each without its full stop.
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
    marks: tuple[str, ...] = ()

    @property
    def test(self) -> str:
        """What drops of two models must share to be compared: suite and data."""
        return f"{self.suite} on {self.data}"

    @property
    def of_fewer(self) -> str:
        """Of how many images the drop is, where it leaves some of the two accuracies' out; else ""."""
        if self.clean is None or self.shifted is None or self.drop is None or not self.natural or self.frames:
            return ""
        every = self.clean.n + self.shifted.n
        return f"{self.drop.n:,} of {every:,} images" if self.drop.n < every else ""

    def to_json(self) -> dict[str, Any]:
        """The shift as JSON keeps it."""
        return {**asdict(self), "tags": list(self.tags), "marks": list(self.marks)}


@dataclass(frozen=True)
class TagDrop:
    """The drops of all runs of one test whose models carry a tag.

    Attributes:
        tag: or "no tag".
        test: suite and data.
        runs: how many.
        median: of their drops.
        best: the least drop.
        best_model: whose.
    """

    tag: str
    test: str
    runs: int
    median: float
    best: float
    best_model: str


def shift_of(run: ScoredRun) -> Shift:
    """What a run's shift costs.

    Natural sets: accuracy on the clean part less accuracy on the shifted part, different images.
    Frame sets: pm-0 less pm-k at the largest k, the same anchor frames.
    Corruptions: accuracy on clean images less the mean over all corrupted conditions, the same images.
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
        over = _modifications(run)
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
        tuple(marks(run)),
    )


def _modifications(run: ScoredRun) -> str:
    """How many conditions of which kind a run has beside its clean ones, in words."""
    kinds: Counter[str] = Counter(one.kind for one in run.conditions)
    found = [counted(kinds[kind], noun) for kind, noun in NOUNS.items() if kinds[kind]]
    return ", ".join(found) or "clean images alone"


def drops_by_tag(shifts: Sequence[Shift]) -> list[TagDrop]:
    """Median and best drop of every tag and test; runs without tags stand together.

    Nothing is said of one model alone, or where no model has a tag. Marked runs are left out: what images
    do to the network that chose them is no drop like others'.
    """
    if not any(one.tags for one in shifts) or len({one.model for one in shifts}) < 2:
        return []
    found: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for one in shifts:
        for tag in one.tags or (NO_TAG,):
            if one.drop is not None and not one.marks:
                found.setdefault((one.test, tag), []).append((one.drop.value, one.model))
    return [
        TagDrop(tag, test, len(drops), median(value for value, _ in drops), *min(drops))
        for (test, tag), drops in sorted(found.items(), key=lambda item: (item[0][0], item[0][1] == NO_TAG))
    ]


def _scores(run: ScoredRun, metrics: Sequence[str]) -> dict[tuple[str, str], Score]:
    return {(one.metric, one.condition): one for one in score_run(run, metrics)}


def _share(score: Score | None) -> Share | None:
    return Share(score.value, score.low, score.high, score.n) if score else None


def _accuracy(error: Score | None) -> Share | None:
    return Share(1 - error.value, 1 - error.high, 1 - error.low, error.n) if error else None
