"""TFLite, Keras and OpenVINO files: the numbers that their definition gives, and one-line refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.onnx_models import colour_weights, write_colour_model
from tests.tflite_models import write_colour_tflite
from windtunnel.core.errors import UserError
from windtunnel.models import load_model

RAW = '[geometry]\nrule = "none"\n[tensor]\ndivisor = 255.0\nmean = [0.5, 0.5, 0.5]\nstd = [0.5, 0.5, 0.5]\n'
IMAGES = np.random.default_rng(1).integers(0, 256, (5, 32, 32, 3), np.uint8)


def real_inputs() -> np.ndarray:
    """The declared preprocessing, by hand."""
    return (IMAGES / 255 - 0.5) / 0.5


def linear(values: np.ndarray) -> np.ndarray:
    return values.mean(axis=(1, 2)) @ colour_weights(10, 3).astype(np.float64)


def declare(path: Path) -> Path:
    path.with_name(path.name + ".toml").write_text(
        RAW.replace('rule = "none"', "crop_px = 32\nresize_px = 32")
    )
    return path


@pytest.mark.parametrize("batch", [1, 2, -1])
def test_a_tflite_file_of_any_batch_size(tmp_path: Path, batch: int) -> None:
    model = load_model(declare(write_colour_tflite(tmp_path / "colours.tflite", batch=batch)))
    assert (model.kind, model.class_count, model.preprocess.tensor.layout) == ("tflite", 10, "nhwc")
    np.testing.assert_allclose(model.predict(IMAGES), linear(real_inputs()), atol=2e-5)


@pytest.mark.parametrize(("dtype", "zero"), [("int8", -5), ("uint8", 120)])
def test_quantised_inputs_and_outputs_are_real_numbers(tmp_path: Path, dtype: str, zero: int) -> None:
    file = write_colour_tflite(
        tmp_path / "colours.tflite", quantised=dtype, input_zero=zero, output_zero=zero
    )
    scores = load_model(declare(file)).predict(IMAGES)
    limits = np.iinfo(dtype)
    stored = np.clip(np.rint(real_inputs() * 128) + zero, limits.min, limits.max)
    expected = linear((stored - zero) / 128)
    steps = scores / np.float32(0.05)
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-4)  # dequantised bytes
    shown = np.clip(expected, 0.05 * (limits.min - zero), 0.05 * (limits.max - zero))
    np.testing.assert_allclose(scores, shown, atol=0.026)  # half a step


def test_an_assumed_preprocessing_that_the_bytes_cannot_represent_is_refused(tmp_path: Path) -> None:
    file = write_colour_tflite(tmp_path / "colours.tflite", quantised="int8")
    with pytest.raises(UserError, match=r"takes values from -1 to 0.992, .* default gives -2.12 to 2.64"):
        load_model(file)


def test_openvino_computes_what_onnx_runtime_does(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    source = declare(write_colour_model(tmp_path / "colours.onnx"))
    ir = declare(tmp_path / "colours.xml")
    openvino.save_model(openvino.Core().read_model(source), ir, compress_to_fp16=False)
    model = load_model(ir)
    assert (model.kind, model.class_count) == ("openvino", 10)
    np.testing.assert_allclose(model.predict(IMAGES), linear(real_inputs()), atol=2e-5)
    before = model.fingerprint
    weights = ir.with_suffix(".bin")
    stored = colour_weights(10, 3)
    content = weights.read_bytes()
    assert stored.tobytes() in content
    weights.write_bytes(content.replace(stored.tobytes(), (1.5 * stored).astype(np.float32).tobytes()))
    assert load_model(ir).fingerprint != before


def test_a_keras_file_is_called_in_inference_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("h5py")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    network = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(10, use_bias=False),
        ]
    )
    network.layers[-1].set_weights([colour_weights(10, 3)])
    file = declare(tmp_path / "colours.keras")
    network.save(file)
    model = load_model(file)
    assert (model.kind, model.class_count, model.preprocess.tensor.layout) == ("keras", 10, "nhwc")
    np.testing.assert_allclose(model.predict(IMAGES), linear(real_inputs()), atol=2e-5)


@pytest.mark.parametrize("suffix", ["tflite", "xml", "keras"])
def test_a_damaged_or_missing_file_gets_one_line(tmp_path: Path, suffix: str) -> None:
    if suffix == "keras":
        pytest.importorskip("keras")
    file = tmp_path / f"damaged.{suffix}"
    with pytest.raises(UserError, match=f"No such model: .*damaged.{suffix}"):
        load_model(file)
    file.write_bytes(b"no model")
    with pytest.raises(UserError, match=rf"damaged.{suffix} is not a model \w+ can load: ") as error:
        load_model(file)
    assert "\n" not in str(error.value) and "not found" not in str(error.value).lower()
