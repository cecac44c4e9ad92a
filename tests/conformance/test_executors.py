"""Every executor does all items once, reports progress, and raises what an item raises."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import windtunnel
from tests.ray_clusters import ray_cluster
from windtunnel import api
from windtunnel.core.errors import RunFailed, UserError
from windtunnel.engine.executors import REGISTRY
from windtunnel.engine.jobs import Advance, ItemFunction, Needs

NAMES = REGISTRY.names()


@dataclass(frozen=True)
class Number:
    """An item: a number to be squared."""

    value: int

    @property
    def name(self) -> str:
        return str(self.value)

    @property
    def description(self) -> str:
        return f"the number {self.value}"


@dataclass(frozen=True)
class Squaring:
    """A job that squares numbers; some are mistakes of the user, some crash."""

    mistakes: tuple[int, ...] = ()
    crashes: tuple[int, ...] = ()
    needs: Needs = field(default_factory=Needs)

    def begin(self) -> ItemFunction[Number]:
        return self.square

    def square(self, item: Number, advance: Advance) -> int:
        if item.value in self.mistakes:
            raise UserError(f"{item.value} is not allowed; give another number.")
        if item.value in self.crashes:
            raise ZeroDivisionError("no such square")
        for _ in range(3):
            advance(1, 0)
        advance(0, 1)
        return item.value**2


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Ray cluster."""
    with ray_cluster(2) as started:
        yield str(started.address)


@pytest.fixture
def address(name: str, request: pytest.FixtureRequest) -> str | None:
    """The address for executors that take one."""
    return str(request.getfixturevalue("cluster")) if REGISTRY.get(name).takes_address else None


def worked(name: str, job: Squaring, count: int, address: str | None) -> Iterator[tuple[Number, int]]:
    executor = REGISTRY.get(name)
    items = [Number(value) for value in range(count)]
    workers = 2 if executor.separate else 1
    return executor.work(job, items, workers, lambda _done, _failed: None, address)


@pytest.mark.parametrize("name", NAMES)
def test_an_executor_declares_its_facts(name: str) -> None:
    executor = REGISTRY.get(name)
    assert executor.name == name and executor.help.endswith(".")
    assert executor.worker_count(1, None) == 1
    assert {"name": name, "about": executor.help, "extra": executor.extra} in api.list_plugins("executors")


@pytest.mark.parametrize("name", NAMES)
def test_every_item_is_done_once_and_progress_adds_up(name: str, address: str | None) -> None:
    executor, counts = REGISTRY.get(name), Counter[str]()

    def advance(done: int, failed: int) -> None:
        counts.update(done=done, failed=failed)

    items = [Number(value) for value in range(5)]
    found = list(executor.work(Squaring(), items, 2 if executor.separate else 1, advance, address))
    assert sorted(found, key=lambda pair: pair[0].value) == [(item, item.value**2) for item in items]
    assert counts == {"done": 15, "failed": 5}


@pytest.mark.parametrize("name", NAMES)
def test_a_mistake_of_the_user_is_raised_as_it_is(name: str, address: str | None) -> None:
    with pytest.raises(UserError, match=r"^2 is not allowed; give another number"):
        list(worked(name, Squaring(mistakes=(2,)), 4, address))


KILLED_PARENT = """
from dataclasses import dataclass, field
import os, time
from pathlib import Path
from tests.conformance.test_executors import Number
from windtunnel.engine.executors import REGISTRY
from windtunnel.engine.jobs import Needs

@dataclass(frozen=True)
class Sleeping:
    folder: str
    needs: Needs = field(default_factory=Needs)
    def begin(self):
        return self.sleep
    def sleep(self, item, advance):
        Path(self.folder, str(os.getpid())).touch()
        time.sleep(60)

if __name__ == "__main__":
    list(REGISTRY.get("processes").work(Sleeping(FOLDER), [Number(1), Number(2)], 2, lambda *_: None, None))
"""


def test_workers_end_with_a_killed_parent_in_the_middle_of_an_item(tmp_path: Path) -> None:
    """A worker that went on would write to a folder that the next command continues."""
    (tmp_path / "workers").mkdir()
    script = tmp_path / "script.py"
    script.write_text(KILLED_PARENT.replace("FOLDER", repr(str(tmp_path / "workers"))), encoding="utf-8")
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    parent = subprocess.Popen([sys.executable, script], env=environment)
    try:
        within(60, lambda: len(list((tmp_path / "workers").iterdir())) == 2)
    finally:
        parent.kill()
        parent.wait()
    pids = [int(path.name) for path in (tmp_path / "workers").iterdir()]
    within(10, lambda: not any(map(is_running, pids)))


def within(seconds: float, happened: Callable[[], bool]) -> None:
    """Wait until something has happened; fails after some seconds."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Whether a process has not ended; one that nobody waits for has."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("name", [name for name in NAMES if REGISTRY.get(name).separate])
def test_a_crash_of_a_worker_is_put_into_words(name: str, address: str | None) -> None:
    with pytest.raises(RunFailed, match=r"a worker crashed: ZeroDivisionError: no such square \(test_exec"):
        list(worked(name, Squaring(crashes=(1,)), 2, address))


BACKWARDS = """
from windtunnel.engine.executors import Executor

class Backwards(Executor):
    name = "backwards"
    help = "One item after another, the last first."
    separate = False

    def work(self, job, items, workers, advance, address):
        do = job.begin()
        for item in reversed(items):
            yield item, do(item, advance)

backwards = Backwards()
"""


def test_an_included_executor_works_and_changes_no_byte(tmp_path: Path, digit_folder: Path) -> None:
    file = tmp_path / "backwards.py"
    file.write_text(BACKWARDS)
    given = {"only": ["contrast:1"], "chunk": 10}
    usual = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "usual", **given)
    own = windtunnel.run(
        "demo", digit_folder, "smoke", out=tmp_path / "own", include=[file], executor="backwards", **given
    )
    shards = sorted((usual.path / "shards").iterdir())
    assert len(shards) == 4
    assert [(own.path / "shards" / shard.name).read_bytes() for shard in shards] == [
        shard.read_bytes() for shard in shards
    ]


def test_an_executor_without_facts_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bare.py"
    file.write_text(
        "from windtunnel.engine.executors import Executor\n"
        "class Bare(Executor):\n    name = 'bare'\n"
        "bare = Bare()\n"
    )
    with pytest.raises(
        UserError, match=r"'bare' declares no help, work\(job, items, workers, advance, address"
    ):
        windtunnel.include(file)


def test_options_that_do_not_fit_an_executor_are_refused_first(tmp_path: Path) -> None:
    nowhere = tmp_path / "no-data"
    with pytest.raises(UserError, match=r"Unknown executor 'proceses'\. Did you mean processes"):
        windtunnel.run("demo", nowhere, "smoke", executor="proceses")
    with pytest.raises(UserError, match='address is given, but executor="processes" takes none'):
        windtunnel.run("demo", nowhere, "smoke", executor="processes", address="auto")
    with pytest.raises(UserError, match="address is given, but executor is not given"):
        windtunnel.make_set("imagenet-c", nowhere, tmp_path / "out", address="auto")


def test_live_objects_stay_in_this_process(tmp_path: Path, digit_folder: Path) -> None:
    def model(batch: np.ndarray) -> np.ndarray:
        return np.eye(10, dtype=np.float32)[batch.mean((1, 2, 3)).astype(int) % 10]

    with pytest.raises(UserError, match='cannot be sent to another process, as executor="ray"'):
        windtunnel.run(model, digit_folder, "smoke", out=tmp_path / "run", executor="ray", workers=2)
    with pytest.raises(UserError, match='workers is 2, but executor="in-process" has one worker'):
        windtunnel.run("demo", digit_folder, "smoke", executor="in-process", workers=2, out=tmp_path / "run")
