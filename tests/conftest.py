"""What tests share: digits as files, and small ONNX models drawn up on the spot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.forked_commands import forked_command
from windtunnel.core import registry

# Workers of one test run would otherwise fight for two cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Hundreds of processes import the package: without its byte code each would compile it again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Neighbouring tests go to one worker, which sets up their fixtures once; idle workers take from it."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def windtunnel_command(tmp_path: Path) -> Command:
    """Run the command line in a folder of its own; returns its output and its exit code."""

    def call(
        *arguments: object, cwd: Path = tmp_path, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        return forked_command(*arguments, cwd=cwd, timeout=timeout)

    return call


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remote files that tests read are not cached in the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WINDTUNNEL_CACHE", str(tmp_path_factory.mktemp("windtunnel-cache")))
        yield


@pytest.fixture(autouse=True)
def own_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plug-ins that a test includes are gone after it."""
    monkeypatch.setattr(registry, "_INCLUDED", dict(registry._INCLUDED))
    for one in registry._REGISTRIES.values():
        monkeypatch.setattr(one, "_added", dict(one._added))
        monkeypatch.setattr(one, "_loaded", dict(one._loaded))


@pytest.fixture(scope="session")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """The embedded digits and their classes."""
    from windtunnel.data.demo import digits

    return digits()


@pytest.fixture
def digit_folder(tmp_path: Path, digits: tuple[np.ndarray, np.ndarray]) -> Path:
    """Forty held-out digits as PNG files in one folder per class."""
    root = tmp_path / "digit-files"
    images, classes = digits
    for row in range(0, 120, 3):
        folder = root / str(classes[row])
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[row]).save(folder / f"{row:08d}.png")
    return root
