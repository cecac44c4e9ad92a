"""Units of the user's own: what changes its pixels for the same seed is refused, and the reason is given."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import windtunnel
from tests.conftest import Command
from windtunnel.core.errors import RunFailed
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.sequences import REGISTRY as SEQUENCES

CORRUPTION = """
import random, time
import numpy as np
from windtunnel.corruptions import corruption
count = 0

STEPS = ((10,), (20,), (30,), (40,), (50,))

@corruption(params=('by',), severities={{32: STEPS, 224: STEPS}},
            imitates='Noise.', source='test')
def {name}(image, rng, *, by):
    global count
    count += 1
    shift = {shift}
    return ((image.astype(int) + np.asarray(shift * by).astype(int)) % 256).astype(np.uint8)
"""
SEQUENCE = """
import random
import numpy as np
from windtunnel.sequences import Table, sequence

@sequence(type='noise', params=('by',), tables={{32: Table(((10,), (20,), (30,)), frames=5, clean=0)}},
          imitates='Noise.', source='test')
def {name}(image, rng, frames, *, by):
    yield image
    for frame in range(1, frames):
        shift = {shift}
        yield ((image.astype(int) + np.asarray(shift * by).astype(int)) % 256).astype(np.uint8)
"""
CAUSES = {
    # One number for the whole image would be the same twice in one of 190 times.
    "unseeded": ("np.random.default_rng().uniform(1, 20, image.shape)", "from one call to the next"),
    "counting": ("count", "from one call to the next"),
    "numpy_global": ("np.random.uniform(1, 20)", "global generator of numpy.random, from"),
    "python_global": ("random.uniform(1, 20)", "global generator of random, from"),
    "torch_global": ("__import__('torch').randn(1).item() * 20", "global generator of torch, from"),
    # The pixels are equal in nearly all trials.
    "rarely_global": ("3 if np.random.random() < .99999 else 4", "global generator of numpy.random, from"),
    "salted": ("np.random.default_rng(hash('rain') % 2**32).uniform(1, 20)", "hash\\(\\) of a text"),
    "of_the_process": ("__import__('os').getpid()", "also with the same PYTHONHASHSEED.*the process id"),
}
SOUND = {
    "drawn": "rng.uniform('shift') * 20",
    "seeded": "np.random.default_rng(int(rng.uniform('seed') * 2**32)).uniform(1, 20)",
    "constant": "3",
    # Libraries without a generator argument can be used by setting their seed.
    "sets_global_seed": "[np.random.seed(int(rng.uniform('seed') * 2**32)), np.random.uniform(1, 20)][1]",
}


@pytest.fixture(autouse=True)
def no_units_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (CORRUPTIONS, SEQUENCES):
        for name in ("_added", "_loaded"):
            monkeypatch.setattr(registry, name, {})


def write(folder: Path, name: str, shift: str, text: str = CORRUPTION) -> Path:
    file = folder / f"{name}.py"
    file.write_text(text.format(name=name, shift=shift))
    return file


@pytest.mark.parametrize("cause", CAUSES)
def test_other_pixels_for_the_same_seed_are_refused(cause: str, digit_folder: Path, tmp_path: Path) -> None:
    shift, why = CAUSES[cause]
    file = write(tmp_path, f"rain_{cause}", shift)
    with pytest.raises(
        windtunnel.UserError, match=rf"rain_{cause} \({file.name}\) changes .*{why}.*rng"
    ) as error:
        windtunnel.plan("demo", digit_folder, suite_of(tmp_path, f"rain_{cause}"), include=[file])
    assert "\n" not in str(error.value)


def suite_of(folder: Path, name: str) -> Path:
    file = folder / f"{name.replace('/', '-')}.toml"
    levels = [1] if "/" in name else [1, 3]
    file.write_text(f'name = "own"\nversion = 1\nunits = ["{name}"]\nlevels = {levels}\n')
    return file


@pytest.mark.parametrize("kind", SOUND)
def test_what_depends_on_its_draws_alone_is_taken(kind: str, digit_folder: Path, tmp_path: Path) -> None:
    file = write(tmp_path, f"fine_{kind}", SOUND[kind])
    suite = suite_of(tmp_path, f"fine_{kind}")
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = random.Random(5).random(), np.random.RandomState(5).uniform()
    start = time.perf_counter()
    plan = windtunnel.plan("demo", digit_folder, suite, include=[file])
    first = time.perf_counter() - start
    assert any(one.unit == f"fine_{kind}" for one in plan.conditions)
    # The caller's own generators are where they were.
    assert (random.random(), np.random.uniform()) == expected  # noqa: NPY002
    start = time.perf_counter()
    windtunnel.plan("demo", digit_folder, suite, include=[file])
    assert time.perf_counter() - start < max(first, 1.0)


@pytest.mark.parametrize("cause", ["unseeded", "numpy_global", "salted"])
def test_sequences_are_checked_too(cause: str, digit_folder: Path, tmp_path: Path) -> None:
    shift, why = CAUSES[cause]
    file = write(tmp_path, f"drift_{cause}", shift, SEQUENCE)
    suite = suite_of(tmp_path, f"seq/drift_{cause}")
    with pytest.raises(windtunnel.UserError, match=rf"seq/drift_{cause} .*{why}"):
        windtunnel.plan("demo", digit_folder, suite, include=[file])


@pytest.mark.parametrize(
    ("shift", "severity", "why"),
    [
        ("3 if by == 30 else np.random.default_rng().uniform(1, 20)", 1, "from one call to the next"),
        ("3 if by == 10 else np.random.uniform(1, 20)", 3, "global generator of numpy.random"),
        (f"3 if by == 30 else {CAUSES['salted'][0]}", 1, "hash\\(\\) of a text"),
    ],
)
def test_every_severity_is_checked(
    shift: str, severity: int, why: str, digit_folder: Path, tmp_path: Path
) -> None:
    name = f"partly_random_{len(shift)}"
    file = write(tmp_path, name, shift)
    with pytest.raises(windtunnel.UserError, match=rf"{name} .* at severity {severity} .*{why}"):
        windtunnel.plan("demo", digit_folder, suite_of(tmp_path, name), include=[file])


def test_images_of_the_canvas_size_are_checked_too(digit_folder: Path, tmp_path: Path) -> None:
    file = write(tmp_path, "large", "3 if len(image) < 224 else np.random.uniform(1, 20)")
    suite = suite_of(tmp_path, "large")
    windtunnel.plan("demo", digit_folder, suite, include=[file])
    with pytest.raises(windtunnel.UserError, match=r"image of 224 pixels .* generator of numpy.random"):
        windtunnel.plan("demo", digit_folder, suite, include=[file], edition=224)


def test_the_command_line_refuses_in_one_line(
    digit_folder: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    file = write(tmp_path, "rain_of_texts", CAUSES["salted"][0])
    suite = suite_of(tmp_path, "rain_of_texts")
    done = windtunnel_command("make", suite, digit_folder, tmp_path / "made", "--include", file)
    assert done.returncode == 2
    assert "hash() of a text" in done.stderr.strip().splitlines()[-1]
    assert not (tmp_path / "made").exists()


def hash_of_rain(salt: int) -> int:
    asked = [sys.executable, "-c", "print(hash('rain') % 8)"]
    return int(subprocess.check_output(asked, env={**os.environ, "PYTHONHASHSEED": str(salt)}))


def test_hashes_that_agree_by_chance_in_one_other_process_are_caught(
    digit_folder: Path, tmp_path: Path
) -> None:
    """Of eight values two processes have the same in one case of eight; three others rarely all do."""
    salt = next(salt for salt in range(4, 200) if hash_of_rain(salt) == hash_of_rain(1))
    assert hash_of_rain(salt) not in (hash_of_rain(2), hash_of_rain(3))
    file = write(tmp_path, "tinted", "hash('rain') % 8")
    suite = suite_of(tmp_path, "tinted")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "windtunnel",
            "plan",
            "demo",
            digit_folder,
            "--suite",
            suite,
            "--include",
            file,
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": str(salt)},
    )
    assert done.returncode == 2 and "hash() of a text" in done.stderr, done.stderr


def test_a_global_draw_on_a_branch_that_no_trial_reaches_stops_the_run(
    tmp_path: Path, digit_folder: Path
) -> None:
    file = tmp_path / "content.py"
    file.write_text(
        "import numpy as np\n"
        "from windtunnel.corruptions import corruption\n"
        "@corruption(params=('amount',), severities={size: ((1,),) * 5 for size in (32, 64, 224, 299)},\n"
        "    imitates='x', met_by='x', family='noise', source='x', golden='')\n"
        "def content(image, rng, *, amount):\n"
        "    '''Draw globally on dark images only.'''\n"
        "    if 5 < image.mean() < 90:\n"
        "        return (image + np.random.normal(size=image.shape)).clip(0, 255).astype(np.uint8)\n"
        "    return image.copy()\n"
    )
    with pytest.raises(RunFailed, match=r"content draws from numpy\.random on some images"):
        windtunnel.run(
            "demo", digit_folder, "smoke", include=[file], only=["content:1"], out=tmp_path / "run"
        )


def test_a_unit_that_seeds_the_global_generator_itself_runs(tmp_path: Path, digit_folder: Path) -> None:
    file = tmp_path / "seeding.py"
    file.write_text(
        "import numpy as np\n"
        "from windtunnel.corruptions import corruption\n"
        "@corruption(params=('amount',), severities={size: ((1,),) * 5 for size in (32, 64, 224, 299)},\n"
        "    imitates='x', met_by='x', family='noise', source='x', golden='')\n"
        "def seeding(image, rng, *, amount):\n"
        "    '''Noise of a library that only has a global generator.'''\n"
        "    np.random.seed(7)\n"
        "    return (image + np.random.normal(size=image.shape)).clip(0, 255).astype(np.uint8)\n"
    )
    run = windtunnel.run(
        "demo", digit_folder, "smoke", include=[file], only=["seeding:1"], out=tmp_path / "run"
    )
    assert set(run.predictions(["status"])["status"].to_pylist()) == {"ok"}
