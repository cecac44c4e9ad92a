"""Every registered wrapper keeps the laws: it is found by its file, deterministic and part of the recipe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windtunnel
from windtunnel import api
from windtunnel.core.calls import call_text, parse_call, split_wrapped
from windtunnel.core.errors import UserError
from windtunnel.engine.recipe import model_recipe
from windtunnel.models import Model, load_model
from windtunnel.models.wrappers import REGISTRY, Wrapper
from windtunnel.models.wrapping import training_notes
from windtunnel.suites.golden_digests import golden_views_digest

# Parameters without which a wrapper cannot be used.
NEEDED = {"temperature": "(t=2)"}
NAMES = REGISTRY.shipped()
# Wrappers of classifiers; the others make a classifier of a detector.
OF_SCORES = [name for name in NAMES if not REGISTRY.get(name).reads_detections]


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


@pytest.mark.parametrize("name", OF_SCORES)
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
def test_golden_digest_is_the_one_in_the_file(name: str) -> None:
    wrapper = REGISTRY.get(name)
    if type(wrapper).views is Wrapper.views:
        assert not wrapper.golden
    else:
        assert golden_views_digest(wrapper) == wrapper.golden, "pixels changed: raise `revision`"


def test_the_revision_is_part_of_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = wrapped("flip")
    monkeypatch.setattr(REGISTRY.get("flip"), "revision", 2, raising=False)
    after = wrapped("flip")
    assert after.fingerprint != before.fingerprint
    recipe = model_recipe(after)
    assert recipe.wrappers[0].revision == 2 and recipe.weights == load_model("demo").fingerprint


@pytest.mark.parametrize("name", OF_SCORES)
def test_results_depend_on_the_image_alone(name: str) -> None:
    model, images = wrapped(name), digit_images()
    together = model.predict(images)
    again = np.concatenate([wrapped(name).predict(images[row : row + 1]) for row in range(len(images))])
    assert np.allclose(together, again, atol=1e-5)


@pytest.mark.parametrize("name", OF_SCORES)
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
        ("model.onnx|clahe(clip=3)", r"ends with the wrapper clahe\(clip=3\); write the model last"),
        ("clahe|", r"clahe\| names no model; write WRAPPER\|MODEL"),
        ("clahe|nowhere.onnx", r"No such model: nowhere\.onnx"),
        ("temperature|demo", r"temperature needs either t=NUMBER above 0 or file=FILE\.json"),
        ("temperature(t=2, file=t.json)|demo", r"temperature needs either t=NUMBER above 0 or file=FILE"),
        ("temperature(file=none.json)|demo", r"There is no file none\.json with a temperature"),
        ("temperature(file='a, b|(c).json')|demo", r"There is no file a, b\|\(c\)\.json with a temperature"),
        ("temperature(file='a.json)|demo", "'file='a.json' is not understood"),
        ("denoise(patch=6)|demo", r"denoise: patch is '6'; give an odd number from 1 to 21\."),
        ("denoise(search=20)|demo", r"denoise: search is '20'; give an odd number from 1 to 51\."),
        ("flip|flip|demo", r"flip\|flip changes nothing that one of them does not; leave one out"),
        ("flip|tencrop|demo", r"flip\|tencrop changes nothing"),
        ("tencrop|flip|demo", r"tencrop\|flip changes nothing"),
        ("temperature(t=2)|temperature(t=3)|demo", r"temperature\|temperature changes nothing"),
        ("tencrop(keep=1)|demo", r"tencrop: keep is '1'; give a number from 0\.1 to 0\.99\."),
        ("resizes(scale=1)|demo", r"resizes: scale is '1'; give a number from 0\.1 to 0\.99\."),
        (f"clahe|{5000 * 'x'}", r"No such model: x+\.\.\."),
        (5000 * "x", r"No such model: x+\.\.\."),
    ],
)
def test_mistakes_get_one_line(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        load_model(text)
    assert "\n" not in str(error.value)


def test_a_text_in_quotes_may_contain_anything() -> None:
    for value in ("a, b|(c).json", "plain.json", "it's.json", "x=y", ' "q" '):
        text = call_text("temperature", {"t": 0.1 + 0.2, "file": value})
        call = parse_call(text, REGISTRY)
        assert call.settings == {"t": 0.1 + 0.2, "file": value} and call.text == text
        assert split_wrapped(f"clahe|{text}|m.onnx") == (("clahe", text), "m.onnx")


def test_several_wrappers_in_one_text() -> None:
    assert windtunnel.wrap("demo", "clahe|flip").wrappers == load_model("clahe|flip|demo").wrappers
    with pytest.raises(UserError, match="'clahe\\|flip' is not a wrapper"):
        parse_call("clahe|flip", REGISTRY)


def test_a_loaded_model_keeps_its_preprocessing() -> None:
    with pytest.raises(UserError, match="digits is loaded with its preprocessing, and preprocess is given"):
        windtunnel.wrap(load_model("demo"), "flip", preprocess="cifar")


@pytest.mark.parametrize("name", OF_SCORES)
def test_wrapped_models_take_any_batch_of_images_and_nothing_else(name: str) -> None:
    model, images = wrapped(name), digit_images()
    mirrored = images[::-1, :, ::-1]
    assert np.array_equal(model.predict(mirrored), model.predict(mirrored.copy()))
    locked = images.copy()
    locked.flags.writeable = False
    assert np.array_equal(model.predict(locked), model.predict(images))
    nothing = model.predict(images[:0])
    assert nothing.shape == (0, 10) and nothing.dtype == np.float32
    for wrong in (images / 255, images[0], images[..., :1], images.tolist()):
        with pytest.raises(UserError, match=r"takes uint8 \(images, height, width, 3\), and .* is given"):
            model.predict(wrong)


def test_averages_say_so_and_refuse_softmax_of_probabilities(tmp_path: Any) -> None:
    averaged = load_model("tencrop|demo")
    assert (averaged.outputs, averaged.outputs_from) == ("probabilities", "averaged over 10 views")
    assert load_model("clahe|demo").outputs_from == load_model("demo").outputs_from

    def shares(images: np.ndarray) -> np.ndarray:
        level = images.mean(axis=(1, 2, 3)) / 255
        return np.stack([level, 1 - level], axis=1)

    file = tmp_path / "shares.toml"
    file.write_text('preset = "cifar"\noutputs = "logits"\n')
    with pytest.raises(UserError, match="would average the softmax of probabilities; declare outputs"):
        windtunnel.wrap(shares, "flip", preprocess=file)
    assert windtunnel.wrap(shares, "clahe", preprocess=file).outputs == "logits"


def test_the_label_says_how_the_model_was_trained(tmp_path: Any) -> None:
    from windtunnel.data.demo import demo_model_path

    declared = demo_model_path().with_name("digits.onnx.toml").read_text()
    file = tmp_path / "digits.toml"
    file.write_text('trained_with = ["clahe(clip=3, tiles=8)", "augmix"]\n' + declared)
    for text, label, noted in (
        ("clahe(clip=3)|demo", "clahe(clip=3) (trained with it)", ""),
        ("clahe|demo", "clahe (trained with other settings)", "is run with clahe(clip=2, tiles=8)"),
        ("denoise|demo", "denoise (test time only)", "is run without it"),
    ):
        model = load_model(text, file)
        assert model.name == f"digits + {label}"
        assert [noted in note for note in training_notes(model)] == ([True] if noted else [])
    assert not training_notes(load_model("clahe|demo"))


def third_party(folder: Any, body: str) -> None:
    """Include a wrapper `own` with a body."""
    folder.mkdir()
    file = folder / "own.py"
    file.write_text(
        "import numpy as np\nfrom windtunnel.models.wrappers import Wrapper\nclass Own(Wrapper):\n"
        f'    name, help, source = "own", "Own.", "me"\n    {body}\nown = Own()\n'
    )
    windtunnel.include(file)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "def adjusted(self, scores, outputs, settings): return scores[:, :3]",
            r"float32 \(1, 3\); return float32",
        ),
        ("def adjusted(self, scores, outputs, settings): return scores * 2.0 + np.zeros(1)", "of float64"),
        ("def adjusted(self, scores, outputs, settings): return None", "returns scores of NoneType"),
        ("def adjusted(self, scores, outputs, settings): return scores * np.float32(np.nan)", "not finite"),
        ("def adjusted(self, scores, outputs, settings): return scores * 2", "a row sums to 2.000"),
        ("def views(self, images, settings): yield from ()", "yields no view"),
        ("def views(self, images, settings):\n        images[:] = 0\n        yield images", "read-only"),
    ],
)
def test_what_a_third_party_wrapper_returns_is_checked(tmp_path: Any, body: str, said: str) -> None:
    third_party(tmp_path / "own", body)
    with pytest.raises(UserError, match=said):
        load_model("own|flip|demo")


def test_the_number_of_views_is_the_same_for_all_images(tmp_path: Any) -> None:
    body = "def views(self, images, settings):\n        for _ in range({count}): yield images"
    for number, (count, said) in enumerate(
        (("1 + int(images.max() < 9)", "yields more views of some images and 1 of others"),
         ("2 - int(images.max() < 9)", "yields 1 views of some images and 2 of others"))
    ):  # fmt: skip
        third_party(tmp_path / str(number), body.format(count=count))
        model = load_model("own|demo")
        model.predict(digit_images())
        with pytest.raises(UserError, match=said):
            model.predict(np.zeros((1, 32, 32, 3), np.uint8))
        (tmp_path / str(number) / "own.py").unlink()


def test_a_wrapped_model_has_the_attributes_of_its_base_model() -> None:
    base = load_model("demo")
    model = windtunnel.wrap(base, "flip")
    base.top_k, base.hardware = 3, "abacus"
    assert (model.top_k, model.hardware) == (3, "abacus")
    model.fitting_batch = 2
    assert base.fitting_batch is None and model.placed(model.placement).fitting_batch is None


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
