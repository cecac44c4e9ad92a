"""Export a project as a natural set: class folders, manifest, datasheet, declaration and checksums.

The set is a function of the project's files, the verdicts and the options: repeated, it has the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.core.candidates import SHORTLISTED, Candidate
from windtunnel.core.conditions import digest
from windtunnel.core.curation_records import ExportSummary, HardRecipe, OodRecipe
from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import file_digest
from windtunnel.core.labels import IMAGENET_1K, INDICES
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.records import OwnSet
from windtunnel.core.wording import listed
from windtunnel.curate.collected_batches import row_name
from windtunnel.curate.export_folder import DATASHEET, MANIFEST, STEP, ExportFolder, ExportRecipe
from windtunnel.curate.hard import HARD
from windtunnel.curate.ood import OOD
from windtunnel.curate.project import AUDIT_FOLDER, Project, counts
from windtunnel.curate.set_files import (
    csv_text,
    declaration_text,
    folder_names,
    set_name,
    sources_text,
    votes_text,
)
from windtunnel.curate.steps import AuditRow, StepKind
from windtunnel.curate.verdicts import Verdict, read_verdicts
from windtunnel.data.label_spaces import label_space_of
from windtunnel.data.own_sets import DECLARATION, checked_declaration
from windtunnel.options.export import ExportOptions
from windtunnel.store.parquet import parquet_bytes

EXPORT_STEP = StepKind(STEP, ExportRecipe, ExportSummary)
# The sets that an exported set extends, by role.
BASES = {"shifted": "natural", "out": "ood"}
# The outcome of candidates that are not in the shortlist.
FILTERED = "filtered"


@dataclass(frozen=True)
class SetRow:
    """A candidate in the manifest of a set.

    Attributes:
        candidate: the candidate; its label status is `confirmed` if reviewers accepted it.
        stage: the stage at which it left the filtration, `shortlisted`, or "" without one.
        stage_reason: why.
        verdict: the reviewers' verdict, or None.
        outcome: `exported`, or why not: `not_collected`, `filtered`, `not_reviewed`, `rejected`.
        file: the image in the set, or "".
    """

    candidate: Candidate
    stage: str
    stage_reason: str
    verdict: Verdict | None
    outcome: str
    file: str


@dataclass(frozen=True)
class ExportedSet:
    """An exported set: what its datasheet says.

    Attributes:
        folder: where it is.
        own: its declaration.
        rows: every candidate of the project.
        folders: the folder of each label.
        filtered: the step that filtered the candidates, or "".
        filtration: its recipe, or None.
        reviewed: whether verdicts decided.
    """

    folder: Path
    own: OwnSet
    rows: Sequence[SetRow]
    folders: Mapping[str, str]
    filtered: str
    filtration: HardRecipe | OodRecipe | None
    reviewed: bool

    @property
    def exported(self) -> list[SetRow]:
        """The candidates in the set."""
        return [row for row in self.rows if row.outcome == "exported"]

    @property
    def outcomes(self) -> dict[str, int]:
        """How many candidates have each outcome."""
        return counts(row.outcome for row in self.rows)

    @property
    def reviewed_outside(self) -> int:
        """How many candidates have verdicts, but are not in the shortlist."""
        return sum(row.verdict is not None and row.outcome == FILTERED for row in self.rows)


def export(
    project: Project,
    out: Path,
    options: ExportOptions,
    datasheet: Callable[[ExportedSet], str],
    progress: Progress = silent,
) -> ExportedSet:
    """Write a natural set from a project's files, and return it.

    Args:
        project: the project.
        out: the set's folder; the same command continues and repairs it.
        options: the step, the verdicts and the facts of the declaration.
        datasheet: returns the page of a set.
        progress: counts images.
    """
    folder = ExportFolder(out)
    with project.locked():
        made, recipe = _planned(project, out, options)
        with folder.opened(recipe):
            _write(project, folder, made, datasheet, progress)
        summary = ExportSummary(made.own.name, len(made.exported), made.outcomes)
        project.finish(EXPORT_STEP.of(made.own.name), recipe, summary)
    return made


def _planned(project: Project, out: Path, options: ExportOptions) -> tuple[ExportedSet, ExportRecipe]:
    step = _step(project, options.step)
    filtration = _filtration(project, step)
    audit = project.audit(step) if step else {}
    rows = project.candidates()
    labels = {row.id: row.label for row in rows if row.status == "ok"}
    verdicts = read_verdicts(options.reviewed, labels) if options.reviewed is not None else None
    role = options.role or ("out" if step == OOD.name else "shifted")
    if role == "out" and step == HARD.name:
        raise UserError(
            f"{option('role', 'out')} does not apply to the shortlist of {HARD.name}, whose classes the "
            f"filter models know; windtunnel curate {OOD.name} selects out-of-distribution images."
        )
    outcomes = [_outcome(row, step, audit, verdicts) for row in rows]
    chosen = [row for row, outcome in zip(rows, outcomes, strict=True) if outcome == "exported"]
    _check_chosen(project, chosen, role, counts(outcomes))
    competing = _competing(filtration)
    folders = folder_names([*labels.values(), *competing])
    classes = _classes(folders, competing) if role == "shifted" else competing
    made = ExportedSet(
        out,
        _declaration(project, step, filtration, role, options, chosen, classes),
        [_row(row, step, audit, verdicts, folders) for row in rows],
        folders,
        step,
        filtration,
        verdicts is not None,
    )
    recipe = ExportRecipe(
        project=project.recipe.name,
        candidates=project.candidates_digest(),
        audit=file_digest(project.folder / AUDIT_FOLDER / f"{step}.parquet") if step else "",
        verdicts=file_digest(Path(options.reviewed)) if options.reviewed is not None else "",
        options={
            "declaration": digest(made.own.to_json()),
            "filtration": digest(filtration.to_json()) if filtration else "",
        },
    )
    return made, recipe


def _step(project: Project, asked: str | None) -> str:
    """The step whose shortlist is exported; "" if the project has no audit."""
    project.refuse_unfinished((HARD.name, OOD.name) if asked is None else (asked,))
    if asked is not None:
        project.audit_table(asked)
        return asked
    audits = project.audits()
    if len(audits) > 1:
        raise UserError(
            f"{project.folder} has the shortlists of {listed(audits)}; choose one with "
            f"{option('step', audits[0])}."
        )
    return audits[0] if audits else ""


def _filtration(project: Project, step: str) -> HardRecipe | OodRecipe | None:
    """The recipe of the step whose shortlist is exported; refuses one of other candidates."""
    if not step:
        return None
    project.refuse_stale(step)
    finished = project.step(OOD) if step == OOD.name else project.step(HARD)
    return finished.recipe if finished else None


def _competing(filtration: HardRecipe | OodRecipe | None) -> tuple[str, ...]:
    """The classes that alone competed in the filtration; () for all outputs."""
    if isinstance(filtration, HardRecipe):
        return filtration.classes
    if filtration is not None and any(model.competing for model in filtration.models):
        return filtration.in_distribution
    return ()


def _check_chosen(
    project: Project, chosen: Sequence[Candidate], role: str, outcomes: Mapping[str, int]
) -> None:
    if not chosen:
        found = listed([f"{name} {number:,}" for name, number in outcomes.items()])
        raise UserError(
            f"No candidate of {project.folder} is left for the set ({found}); collect more, filter with "
            "other thresholds, or give other verdicts."
        )
    labels = {row.label for row in chosen}
    unlabelled = [row for row in chosen if not row.label]
    if role == "shifted" and unlabelled:
        first = f"{unlabelled[0].id} ({row_name(unlabelled[0], project.batches())})"
        raise UserError(
            f"{len(unlabelled):,} of {len(chosen):,} candidates have no label, the first is {first}; collect "
            f"them with a tag or label, or give {option('role', 'out')}."
        )
    if role == "shifted" and len(labels) == 1:
        raise UserError(
            f"All {len(chosen):,} candidates left are of the class '{chosen[0].label}'; a set needs two "
            "classes to be scored."
        )


def _outcome(
    row: Candidate, step: str, audit: Mapping[str, AuditRow], verdicts: Mapping[str, Verdict] | None
) -> str:
    if row.status != "ok":
        return "not_collected"
    if step and (row.id not in audit or audit[row.id].stage != SHORTLISTED):
        return FILTERED
    if verdicts is None:
        return "exported"
    if row.id not in verdicts:
        return "not_reviewed"
    return "exported" if verdicts[row.id].accepted else verdicts[row.id].decision


def _row(
    row: Candidate,
    step: str,
    audit: Mapping[str, AuditRow],
    verdicts: Mapping[str, Verdict] | None,
    folders: Mapping[str, str],
) -> SetRow:
    outcome = _outcome(row, step, audit, verdicts)
    stage = audit.get(row.id) if row.status == "ok" else None
    verdict = (verdicts or {}).get(row.id) if row.status == "ok" else None
    if verdict and verdict.accepted:
        row = replace(row, label_status="confirmed")
    file = f"{folders[row.label]}/{Path(row.file).name}" if outcome == "exported" else ""
    return SetRow(row, stage.stage if stage else "", stage.reason if stage else "", verdict, outcome, file)


def _declaration(
    project: Project,
    step: str,
    filtration: HardRecipe | OodRecipe | None,
    role: str,
    options: ExportOptions,
    chosen: Sequence[Candidate],
    classes: tuple[str, ...],
) -> OwnSet:
    reviewed = options.reviewed is not None
    masked = bool(_competing(filtration)) or (options.mask and role == "shifted")
    title = f"{project.recipe.name}{f', {step}' if step else ''}{'' if reviewed else ', without review'}"
    models = tuple(model.info for model in filtration.models) if filtration else ()
    notes = list(options.notes)
    if models:
        names = listed([model.name for model in models])
        notes.append(f"Chosen by the predictions of {names}: it is not a random sample of images.")
    if not reviewed:
        notes.append("Without review: no person has confirmed the labels.")
    own = OwnSet(
        name=options.name or set_name(project.recipe.name, step, "" if reviewed else "unreviewed"),
        extends=BASES[role],
        title=options.title or title,
        source=sources_text(row.source for row in chosen),
        filter_models=models,
        not_trained_on=tuple(options.not_trained_on),
        notes=tuple(notes),
        classes=classes,
        masked=masked,
    )
    return checked_declaration(own, option("name"))


def _classes(folders: Mapping[str, str], competing: Sequence[str]) -> tuple[str, ...]:
    """The classes that competed in the filtration, else all of the project.

    Without a mask WordNet ids and numbers need no list: they have their own order.
    """
    if competing:
        return tuple(sorted(folders.get(name, name) for name in competing))
    space, _ = label_space_of(folder for label, folder in folders.items() if label)
    return space.classes if space.name not in (IMAGENET_1K, INDICES) else ()


def _write(
    project: Project,
    folder: ExportFolder,
    made: ExportedSet,
    datasheet: Callable[[ExportedSet], str],
    progress: Progress,
) -> None:
    """Write all files that are missing or differ."""
    total = len(made.exported)
    for row in made.exported:
        folder.write(row.file, project.read_media(row.candidate))
        progress(1, total)
    manifest = _manifest(made)
    folder.write(f"{MANIFEST}.parquet", parquet_bytes(manifest))
    folder.write(f"{MANIFEST}.csv", csv_text(manifest).encode())
    folder.write(DATASHEET, datasheet(made).encode())
    folder.write(DECLARATION, declaration_text(made.own).encode())


def _manifest(made: ExportedSet) -> pa.Table:
    """A row for every candidate of the project, whether exported or not."""
    facts = [asdict(row.candidate) for row in made.rows]
    for fact in facts:
        fact.pop("file")
    columns: dict[str, list[Any]] = {name: [fact[name] for fact in facts] for name in facts[0]}
    votes = [row.verdict.votes if row.verdict else {} for row in made.rows]
    return pa.table(
        {
            "outcome": [row.outcome for row in made.rows],
            "file": [row.file for row in made.rows],
            **columns,
            "stage": [row.stage for row in made.rows],
            "stage_reason": [row.stage_reason for row in made.rows],
            "verdict": [_verdict_text(row.verdict) for row in made.rows],
            "votes": [votes_text(of_candidate) for of_candidate in votes],
            "review_notes": ["; ".join(row.verdict.notes) if row.verdict else "" for row in made.rows],
        }
    )


def _verdict_text(verdict: Verdict | None) -> str:
    return verdict.decision if verdict else ""
