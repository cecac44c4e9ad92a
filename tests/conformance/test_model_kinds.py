"""Every registered model kind keeps the laws; a kind from outside the package is one file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windtunnel
from tests.inference_server import Settings, free_port, serving
from tests.onnx_models import write_colour_model
from tests.strangers import windtunnel as command
from tests.strangers import write_example
from tests.torch_models import (
    small_network,
    write_classifier,
    write_clip,
    write_exported,
    write_timm,
    write_torchscript,
)
from windtunnel.core.errors import UserError
from windtunnel.models import LiveModel, Model, load_model, probe_images
from windtunnel.models.kinds import REGISTRY, kind_of
from windtunnel.suites.inclusion import include

FACTORY = """
import numpy as np
def mean_colour():
    return lambda images: images.mean(axis=(1, 2))
"""


def callable_(_root: Path) -> Any:
    return lambda images: images.mean(axis=(1, 2))


def torch_module(_root: Path) -> Any:
    torch = pytest.importorskip("torch")
    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())


def factory(root: Path) -> str:
    (root / "mine.py").write_text(FACTORY)
    return f"{root}/mine.py:mean_colour"


def demo_file(_root: Path) -> Path:
    from windtunnel.data.demo import demo_model_path

    return demo_model_path()


def torchscript(root: Path) -> str:
    return str(write_torchscript(root / "net.ts", small_network(root), frozen=True))


def torch_export(root: Path) -> str:
    return str(write_exported(root / "net.pt2", small_network(root)))


def tflite_file(root: Path) -> Path:
    from tests.tflite_models import write_colour_tflite

    return write_colour_tflite(root / "colours.tflite")


def openvino_file(root: Path) -> Path:
    openvino = pytest.importorskip("openvino")
    openvino.save_model(openvino.Core().read_model(write_colour_model(root / "c.onnx")), root / "c.xml")
    return root / "c.xml"


def keras_file(root: Path) -> Path:
    pytest.importorskip("torch")
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    layers = [keras.Input((32, 32, 3)), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)]
    keras.Sequential(layers).save(root / "colours.keras")
    return root / "colours.keras"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a model that a server has."""
    folder = tmp_path_factory.mktemp("served")
    with serving(folder, Settings(str(write_colour_model(folder / "colours.onnx")), free_port())) as server:
        yield server.url


@pytest.fixture
def source(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """A model of the kind `name`."""
    return request.getfixturevalue("served") if name == "kserve" else EXAMPLES[name](tmp_path)


EXAMPLES = {
    "hf": lambda root: f"hf:{write_classifier(root / 'hf')}",
    "timm": lambda root: f"timm:{write_timm(root / 'timm')}",
    "clip": lambda root: f"clip:{write_clip(root / 'clip')}",
    "torchscript": torchscript,
    "torch-export": torch_export,
    "tflite": tflite_file,
    "openvino": openvino_file,
    "keras": keras_file,
    "wrapped": lambda _: "clahe|demo",
    "demo": lambda _: "demo",
    "onnx": demo_file,
    "factory": factory,
    "torch": torch_module,
    "callable": callable_,
}
# Kinds that run on torch.
TORCH = ("torch", "hf", "timm", "clip", "torchscript", "torch-export")
# What a recipe calls a model that the kind loads, where it is not the kind's own name.
LOADED_AS = {"wrapped": "onnx", "demo": "onnx", "factory": "callable"}


@pytest.mark.parametrize("name", REGISTRY.shipped())
def test_a_kind_declares_its_facts(name: str) -> None:
    kind = REGISTRY.get(name)
    assert kind.name == name
    assert kind.help and kind.form and "\n" not in kind.help + kind.form


@pytest.mark.parametrize("name", REGISTRY.shipped())
def test_a_kind_loads_what_it_recognises_and_is_the_first_to(name: str, source: Any) -> None:
    kind = kind_of(source)
    assert kind is REGISTRY.get(name)
    model = load_model(source)
    assert isinstance(model, Model)
    assert model.kind == LOADED_AS.get(name, name)
    assert model.portable == isinstance(source, str | Path)
    assert model.fingerprint == load_model(source).fingerprint
    assert load_model(model) is model


@pytest.mark.parametrize("name", REGISTRY.shipped())
def test_a_model_does_what_every_model_does(name: str, source: Any) -> None:
    model = load_model(source)
    images = probe_images(model.preprocess, 3)
    scores = model.predict(images)
    assert scores.shape == (3, model.class_count) and scores.dtype == np.float32
    other = model.redeclared(model.preprocess)
    assert other is not model and np.array_equal(other.predict(images), scores)
    assert (model.gradient_source is not None) == (model.kind in TORCH)
    if model.kind != "onnx":
        with pytest.raises(UserError, match=f"needs an ONNX file; this model is a {model.kind}"):
            model.variant("int8")


def test_an_object_with_the_attributes_of_a_model_is_one() -> None:
    demo = load_model("demo")

    class Mine:
        def __getattr__(self, name: str) -> Any:
            if name == "redeclared":
                raise AttributeError(name)
            return getattr(demo, name)

    model = load_model(Mine())
    assert isinstance(model, LiveModel)
    assert (model.kind, model.fingerprint, model.batch) == (demo.kind, demo.fingerprint, demo.batch)
    assert model.redeclared(demo.preprocess) is model


def test_what_no_kind_recognises_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no model")
    for source, said in (
        (
            str(tmp_path / "notes.txt"),
            r"is not a model; give one of: WRAPPER\|MODEL, such as clahe\|model.onnx; the word demo; .*"
            "FILE.onnx; .*module:factory or FILE.py:factory",
        ),
        ("nowhere.bin", "No such model: nowhere.bin. Give one of: .*the word demo; .*FILE.onnx"),
        (3, "The model is an object of type int; give a callable"),
    ):
        with pytest.raises(UserError, match=said):
            load_model(source)


@pytest.fixture
def own_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds that a test includes are gone after it."""
    monkeypatch.setattr(REGISTRY, "_added", dict(REGISTRY._added))
    monkeypatch.setattr(REGISTRY, "_loaded", dict(REGISTRY._loaded))


def write_weights(file: Path, seed: int = 0) -> Path:
    weights = np.random.default_rng(seed).normal(size=(32 * 32 * 3, 10))
    np.savez(file, weights=weights, bias=np.zeros(10))
    return file


def test_a_kind_from_outside_is_listed_run_by_workers_scored_and_reported(tmp_path: Path) -> None:
    write_example("model-kinds", tmp_path)
    write_weights(tmp_path / "weights.npz")
    own = ("--include", "linear.py")
    listed = command(tmp_path, "list", "model-kinds", "--json", *own)
    assert "linear" in {row["name"] for row in json.loads(listed.stdout)}, listed.stderr
    given = ("run", "weights.npz", "demo", "--preprocess", "cifar", "--suite", "smoke", "--subset", "40")
    done = command(tmp_path, *given, "--workers", "2", "--out", "run", *own)
    assert done.returncode == 0, done.stderr
    run = windtunnel.load_run(tmp_path / "run")
    assert run.recipe.model.kind == "linear"
    assert (tmp_path / "run" / "report.html").is_file()
    assert any(one.metric == "top1_error" for one in run.scores())
    without = command(tmp_path, *given, "--out", "other")
    assert without.returncode == 2
    assert "weights.npz is not a model; give one of: " in without.stderr
    assert "the word demo; " in without.stderr and "; FILE.onnx; " in without.stderr


def test_weights_and_the_kinds_own_file_are_in_the_fingerprint(tmp_path: Path, own_kinds: None) -> None:
    file = write_example("model-kinds", tmp_path)
    include(file)
    weights = write_weights(tmp_path / "weights.npz")
    first = load_model(weights, "cifar").fingerprint
    assert load_model(weights, "cifar").fingerprint == first
    assert load_model(write_weights(tmp_path / "other.npz", 1), "cifar").fingerprint != first
    file.write_text(file.read_text() + "\n# edited\n")
    assert load_model(weights, "cifar").fingerprint != first


def test_a_kind_from_outside_wraps_what_factories_return(tmp_path: Path, own_kinds: None) -> None:
    (tmp_path / "boxed.py").write_text(
        "from windtunnel.models import load_model\n"
        "from windtunnel.models.kinds import ModelKind\n"
        "class Box:\n    pass\n"
        "class Boxed(ModelKind):\n"
        '    name, help, form = "boxed", "a box", "a Box"\n'
        "    def recognises(self, source):\n        return type(source).__name__ == 'Box'\n"
        "    def load(self, source, preprocess, data_size):\n        return load_model('demo')\n"
        "boxed = Boxed()\n"
    )
    include(tmp_path / "boxed.py")
    model = load_model(f"{tmp_path}/boxed.py:Box")
    assert model.class_count == 10
    assert model.fingerprint.startswith(load_model("demo").fingerprint + "-")


def test_a_malformed_file_gets_one_line(tmp_path: Path, own_kinds: None) -> None:
    include(write_example("model-kinds", tmp_path))
    np.savez(tmp_path / "other.npz", matrix=np.zeros(3))
    with pytest.raises(UserError, match=r"other\.npz contains matrix; give FILE\.npz with weights"):
        load_model(tmp_path / "other.npz")
    (tmp_path / "damaged.npz").write_bytes(b"no archive")
    with pytest.raises(UserError, match=r"kind linear failed on .*damaged\.npz: .*\. Give FILE\.npz with"):
        load_model(tmp_path / "damaged.npz")


def test_a_shipped_kind_that_fails_on_a_file_gets_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> Model:
        raise KeyError("bias")

    monkeypatch.setattr(type(REGISTRY.get("onnx")), "load", crash)
    with pytest.raises(
        UserError, match=r"kind onnx failed on x\.onnx: KeyError: 'bias'\. Give FILE\.onnx\.$"
    ):
        load_model("x.onnx")


def test_messages_name_the_forms_of_every_kind(own_kinds: None, tmp_path: Path) -> None:
    include(write_example("model-kinds", tmp_path))
    with pytest.raises(UserError) as error:
        load_model("nowhere.bin")
    written = [kind.form for kind in REGISTRY.all() if not kind.live]
    assert len(written) >= 14 and all(form in str(error.value) for form in written)
    assert "windtunnel list model-kinds" in str(error.value)


WRONG = """
from windtunnel.models.kinds import ModelKind
class Wrong(ModelKind):
    name = "wrong"
    {facts}
    def recognises(self, source):
        {recognises}
    {load}
wrong = Wrong()
"""
FACTS = 'help = "help"; form = "form"'
LOAD = "def load(self, source, preprocess, data_size): "


@pytest.mark.parametrize(
    ("facts", "recognises", "load", "said"),
    [
        ('help = "help"', "return True", f"{LOAD}return None", "'wrong' declares no form"),
        (FACTS, "return True", "", r"'wrong' declares no load\(source, preprocess, data_size\)"),
        (FACTS, "return source['x']", f"{LOAD}return None", "kind wrong failed on x.bin: TypeError"),
        (FACTS, "return True", f"{LOAD}return open(source)", "kind wrong failed on x.bin: FileNotFoundError"),
        (FACTS, "return True", f"{LOAD}return [1]", "loads x.bin as a list; return a windtunnel"),
        (f'{FACTS}; extra = "nonexistent_library"', "return True", f"{LOAD}return None",
         "kind wrong needs nonexistent_library, which is not installed: pip install 'nonexistent_library'"),
    ],
)  # fmt: skip
def test_a_wrong_kind_gets_one_line(
    facts: str, recognises: str, load: str, said: str, tmp_path: Path, own_kinds: None
) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(WRONG.format(facts=facts, recognises=recognises, load=load))
    with pytest.raises(UserError, match=said) as error:
        include(file)
        load_model("x.bin")
    assert "\n" not in str(error.value)
