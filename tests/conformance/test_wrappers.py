"""Every registered wrapper keeps the laws: it is found by its file, deterministic and part of the recipe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windtunnel
from windtunnel import api
from windtunnel.core.errors import UserError
from windtunnel.engine.recipe import model_recipe
from windtunnel.models import Model, load_model
from windtunnel.models.wrappers import REGISTRY

# Parameters without which a wrapper cannot be used.
NEEDED = {"temperature": "(t=2)"}
NAMES = REGISTRY.shipped()


def written(name: str) -> str:
    return name + NEEDED.get(name, "")


def wrapped(name: str) -> Model:
    return load_model(f"{written(name)}|demo")


def digit_images(count: int = 6) -> np.ndarray:
    data = windtunnel.open_dataset("demo")
    return np.stack([np.asarray(data.read(sample)) for sample in list(data.samples())[:count]])


@pytest.mark.parametrize("name", NAMES)
def test_a_wrapper_declares_its_facts(name: str) -> None:
    wrapper = REGISTRY.get(name)
    assert wrapper.name == name and wrapper.help.endswith(".") and wrapper.source
    for parameter in wrapper.parameters:
        assert parameter.help and "\n" not in parameter.help
        assert wrapper.settings({parameter.name: parameter.default})[parameter.name] == parameter.default
    row = {row["name"]: row for row in api.list_plugins("wrappers")}[name]
    assert row["written"].startswith(name) and set(row["parameters"]) == {
        one.name for one in wrapper.parameters
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_wrapped_model_is_a_model(name: str) -> None:
    inner, model = load_model("demo"), wrapped(name)
    images = digit_images()
    before = images.copy()
    scores = model.predict(images)
    assert scores.shape == (len(images), inner.class_count) and scores.dtype == np.float32
    assert np.array_equal(images, before)
    if model.outputs == "probabilities":
        assert np.allclose(scores.sum(axis=1), 1, atol=1e-5) and (scores >= 0).all()
    assert (model.kind, model.batch, model.portable, model.classes) == (
        inner.kind, inner.batch, True, inner.classes,
    )  # fmt: skip
    assert model.name.startswith(f"{inner.name} + {name}")
    assert ("(test time only)" in model.name) == REGISTRY.get(name).changes_images
    assert model.unwrapped.fingerprint == inner.fingerprint != model.fingerprint
    assert np.array_equal(model.redeclared(model.preprocess).predict(images), scores)
    assert model.placed(model.placement).fingerprint == model.fingerprint


@pytest.mark.parametrize("name", NAMES)
def test_results_depend_on_the_image_alone(name: str) -> None:
    model, images = wrapped(name), digit_images()
    together = model.predict(images)
    again = np.concatenate([wrapped(name).predict(images[row : row + 1]) for row in range(len(images))])
    assert np.allclose(together, again, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_in_the_recipe_and_the_fingerprint(name: str) -> None:
    model = wrapped(name)
    (record,) = model_recipe(model).wrappers
    assert record.name == name and not record.assets
    assert wrapped(name).fingerprint == model.fingerprint
    for parameter in REGISTRY.get(name).parameters:
        if isinstance(parameter.default, str):
            continue
        assert parameter.name in record.settings
        low = 3 if parameter.name == "t" else parameter.low or 1
        other = load_model(f"{name}({parameter.name}={low})|demo")
        assert other.fingerprint != model.fingerprint and other.name != model.name


def test_fingerprints_of_a_model_without_wrappers_have_no_trace_of_them() -> None:
    assert "wrappers" not in model_recipe(load_model("demo")).to_json()


def test_images_pass_from_left_to_right() -> None:
    model = load_model("clahe(clip=3)|tencrop|demo")
    assert [record.name for record in model.wrappers] == ["clahe", "tencrop"]
    images = digit_images()
    clahe = REGISTRY.get("clahe")
    (equalised,) = clahe.views(images, clahe.settings({"clip": 3}))
    assert np.array_equal(model.predict(images), load_model("tencrop|demo").predict(equalised))
    assert model.passes == 10


def test_a_model_file_declares_wrappers(tmp_path: Any) -> None:
    from windtunnel.data.demo import demo_model_path

    file = tmp_path / "digits.toml"
    declared = demo_model_path().with_name("digits.onnx.toml").read_text()
    file.write_text('wrappers = ["clahe", "flip"]\n' + declared)
    model, same = load_model("demo", file), load_model("clahe|flip|demo")
    assert model.fingerprint == same.fingerprint and model.name == same.name
    outside = load_model("temperature(t=2)|demo", file)
    assert [record.name for record in outside.wrappers] == ["temperature", "clahe", "flip"]
    file.write_text('wrappers = ["clah"]\n' + declared)
    with pytest.raises(UserError, match=r"Unknown wrapper 'clah'\. Did you mean clahe"):
        load_model("demo", file)


def test_a_live_model_is_wrapped_in_python() -> None:
    def mean_colour(images: np.ndarray) -> np.ndarray:
        return images.mean(axis=(1, 2))

    model = windtunnel.wrap(mean_colour, "clahe", "flip", preprocess="cifar")
    assert model.name == "mean_colour + flip + clahe (test time only)" and not model.portable
    with pytest.raises(UserError, match="needs an ONNX file; this model is a callable"):
        model.variant("int8")
    assert windtunnel.wrap("demo", "flip").fingerprint == load_model("flip|demo").fingerprint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("clah|demo", r"Unknown wrapper 'clah'\. Did you mean clahe\?.*windtunnel list wrappers"),
        ("clahe(clop=2)|demo", r"Unknown parameter of clahe 'clop'\. Did you mean clip\?"),
        ("clahe(clip=much)|demo", r"clahe: clip is 'much'; give a number from 0\.1 to 100\."),
        ("clahe(clip=nan)|demo", "clahe: clip is 'nan'; give a number"),
        ("clahe(tiles=2.5)|demo", r"clahe: tiles is '2\.5'; give a whole number from 1 to 64\."),
        ("clahe(3)|demo", r"clahe\(3\): '3' is not understood; write each parameter once, as NAME=VALUE"),
        ("clahe(clip=2, clip=3)|demo", "'clip=3' is not understood; write each parameter once"),
        ("clahe(clip=2|demo", r"'clahe\(clip=2' is not a wrapper; write NAME or NAME\(PARAMETER=VALUE"),
        ("flip(a=1)|demo", "flip has no parameters, and a is given; write flip"),
        ("|demo", "'' is not a wrapper"),
        ("clahe|", r"clahe\| names no model; write WRAPPER\|MODEL"),
        ("clahe|nowhere.onnx", r"No such model: nowhere\.onnx"),
        ("temperature|demo", r"temperature needs either t=NUMBER above 0 or file=FILE\.json"),
        ("temperature(t=2, file=t.json)|demo", r"temperature needs either t=NUMBER above 0 or file=FILE"),
        ("temperature(file=none.json)|demo", r"There is no file none\.json with a temperature"),
    ],
)
def test_mistakes_get_one_line(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        load_model(text)
    assert "\n" not in str(error.value)


def test_a_third_party_wrapper_is_checked(tmp_path: Any) -> None:
    wrong = (
        "from windtunnel.models.wrappers import Wrapper\n"
        "class Half(Wrapper):\n"
        '    name, help, source = "half", "Half.", "me"\n'
        "    def views(self, images, settings):\n        yield {made}\n"
        "half = Half()\n"
    )
    for made, said in (
        ("images[:, ::2]", r"wrapper half yields uint8 \(1, 16, 32, 3\); yield uint8 \(1, 32, 32, 3\)"),
        ("images / 2", "wrapper half yields float64"),
        ("images.nothing", "wrapper half fails on an image: AttributeError"),
    ):
        file = tmp_path / f"{abs(hash(made))}" / "half.py"
        file.parent.mkdir()
        file.write_text(wrong.format(made=made))
        windtunnel.include(file)
        with pytest.raises(UserError, match=said):
            load_model("half|demo")
        file.unlink()
    file = tmp_path / "half.py"
    file.write_text(wrong.format(made="images // 2"))
    windtunnel.include(file)
    first = load_model("half|demo")
    assert list(first.wrappers[0].assets) == ["wrapper half"]
    file.write_text(wrong.format(made="images // 4"))
    windtunnel.include(file)
    assert load_model("half|demo").fingerprint != first.fingerprint
