"""Models of every shape ONNX allows, Python factories, torch modules, and their declarations."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch

import windtunnel
from tests.onnx_models import colour_weights, write_colour_model
from windtunnel.models import behaviour
from windtunnel.models.preprocess import Tensor, presets

UserError = windtunnel.UserError

RAW_32 = """
[geometry]
rule = "exact"
crop_px = 32
[tensor]
divisor = 255.0
mean = [0.5, 0.25, 0.125]
std = [0.5, 0.25, 1.0]
"""


def make_images(count: int, side: int = 32) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, side, side, 3), dtype=np.uint8)


def expected(batch: np.ndarray, classes: int = 10) -> np.ndarray:
    values = (batch / 255.0 - [0.5, 0.25, 0.125]) / [0.5, 0.25, 1.0]
    return values.mean(axis=(1, 2)) @ colour_weights(classes, 3)


def declare(path: Path, text: str = RAW_32) -> Path:
    path.with_name(path.name + ".toml").write_text(text)
    return path


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("batch", ["batch", 1, 4])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("trailing_axes", [False, True])
def test_onnx_layouts_batches_and_types(
    tmp_path: Path, layout: str, batch: int | str, dtype: str, trailing_axes: bool
) -> None:
    path = write_colour_model(
        tmp_path / "m.onnx", layout=layout, batch=batch, dtype=dtype, trailing_axes=trailing_axes
    )
    model = windtunnel.load_model(declare(path))
    assert (model.class_count, model.outputs, model.outputs_from) == (10, "logits", "probed")
    assert model.batch == (4 if batch == 4 else 16), "32 take more memory, and more time per image"
    scores = model.predict(make_images(6))
    assert scores.shape == (6, 10)
    assert scores.dtype == np.float32
    tolerance = 1e-5 if dtype == "float32" else 3e-2
    assert scores == pytest.approx(expected(make_images(6)), abs=tolerance)


def test_uint8_models_get_the_bytes(tmp_path: Path) -> None:
    model = windtunnel.load_model(write_colour_model(tmp_path / "m.onnx", dtype="uint8"))
    wanted = make_images(3).mean(axis=(1, 2)) @ colour_weights(10, 3)
    assert model.predict(make_images(3)) == pytest.approx(wanted, rel=1e-4, abs=1e-2)
    with pytest.raises(UserError, match="remove mean"):
        windtunnel.load_model(declare(tmp_path / "m.onnx"))


@pytest.mark.parametrize(
    ("scale", "wanted"), [(1.0, "probabilities"), (0.9997, "probabilities"), (0.9, "logits")]
)
def test_probabilities_are_recognised_by_their_sum(tmp_path: Path, scale: float, wanted: str) -> None:
    path = write_colour_model(tmp_path / "m.onnx", softmax=True, scale=scale)
    assert windtunnel.load_model(declare(path)).outputs == wanted


def test_outputs_declared_wrongly_are_refused(tmp_path: Path) -> None:
    path = declare(write_colour_model(tmp_path / "m.onnx"), 'outputs = "probabilities"\n' + RAW_32)
    with pytest.raises(UserError, match="declared to return probabilities"):
        windtunnel.load_model(path)


def test_bgr_and_grey_channels(tmp_path: Path) -> None:
    path = write_colour_model(tmp_path / "bgr.onnx")
    model = windtunnel.load_model(declare(path, RAW_32 + 'channels = "bgr"\n'))
    swapped = (make_images(2)[..., ::-1] / 255.0 - [0.5, 0.25, 0.125]) / [0.5, 0.25, 1.0]
    assert model.predict(make_images(2)) == pytest.approx(
        swapped.mean(axis=(1, 2)) @ colour_weights(10, 3), abs=1e-5
    )
    path = write_colour_model(tmp_path / "grey.onnx", channels=1)
    grey = '[geometry]\nrule="exact"\ncrop_px=32\n[tensor]\nchannels="grey"\ndivisor=255.0\n'
    model = windtunnel.load_model(declare(path, grey))
    luma = np.rint(make_images(2) @ [0.299, 0.587, 0.114]) / 255
    assert model.predict(make_images(2)) == pytest.approx(
        luma.mean(axis=(1, 2))[:, None] @ colour_weights(10, 1), abs=1e-3
    )
    with pytest.raises(UserError, match="takes 1 channel"):
        windtunnel.load_model(path, "imagenet")


def test_presets_scale_to_the_graph_and_declared_sizes_must_agree(tmp_path: Path) -> None:
    path = write_colour_model(tmp_path / "m.onnx", side=240)
    geometry = windtunnel.load_model(path, "caffe").preprocess.geometry
    assert (geometry.resize_px, geometry.crop_px) == (274, 240)
    with pytest.raises(UserError, match="takes 240x240"):
        windtunnel.load_model(declare(path))


def test_the_default_preprocess_says_so(tmp_path: Path) -> None:
    model = windtunnel.load_model(write_colour_model(tmp_path / "m.onnx", side=224))
    assert "nothing was declared" in model.preprocess.origin


@pytest.mark.parametrize("name", presets())
def test_preset_arithmetic(name: str) -> None:
    row = presets()[name]["tensor"]
    batch = make_images(2, 8)
    ordered = batch[..., ::-1] if row["channels"] == "bgr" else batch
    wanted = (ordered / row["divisor"] - row["mean"]) / row["std"]
    got = Tensor(**{**row, "mean": tuple(row["mean"]), "std": tuple(row["std"])}).apply(batch)
    assert got.transpose(0, 2, 3, 1) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("outptus = 'logits'", "Did you mean outputs"),
        ("[geometry]\ncrop = 3", "Unknown key in geometry"),
        ("[tensor]\nmeen = [1, 2, 3]", "Did you mean mean"),
        ("[tensor]\nmean = [1.0]", "needs 3"),
        ("[tensor]\nstd = [1.0, 0.0, 1.0]", "divisor or std is zero"),
        ("[geometry]\nresizer = 'pillow-linear'", "Unknown resizer"),
        ("[geometry]\nresize_px = 200\ncrop_px = 224", "must fit"),
        ("[geometry]\ncrop_px = 'x'", "give a number"),
        ("preset = 'imagnet'", "Did you mean imagenet"),
        ("outputs = 'scores'", "Unknown outputs"),
        ("a = ", "not valid TOML"),
        ("labels = ['a', 'b']", "2 labels are declared"),
        ("output = 'nope'", "Unknown output"),
    ],
)
def test_a_declaration_that_cannot_be_right_is_refused(tmp_path: Path, text: str, match: str) -> None:
    path = declare(write_colour_model(tmp_path / "m.onnx", side="side"), text)
    with pytest.raises(UserError, match=match):
        windtunnel.load_model(path)


def test_what_is_no_classifier_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("hello")
    with pytest.raises(UserError, match="not a model"):
        windtunnel.load_model(tmp_path / "text.onnx")
    with pytest.raises(UserError, match="No such model"):
        windtunnel.load_model(tmp_path / "none.onnx")
    (tmp_path / "image.png").write_bytes(b"")
    with pytest.raises(UserError, match="is not a model"):
        windtunnel.load_model(tmp_path / "image.png")
    with pytest.raises(UserError, match="a classifier returns"):
        windtunnel.load_model(write_colour_model(tmp_path / "one.onnx", classes=1, side=224))


def test_factories_in_files_and_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        import numpy as np

        def mean_colour():
            return lambda batch: batch.mean(axis=(1, 2))

        def broken():
            raise RuntimeError("no weights")

        def not_a_model():
            return 3
    """
    (tmp_path / "mymodels.py").write_text(textwrap.dedent(source))
    model = windtunnel.load_model(f"{tmp_path}/mymodels.py:mean_colour")
    assert (model.kind, model.class_count, model.name) == ("callable", 3, "mean_colour")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert windtunnel.load_model("mymodels:mean_colour").fingerprint == model.fingerprint
    for spec, match in (
        ("mymodels:broken", "no weights"),
        ("mymodels:mean_color", "Did you mean mean_colour"),
        ("mymodels:not_a_model", "What the factory not_a_model returns is an object of type int; give"),
        ("nomodule:factory", "cannot be imported"),
        (f"{tmp_path}/none.py:x", "No such file"),
    ):
        with pytest.raises(UserError, match=match):
            windtunnel.load_model(spec)


@pytest.mark.parametrize("inside", [True, False])
def test_a_factory_without_torch_is_told_how_to_install_it(
    inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def make():\n    import torch\n" if inside else "import torch\ndef make():\n    return torch\n"
    (tmp_path / "needs_torch.py").write_text(text)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.syspath_prepend(str(tmp_path))
    for spec in (f"{tmp_path}/needs_torch.py:make", "needs_torch:make"):
        with pytest.raises(UserError, match=r"Install it: pip install 'torch>=2\.6'"):
            windtunnel.load_model(spec)


class Pooling(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(3, 5)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.head(x.mean(dim=(2, 3))))


def test_torch_modules_are_recognised_by_type(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = Pooling()
    file = tmp_path / "p.toml"
    file.write_text(RAW_32)
    model = windtunnel.load_model(module, file)
    assert (model.kind, model.class_count) == ("torch", 5)
    values = (make_images(4) / 255.0 - [0.5, 0.25, 0.125]) / [0.5, 0.25, 1.0]
    wanted = (
        values.mean(axis=(1, 2)) @ module.head.weight.detach().numpy().T + module.head.bias.detach().numpy()
    )
    assert model.predict(make_images(4)) == pytest.approx(wanted, abs=1e-5)
    other = Pooling()
    assert windtunnel.load_model(other, file).fingerprint != model.fingerprint


@pytest.mark.parametrize("odd", [-np.inf, np.inf, np.nan])
def test_scores_that_differ_have_different_digests_when_some_are_not_finite(odd: float) -> None:
    scores = np.array([[1.0, 2.0, odd], [3.0, 4.0, odd]], np.float32)
    other = scores[:, [1, 0, 2]]
    assert behaviour(scores) != behaviour(other)
    assert behaviour(scores) != behaviour(np.nan_to_num(scores, nan=0, posinf=0, neginf=0))
    assert behaviour(scores) == behaviour(scores * np.float32(1 + 1e-6))
    assert behaviour(np.full((2, 3), odd, np.float32)) != behaviour(np.zeros((2, 3), np.float32))


def test_a_live_callable_that_fails_on_images_says_so() -> None:
    def fails(batch: np.ndarray) -> np.ndarray:
        raise ValueError("wrong size")

    with pytest.raises(UserError, match=r"fails failed on two 224x224 images .*: ValueError: wrong size"):
        windtunnel.load_model(fails)


def test_a_failing_model_with_declared_preprocessing_is_not_told_to_declare_it() -> None:
    def fails(batch: np.ndarray) -> np.ndarray:
        raise ValueError("bad weights")

    with pytest.raises(UserError, match=r"32x32 images \(preprocessing preset cifar\).*bad weights") as error:
        windtunnel.load_model(fails, "cifar")
    assert "Declare" not in str(error.value) and "Correct the model" in str(error.value)


def test_a_module_of_small_images_without_a_declaration_is_told_what_to_declare() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10))
    with pytest.raises(UserError, match=r"224x224 images \(preset imagenet, since no preproc") as error:
        windtunnel.load_model(module)
    assert "cifar for 32x32 images" in str(error.value) and 'rule = "none"' in str(error.value)
    assert windtunnel.load_model(module, "cifar").class_count == 10
