"""The folder of a curation project: its candidates, media, finished steps and audits.

Every step is a function of this folder and an options record. It holds the project's lock, writes its files
atomically, and stores its recipe last: the same recipe on the same inputs is not done again.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from windtunnel.core.candidates import Candidate
from windtunnel.core.conditions import digest
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.file_digests import named_files_digest
from windtunnel.core.option_names import option
from windtunnel.core.records import Record, RecordError, read_record
from windtunnel.curate.collected_batches import (
    CollectedBatch,
    CollectedBatches,
    duplicates_marked,
    stored_labels,
)
from windtunnel.curate.steps import (
    AUDIT_COLUMNS,
    STEP_SCHEMA,
    AuditRow,
    FinishedStep,
    R,
    S,
    StepKind,
    StepRecord,
)
from windtunnel.data import content_hash
from windtunnel.store.atomic_files import write_whole
from windtunnel.store.parquet import parquet_bytes, read_parquet
from windtunnel.store.recipe_folder import FolderKind, RecipeFolder

PROJECT = FolderKind("project", "project.json", 1, {"name": "name"}, option="project")
CANDIDATES_FOLDER = "candidates"
MEDIA_FOLDER = "media"
STEPS_FOLDER = "steps"
STARTED_FOLDER = "started"
COLLECT_STEP = "collect"
# The batches in the order of collection. It is not among the tables: they can be read as one dataset.
BATCHES_FILE = "batches.json"
AUDIT_FOLDER = "audit"

_TYPES = {"str": pa.string(), "int": pa.int64(), "LabelStatus": pa.string(), "CandidateStatus": pa.string()}
CANDIDATE_SCHEMA = pa.schema(
    [(field.name, _TYPES[str(field.type)]) for field in dataclasses.fields(Candidate)]
)


class ProjectRecipe(Record, frozen=True):
    """The settings that all steps of a project share."""

    name: str


class Project(RecipeFolder):
    """One curation project."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, PROJECT)
        self.folder = path
        self._adding = threading.Lock()

    @property
    def recipe(self) -> ProjectRecipe:
        """The settings of the project."""
        content = self.read_recipe_file()
        content.pop("schema")
        try:
            return read_record(content, ProjectRecipe)
        except RecordError as error:
            raise self.damaged(error) from error

    @contextmanager
    def created(self) -> Iterator[None]:
        """Hold the lock of a new or existing project."""
        self.check_free()
        with self.locked():
            self.create_recipe_file(ProjectRecipe(self.folder.resolve().name).to_json())
            yield

    # Candidates

    def candidates(self) -> list[Candidate]:
        """Every candidate of every batch, in the order of collection and rows, with duplicates marked."""
        return self._marked(self.batches(), {})

    def _marked(
        self, batches: Sequence[CollectedBatch], changed: Mapping[str, Sequence[Candidate]]
    ) -> list[Candidate]:
        """The candidates of batches in an order; `changed` has the rows of batches that are not written."""
        rows: list[Candidate] = []
        for batch in batches:
            rows += changed[batch.batch] if batch.batch in changed else self._batch_rows(batch.batch)
        return duplicates_marked(rows, batches)

    def _batch_rows(self, batch: str) -> list[Candidate]:
        return [Candidate(**row) for row in read_table(self._batch_file(batch)).to_pylist()]

    def _batch_file(self, batch: str) -> Path:
        return self.folder / CANDIDATES_FOLDER / f"{batch}.parquet"

    def batches(self) -> list[CollectedBatch]:
        """The batches in the order of collection.

        Those of projects without stored order are first, by name and backwards: in such projects the first by
        name decided labels, and still does.
        """
        stored = {file.stem for file in (self.folder / CANDIDATES_FOLDER).glob("*.parquet")}
        listed = [batch for batch in self._listed_batches() if batch.batch in stored]
        others = sorted(stored - {batch.batch for batch in listed}, reverse=True)
        return [*(CollectedBatch(batch, self._source_of(batch)) for batch in others), *listed]

    def _listed_batches(self) -> tuple[CollectedBatch, ...]:
        file = self.folder / BATCHES_FILE
        if not file.is_file():
            return ()
        try:
            return read_record(json.loads(file.read_text(encoding="utf-8")), CollectedBatches).batches
        except (OSError, ValueError) as error:
            raise UserError(
                f"{file} is damaged ({error}); remove it, and collect every table again in the order that "
                "counts: the latest decides labels."
            ) from error

    def _source_of(self, batch: str) -> str:
        """The source of a batch without stored order, from the record of its step; else the batch's name."""
        file = self._step_file(f"{COLLECT_STEP}-{batch}")
        return str(self._read_step(file).summary.get("source", batch)) if file.is_file() else batch

    def stored_candidates(self) -> list[Candidate]:
        """The candidates whose images are stored, each content once, by id."""
        return sorted((row for row in self.candidates() if row.status == "ok"), key=lambda row: row.id)

    def write_batch(self, batch: CollectedBatch, rows: Sequence[Candidate] | None = None) -> None:
        """Write the candidates of a batch as the latest collection; None keeps those that are written.

        A batch that was collected before keeps its place if every image has the same label in both places, so
        that the same commands in the same order change nothing.
        """
        changed = {} if rows is None else {batch.batch: rows}
        before = self.batches()
        latest = [*(other for other in before if other.batch != batch.batch), batch]
        if len(latest) == len(before) and latest != before:
            labels = [stored_labels(self._marked(order, changed)) for order in (before, latest)]
            if labels[0] == labels[1]:
                latest = [batch if other.batch == batch.batch else other for other in before]
        content = json.dumps(CollectedBatches(tuple(latest)).to_json(), indent=2, ensure_ascii=False) + "\n"
        file = self.folder / BATCHES_FILE
        if not file.is_file() or file.read_bytes() != content.encode():
            write_whole(file, content.encode())
        if rows is not None:
            columns = {name: [getattr(row, name) for row in rows] for name in CANDIDATE_SCHEMA.names}
            table = pa.table(columns, CANDIDATE_SCHEMA)
            self.write_table(f"{CANDIDATES_FOLDER}/{batch.batch}.parquet", table)

    def candidates_digest(self) -> str:
        """Digest of all batches in the order of collection: an input of the recipe of every later step."""
        return named_files_digest(self._batch_file(batch.batch) for batch in self.batches())

    # Media

    def add_media(self, content: bytes, suffix: str) -> tuple[str, str]:
        """Store an image under its content hash; returns the hash and the path in the project.

        A damaged file is replaced. Several threads may store the same image.
        """
        name = content_hash(content)
        relative = f"{MEDIA_FOLDER}/{name[:2]}/{name}{suffix}"
        path = self.folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._adding:
            if not path.is_file() or path.read_bytes() != content:
                write_whole(path, content)
        return name, relative

    def has_media(self, file: str, size: int, id_: str = "") -> bool:
        """Whether an image of the project is stored with its size and, if an id is given, its content."""
        path = self.folder / file
        try:
            whole = path.stat().st_size == size
            return whole and (not id_ or content_hash(path.read_bytes()) == id_)
        except OSError:
            return False

    def read_media(self, candidate: Candidate) -> bytes:
        """The bytes of a candidate's image; refuses a file that was changed."""
        path = self.folder / candidate.file
        try:
            content = path.read_bytes()
        except OSError as error:
            raise UserError(
                f"{path} cannot be read: {error.strerror or error}; collect its table again to restore it."
            ) from error
        if content_hash(content) != candidate.id:
            raise changed_media(path)
        return content

    # Steps and audits

    def steps(self) -> dict[str, StepRecord]:
        """The finished steps, by name."""
        return {
            file.stem: self._read_step(file) for file in sorted((self.folder / STEPS_FOLDER).glob("*.json"))
        }

    def step(self, kind: StepKind[R, S]) -> FinishedStep[R, S] | None:
        """A finished step, or None."""
        file = self._step_file(kind.name)
        if not file.is_file():
            return None
        stored = self._read_step(file)
        try:
            recipe, summary = (
                read_record(stored.recipe, kind.recipe),
                read_record(stored.summary, kind.summary),
            )
        except RecordError as error:
            raise _damaged(file, error) from error
        return FinishedStep(stored.step, recipe, summary)

    def finished(self, kind: StepKind[R, S], recipe: R) -> FinishedStep[R, S] | None:
        """A step that was finished with the same recipe, else None."""
        stored = self.step(kind)
        return stored if stored and digest(stored.recipe.to_json()) == digest(recipe.to_json()) else None

    def finish(self, kind: StepKind[R, S], recipe: R, summary: S) -> FinishedStep[R, S]:
        """Store a step's recipe and summary, after its files are written."""
        record = StepRecord(STEP_SCHEMA, kind.name, recipe.to_json(), summary.to_json())
        text = json.dumps(record.to_json(), indent=2, ensure_ascii=False) + "\n"
        (self.folder / STEPS_FOLDER).mkdir(exist_ok=True)
        write_whole(self._step_file(kind.name), text.encode())
        self.clear_started(kind.name)
        return FinishedStep(kind.name, recipe, summary)

    def mark_started(self, step: str) -> None:
        """Store that a step was started, until it is finished."""
        (self.folder / STARTED_FOLDER).mkdir(exist_ok=True)
        (self.folder / STARTED_FOLDER / step).touch()

    def clear_started(self, step: str) -> None:
        """Remove the mark of a started step: it is finished."""
        (self.folder / STARTED_FOLDER / step).unlink(missing_ok=True)

    def unfinished(self) -> list[str]:
        """The steps that were started and not finished, and those whose audit has no record."""
        started = {file.name for file in (self.folder / STARTED_FOLDER).glob("*")}
        audits = {file.stem for file in (self.folder / AUDIT_FOLDER).glob("*.parquet")}
        return sorted(started | (audits - set(self.audits())))

    def refuse_unfinished(self, steps: Sequence[str]) -> None:
        """Refuse a project in which one of these steps was started and not finished."""
        for step in self.unfinished():
            if step in steps:
                audit = [] if step in self.audits() else [self.folder / AUDIT_FOLDER / f"{step}.parquet"]
                left = [file for file in (self.folder / STARTED_FOLDER / step, *audit) if file.exists()]
                raise UserError(
                    f"windtunnel curate {step} was started in {self.folder} and not finished; repeat that "
                    f"command, or remove {' and '.join(map(str, left))} to go on without it."
                )

    def _step_file(self, step: str) -> Path:
        return self.folder / STEPS_FOLDER / f"{step}.json"

    def _read_step(self, file: Path) -> StepRecord:
        try:
            return read_record(json.loads(file.read_text(encoding="utf-8")), StepRecord)
        except (OSError, ValueError) as error:
            raise _damaged(file, error) from error

    def write_audit(self, step: str, table: pa.Table) -> None:
        """Write the audit of a step: a row for each candidate, with `AUDIT_COLUMNS` at least.

        The step is no longer finished: its record belongs to the audit before.
        """
        missing = [name for name in AUDIT_COLUMNS if name not in table.column_names]
        if missing:
            raise ValueError(f"an audit needs the columns {', '.join(missing)}")
        self._step_file(step).unlink(missing_ok=True)
        self.write_table(f"{AUDIT_FOLDER}/{step}.parquet", table)

    def audits(self) -> list[str]:
        """The finished steps that have an audit."""
        files = (self.folder / AUDIT_FOLDER).glob("*.parquet")
        return sorted(file.stem for file in files if self._step_file(file.stem).is_file())

    def is_stale(self, step: str) -> bool:
        """Whether the candidates were collected again after a step with an audit."""
        return self._read_step(self._step_file(step)).recipe.get("candidates") != self.candidates_digest()

    def refuse_stale(self, step: str) -> None:
        """Refuse a step that was done for other candidates than those of the project."""
        if self.is_stale(step):
            raise UserError(
                f"{self.folder} has other candidates or labels now than those of its shortlist; filter "
                f"again with windtunnel curate {step}."
            )

    def audit_table(self, step: str) -> pa.Table:
        """The audit of a step."""
        if step not in self.audits():
            raise unknown_name("audit", step, self.audits(), "windtunnel curate status PROJECT")
        return read_table(self.folder / AUDIT_FOLDER / f"{step}.parquet")

    def audit(self, step: str) -> dict[str, AuditRow]:
        """The stage and reason of every candidate in a step, by id."""
        table = self.audit_table(step).select(list(AUDIT_COLUMNS))
        return {row["id"]: AuditRow(row["stage"], row["reason"] or "") for row in table.to_pylist()}

    def write_table(self, relative: str, table: pa.Table) -> None:
        """Write a table of the project atomically."""
        path = self.folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, parquet_bytes(table))


def open_project(path: str | Path) -> Project:
    """An existing project; refuses other folders."""
    project = Project(Path(path))
    if not project.recipe_path.is_file():
        raise UserError(
            f"{path} is not a curation project (it has no {PROJECT.recipe_file}); "
            "windtunnel curate collect creates one."
        )
    project.read_recipe_file()
    return project


def changed_media(file: Path) -> UserError:
    """The error for an image that is not what was collected."""
    return UserError(
        f"{file} was changed after it was collected; collect its table again with {option('retry', True)} to "
        "restore it."
    )


def read_table(file: Path) -> pa.Table:
    """A table of a project; refuses a damaged file."""
    try:
        return read_parquet(file)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file, error) from error


def counts(values: Iterable[str]) -> dict[str, int]:
    """How often each value occurs, the most frequent first."""
    found: dict[str, int] = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _damaged(file: Path, error: Exception) -> UserError:
    return UserError(f"{file} is damaged ({error}); remove it and repeat the step.")
