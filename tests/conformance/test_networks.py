"""Every network: seeded weights, scores of every class, and an export that gives the same scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from windtunnel.core.networks import REGISTRY
from windtunnel.models import load_model
from windtunnel.models.preprocess import Preprocess, Tensor
from windtunnel.models.torch import TorchPredictor
from windtunnel.studies.protocols import protocols
from windtunnel.train import Geometry
from windtunnel.train.export import export_onnx
from windtunnel.train.networks import built


@pytest.mark.parametrize("name", REGISTRY.names())
def test_a_network_is_seeded_and_exported(name: str, tmp_path: Path) -> None:
    network = REGISTRY.get(name)
    assert network.name == name and network.help.endswith(".")
    first, again, other = (built(name, 7, 32, seed) for seed in (0, 0, 1))
    pairs = list(zip(first.state_dict().values(), again.state_dict().values(), strict=True))
    assert all(torch.equal(one, two) for one, two in pairs)
    weights = zip(first.parameters(), other.parameters(), strict=True)
    assert not all(torch.equal(one, two) for one, two in weights)
    preprocess = Preprocess(Geometry(rule="exact", crop_px=32), Tensor())
    batch = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3)).astype(np.uint8)
    file = export_onnx(first, preprocess, [str(number) for number in range(7)], tmp_path / "model.onnx", {})
    scores = load_model(file).predict(batch)
    assert scores.shape == (3, 7)
    np.testing.assert_allclose(scores, TorchPredictor(first, preprocess.tensor)(batch), rtol=1e-3, atol=1e-4)


def test_the_networks_of_protocols_exist() -> None:
    assert {protocol["network"] for protocol in protocols().values()} <= set(REGISTRY.names())
