"""Sequences from outside, and tables that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from windtunnel.kernels.window import Window
from windtunnel.sequences import REGISTRY, Perturbation, Table, sequence
from windtunnel.suites.golden_digests import golden_image
from windtunnel.suites.inclusion import include

FADE = """
import numpy as np
from windtunnel.sequences import Table, sequence

@sequence(
    type="temporal", params=("step",), tables={64: Table(((0.1,),), frames=3, clean=0)},
    imitates="Dusk.", source="own", random=False,
)
def fade_%s(image, rng, frames, *, step):
    %s
"""


@pytest.fixture
def included(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(REGISTRY, "_added", {})
    monkeypatch.setattr(REGISTRY, "_loaded", {})

    def included_unit(name: str, body: str) -> Perturbation:
        path = tmp_path / f"{name}.py"
        path.write_text(FADE % (name, body))
        assert include(path) == [f"fade_{name}"]
        return REGISTRY.get(f"fade_{name}")

    return included_unit


def test_a_sequence_from_outside_is_perturbed_and_cut_to_its_window(included) -> None:
    unit = included("well", "return ((image * (1 - step * i)).astype(np.uint8) for i in range(frames))")
    image = golden_image(64)
    frames = list(windtunnel.perturb(image, "fade_well", seed=0))
    assert len(frames) == 3
    assert np.array_equal(frames[0], image)
    window = Window(3, 5, 40, 32)
    part = list(unit.apply(image, unit.draws(0, "", 1), 1, 64, window))
    assert np.array_equal(part[2], frames[2][3:43, 5:37])


@pytest.mark.parametrize(
    ("name", "body", "match"),
    [
        ("short", "return iter([image] * 2)", "yields 2 frames; its table declares 3"),
        ("grey", "return iter([image[:, :, 0]] * 3)", r"Frame 0 of fade_grey is uint8 \(64, 64\)"),
        ("list", "return iter([[1]] * 3)", "Frame 0 of fade_list is list"),
        ("broken", "yield image; raise RuntimeError('no light')", "failed: RuntimeError: no light"),
    ],
)
def test_what_a_sequence_from_outside_gives_is_checked(included, name: str, body: str, match: str) -> None:
    included(name, body)
    with pytest.raises(windtunnel.UserError, match=match):
        list(windtunnel.perturb(golden_image(64), f"fade_{name}", seed=0))


def test_a_sequence_from_outside_cannot_change_the_image(included) -> None:
    unit = included("writes", "image[:] = 0; return iter([image.copy()] * frames)")
    image = golden_image(64)
    list(unit.apply(image, unit.draws(0, "", 1), 1, 64))
    assert np.array_equal(image, golden_image(64))


def test_a_prefix_may_stand_before_the_name() -> None:
    image = golden_image(32)
    for one, two in zip(
        windtunnel.perturb(image, "seq/snow", seed=1),
        windtunnel.perturb(image, "snow", seed=1),
        strict=True,
    ):
        assert np.array_equal(one, two)


def test_a_pillow_image_is_told_how_to_become_an_array() -> None:
    image = Image.fromarray(golden_image(32))
    with pytest.raises(windtunnel.UserError, match=r"numpy\.asarray") as told:
        windtunnel.perturb(image, "tilt")
    assert "transforms" not in str(told.value)


def test_an_edition_it_has_not_is_refused_at_once(included) -> None:
    included("narrow", "return iter([image] * frames)")
    with pytest.raises(windtunnel.UserError, match="has no edition 224; it has 64"):
        windtunnel.perturb(golden_image(224), "fade_narrow", seed=0)


def still(image: np.ndarray, rng: object, frames: int, **_: float) -> Iterator[np.ndarray]:
    """The same image again and again."""
    return iter([image.copy() for _ in range(frames)])


@pytest.mark.parametrize(
    ("type_", "rows", "match"),
    [
        ("noise", ((0.1,),), "needs 3 rows of 1 values"),
        ("temporal", ((0.1,), (0.2,), (0.3,)), "needs 1 rows of 1 values"),
        ("temporal", ((0.1, 0.2),), "needs 1 rows of 1 values"),
        ("video", ((0.1,),), "give 'noise' or 'temporal'"),
    ],
)
def test_tables_that_do_not_fit_are_refused(type_: str, rows: tuple, match: str) -> None:
    with pytest.raises(windtunnel.UserError, match=match):
        sequence(type=type_, params=("step",), tables={64: Table(rows)}, imitates="", source="")(still)
