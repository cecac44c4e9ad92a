"""Collect candidates: every row becomes a candidate, whether its image can be stored or not.

Outcomes are appended to a journal as they come, so a killed process loses at most the rows in progress. When
all rows have an outcome, the batch is written as a table in the order of its rows.
"""

from __future__ import annotations

import dataclasses
import json
import queue
import threading
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
from windtunnel.curate.downloads import DownloadFailed, Limits, split_url
from windtunnel.curate.hosts import SLEEP, Hosts, Stopped, seconds_between
from windtunnel.curate.project import (
    CANDIDATES_FOLDER,
    FinishedStep,
    Project,
    StepKind,
    counts,
    duplicates_marked,
)
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import DECODES, pillow_quiet, read_header
from windtunnel.options.collect import CollectOptions
from windtunnel.store.atomic_files import write_whole

COLLECT = StepKind("collect", CollectRecipe, CollectSummary)
# Hosts that are asked at the same time; each is asked one URL after the other.
HOSTS_AT_ONCE = 8
MB = 10**6
SUFFIXES = {"JPEG": ".jpg", "MPO": ".jpg"}
_STATUS: dict[str, CandidateStatus] = {"too_large": "too_large", "too_small": "too_small"}


@dataclass(frozen=True)
class Outcome:
    """What became of one row, before duplicates are marked."""

    row: int
    status: CandidateStatus
    reason: str = ""
    id: str = ""
    file: str = ""
    width: int = 0
    height: int = 0
    format: str = ""
    bytes: int = 0


def collect(
    project: Project, source: str | Path, options: CollectOptions, progress: Progress = silent
) -> FinishedStep[CollectRecipe, CollectSummary]:
    """Collect the candidates of a table or dataset into a project, and return the finished step.

    The same table with the same options is not collected again; with others, only rows that failed are.
    """
    interval = seconds_between(options.rate)
    classes = read_class_map(options.classes)
    opened = open_source(source, options)
    batch = opened.batch
    step = COLLECT.of(batch)
    labels = [_label(row, classes) for row in opened.wanted]
    recipe = CollectRecipe(
        len(opened.wanted), digest(labels), options.max_mb, options.allow_private, options.ignore_robots,
        options.allow_outside_files,
    )  # fmt: skip
    known: dict[int, Outcome] = {}
    try:
        with project.created(), finishing_items():
            finished = project.finished(step, recipe)
            if finished and not options.retry:
                _journal_path(project, batch).unlink(missing_ok=True)  # after a kill at the very end
                progress(len(opened.wanted), len(opened.wanted))
                return finished
            journal = _Journal(project, batch, digest({**recipe.to_json(), "retry": options.retry}))
            stored = [row for row in project.candidates() if row.batch == batch]
            known |= _known(project, journal, stored, labels)
            for outcome in _outcomes(project, opened, options, interval, labels, known, progress):
                journal.add(outcome)
                known[outcome.row] = outcome
            if len(known) == len(opened.wanted):
                rows = _candidates(batch, opened.wanted, labels, known)
                project.write_batch(batch, rows)
                record = project.finish(step, recipe, _summary(opened, rows))
                journal.remove()
    except KeyboardInterrupt as error:
        error.add_note(f"{len(known):,} of {len(opened.wanted):,} rows are stored.")
        raise
    return record


def _label(row: Wanted, classes: Mapping[str, str] | None) -> str | None:
    """The weak label of a row; None if a map is given and has no class for its tag."""
    if row.label:
        return row.label
    return row.tag if classes is None else classes.get(tag_key(row.tag))


def _summary(source: CandidateSource, rows: Sequence[Candidate]) -> CollectSummary:
    statuses = counts(row.status for row in rows)
    return CollectSummary(Path(source.name).name, len(rows), statuses.get("ok", 0), statuses)


def _journal_path(project: Project, batch: str) -> Path:
    return project.folder / CANDIDATES_FOLDER / f"{batch}.jsonl"


class _Journal:
    """Outcomes so far, one JSON object per line after the digest of the recipe; a torn line is ignored.

    Of another recipe only stored images are kept.
    """

    def __init__(self, project: Project, batch: str, recipe: str) -> None:
        self._path = _journal_path(project, batch)
        self._path.parent.mkdir(exist_ok=True)
        lines = self._path.read_bytes().split(b"\n")[:-1] if self._path.exists() else []
        self.same_recipe = bool(lines) and lines[0] == recipe.encode()
        found = [outcome for line in lines[1:] if (outcome := _outcome(line))]
        self.outcomes = [outcome for outcome in found if self.same_recipe or outcome.status == "ok"]
        text = b"\n".join([recipe.encode(), *(_line(outcome) for outcome in self.outcomes), b""])
        if not self.same_recipe or self._path.read_bytes() != text:
            write_whole(self._path, text)

    def add(self, outcome: Outcome) -> None:
        with self._path.open("ab") as stream:
            stream.write(_line(outcome) + b"\n")

    def remove(self) -> None:
        self._path.unlink()


def _line(outcome: Outcome) -> bytes:
    return json.dumps(asdict(outcome), ensure_ascii=True).encode()


def _outcome(line: bytes) -> Outcome | None:
    try:
        return Outcome(**json.loads(line))
    except (ValueError, TypeError):
        return None


def _known(
    project: Project, journal: _Journal, stored: Sequence[Candidate], labels: Sequence[str | None]
) -> dict[int, Outcome]:
    """The outcomes that need not be found again, by row.

    These are stored images whose file is present, and all outcomes of an unfinished command of the same
    recipe.
    """
    names = [field.name for field in dataclasses.fields(Outcome)]
    earlier = [
        dataclasses.replace(Outcome(**{name: getattr(row, name) for name in names}), status="ok", reason="")
        for row in stored
        if row.id
    ]
    known: dict[int, Outcome] = {}
    pairs = [(earlier_one, False) for earlier_one in earlier] + [(added, True) for added in journal.outcomes]
    for outcome, from_journal in pairs:
        present = outcome.status == "ok" and (project.folder / outcome.file).is_file()
        failed = outcome.status != "ok" and from_journal
        if 0 <= outcome.row < len(labels) and labels[outcome.row] is not None and (present or failed):
            known[outcome.row] = outcome
    return known


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
    seen: dict[str, int] = {}
    with pillow_quiet():
        for number, row in enumerate(source.wanted):
            first = seen.setdefault(row.url, number) if row.url and labels[number] is not None else number
            if number in known:
                continue
            if stop_requested():
                return
            outcome: Outcome | None = None
            if labels[number] is None:
                outcome = Outcome(number, "unlabelled", f"no class for the tag '{row.tag}'")
            elif first != number:
                outcome = Outcome(number, "duplicate", f"same URL as row {first + 1}")
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
