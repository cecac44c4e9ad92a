"""Devices and precisions of models: what is asked for is used or refused, never replaced silently."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

import windtunnel
from tests.onnx_models import write_colour_model
from windtunnel.core.errors import UserError
from windtunnel.models import Model
from windtunnel.models.devices import asked_placement
from windtunnel.models.memory import is_out_of_memory, predict_within_memory
from windtunnel.models.numerics import variant_of

torch = pytest.importorskip("torch")

# A provider that ONNX Runtime's wheels for CPUs have; it leaves every operator to the CPU.
OTHER_PROVIDER = "AzureExecutionProvider"


def images(count: int, side: int = 32) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (count, side, side, 3), np.uint8)


class Network(torch.nn.Module):  # type: ignore[misc]
    """A small convolutional network with fixed weights."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten())
        self.head = torch.nn.Linear(8 * 30 * 30, 10)

    def forward(self, values: Any) -> Any:
        return self.head(self.layers(values))


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    return write_colour_model(tmp_path / "colours.onnx")


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A torch that reports two CUDA devices and computes on the CPU; returns where modules were moved."""
    moved: list[str] = []

    def to(module: Any, device: Any) -> Any:
        moved.append(str(device))
        return module

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Imaginary 9000")
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.nn.Module, "to", to)
    return moved


@pytest.mark.parametrize(
    "device", ["gpu", "cuda:x", "cuda1", "CUDA", "", "cpu,cuda", "CUDAExecutionProvider,cpu"]
)
def test_a_device_that_does_not_exist_is_refused_with_what_may_be_given(onnx_file: Path, device: str) -> None:
    with pytest.raises(
        UserError, match=r"device is '.*'; give auto, cpu, cuda, cuda:1, mps, or ONNX Runtime's"
    ):
        windtunnel.load_model(onnx_file, device=device)


@pytest.mark.parametrize(
    ("given", "short"),
    [
        ("CPUExecutionProvider", "cpu"),
        ("CUDAExecutionProvider", "cuda"),
        ("CUDAExecutionProvider,CPUExecutionProvider", "cuda"),
        ("CoreMLExecutionProvider", "mps"),
        ("TensorrtExecutionProvider,CUDAExecutionProvider,CPUExecutionProvider",
         "TensorrtExecutionProvider,CUDAExecutionProvider"),
        ("cuda:1", "cuda:1"),
    ],
)  # fmt: skip
def test_one_device_has_one_name(given: str, short: str) -> None:
    assert asked_placement(given, None, None).device == short


def test_other_mistakes_are_refused(onnx_file: Path) -> None:
    with pytest.raises(UserError, match=r"precision is 'half'; give float32, float16, bfloat16\."):
        windtunnel.load_model(onnx_file, precision="half")
    with pytest.raises(UserError, match="batch is 0; give at least 1 image"):
        windtunnel.load_model(onnx_file, batch=0)


@pytest.mark.parametrize(
    ("device", "needed"),
    [
        ("cuda", "CUDAExecutionProvider"),
        ("cuda:1", "CUDAExecutionProvider"),
        ("mps", "CoreMLExecutionProvider"),
        ("TensorrtExecutionProvider,CUDAExecutionProvider", "TensorrtExecutionProvider"),
    ],
)
def test_a_provider_that_is_not_installed_is_refused(
    onnx_file: Path, device: str, needed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    wanted = (
        rf"device is '{device}' and needs {needed}; ONNX Runtime .* has CPUExecutionProvider here\. Give "
    )
    with pytest.raises(UserError, match=wanted + r'device="cpu", or install') as error:
        windtunnel.load_model(onnx_file, device=device)
    assert "\n" not in str(error.value)


def test_a_provider_that_onnx_runtime_replaces_by_the_cpu_is_refused(
    onnx_file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Such a build lists the provider, and a session without GPU opens on the CPU all the same.
    listed = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: listed)
    refusal = "could not load CUDAExecutionProvider and would compute on CPUExecutionProvider"
    with pytest.raises(UserError, match=refusal), warnings.catch_warnings(action="ignore"):
        windtunnel.load_model(onnx_file, device="cuda")
    with warnings.catch_warnings(action="ignore"):
        model = windtunnel.load_model(onnx_file)
    assert "CUDAExecutionProvider but cannot use it here; predictions are made on the CPU" in caplog.text
    assert (model.placement.device, model.owns_device, model.batch) == ("cpu", False, 16)


def test_an_onnx_file_by_other_providers_owns_its_device_and_takes_larger_batches(onnx_file: Path) -> None:
    model = windtunnel.load_model(onnx_file, device=f"{OTHER_PROVIDER},CPUExecutionProvider")
    assert (model.placement.device, model.owns_device, model.batch) == (OTHER_PROVIDER, True, 64)
    on_cpu = windtunnel.load_model(onnx_file, device="cpu")
    assert (on_cpu.placement.device, on_cpu.owns_device, on_cpu.batch) == ("cpu", False, 16)
    assert on_cpu.fingerprint == model.fingerprint, "the same model on another device"
    assert np.array_equal(model.predict(images(5)), on_cpu.predict(images(5)))
    # Its variants stay on the device, and it can be moved back.
    assert variant_of(model, "float16").placement == model.placement
    back = windtunnel.load_model(model, device="cpu")
    assert (back.placement.device, back.owns_device, back.batch) == ("cpu", False, 16)


def test_a_placed_model_stays_where_it_is(onnx_file: Path) -> None:
    model = windtunnel.load_model(onnx_file, device=OTHER_PROVIDER, batch=3)
    again = windtunnel.load_model(model)
    assert (again.placement, again.batch, again.owns_device) == (model.placement, 3, True)


def test_the_batch_of_a_fixed_graph_is_kept_on_every_device(tmp_path: Path) -> None:
    path = write_colour_model(tmp_path / "fixed.onnx", batch=4)
    assert windtunnel.load_model(path, device=OTHER_PROVIDER).batch == 4
    model = windtunnel.load_model(path, batch=6)
    assert model.batch == 6
    assert model.predict(images(6)).shape == (6, 10)


def test_an_onnx_file_refuses_another_precision_and_names_what_to_do(onnx_file: Path) -> None:
    with pytest.raises(UserError, match=r"precision is 'float16'; export .* only=\[\"numerics=float16\"\]"):
        windtunnel.load_model(onnx_file, precision="float16")
    assert windtunnel.load_model(onnx_file, precision="float32").placement.precision == "float32"


def test_a_callable_refuses_device_and_precision_but_takes_a_batch_size() -> None:
    def flat(batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        return batch.reshape(len(batch), -1)[:, :10].astype(np.float32)

    assert windtunnel.load_model(flat, batch=5).batch == 5
    assert windtunnel.load_model(flat).batch == 32
    for asked in ({"device": "cpu"}, {"precision": "bfloat16"}):
        with pytest.raises(
            UserError, match="flat is a model of kind callable, whose own code chooses device"
        ):
            windtunnel.load_model(flat, **asked)


@pytest.mark.parametrize(("precision", "digits"), [("float16", 1e-3), ("bfloat16", 1e-2)])
def test_half_precision_rounds_predictions_and_leaves_the_module_alone(precision: str, digits: float) -> None:
    module = Network()
    before = copy.deepcopy(module.state_dict())
    exact = windtunnel.load_model(module, "cifar").predict(images(8))
    model = windtunnel.load_model(module, "cifar", precision=precision)
    scores = model.predict(images(8))
    assert scores.dtype == np.float32
    assert 0 < np.abs(scores - exact).max() < digits * np.abs(exact).max()
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert np.array_equal(windtunnel.load_model(module, "cifar").predict(images(8)), exact)
    assert np.array_equal(model.redeclared(model.preprocess).predict(images(8)), scores)
    assert np.array_equal(windtunnel.load_model(model).predict(images(8)), scores)
    assert np.array_equal(windtunnel.load_model(model, precision="float32").predict(images(8)), exact)


def test_a_network_that_overflows_in_half_precision_is_refused_before_a_run() -> None:
    class Large(Network):
        def forward(self, values: Any) -> Any:
            return self.head(self.layers(values) * 3e6)

    with pytest.raises(UserError, match=r'float16 returns non-finite .* give precision="bfloat16" or'):
        windtunnel.load_model(Large(), "cifar", precision="float16")
    windtunnel.load_model(Large(), "cifar", precision="bfloat16")


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps"])
def test_a_device_that_torch_does_not_have_is_refused(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UserError, match=rf"device is '{device}'; torch .* has cpu here\. Give one of these"):
        windtunnel.load_model(Network(), "cifar", device=device)


def test_execution_providers_are_refused_for_torch() -> None:
    with pytest.raises(UserError, match="Network is a torch module, which has no execution providers; give"):
        windtunnel.load_model(Network(), "cifar", device=OTHER_PROVIDER)


def test_a_live_module_stays_where_it_is_or_is_copied(two_gpus: list[str]) -> None:
    module = Network()
    model = windtunnel.load_model(module, "cifar")
    assert (model.placement.device, model.owns_device, two_gpus) == ("cpu", False, [])
    model = windtunnel.load_model(module, "cifar", device="cuda:1")
    assert (model.placement.device, model.placement.kind, two_gpus) == ("cuda:1", "cuda", ["cuda:1"])
    assert (model.owns_device, model.batch, model.hardware) == (True, 64, "Imaginary 9000")
    source = model.gradient_source
    assert source is not None and source.module is not module
    with pytest.raises(UserError, match=r"device is 'cuda:2'; torch .* has cpu, cuda:0, cuda:1 here"):
        windtunnel.load_model(module, "cifar", device="cuda:2")


def test_the_module_of_a_factory_moves_to_a_gpu_unless_the_cpu_is_asked_for(
    tmp_path: Path, two_gpus: list[str]
) -> None:
    file = tmp_path / "factory.py"
    file.write_text("from tests.unit.test_devices import Network\n\n\ndef make():\n    return Network()\n")
    spec = f"{file}:make"
    assert windtunnel.load_model(spec, "cifar", device="cpu").placement.device == "cpu"
    assert two_gpus == []
    model = windtunnel.load_model(spec, "cifar")
    assert (model.placement.device, model.batch, two_gpus) == ("cuda", 64, ["cuda"])
    again = windtunnel.load_model(model)
    assert again.placement == model.placement


def test_a_module_that_cannot_move_is_refused_in_one_line(
    two_gpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(module: Any, device: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.\nSee documentation")

    monkeypatch.setattr(torch.nn.Module, "to", full)
    with pytest.raises(
        UserError, match=r"Network cannot be moved to cuda: CUDA out of memory\. Give"
    ) as error:
        windtunnel.load_model(Network(), "cifar", device="cuda")
    assert "\n" not in str(error.value)


def torch_allocation() -> object:
    return torch.empty(10**14)


def onnx_allocation() -> object:
    """A graph whose output does not fit into any memory."""
    from onnx import TensorProto, helper, numpy_helper

    shape = numpy_helper.from_array(np.array([10**14], np.int64), "shape")
    graph = helper.make_graph(
        [helper.make_node("Expand", ["one", "shape"], ["many"])],
        "large",
        [helper.make_tensor_value_info("one", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("many", TensorProto.FLOAT, ["n"])],
        [shape],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, {"one": np.ones(1, np.float32)})


def numpy_allocation() -> object:
    return np.empty(10**15)


def cuda_allocation() -> object:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


def mps_allocation() -> object:
    raise RuntimeError("MPS backend out of memory (MPS allocated: 9.00 GB)")


ALLOCATIONS = [torch_allocation, onnx_allocation, numpy_allocation, cuda_allocation, mps_allocation]


class Hungry:
    """A callable that runs out of memory above a number of images; it counts the calls by their size."""

    name = "hungry"

    def __init__(self, fits: int, allocation: Any) -> None:
        self.fits, self.allocation = fits, allocation
        self.sizes: list[int] = []

    def __call__(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        self.sizes.append(len(batch))
        if len(batch) > self.fits:
            self.allocation()
        return batch.reshape(len(batch), -1)[:, :10].astype(np.float32)


@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_a_batch_that_does_not_fit_is_halved_and_none_of_it_is_lost(
    allocation: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hungry = Hungry(5, allocation)
    model = windtunnel.load_model(hungry, batch=16)
    hungry.sizes.clear()
    first = predict_within_memory(model, images(16))
    again = predict_within_memory(model, images(16))
    said = "hungry ran out of memory with 16 images in a batch; smaller batches are used from now on."
    assert caplog.messages == [said], "said once"
    assert np.array_equal(first, images(16).reshape(16, -1)[:, :10]) and np.array_equal(again, first)
    assert hungry.sizes == [16, 8, 4, 4, 4, 4, 4, 4, 4, 4], "the smaller size is remembered"
    assert model.batch == 16


def test_other_errors_and_single_images_are_not_retried() -> None:
    def broken() -> object:
        raise ValueError("not a matter of size")

    hungry = Hungry(2, broken)
    model: Model = windtunnel.load_model(hungry)
    hungry.sizes.clear()
    with pytest.raises(ValueError, match="not a matter of size"):
        predict_within_memory(model, images(4))
    assert hungry.sizes == [4]
    hungry.fits, hungry.allocation = 0, cuda_allocation
    with pytest.raises(torch.OutOfMemoryError):
        predict_within_memory(model, images(4))
    assert not is_out_of_memory(ValueError("not a matter of size"))
