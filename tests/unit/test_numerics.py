"""A float32 network in half precision and in bytes: near the original, and refused where it cannot be."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.onnx_models import write_colour_model
from windtunnel.errors import UserError
from windtunnel.models import load_model
from windtunnel.models.numerics import round_to_int8, variant_of


def test_weights_round_to_127_steps_of_each_outputs_largest() -> None:
    weights = np.array([[1.27, -0.004, 0.636], [0.0, 0.0, 0.0]], np.float32)
    assert round_to_int8(weights, 0) == pytest.approx(np.array([[1.27, 0.0, 0.64], [0, 0, 0]]))


@pytest.mark.parametrize(("variant", "distance"), [("float16", 2e-3), ("int8", 2e-2)])
def test_a_variant_says_nearly_the_same(variant: str, distance: float) -> None:
    model = load_model("demo")
    other = variant_of(model, variant)
    pictures = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    scores = model.predict(pictures)
    found = np.concatenate([other.predict(pictures[[row]]) for row in range(4)])
    assert not np.array_equal(found, scores)
    assert np.abs(found - scores).max() < distance * np.abs(scores).max() + 1e-3
    assert other.batch == (1 if variant == "int8" else model.batch)


def test_what_cannot_be_varied_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="numerics=int8 needs an ONNX file; this model is a callable"):
        variant_of(load_model(lambda batch: np.zeros((len(batch), 3), np.float32)), "int8")
    half = load_model(write_colour_model(tmp_path / "half.onnx", dtype="float16"))
    with pytest.raises(UserError, match="needs a float32 network"):
        variant_of(half, "float16")
    with pytest.raises(UserError, match="Unknown numerics 'int4'"):
        variant_of(half, "int4")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(UserError, match=r"pip install 'windtunnel\[numerics\]'"):
        variant_of(load_model("demo"), "int8")
