"""Self-check of third-party units: the same seed must give the same pixels in every process.

A unit is tested on a small image and on one of the size that it gets in the run, at every requested level,
three times in this process and once in each of three others:

again          the same call a second time: detects unseeded generators, clocks and kept state
other globals  other states of the global generators (random, numpy.random, torch): detects units that draw
               from these, also if the pixels happen to be equal
other hashes   interpreters with other PYTHONHASHSEEDs: detects hash() of texts, the order of sets, and
               anything else that differs between processes
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.images import Image
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.corruptions import Corruption
from windtunnel.imaging.codecs import codec_assets
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.trials import ImagingPlugin, imaging_plugin, try_out
from windtunnel.sequences import Perturbation, sequence_of
from windtunnel.suites.canvas import GEOMETRIES
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
    """One unit, tested at one level of one edition on a square image."""

    unit: str
    side_px: int
    level: int = 0
    edition: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)

    def digest(self) -> str:
        """Digest of the pixels that the unit makes from the golden image with seed 0."""
        unit, image = _plugin(self.unit), golden_image(self.side_px)
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
    conditions, geometries = list(conditions), list(geometries)
    waiting = {key: trial for key, trial in _trials(conditions, geometries).items() if key not in _passed}
    if not waiting:
        return
    trials = list(waiting.values())
    digests = [_check_here(trial) for trial in trials]
    salts = [salt for salt in SALTS if salt != os.environ.get("PYTHONHASHSEED")]
    for salt, elsewhere in _digests_elsewhere(trials, salts).items():
        for place, (here, there) in enumerate(zip(digests, elsewhere, strict=True)):
            if here != there:
                same_salt = _digests_elsewhere(trials, [salt]).get(salt, [])
                raise _refusal(trials[place], _why_processes_differ(there, same_salt[place : place + 1]))
    _passed.update(waiting)


def apply_reproducibly(unit: Unit, apply: Callable[[], Image]) -> Image:
    """The image that a unit makes; stops the run if it depends on a global generator.

    The trials before a run cannot reach every branch of a third-party unit. A unit that sets the seed itself
    makes the same pixels from any state, and is accepted here as in the trials.
    """
    if unit.is_shipped:
        return apply()
    before = _states()
    image = apply()
    drawn = [name for name, state in _states().items() if not _equal(before[name], state)]
    if not drawn:
        return image
    with _global_generators(1):
        again = apply()
    if not np.array_equal(image, again):
        raise RunFailed(
            f"{unit.name} draws from {' and '.join(drawn)} on some images, so that its pixels are not "
            "reproducible; draw from rng, in a new run folder"
        )
    return image


def _states() -> dict[str, Any]:
    """The states of the global generators that are cheap to compare for every image."""
    return {"numpy.random": np.random.get_state(legacy=False)["state"], "random": random.getstate()}  # noqa: NPY002


def _equal(state: Any, other: Any) -> bool:
    """Whether two states of a generator are equal."""
    if isinstance(state, dict):
        return bool(state["pos"] == other["pos"] and np.array_equal(state["key"], other["key"]))
    return bool(state == other)


def _trials(conditions: Sequence[Condition], geometries: Sequence[Geometry]) -> dict[str, Trial]:
    """The trials of third-party units, by a key that includes the digests of the files they depend on."""
    trials: dict[str, Trial] = {}
    for condition in conditions:
        if not condition.is_corrupted or _unit_of(condition).is_shipped:
            continue
        level, settings = condition.level, dict(condition.settings)
        if condition.is_sequence:
            level = level or 1
        for side_px in dict.fromkeys((SIDE_PX, _side_px(condition))):
            trial = Trial(condition.unit, side_px, level, condition.edition, settings)
            trials[json.dumps([asdict(trial), dict(condition.assets)])] = trial
    sides = [_side_px(condition) for condition in conditions]
    sides += [geometry.output_px for geometry in geometries if geometry.output_px]
    for step in _third_party_steps(conditions, geometries):
        for side_px in dict.fromkeys((SIDE_PX, max(sides, default=SIDE_PX))):
            trials[json.dumps([step, side_px, _plugin(step).assets()])] = Trial(step, side_px)
    return trials


def _side_px(condition: Condition) -> int:
    """The short side of the images that a condition's unit gets; a resized one's for images of any size."""
    edition = GEOMETRIES.get(condition.edition)
    if edition is None:
        return SIDE_PX
    geometry = Geometry(**asdict(edition) | dict(condition.geometry))
    if geometry.rule == "short-side" and condition.stage != "canvas":
        return geometry.resize_px
    return geometry.output_px or condition.edition


def _check_here(trial: Trial) -> str:
    """The digest of a trial; refuses a unit that differs within this process, or draws globally."""
    modules = set(sys.modules)
    first, states = _observe(trial, 1)
    if set(sys.modules) != modules:  # the unit imports torch, whose generator was not set, or the like
        first, states = _observe(trial, 1)
    again, _ = _observe(trial, 1)
    if again != first:
        raise _refusal(
            trial,
            "from one call to the next; possible causes: a generator without a seed, the clock, or kept "
            "state",
        )
    other, other_states = _observe(trial, 2)
    # A unit that sets the seed itself leaves the same state behind in both cases.
    drawn = [
        name for name, changed in states.items() if changed and changed != other_states.get(name, changed)
    ]
    if drawn or other != first:
        raise _refusal(trial, f"with the state of {_named(drawn)}, from which it draws")
    return first


def _named(generators: Sequence[str]) -> str:
    """The global generators of these modules as text."""
    if not generators:
        return "a global generator (random, numpy.random or torch)"
    plural = "s" if len(generators) > 1 else ""
    return f"the global generator{plural} of {' and '.join(generators)}"


def _observe(trial: Trial, seed: int) -> tuple[str, dict[str, bytes]]:
    """The digest of a trial, and the states in which it left global generators: empty if unchanged."""
    with _global_generators(seed):
        before = _generator_states()
        digest = trial.digest()
        after = _generator_states()
    return digest, {name: b"" if before.get(name) == state else state for name, state in after.items()}


def _generator_states() -> dict[str, bytes]:
    """The states of the global generators by module; torch's only if it is imported."""
    states = {
        "random": repr(random.getstate()).encode(),
        "numpy.random": pickle.dumps(np.random.get_state()),  # noqa: NPY002
    }
    if torch := sys.modules.get("torch"):
        states["torch"] = torch.get_rng_state().numpy().tobytes()
    return states


def _why_processes_differ(digest: str, same_salt: Sequence[str]) -> str:
    """How a unit differs between processes; `same_salt` is its digest with the same salt, if known."""
    if list(same_salt) == [digest]:
        return (
            "from one PYTHONHASHSEED to the next, which every Python process chooses anew; possible causes: "
            "hash() of a text, or the order of a set"
        )
    return (
        "from one Python process to the next, also with the same PYTHONHASHSEED; possible causes: the "
        "process id, a number drawn when the file is loaded, the clock, or the environment"
    )


def _refusal(trial: Trial, how: str) -> UserError:
    unit = _plugin(trial.unit)
    file = Path(inspect.getfile(unit.function)).name
    size = f" of {trial.side_px} pixels"
    if not isinstance(unit, Corruption | Perturbation):
        return UserError(f"{trial.unit} ({file}) changes its pixels for the same image{size} {how}.")
    kind = "severity" if isinstance(unit, Corruption) else "difficulty"
    level = f" at {kind} {trial.level}" if trial.level else ""
    return UserError(
        f"{trial.unit} ({file}) changes its pixels{level} for the same seed and image{size} {how}. {REMEDY}"
    )


def trial_digests(trials: Iterable[Mapping[str, Any]], files: Iterable[str]) -> list[str]:
    """The digests of trials, computed in another process."""
    include_files(files)
    digests = []
    for trial in trials:
        with _global_generators(1):
            digests.append(Trial(**trial).digest())
    return digests


def _digests_elsewhere(trials: Sequence[Trial], salts: Sequence[str]) -> dict[str, list[str]]:
    """The digests from interpreters with these salts of hash(), run in parallel; none that cannot start."""
    included = {
        inspect.getfile(_plugin(trial.unit).function)
        for trial in trials
        if _plugin(trial.unit).function.__module__.startswith("windtunnel_included_")
    }
    given = {"path": sys.path, "files": sorted(included), "trials": [asdict(trial) for trial in trials]}
    with ThreadPoolExecutor(len(salts)) as threads:
        results = threads.map(lambda salt: _digests_with_salt(salt, json.dumps(given), trials[0].unit), salts)
        return {salt: digests for salt, digests in zip(salts, results, strict=True) if digests}


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
