"""Facts about the installation and the machine for a bug report."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from windtunnel.core.locations.cache import cache_folder

# Extras for work on windtunnel itself.
DEVELOPMENT = ("test", "docs")
# Environment variables that limit threads; no others are read, because they may contain secrets.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
_REQUIREMENT = re.compile(
    r"""(?P<name>[\w.-]+)(\[[^\]]*\])?(?P<bounds>[^;]*)(;.*extra == ["'](?P<extra>[\w-]+)["'])?"""
)


@dataclass(frozen=True)
class Environment:
    """What a bug report needs.

    Attributes:
        windtunnel: the version.
        installed_in: the folder of the package; the home folder is written `~`.
        python: the version and implementation.
        platform: operating system, C library and architecture.
        cpu: the processor's model; "unknown" if the system does not state it.
        cores: processor cores.
        usable_cores: the cores that this process may use.
        memory_bytes: installed memory; None if unknown.
        libraries: version of every installed dependency, extras included.
        missing: requirements that are not installed, by extra; "" for those that windtunnel always needs.
        folders: where windtunnel and numba store files.
        threads: variables that limit threads, if they are set.
    """

    windtunnel: str
    installed_in: str
    python: str
    platform: str
    cpu: str
    cores: int
    usable_cores: int
    memory_bytes: int | None
    libraries: dict[str, str]
    missing: dict[str, list[str]]
    folders: dict[str, str]
    threads: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The facts as JSON."""
        return asdict(self)


def describe_environment() -> Environment:
    """The versions, the machine and the folders that windtunnel uses; no library is imported."""
    libraries: dict[str, str] = {}
    missing: dict[str, list[str]] = {}
    for requirement in importlib.metadata.requires("windtunnel") or ():
        parsed = _REQUIREMENT.match(requirement)
        if parsed is None or parsed["extra"] in DEVELOPMENT or parsed["name"] == "windtunnel":
            continue
        try:
            libraries[parsed["name"]] = importlib.metadata.version(parsed["name"])
        except importlib.metadata.PackageNotFoundError:
            wanted = f"{parsed['name']}{parsed['bounds'].strip()}"
            missing.setdefault(parsed["extra"] or "", []).append(wanted)
    return Environment(
        windtunnel=importlib.metadata.version("windtunnel"),
        installed_in=_shortened(Path(__file__).parents[1]),
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        platform=platform.platform(),
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        usable_cores=_usable_cores(),
        memory_bytes=_memory_bytes(),
        libraries=dict(sorted(libraries.items())),
        missing=missing,
        folders={
            "cache": _shortened(cache_folder()),
            "compiled kernels": _shortened(
                Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parents[1])
            ),
        },
        threads={name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
    )


def _shortened(path: Path) -> str:
    """A path with `~` for the home folder, which contains the user's name."""
    home = Path.home()
    return str(Path("~") / path.relative_to(home)) if path.is_relative_to(home) else str(path)


def _cpu_model() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown"


def _usable_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None
