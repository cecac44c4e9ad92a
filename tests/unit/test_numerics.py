"""A float32 network in half precision and in bytes: rounded as it says, and refused where it cannot be."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import windtunnel
from tests.onnx_models import write_colour_model
from windtunnel.core.errors import UserError
from windtunnel.models import Model, load_model
from windtunnel.models.numerics import round_to_int8, variant_of

SIDE = 8


def write_network(path: Path, nodes: Sequence[Any], opset: int = 17, domain: str = "", **stored: Any) -> Path:
    """A network from images (n, 3, 8, 8) to scores (n, 2), its stored numbers by name."""
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(np.asarray(values), name) for name, values in stored.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset)], ir_version=8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    path.with_name(f"{path.name}.toml").write_text(
        '[geometry]\nrule = "exact"\ncrop_px = 8\n[tensor]\nmean = [0, 0, 0]\nstd = [1, 1, 1]\ndivisor = 1\n'
    )
    return path


def pooled(kernel: Any) -> list[Any]:
    """A convolution by some kernel, then the mean over the image, then a scale."""
    return [
        helper.make_node("Conv", ["images", kernel], ["felt"]),
        helper.make_node("ReduceMean", ["felt"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Mul", ["mean", "scale"], ["scores"]),
    ]


def images_of(level: int) -> np.ndarray:
    return np.full((1, SIDE, SIDE, 3), level, np.uint8)


def test_weights_round_to_127_steps_of_each_outputs_largest() -> None:
    weights = np.array([[1.27, -0.004, 0.636], [0.0, 0.0, 0.0]], np.float32)
    assert round_to_int8(weights, 0) == pytest.approx(np.array([[1.27, 0.0, 0.64], [0, 0, 0]]))


@pytest.mark.parametrize(("variant", "distance"), [("float16", 2e-3), ("int8", 2e-2)])
def test_a_variant_says_nearly_the_same(variant: str, distance: float) -> None:
    model = load_model("demo")
    other = variant_of(model, variant)
    images = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    scores = model.predict(images)
    found = np.concatenate([other.predict(images[[row]]) for row in range(4)])
    assert not np.array_equal(found, scores)
    assert np.abs(found - scores).max() < distance * np.abs(scores).max() + 1e-3
    assert other.batch == (1 if variant == "int8" else model.batch)


def loaded(path: Path) -> tuple[Model, Model]:
    model = load_model(path)
    return model, variant_of(model, "float16")


def test_half_precision_overflows_between_layers_and_not_before(tmp_path: Path) -> None:
    kernel = np.zeros((2, 3, 1, 1), np.float32)
    kernel[:, 0] = [[[1000.0]], [[500.0]]]
    network = write_network(
        tmp_path / "large.onnx", pooled("kernel"), kernel=kernel, scale=np.float32(2**-10)
    )
    model, half = loaded(network)
    # 255 * 1000 is beyond 65504, the most that half precision holds; 60 * 1000 is not.
    assert np.isfinite(model.predict(images_of(255))).all()
    assert half.predict(images_of(255))[0].tolist() == [np.inf, np.inf]
    assert half.predict(images_of(60))[0].tolist() == [60_000 / 1024, 30_000 / 1024]


def test_half_precision_rounds_every_tensor_as_numpy_does(tmp_path: Path) -> None:
    kernel = np.random.default_rng(1).normal(size=(2, 3, 1, 1)).astype(np.float32)
    scale = np.float32(0.3)
    network = write_network(tmp_path / "small.onnx", pooled("kernel"), kernel=kernel, scale=scale)
    _, half = loaded(network)
    for level in (3, 77, 201):
        felt = (kernel.astype(np.float16).astype(np.float32).sum(axis=(1, 2, 3)) * level).astype(np.float16)
        wanted = (felt.astype(np.float32) * np.float32(np.float16(scale))).astype(np.float16)
        assert half.predict(images_of(level))[0].tolist() == wanted.astype(np.float32).tolist()


def through_bytes(tensor: np.ndarray) -> np.ndarray:
    """DynamicQuantizeLinear and back, by ONNX's text: 256 steps from the least to the most, 0 among them."""
    tensor = tensor.astype(np.float32)
    least, most = min(np.float32(0), tensor.min()), max(np.float32(0), tensor.max())
    scale = np.float32((most - least) / np.float32(255))
    zero = np.clip(np.rint(-least / scale), 0, 255)
    return (np.clip(np.rint(tensor / scale) + zero, 0, 255) - zero) * scale


def signed_bytes(weights: np.ndarray) -> np.ndarray:
    """Rows of weights, an output each, as 127 steps of the largest of the row."""
    steps = np.array([np.abs(row).max() / 127 for row in weights])[:, None]
    return np.rint(weights / steps) * steps


# Outputs of unlike size: a scale for all of them, or along the other axis, gives other weights.
SIZES = np.array([[1.0], [0.01]], np.float32)


def test_bytes_round_a_convolutions_input_and_weights_as_numpy_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    kernel = (rng.normal(size=(2, 3)) * SIZES).astype(np.float32)
    network = write_network(
        tmp_path / "conv.onnx", pooled("kernel"), kernel=kernel[:, :, None, None], scale=np.float32(1)
    )
    # Bytes up to 200, not 255: their own 256 steps do not fall on whole numbers.
    image = rng.integers(0, 201, (1, SIDE, SIDE, 3), dtype=np.uint8)
    wanted = (through_bytes(image) @ signed_bytes(kernel).T).mean(axis=(1, 2))
    exact = (image.astype(np.float64) @ kernel.T).mean(axis=(1, 2))
    assert (np.abs(wanted / exact - 1) > 1e-4).all(), "this network would not show the rounding"
    found = variant_of(load_model(network), "int8").predict(image)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_bytes_round_a_turned_layers_input_and_weights_as_numpy_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    weights = (rng.normal(size=(2, 3 * SIDE * SIDE)) * SIZES).astype(np.float32)
    nodes = [
        helper.make_node("Sub", ["images", "middle"], ["signed"]),
        helper.make_node("Flatten", ["signed"], ["flat"]),
        helper.make_node("Gemm", ["flat", "weights"], ["scores"], transB=1),
    ]
    network = write_network(tmp_path / "gemm.onnx", nodes, weights=weights, middle=np.float32(90.3))
    image = rng.integers(0, 201, (1, SIDE, SIDE, 3), dtype=np.uint8)
    flat = (image.transpose(0, 3, 1, 2).astype(np.float32) - np.float32(90.3)).reshape(1, -1)
    wanted = through_bytes(flat) @ signed_bytes(weights).T
    assert (np.abs(wanted / (flat @ weights.T) - 1) > 1e-4).all(), "this network would not show the rounding"
    found = variant_of(load_model(network), "int8").predict(image)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_weights_two_layers_share_are_rounded_for_each_along_its_own_axis(tmp_path: Path) -> None:
    weights = (np.random.default_rng(6).normal(size=(3, 3)) * [1, 0.1, 0.01]).astype(np.float32)
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["mean", "weights"], ["once"]),
        helper.make_node("Gemm", ["once", "weights"], ["twice"], transB=1),
        helper.make_node("Gather", ["twice", "two"], ["scores"], axis=1),
    ]
    network = write_network(tmp_path / "shared.onnx", nodes, weights=weights, two=np.array([0, 1]))
    image = np.random.default_rng(7).integers(0, 201, (1, SIDE, SIDE, 3), dtype=np.uint8)
    mean = image.mean(axis=(1, 2), dtype=np.float64)
    once = through_bytes(mean) @ signed_bytes(weights.T).T
    twice = through_bytes(once) @ signed_bytes(weights).T
    found = variant_of(load_model(network), "int8").predict(image)
    np.testing.assert_allclose(found, twice[:, :2], rtol=1e-5)


@pytest.mark.parametrize("variant", ["float16", "int8"])
@pytest.mark.parametrize("kind", ["Constant", "Identity"])
def test_weights_among_the_layers_are_rounded_as_stored_ones_are(
    tmp_path: Path, variant: str, kind: str
) -> None:
    kernel = np.random.default_rng(2).normal(size=(2, 3, 1, 1)).astype(np.float32)
    scale = np.float32(0.3)
    plain = write_network(tmp_path / "plain.onnx", pooled("kernel"), kernel=kernel, scale=scale)
    stored: dict[str, Any] = {"scale": scale}
    if kind == "Constant":
        first = helper.make_node("Constant", [], ["kernel"], value=numpy_helper.from_array(kernel))
    else:
        first = helper.make_node("Identity", ["real"], ["kernel"])
        stored["real"] = kernel
    among = write_network(tmp_path / "among.onnx", [first, *pooled("kernel")], **stored)
    image = np.random.default_rng(3).integers(0, 256, (1, SIDE, SIDE, 3), dtype=np.uint8)
    original = load_model(among)
    found = variant_of(original, variant).predict(image)
    assert np.array_equal(found, variant_of(load_model(plain), variant).predict(image))
    assert not np.array_equal(found, original.predict(image))


def quantised(path: Path) -> Path:
    nodes = [
        helper.make_node("DequantizeLinear", ["bytes", "step", "zero"], ["kernel"]),
        *pooled("kernel"),
    ]
    return write_network(path, nodes, bytes=np.ones((2, 3, 1, 1), np.int8), step=np.float32(0.1),
                         zero=np.int8(0), scale=np.float32(1))  # fmt: skip


def computed(path: Path) -> Path:
    nodes = [helper.make_node("Neg", ["minus"], ["kernel"]), *pooled("kernel")]
    return write_network(path, nodes, minus=np.ones((2, 3, 1, 1), np.float32), scale=np.float32(1))


def unweighted(path: Path) -> Path:
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Gather", ["mean", "two"], ["scores"], axis=1),
    ]
    return write_network(path, nodes, two=np.array([0, 1]))


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (quantised, "needs a float32 network; this one is quantised already"),
        (computed, "needs stored weights; those of 1 layers are computed"),
        (unweighted, "finds no layer with stored weights"),
    ],
)
def test_what_would_change_nothing_is_left_out_of_a_run_with_the_reason(
    tmp_path: Path, write: Any, reason: str, digit_folder: Path
) -> None:
    model = load_model(write(tmp_path / "model.onnx"))
    for variant in ("float16", "int8"):
        with pytest.raises(UserError, match=f"numerics={variant} {reason}"):
            variant_of(model, variant)
    data = two_classes(digit_folder)
    plan = windtunnel.plan(model, data, "systematic", only=["numerics=*", "colour=bgr"])
    assert [one.name for one in plan.conditions] == ["native", "colour=bgr"]
    assert plan.info.remarks == (f"Left out: numerics=float16, numerics=int8; {reason}.",)


def two_classes(folder: Path) -> Path:
    """The folder of images with only two of its classes left."""
    for number, one in enumerate(sorted(path for path in folder.iterdir() if path.is_dir())):
        if number > 1:
            for file in one.iterdir():
                file.unlink()
            one.rmdir()
    return folder


def test_one_variant_that_cannot_be_made_leaves_the_other_alone(tmp_path: Path, digit_folder: Path) -> None:
    # Another vendor's operator, which ONNX knows no kinds of: half precision cannot be put behind it.
    nodes = [
        helper.make_node("Conv", ["images", "kernel"], ["felt"]),
        helper.make_node("Gelu", ["felt"], ["bent"], domain="com.microsoft"),
        helper.make_node("ReduceMean", ["bent"], ["scores"], axes=[2, 3], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(np.full((2, 3, 1, 1), 0.1, np.float32), "kernel")],
    )
    # The same operators may be called by their full name.
    opsets = [helper.make_opsetid("ai.onnx", 17), helper.make_opsetid("com.microsoft", 1)]
    file = tmp_path / "odd.onnx"
    file.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
    plan = windtunnel.plan(file, two_classes(digit_folder), "systematic", only=["numerics=*"])
    assert [one.name for one in plan.conditions] == ["native", "numerics=int8"]
    assert plan.info.remarks == (
        "Left out: numerics=float16; cannot determine the output type of the layer Gelu.",
    )
    with pytest.raises(
        UserError, match=r"numerics=float16: cannot determine the output type of the layer Gelu\.$"
    ):
        windtunnel.plan(file, digit_folder, "systematic", only=["numerics=float16"])


def test_old_runs_of_other_arithmetic_are_not_paired_with_new_ones(digit_folder: Path) -> None:
    plan = windtunnel.plan("demo", digit_folder, "systematic", only=["numerics=*", "decode=opencv"])
    revisions = {one.name: one.revision for one in plan.conditions}
    assert revisions == {"native": 0, "decode=opencv": 0, "numerics=float16": 1, "numerics=int8": 2}


def test_an_answer_that_overflows_is_wrong_and_leaves_the_image_in(tmp_path: Path) -> None:
    # Class 0 where 1000 * red is under 60,000, else class 1: right in float32, infinite for bright reds.
    kernel = np.zeros((2, 3, 1, 1), np.float32)
    kernel[1, 0] = 1000.0
    nodes = [
        helper.make_node("Conv", ["images", "kernel", "bias"], ["felt"]),
        helper.make_node("ReduceMean", ["felt"], ["scores"], axes=[2, 3], keepdims=0),
    ]
    bias = np.array([60_000, 0], np.float32)
    network = write_network(tmp_path / "bright.onnx", nodes, kernel=kernel, bias=bias)
    for number, level in enumerate([10, 20, 30, 40, 200, 255]):
        file = tmp_path / "photos" / str(level // 128) / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(images_of(level)[0]).save(file)
    run = windtunnel.run(network, tmp_path / "photos", "systematic", only=["numerics=float16", "colour=bgr"],
                         out=tmp_path / "run", strict=True)  # fmt: skip
    assert run.scoring.observed.left_out == 0
    costs = {score.condition: score for score in run.scores(["step_cost"])}
    assert costs["colour=bgr"].value == 0 and costs["colour=bgr"].n == 6
    assert costs["numerics=float16"].value == pytest.approx(2 / 6)
    assert "2 predictions are not finite and counted as wrong" in costs["numerics=float16"].formula
    flips = {score.condition: score.value for score in run.scores(["step_flip_share"])}
    assert flips["numerics=float16"] == pytest.approx(2 / 6)
    rows = run.predictions(["condition", "status", "label_rank"]).to_pylist()
    lost = [row for row in rows if row["status"] == "not_finite"]
    assert {row["condition"] for row in lost} == {"numerics=float16"}
    assert [row["label_rank"] for row in lost] == [2, 2]
    assert "no finite prediction on 2 images" in run.report().read_text()


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
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(UserError, match=r"pip install 'onnx>="):
        variant_of(load_model("demo"), "int8")
