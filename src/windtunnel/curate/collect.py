"""Collect candidates: every row becomes a candidate, whether its image can be stored or not.

Outcomes are appended to a journal as they come, so a killed process loses at most the rows in progress. When
all rows have an outcome, the batch is written as a table in the order of its rows.
"""

from __future__ import annotations

import dataclasses
import queue
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from windtunnel.core.candidates import Candidate, CandidateStatus
from windtunnel.core.conditions import digest
from windtunnel.core.curation_records import CollectRecipe, CollectSummary
from windtunnel.core.errors import ImageError
from windtunnel.core.interruption import finishing_items, stop_requested
from windtunnel.core.progress import Progress, silent
from windtunnel.curate.candidate_sources import (
    CandidateSource,
    OutsideFolder,
    Wanted,
    open_source,
    read_class_map,
    tag_key,
)
from windtunnel.curate.collect_journal import Journal, Outcome, journal_path
from windtunnel.curate.collected_batches import CollectedBatch, duplicates_marked, stored_labels
from windtunnel.curate.downloads import DownloadFailed, Limits, split_url
from windtunnel.curate.hosts import SLEEP, Hosts, Stopped, seconds_between
from windtunnel.curate.project import COLLECT_STEP, Project, counts
from windtunnel.curate.steps import FinishedStep, StepKind
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import DECODES, pillow_quiet, read_header
from windtunnel.options.collect import CollectOptions

COLLECT = StepKind(COLLECT_STEP, CollectRecipe, CollectSummary)
# Hosts that are asked at the same time; each is asked one URL after the other.
HOSTS_AT_ONCE = 8
MB = 10**6
SUFFIXES = {"JPEG": ".jpg", "MPO": ".jpg"}
_STATUS: dict[str, CandidateStatus] = {"too_large": "too_large", "too_small": "too_small"}


@dataclass(frozen=True)
class Collected(FinishedStep[CollectRecipe, CollectSummary]):
    """A collected batch, and what the command changed in the project.

    Attributes:
        label_changes: how many stored images have another label than before, by both labels.
        label_conflicts: images of the batch that different sources, or rows of one, give different labels.
        restored: stored images that were damaged or missing, and are stored again.
        not_restored: those whose source has not the same content any more. Their rows are kept, except where
            the source has another image now.
    """

    label_changes: Mapping[tuple[str, str], int]
    label_conflicts: int
    restored: int
    not_restored: int


def collect(
    project: Project, source: str | Path, options: CollectOptions, progress: Progress = silent
) -> Collected:
    """Collect the candidates of a table or dataset into a project, and return the finished step.

    The same table with the same options is not collected again, except for stored images that are damaged;
    with other options, only rows that failed are. Its labels count as the latest.
    """
    interval = seconds_between(options.rate)
    classes = read_class_map(options.classes)
    opened = open_source(source, options)
    batch = CollectedBatch(opened.batch, Path(opened.name).name, opened.path)
    step = COLLECT.of(batch.batch)
    labels = [_label(row, classes) for row in opened.wanted]
    recipe = CollectRecipe(
        len(opened.wanted), digest(labels), options.max_mb, options.allow_private, options.ignore_robots,
        options.allow_outside_files,
    )  # fmt: skip
    known: dict[int, Outcome] = {}
    try:
        with project.created(), finishing_items():
            before = project.candidates()
            intact = _Intact(project, hashed=options.retry)
            stored = {row.row: _stored_outcome(row) for row in before if row.batch == batch.batch and row.id}
            damaged = {row: outcome for row, outcome in stored.items() if not intact(outcome)}
            record = project.finished(step, recipe)
            if record and not options.retry and not damaged:
                journal_path(project, batch.batch).unlink(missing_ok=True)  # after a kill at the very end
                progress(len(opened.wanted), len(opened.wanted))
                project.write_batch(batch)
                return _collected(project, record, before, {}, {})
            journal = Journal(project, batch.batch, digest({**recipe.to_json(), "retry": options.retry}))
            known |= _requested_before(opened.wanted, labels, before, intact, options.max_mb * MB)
            known |= _known(journal, stored, labels, intact)
            for outcome in _outcomes(project, opened, options, interval, labels, known, progress):
                failed = outcome.status not in ("ok", "unlabelled")
                kept = damaged.get(outcome.row, outcome) if failed else outcome
                journal.add(kept)
                known[outcome.row] = kept
            if len(known) == len(opened.wanted):
                rows = _candidates(batch.batch, opened.wanted, labels, known)
                project.write_batch(batch, rows)
                record = project.finish(step, recipe, _summary(opened, rows))
                journal.remove()
                collected = _collected(project, record, before, damaged, known)
    except KeyboardInterrupt as error:
        error.add_note(f"{len(known):,} of {len(opened.wanted):,} rows are stored.")
        raise
    return collected


def _collected(
    project: Project,
    step: FinishedStep[CollectRecipe, CollectSummary],
    before: Sequence[Candidate],
    damaged: Mapping[int, Outcome],
    outcomes: Mapping[int, Outcome],
) -> Collected:
    """The finished step with the differences to the candidates before."""
    after = project.candidates()
    labels, batch = stored_labels(before), step.step.removeprefix(f"{COLLECT_STEP}-")
    changes = Counter(
        (labels[id_], label) for id_, label in stored_labels(after).items() if labels.get(id_, label) != label
    )
    given = {row.id for row in after if row.batch == batch}
    conflicts = sum(row.status == "ok" and bool(row.reason) and row.id in given for row in after)
    intact = _Intact(project, hashed=True)
    restored = {was.id for row, was in damaged.items() if outcomes[row].id == was.id and intact(was)}
    lost = {was.id for was in damaged.values()} - restored
    return Collected(
        step.step, step.recipe, step.summary, dict(sorted(changes.items())), conflicts, len(restored),
        len(lost),
    )  # fmt: skip


def _label(row: Wanted, classes: Mapping[str, str] | None) -> str | None:
    """The weak label of a row; None if a map is given and has no class for its tag."""
    if row.label:
        return row.label
    return row.tag if classes is None else classes.get(tag_key(row.tag))


def _summary(source: CandidateSource, rows: Sequence[Candidate]) -> CollectSummary:
    statuses = counts(row.status for row in rows)
    return CollectSummary(Path(source.name).name, len(rows), statuses.get("ok", 0), statuses)


class _Intact:
    """Whether the image of an outcome is stored: its size or, if `hashed`, its content is as it was."""

    def __init__(self, project: Project, *, hashed: bool) -> None:
        self._project = project
        self._hashed = hashed
        self._checked: dict[str, bool] = {}

    def __call__(self, outcome: Outcome) -> bool:
        if outcome.file not in self._checked:
            id_ = outcome.id if self._hashed else ""
            self._checked[outcome.file] = self._project.has_media(outcome.file, outcome.bytes, id_)
        return self._checked[outcome.file]


def _stored_outcome(row: Candidate) -> Outcome:
    """The outcome of a row whose image was stored."""
    names = [field.name for field in dataclasses.fields(Outcome)]
    values = {name: getattr(row, name) for name in names}
    return Outcome(**{**values, "status": "ok", "reason": ""})


def _known(
    journal: Journal, stored: Mapping[int, Outcome], labels: Sequence[str | None], intact: _Intact
) -> dict[int, Outcome]:
    """The outcomes that need not be found again, by row.

    These are stored images whose file is intact, and all outcomes of an unfinished command of the same
    recipe.
    """
    known: dict[int, Outcome] = {}
    pairs = [(earlier, False) for earlier in stored.values()] + [(added, True) for added in journal.outcomes]
    for outcome, from_journal in pairs:
        present = outcome.status == "ok" and intact(outcome)
        failed = outcome.status != "ok" and from_journal
        if 0 <= outcome.row < len(labels) and labels[outcome.row] is not None and (present or failed):
            known[outcome.row] = outcome
    return known


def _requested_before(
    wanted: Sequence[Wanted],
    labels: Sequence[str | None],
    before: Sequence[Candidate],
    intact: _Intact,
    most_bytes: int,
) -> dict[int, Outcome]:
    """The outcomes of URLs whose images another batch has stored, by row: they are not requested again."""
    images = {row.url: _stored_outcome(row) for row in before if row.id}
    known: dict[int, Outcome] = {}
    for url, number in _requested_rows(wanted, labels, {}).items():
        image = images.get(url)
        if image and image.bytes <= most_bytes and intact(image):
            known[number] = dataclasses.replace(image, row=number)
    return known


def _requested_rows(
    wanted: Sequence[Wanted], labels: Sequence[str | None], known: Mapping[int, Outcome]
) -> dict[str, int]:
    """By URL, the row that requests it: one with a known image, else the first labelled row, else the first.

    Other rows of the URL are duplicates of it.
    """
    rows: dict[str, list[int]] = {}
    for number, row in enumerate(wanted):
        if row.url and not row.problem and labels[number] is not None:
            rows.setdefault(row.url, []).append(number)
    return {
        url: min(of_url, key=lambda row: (not (row in known and known[row].id), not labels[row], row))
        for url, of_url in rows.items()
    }


def _outcomes(
    project: Project,
    source: CandidateSource,
    options: CollectOptions,
    interval: float,
    labels: Sequence[str | None],
    known: Mapping[int, Outcome],
    progress: Progress,
) -> Iterator[Outcome]:
    """The outcomes of the rows that are not known yet, as they come; ends early after a signal."""
    total = len(source.wanted)
    progress(len(known), total)
    by_origin: dict[str, list[tuple[int, str]]] = {}
    requested = _requested_rows(source.wanted, labels, known)
    with pillow_quiet():
        for number, row in enumerate(source.wanted):
            if number in known:
                continue
            if stop_requested():
                return
            outcome: Outcome | None = None
            if row.problem:
                outcome = Outcome(number, "refused", row.problem)
            elif labels[number] is None:
                outcome = Outcome(number, "unlabelled", f"no class for the tag '{row.tag}'")
            elif row.url and requested[row.url] != number:
                outcome = Outcome(number, "duplicate", f"same URL as row {requested[row.url] + 1}")
            elif row.url:
                try:
                    by_origin.setdefault(split_url(row.url).origin, []).append((number, row.url))
                except DownloadFailed as error:
                    outcome = Outcome(number, error.status, error.reason)
            else:
                outcome = _of_file(project, source, number, options)
            if outcome:
                progress(1, total, outcome.status not in ("ok", "duplicate"))
                yield outcome
        for outcome in _downloaded(project, by_origin, options, interval):
            progress(1, total, outcome.status != "ok")
            yield outcome


def _of_file(project: Project, source: CandidateSource, number: int, options: CollectOptions) -> Outcome:
    try:
        content = source.read(source.wanted[number])
    except OutsideFolder:
        return Outcome(number, "refused", "the file is outside the table's folder")
    except ImageError as error:
        return Outcome(number, _STATUS.get(error.status, "unreachable"), error.reason)
    if len(content) > options.max_mb * MB:
        return Outcome(number, "too_large", f"{len(content):,} bytes; at most {options.max_mb} MB")
    return _stored(project, number, content)


def _stored(project: Project, number: int, content: bytes) -> Outcome:
    """Store an image by its content; the header and the pixels decide whether it is one."""
    try:
        header = read_header(content)
        with DECODES.holding(header.decode_bytes):
            decode(content, header)
    except ImageError as error:
        return Outcome(number, _STATUS.get(error.status, "not_an_image"), error.reason)
    except MemoryError:
        return Outcome(number, "too_large", "there is not enough memory to decode it")
    suffix = SUFFIXES.get(header.format, f".{header.format.lower()}")
    name, file = project.add_media(content, suffix)
    size = (header.width, header.height)
    return Outcome(number, "ok", "", name, file, *size, header.format.lower(), len(content))


def _downloaded(
    project: Project,
    by_origin: Mapping[str, Sequence[tuple[int, str]]],
    options: CollectOptions,
    interval: float,
) -> Iterator[Outcome]:
    """Download the rows of every origin one after the other, of several origins at the same time."""
    limits = Limits(options.max_mb * MB, options.timeout, options.allow_private, _user_agent(options))
    hosts = Hosts(limits, interval=interval, retries=options.retries, robots=not options.ignore_robots)
    origins: queue.SimpleQueue[str] = queue.SimpleQueue()
    for origin in by_origin:
        origins.put(origin)
    # A bounded queue: threads wait if the caller is slow. None marks the end of a thread.
    results: queue.Queue[Outcome | BaseException | None] = queue.Queue(HOSTS_AT_ONCE)
    leaving = threading.Event()

    def put(result: Outcome | BaseException | None) -> None:
        while not leaving.is_set():
            with suppress(queue.Full):
                results.put(result, timeout=SLEEP)
                return

    def work() -> None:
        try:
            while not stop_requested() and not leaving.is_set():
                try:
                    origin = origins.get_nowait()
                except queue.Empty:
                    break
                for number, url in by_origin[origin]:
                    if stop_requested() or leaving.is_set():
                        break
                    put(_of_url(project, hosts, number, url, origin))
        except Stopped:
            pass
        except BaseException as error:
            put(error)
        finally:
            put(None)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(HOSTS_AT_ONCE, len(by_origin)))]
    for thread in threads:
        thread.start()
    running = len(threads)
    try:
        while running:
            result = results.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                running -= 1
            else:
                yield result
    finally:
        leaving.set()


def _of_url(project: Project, hosts: Hosts, number: int, url: str, origin: str) -> Outcome:
    try:
        content = hosts.fetch(url, origin)
    except DownloadFailed as error:
        return Outcome(number, error.status, error.reason)
    except Stopped:
        raise
    except Exception as error:  # whatever a server sends costs one row, not the command
        failure = DownloadFailed("unreachable", f"{type(error).__name__}: {error}"[:200])
        return Outcome(number, failure.status, failure.reason)
    return _stored(project, number, content)


def _user_agent(options: CollectOptions) -> str:
    from importlib.metadata import version

    return options.user_agent or f"windtunnel/{version('windtunnel')}"


def _candidates(
    batch: str,
    wanted: Sequence[Wanted],
    labels: Sequence[str | None],
    outcomes: Mapping[int, Outcome],
) -> list[Candidate]:
    """The rows of a batch with the duplicates among them.

    Args:
        batch: the batch's name.
        wanted: the rows as they were given.
        labels: their labels; None for rows that are not collected.
        outcomes: what became of each row.
    """
    return duplicates_marked(
        [
            Candidate(
                batch=batch,
                label=labels[number] or "",
                url=row.url or row.path,
                source=row.source,
                licence=row.licence,
                tag=row.tag,
                **asdict(outcomes[number]),
            )
            for number, row in enumerate(wanted)
        ]
    )
