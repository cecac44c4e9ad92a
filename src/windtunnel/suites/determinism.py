"""Self-check of third-party units: the same seed must give the same pixels in every process.

A unit is tested on one small image at every requested level, three times in this process and once in each
of three others:

again          the same call a second time: detects unseeded generators, clocks and kept state
other globals  other states of the global generators (random, numpy.random, torch): detects units that draw
               from these
other hashes   interpreters with other PYTHONHASHSEEDs: detects hash() of texts and the order of sets
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.corruptions import Corruption
from windtunnel.imaging.codecs import codec_assets
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.trials import ImagingPlugin, imaging_plugin, try_out
from windtunnel.sequences import Perturbation, sequence_of
from windtunnel.suites.golden_digests import golden_image
from windtunnel.suites.inclusion import include_files
from windtunnel.suites.pipeline_steps import axis_of, is_step, value_of
from windtunnel.suites.units import Unit, find_unit

SIDE_PX = 64
# The first frame of a sequence may be the unchanged image.
FRAMES = 4
CHILD = (
    "import json, sys\n"
    "given = json.load(sys.stdin)\n"
    "sys.path[:] = given['path']\n"
    "from windtunnel.suites.determinism import trial_digests\n"
    "sys.stdout.write('\\n' + json.dumps(trial_digests(given['trials'], given['files'])))\n"
)
# Salts of hash(): with one other salt a small range of values may agree by chance.
SALTS = ("1", "2", "3")
REMEDY = "Draw only from rng, its second argument."


@dataclass(frozen=True)
class Trial:
    """One unit, tested at one level of one edition."""

    unit: str
    level: int
    edition: int
    settings: Mapping[str, str] = field(default_factory=dict)

    def digest(self) -> str:
        """Digest of the pixels that the unit makes from the golden image with seed 0."""
        unit, image = _plugin(self.unit), golden_image(SIDE_PX)
        if not isinstance(unit, Corruption | Perturbation):
            return hashlib.blake2b(try_out(unit, value_of(self.unit), image), digest_size=16).hexdigest()
        draws = unit.draws(0, "self-check", self.level)
        if isinstance(unit, Corruption):
            made: Iterable[Any] = [unit.apply(image, draws, self.level, self.edition, self.settings)]
        else:
            made = islice(unit.apply(image, draws, self.level, self.edition), FRAMES)
        pixels_digest = hashlib.blake2b(digest_size=16)
        for pixels in made:
            pixels_digest.update(np.ascontiguousarray(pixels).tobytes())
        return pixels_digest.hexdigest()


# The trials passed in this process, with the digests of the files they depend on.
_passed: set[str] = set()


def check_deterministic(conditions: Iterable[Condition], geometries: Iterable[Geometry] = ()) -> None:
    """Refuse third-party units that fail or give other pixels for the same seed, and state the reason.

    Each is tested at every level that occurs in the conditions, and so are the decoders, resizers and codecs
    of the conditions and of the geometries of models. Shipped units are not tested.
    """
    conditions = list(conditions)
    waiting: dict[str, Trial] = {}
    for condition in conditions:
        if not condition.is_corrupted or _unit_of(condition).is_shipped:
            continue
        trial = Trial(condition.unit, condition.level or 1, condition.edition, dict(condition.settings))
        key = json.dumps([asdict(trial), dict(condition.assets)])
        if key not in _passed:
            waiting[key] = trial
    for step in _third_party_steps(conditions, geometries):
        key = json.dumps([step, _plugin(step).assets()])
        if key not in _passed:
            waiting[key] = Trial(step, 0, 0)
    if not waiting:
        return
    digests = [_check_here(trial) for trial in waiting.values()]
    for elsewhere in _digests_elsewhere(waiting.values()):
        for trial, here, there in zip(waiting.values(), digests, elsewhere, strict=True):
            if here != there:
                raise _refusal(
                    trial,
                    "from one Python process to the next: it depends on hash() of a text, or on the order of "
                    "a set, which Python salts differently in every process",
                )
    _passed.update(waiting)


def _check_here(trial: Trial) -> str:
    """The digest of a trial; refuses a unit whose pixels differ within this process."""
    with _global_generators(1):
        first = trial.digest()
    with _global_generators(1):
        again = trial.digest()
    if again != first:
        raise _refusal(
            trial, "from one call to the next: it uses a generator without a seed, the clock, or kept state"
        )
    with _global_generators(2):
        other = trial.digest()
    if other != first:
        raise _refusal(trial, "with the state of a global generator (random, numpy.random or torch)")
    return first


def _refusal(trial: Trial, how: str) -> UserError:
    unit = _plugin(trial.unit)
    file = Path(inspect.getfile(unit.function)).name
    if not isinstance(unit, Corruption | Perturbation):
        return UserError(f"{trial.unit} ({file}) changes its pixels for the same image {how}.")
    level = f"{'severity' if isinstance(unit, Corruption) else 'difficulty'} {trial.level}"
    return UserError(f"{trial.unit} ({file}) changes its pixels at {level} for the same seed {how}. {REMEDY}")


def trial_digests(trials: Iterable[Mapping[str, Any]], files: Iterable[str]) -> list[str]:
    """The digests of trials, computed in another process."""
    include_files(files)
    digests = []
    for trial in trials:
        with _global_generators(1):
            digests.append(Trial(**trial).digest())
    return digests


def _digests_elsewhere(trials: Iterable[Trial]) -> list[list[str]]:
    """The digests from interpreters with other salts of hash(), run in parallel; [] if none can start."""
    asked = list(trials)
    included = {
        inspect.getfile(_plugin(trial.unit).function)
        for trial in asked
        if _plugin(trial.unit).function.__module__.startswith("windtunnel_included_")
    }
    given = {"path": sys.path, "files": sorted(included), "trials": [asdict(trial) for trial in asked]}
    salts = [salt for salt in SALTS if salt != os.environ.get("PYTHONHASHSEED")]
    with ThreadPoolExecutor(len(salts)) as threads:
        results = threads.map(lambda salt: _digests_with_salt(salt, json.dumps(given), asked[0].unit), salts)
        return [digests for digests in results if digests]


def _digests_with_salt(salt: str, given: str, unit: str) -> list[str]:
    """The digests from an interpreter with this salt of hash(); [] if it cannot be started."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", CHILD],
            input=given,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": salt},
        )
    except OSError:
        return []
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UserError(f"{unit} cannot be loaded by another Python process: {reason[:300]}")
    digests: list[str] = json.loads(done.stdout.splitlines()[-1])
    return digests


@contextmanager
def _global_generators(seed: int) -> Iterator[None]:
    """Set the global generators to a known state; restore their own state at the end."""
    torch = sys.modules.get("torch")
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    of_torch = torch.get_rng_state() if torch else None
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    if torch:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        if torch:
            torch.set_rng_state(of_torch)


def _plugin(unit: str) -> Unit | ImagingPlugin:
    """The plug-in of a unit's name; for a decoder, a resizer or a codec the name is `axis=value`."""
    return imaging_plugin(axis_of(unit), value_of(unit)) if is_step(unit) else find_unit(unit)


def _third_party_steps(conditions: Iterable[Condition], geometries: Iterable[Geometry]) -> list[str]:
    """The decoders, resizers and codecs in use that do not come with windtunnel, as `axis=value`."""
    used: dict[str, None] = {}
    for stored in [*map(asdict, geometries), *(condition.geometry for condition in conditions)]:
        used |= {f"{field_}={stored[field_]}": None for field_ in ("decoder", "resizer") if field_ in stored}
    used |= {f"codec={condition.codec}": None for condition in conditions if codec_assets(condition.codec)}
    return [step for step in used if not imaging_plugin(axis_of(step), value_of(step)).is_shipped]


def _unit_of(condition: Condition) -> Unit:
    return sequence_of(condition) if condition.is_sequence else CORRUPTIONS.get(condition.unit)
