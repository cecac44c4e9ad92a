"""Display of progress: a bar in terminals and notebooks, occasional plain lines elsewhere."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text

from windtunnel.core.extras import install
from windtunnel.core.json_log import JsonLog
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted, duration

# A plain line is printed after this share of the work and some seconds, or after a minute in any case.
LINE_SHARE = 0.1
LINE_SECONDS = 5.0
QUIET_SECONDS = 60.0


class RateColumn(ProgressColumn):
    """Predictions per second."""

    def render(self, task: Task) -> Text:
        """The rate, or "" until it is known."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")


class _Display(Protocol):
    """Where progress is shown."""

    def update(self, done: int, total: int | None, note: str) -> None: ...

    def finish(self) -> None: ...


class _Drawn:
    """A bar with counts, rate, time left and a note, redrawn on every update."""

    def __init__(self, console: Console, title: str) -> None:
        self._progress = RichProgress(
            TextColumn(title),
            BarColumn(),
            TaskProgressColumn(),
            MofNCompleteColumn(),
            RateColumn(),
            TimeRemainingColumn(),
            TextColumn("left {task.fields[note]}"),
            console=console,
        )
        self._task = self._progress.add_task("", total=None, note="")

    def update(self, done: int, total: int | None, note: str) -> None:
        shown = f"  {note}" if note else ""
        self._progress.update(self._task, completed=done, total=total, note=shown)
        self._progress.start()

    def finish(self) -> None:
        if self._progress.live.is_started:
            self._progress.stop()


class _Lines:
    """Occasional plain lines: counts, share, rate, time left and a note."""

    def __init__(self, console: Console, title: str, clock: Callable[[], float]) -> None:
        self._console = console
        self._title = title
        self._clock = clock
        # Time and count at the start of the rate, and of the last line.
        self._begun: tuple[float, int] | None = None
        self._last: tuple[float, int] | None = None
        self._now: tuple[int, int | None, str] = (0, None, "")
        self._shown: tuple[int, int | None, str] | None = None

    def update(self, done: int, total: int | None, note: str) -> None:
        now = self._clock()
        self._now = done, total, note
        if self._last is None:
            self._last = now, done
            return
        if self._begun is None:
            # Earlier work and the start-up time of workers do not count towards the rate.
            self._begun = now, done
        seconds, further = now - self._last[0], done - self._last[1]
        is_due = total is not None and further >= LINE_SHARE * total
        if (is_due and seconds >= LINE_SECONDS) or seconds >= QUIET_SECONDS:
            self._print()

    def finish(self) -> None:
        """Print the final state, complete or not."""
        if self._last is not None and self._shown != self._now:
            self._print()

    def _print(self) -> None:
        done, total, note = self._shown = self._now
        now = self._clock()
        begun, before = self._begun or (now, done)
        self._last = now, done
        self._write(done, total, (done - before) / (now - begun) if now > begun else 0.0, note)

    def _write(self, done: int, total: int | None, rate: float, note: str) -> None:
        parts = [f"{done:,}" if total is None else f"{done:,} of {total:,} ({_percent(done, total)} %)"]
        if rate:
            parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s")
            if total is not None and done < total:
                parts.append(f"{duration((total - done) / rate)} left")
        text = ", ".join([*parts, *([note] if note else [])])
        self._console.print(f"{self._title}: {text}", markup=False, highlight=False, soft_wrap=True)


class _Events(_Lines):
    """The same as events of a log."""

    def __init__(self, log: JsonLog, title: str, clock: Callable[[], float]) -> None:
        super().__init__(log, title, clock)
        self._log = log

    def _write(self, done: int, total: int | None, rate: float, note: str) -> None:
        fields = {"note": note} if note else {}
        self._log.event(
            "progress", activity=self._title, done=done, total=total, per_second=round(rate, 1), **fields
        )


def _percent(done: int, total: int) -> int:
    """Whole per cent, rounded down: 100 only if everything is done."""
    return 100 * done // total if total else 100


class Bar:
    """Progress with counts, rate, time left and a note, as a bar or as lines.

    It appears with the first call, so that an error before any work is printed without it.
    """

    def __init__(
        self,
        console: Console,
        title: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        unit: str = "image",
    ) -> None:
        self._display: _Display
        self._unit = unit
        if isinstance(console, JsonLog):
            self._display = _Events(console, title, clock)
        else:
            self._display = _Drawn(console, title) if can_draw(console) else _Lines(console, title, clock)
        self._done = 0
        self._failed = 0

    def __call__(self, done: int, total: int, failed: int = 0, /) -> None:
        """Add finished items, and images or other units that failed."""
        self._done += done
        self._failed += failed
        note = f"{counted(self._failed, self._unit)} failed" if self._failed else ""
        self._display.update(self._done, total, note)

    def __enter__(self) -> Bar:
        return self

    def finish(self) -> None:
        """Stop updating the bar, so that another one can be shown."""
        self._display.finish()

    def __exit__(self, *_: object) -> None:
        self.finish()


def can_draw(console: Console) -> bool:
    """Whether a bar can be drawn: in a terminal, or in a notebook with ipywidgets."""
    if console.is_jupyter:
        return importlib.util.find_spec("ipywidgets") is not None
    # Rich treats FORCE_COLOR, which many CI services set, as a terminal.
    return console.file.isatty()


_hints_given: set[str] = set()


def bar_hint(console: Console) -> str:
    """How to get a bar in a notebook without ipywidgets; "" elsewhere, and after the first time."""
    if not console.is_jupyter or can_draw(console) or "bar" in _hints_given:
        return ""
    _hints_given.add("bar")
    return f"note: for a progress bar in this notebook, {install('ipywidgets')}"


@contextmanager
def shown(progress: bool | Progress | None) -> Iterator[tuple[Progress, Callable[[object], None] | None]]:
    """A context with the progress to report to, and a function that receives the expected time.

    True shows a bar. None shows one in notebooks only. A function is called instead of a bar.
    """
    console = Console(stderr=True)
    if callable(progress):
        yield progress, None
    elif console.is_jupyter if progress is None else progress:
        if hint := bar_hint(console):
            console.print(hint, markup=False, highlight=False)
        with Bar(console, "running") as bar:
            yield bar, lambda time: console.print(f"time: {time}", markup=False, highlight=False)
    else:
        yield silent, None
