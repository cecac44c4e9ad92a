"""A user's runs among public models on the same natural set, and differences that limit the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from windtunnel.analysis.effective_robustness import above_fit
from windtunnel.analysis.open_clip_results import OPEN_CLIP_FILE, open_clip_field
from windtunnel.analysis.public_models import PublicField, known_tables, public_field
from windtunnel.analysis.shifts import Share, Shift, shift_of
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.metrics.parts import part_of_role
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.published.natural_sets import masked_classes, natural_set

IMAGENET_CLASSES = 1000


@dataclass(frozen=True)
class OwnPoint:
    """One run among public models.

    Attributes:
        run: its folder.
        name: the model's name.
        part: the shifted images, such as imagenet-v2-top-images.
        clean, shifted: its accuracies.
        line: the shifted accuracy on the public models' line at its clean accuracy, or None.
        above: shifted accuracy minus `line`, or None.
        better_than: number of public models with a lower shifted accuracy.
        differences: differences from the public results that limit comparability, a sentence each.
    """

    run: str
    name: str
    part: str
    clean: Share
    shifted: Share
    line: float | None
    above: Share | None
    better_than: int
    differences: tuple[str, ...]


@dataclass(frozen=True)
class Placed:
    """Runs over one natural set among the public models on it."""

    natural: str
    title: str
    field: PublicField
    points: tuple[OwnPoint, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The placement as a JSON object, without the public models themselves."""
        field = self.field
        return {
            "set": self.natural,
            "title": self.title,
            "clean_table": field.clean.name,
            "shifted_table": field.shifted.name,
            "models": len(field.pairs),
            "missing": field.missing_count,
            "fit": asdict(field.fit) if field.fit else None,
            "notes": list(self.notes),
            "points": [{**asdict(point), "differences": list(point.differences)} for point in self.points],
        }


def place_runs(runs: Sequence[ScoredRun], source: str | Path) -> list[Placed]:
    """Compare runs with the public models on their natural sets.

    Args:
        runs: finished runs; runs over other sets are skipped.
        source: a folder of public tables, or the table of the shifted set.

    Raises:
        UserError: none of the runs can be compared, or a table cannot be read.
    """
    path = Path(source)
    placed = []
    for name in dict.fromkeys(_set_of(run) for run in runs):
        own = [(run, shift_of(run)) for run in runs if _set_of(run) == name]
        whole = [(run, shift) for run, shift in own if shift.clean and shift.shifted and not shift.frames]
        if name and whole and _may_contain(path, name):
            placed += [_placed(name, whole, field) for field in _fields(path, name)]
    if not placed:
        of = next((name for name, facts in known_tables().items() if facts.shifted == path.name), "")
        if of and path.is_file():
            raise UserError(
                f"{path} contains results on {of}; give a run over that set with clean images "
                f"({option('clean')})."
            )
        raise UserError(
            f"None of the runs can be compared with {path}; give a run over {', '.join(known_tables())} "
            f"with clean images ({option('clean')}), or the CSV file of the shifted set."
        )
    return placed


def _fields(path: Path, natural: str) -> list[PublicField]:
    """The public models on a natural set: timm's, and open_clip's if the folder has their table."""
    if path.is_file() and path.name == OPEN_CLIP_FILE:
        zero_shot = open_clip_field(path, natural)
        return [zero_shot] if zero_shot else []
    table = path / OPEN_CLIP_FILE
    if not path.is_dir() or not table.is_file():
        return [public_field(path, natural)]
    facts, zero_shot = known_tables().get(natural), open_clip_field(table, natural)
    trained = [public_field(path, natural)] if facts and (path / facts.shifted).is_file() else []
    return [*trained, *([zero_shot] if zero_shot else [])]


def _may_contain(path: Path, natural: str) -> bool:
    """Whether a folder or file may contain results on a natural set: a file of another set does not."""
    if path.name == OPEN_CLIP_FILE or (path / OPEN_CLIP_FILE).is_file():
        return True
    if not path.is_file():
        return natural in known_tables() or not path.exists()
    return all(facts.shifted != path.name or name == natural for name, facts in known_tables().items())


def _placed(name: str, own: Sequence[tuple[ScoredRun, Shift]], field: PublicField) -> Placed:
    points = [
        OwnPoint(
            shift.run,
            shift.model,
            part.name if (part := part_of_role(run, "shifted")) else "",
            shift.clean,
            shift.shifted,
            *above_fit(shift.clean, shift.shifted, field.fit),
            sum(result.top1 < shift.shifted.value for _, result in field.pairs),
            tuple(_differences(run, shift, field)),
        )
        for run, shift in own
        if shift.clean and shift.shifted
    ]
    title = natural_set(name).title
    return Placed(
        name,
        f"{title} ({field.source})" if field.source else title,
        field,
        tuple(points),
        tuple(_notes(name, field)),
    )


def _notes(name: str, field: PublicField) -> list[str]:
    """Notes on all points: different preprocessing, different classes, missing rows."""
    lines = []
    if field.preprocess > 1:
        lines.append(
            f"Public models use {field.preprocess:,} different combinations of image size, crop and filter: "
            "size and crop alone can change a model's accuracy by several points."
        )
    facts = field.facts
    if facts and facts.same_classes and field.clean.name != facts.same_classes:
        lines.append(
            f"Public clean results ({field.clean.name}) are over all classes of ImageNet; clean accuracies "
            f"of runs are over the classes of {natural_set(name).title}, as in {facts.same_classes}."
        )
    if facts is None:
        lines.append(
            f"{field.shifted.name} is an unknown table; check that its results are on the same images."
        )
    return [*lines, *field.notes, *field.missing]


def _set_of(run: ScoredRun) -> str:
    """The natural set of a run; "" for none."""
    return run.natural.set if run.natural else ""


def _other_part(run: ScoredRun, public: str) -> list[str]:
    """A note if a run is over a different or unknown version of the set than the public results."""
    part = part_of_role(run, "shifted")
    if part is None or part.name == public:
        return []
    natural = natural_set(_set_of(run))
    own = "a version that its folder does not name" if part.name == natural.part else part.name
    return [f"over {own}, while the public results are over {public}: different images, not comparable"]


def _differences(run: ScoredRun, shift: Shift, field: PublicField) -> list[str]:
    """Differences between a run and the public tables."""
    if field.facts is None or shift.clean is None or shift.shifted is None:
        return []
    lines = _other_part(run, field.facts.part)
    for share, role, whole in (
        (shift.shifted, "shifted", field.facts.images),
        (shift.clean, "clean", field.facts.clean_images),
    ):
        if share.n != whole:
            lines.append(f"{share.n:,} {role} images, while the public results use {whole:,}")
    natural = natural_set(_set_of(run))
    usual = len(masked_classes(natural.table)) if natural.output_rule == "mask" else IMAGENET_CLASSES
    counted = run.recipe.counted_classes
    if counted != usual:
        lines.append(f"{counted:,} outputs compete, while {usual:,} compete in the public results")
    return lines
