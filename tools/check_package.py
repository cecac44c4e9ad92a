"""Builds the wheel and the source distribution, checks their contents and tries the wheel.

    python tools/check_package.py [--python PYTHON] [--extras EXTRA,EXTRA]

1. Builds both from the tracked files, in a temporary folder, into dist/.
2. The wheel contains exactly the tracked files of the package, and the source distribution builds the same
   wheel and contains no tests.
3. Collects the wheels of all dependencies in build/wheels, with the versions of constraints.txt.
4. Installs windtunnel in a new environment with the command of the Dockerfile, from build/wheels alone.
5. Runs commands there, in an empty folder, without the source tree.

Prints one line for each step. Exits with 1 at the first check that fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WHEELS = ROOT / "build" / "wheels"
PACKAGE = "src/windtunnel/"
# Files of the source distribution that are not in the package.
AROUND = {"LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg"}
GENERATED = "src/windtunnel.egg-info/"


def main() -> None:
    """Do the steps."""
    parser = argparse.ArgumentParser(description="Build and check the package.")
    parser.add_argument("--python", default=sys.executable, help="The Python that installs the wheel.")
    parser.add_argument("--extras", default="", help="Extras to install, separated by commas.")
    given = parser.parse_args()
    begun = time.monotonic()
    tracked = _tracked_files()
    with tempfile.TemporaryDirectory(prefix="windtunnel-package-") as folder:
        wheel = _build(tracked, Path(folder))
        _collect_wheels(wheel, given.python, given.extras)
        _try_wheel(tracked, Path(folder), given.python, given.extras)
    print(f"package ready in {time.monotonic() - begun:.0f} s: {DIST.name}/, {WHEELS.relative_to(ROOT)}/")


def _tracked_files() -> list[str]:
    listed = _run(["git", "-C", str(ROOT), "ls-files", "-z"], ROOT)
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def _build(tracked: Sequence[str], folder: Path) -> Path:
    """Build both distributions from a copy of the tracked files and check them; returns the wheel."""
    source = folder / "source"
    for name in tracked:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    shutil.rmtree(DIST, ignore_errors=True)
    # The first wheel is built from the source distribution, the second from the tree.
    _run([sys.executable, "-m", "build", "--outdir", str(DIST), str(source)], folder)
    _run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "direct"), str(source)], folder)
    (wheel,), (direct,) = DIST.glob("*.whl"), (folder / "direct").glob("*.whl")
    (archive,) = DIST.glob("*.tar.gz")
    expected = {name.removeprefix("src/"): _digest((ROOT / name).read_bytes()) for name in _package(tracked)}
    packed = _wheel_content(wheel)
    found = {name: digest for name, digest in packed.items() if ".dist-info/" not in name}
    _check(found == expected, f"{wheel.name} differs from the package: {_difference(found, expected)}")
    _check(packed == _wheel_content(direct), "the source distribution builds another wheel than the tree")
    with tarfile.open(archive) as tar:
        names = {member.name.partition("/")[2] for member in tar if member.isfile()}
    missing = {*_package(tracked), "pyproject.toml", "README.md", "LICENSE"} - names
    other = {name for name in names if name not in AROUND and not name.startswith((PACKAGE, GENERATED))}
    _check(not missing, f"{archive.name} lacks {', '.join(sorted(missing)[:5])}")
    _check(not other, f"{archive.name} contains {', '.join(sorted(other)[:5])}")
    size = wheel.stat().st_size / 1e6
    print(f"{wheel.name}: {len(found)} files, {size:.1f} MB; {archive.name} builds the same")
    return wheel


def _collect_wheels(wheel: Path, python: str, extras: str) -> None:
    """Put the wheel and the wheels of its dependencies into one folder."""
    shutil.rmtree(WHEELS, ignore_errors=True)
    constraints = str(ROOT / "constraints.txt")
    command = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--only-binary", ":all:", "--constraint", constraints, "--dest", str(WHEELS)]
    _run([*command, f"{wheel}[{extras}]" if extras else str(wheel)], ROOT)
    print(f"{len(list(WHEELS.glob('*.whl')))} wheels collected")


def _try_wheel(tracked: Sequence[str], folder: Path, python: str, extras: str) -> None:
    """Install the wheel in a new environment, as the image does, and run commands."""
    _run([python, "-m", "venv", str(folder / "venv")], folder)
    bin_folder = folder / "venv" / "bin"
    _run([str(bin_folder / "python"), *_image_command(extras)], folder)
    command, empty = str(bin_folder / "windtunnel"), folder / "empty"
    empty.mkdir()
    facts = json.loads(_run([command, "env", "--json"], empty))
    _check(str(ROOT) not in facts["installed_in"], f"windtunnel is installed in {facts['installed_in']}")
    _check(not facts["missing"].get(""), f"dependencies are missing: {facts['missing'].get('')}")
    suites = {
        row["name"].partition("@")[0]
        for row in json.loads(_run([command, "list", "suites", "--json"], empty))
    }
    shipped = {
        Path(name).stem for name in _package(tracked) if re.fullmatch(r".*/suites/[\w.-]+\.toml", name)
    }
    _check(
        suites == shipped, f"`windtunnel list suites` lists {sorted(suites)}, shipped are {sorted(shipped)}"
    )
    _run([command, "list", "corruptions"], empty)
    _run([command, "demo"], empty)
    _check(any(empty.rglob("report.html")), "`windtunnel demo` wrote no report.html")
    print(f"windtunnel {facts['windtunnel']} on Python {facts['python']}: env, list and demo run")


def _image_command(extras: str) -> list[str]:
    """The arguments of the Dockerfile's installation, with the folder of wheels and the extras filled in."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    found = re.search(r"python (-m pip install .*)", text)
    _check(found is not None, "the Dockerfile has no line `python -m pip install`")
    line = found[1] if found else ""
    return shlex.split(line.replace("/wheels", shlex.quote(str(WHEELS))).replace("${EXTRAS}", extras))


def _package(tracked: Sequence[str]) -> list[str]:
    return [name for name in tracked if name.startswith(PACKAGE)]


def _wheel_content(wheel: Path) -> dict[str, str]:
    """The digest of every file in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: _digest(archive.read(name)) for name in archive.namelist()}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _difference(found: dict[str, str], expected: dict[str, str]) -> str:
    """The first files that two contents do not share."""
    differing = sorted(name for name, _ in found.items() ^ expected.items())
    return ", ".join(dict.fromkeys(differing[:8]))


def _run(command: Sequence[str], folder: Path) -> str:
    """Run a command without the variables that lead to the source tree; returns its output."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    _check(done.returncode == 0, f"{shlex.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def _check(passed: bool, message: str) -> None:
    if not passed:
        sys.exit(f"error: {message}")


if __name__ == "__main__":
    main()
