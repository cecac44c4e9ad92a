"""Explanations through the command line, the API and reports; confusions against scikit-learn."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image
from sklearn.metrics import confusion_matrix

import windtunnel
from tests.natural_sets import WNIDS, clean_folder, put, write_model
from tests.onnx_models import write_colour_model
from windtunnel.cli import cli
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import spelled_by
from windtunnel.data.demo import demo_model_path
from windtunnel.models import load_model
from windtunnel.options.command_line import as_option
from windtunnel.published.imagenet import imagenet_names
from windtunnel.published.natural_sets import masked_classes
from windtunnel.report.saliency import explain_with
from windtunnel.report.sections.confusions import confusion_examples, confusion_tables
from windtunnel.report.sections.misclassified_images import worst_failures

IN_A = masked_classes("in_imagenet_a")
AGAINST_ALL = """
import torch

def make():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 2, 1), torch.nn.Sigmoid(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(2, 2),
    )
    with torch.no_grad():
        net[0].weight[:], net[0].bias[:], net[-1].bias[:] = 0, 1, 0
        net[-1].weight[:] = torch.tensor([[-1.0, -1.0], [-2.0, -2.0]])
    return net
"""
NETWORK = """
import torch

def make():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 5, stride=4), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 5),
    )
"""


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments], catch_exceptions=True)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A grey field with a bright square in its lower right."""
    pixels = np.full((64, 64, 3), 60, np.uint8)
    pixels[40:60, 40:60] = (240, 200, 30)
    Image.fromarray(pixels).save(tmp_path / "field.png")
    return tmp_path / "field.png"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("explained") / "demo"
    windtunnel.run("demo", "demo", "demo", out=out)
    return out


def test_the_command_writes_both_images_and_says_where(image: Path, tmp_path: Path) -> None:
    model = write_colour_model(tmp_path / "colours.onnx", classes=4)
    out = tmp_path / "why.png"
    done = call("explain", model, image, "--out", out)
    assert done.exit_code == 0, done.exception
    width, height = Image.open(out).size
    assert width == 2 * 448 + 8 and height > 448, "both images over a legend"
    lines = dict(line.split(None, 1) for line in done.stdout.splitlines() if not line.startswith("depends"))
    assert len(re.findall(r"\d \d+\.\d %", lines["top"])) == 4
    assert re.search(
        r"depends on +the \w+( \w+)?: with this patch covered, .*\nframed +5x5 pixels at \d+,\d+\n",
        done.stdout,
    )
    assert lines["written"] == str(out)
    found = windtunnel.explain(model, image)
    rises, falls = -100 * found.map.min(), 100 * found.map.max()
    assert lines["colours"] == (
        "orange: the probability falls when covered, blue: it rises; full colour at 50+ points; this map, "
        "the mean over all patches that cover a pixel: "
        f"falls by up to {falls:.1f} points, rises by up to {rises:.1f} points"
    )
    # The framed patch alone lowers the probability by more than the mean over the patches of any pixel.
    assert 100 * (found.decisive_patch.before - found.decisive_patch.after) > falls


def test_json_is_the_library_s_explanation(image: Path, tmp_path: Path) -> None:
    model = write_colour_model(tmp_path / "colours.onnx", classes=4)
    done = call("explain", model, image, "--class", "2", "--out", tmp_path / "why.png", "--json")
    found = json.loads(done.stdout)
    same = windtunnel.explain(model, image, 2)
    assert found == {"model": "colours", "image": str(image), "written": str(tmp_path / "why.png"),
                     **json.loads(json.dumps(same.to_json()))}  # fmt: skip
    assert found["explained"]["index"] == 2 and found["size"] == [32, 32]
    as_array = windtunnel.explain(model, np.asarray(Image.open(image)), "2")
    np.testing.assert_array_equal(as_array.map, same.map)
    # What the patch does is what the model says of the covered image.
    network, patch = load_model(model), same.decisive_patch.patch
    covered = same.image.copy()
    rows, columns = (slice(at, at + patch.width) for at in (patch.top, patch.left))
    covered[rows, columns] = np.rint(same.image.mean(axis=(0, 1)))
    scores = np.exp(network.predict(np.stack([same.image, covered])).astype(np.float64))
    shares = scores / scores.sum(axis=1, keepdims=True)
    assert [same.decisive_patch.before, same.decisive_patch.after] == pytest.approx(
        shares[:, 2].tolist(), rel=1e-5
    )


def test_grad_cam_of_a_torch_file(image: Path, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NETWORK)
    model = f"{tmp_path / 'net.py'}:make"
    done = call("explain", model, image, "--method", "grad-cam", "--out", tmp_path / "g.png", "--json")
    assert done.exit_code == 0, done.exception
    found = json.loads(done.stdout)
    assert found["method"] == "grad-cam" and found["patches"] == 0
    named = windtunnel.explain(model, image, method="grad-cam", layer="2")
    assert named.map.shape == (224, 224) and named.map.min() >= 0
    assert named.decisive_patch.before == pytest.approx(found["decisive_patch"]["before"])
    with pytest.raises(UserError, match=r"Unknown layer 'conv'. Known: 0, 2"):
        windtunnel.explain(model, image, method="grad-cam", layer="conv")


def test_a_map_of_nothing_hangs_nowhere(image: Path, tmp_path: Path) -> None:
    # Every feature is positive and speaks against both classes.
    (tmp_path / "net.py").write_text(AGAINST_ALL)
    model, out = f"{tmp_path / 'net.py'}:make", tmp_path / "g.png"
    found = windtunnel.explain(model, image, method="grad-cam")
    assert found.decisive_patch is None and not found.map.any()
    done = call("explain", model, image, "--method", "grad-cam", "--out", out)
    assert done.exit_code == 0, done.exception
    assert re.search(r"depends on +no region: the Grad-CAM map of 0 is zero everywhere\n", done.stdout)
    assert not re.search("^(framed|spread)", done.stdout, re.MULTILINE)
    # No frame: the second image is the first one in pale grey.
    drawn = np.asarray(Image.open(out))[: 2 * found.image.shape[0], -found.image.shape[1] :]
    assert (drawn.min(axis=2) == drawn.max(axis=2)).all() and drawn.min() > 0
    as_json = call("explain", model, image, "--method", "grad-cam", "--out", out, "--json")
    assert json.loads(as_json.stdout)["decisive_patch"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("{model}", "none.png"), "No such image: none.png"),
        (("{model}", "{text}"), "cannot be explained: "),
        (("none.onnx", "{image}"), "No such model: none.onnx"),
        (("{model}", "{image}", "--class", "seven"), "Unknown class of colours 'seven'"),
        (("{model}", "{image}", "--class", "9"), "class 9 is not among the 4 outputs"),
        (("{model}", "{image}", "--method", "grad-cam"), "needs gradients, and colours is of kind onnx"),
        (("{model}", "{image}", "--layer", "0"), "layer is '0', but occlusion has no layers"),
        (("{model}", "{image}", "--out", "why.gif"), "give a file ending in .png"),
        (("{model}", "{image}", "--out", "{image}"), "the image itself"),
    ],
)  # fmt: skip
def test_mistakes_take_one_line(image: Path, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    model = write_colour_model(tmp_path / "colours.onnx", classes=4)
    (tmp_path / "notes.png").write_text("no image")
    given = [one.format(model=model, image=image, text=tmp_path / "notes.png") for one in arguments]
    before = image.read_bytes()
    done = call("explain", *given)
    assert isinstance(done.exception, UserError) and words in str(done.exception)
    assert "\n" not in str(done.exception) and image.read_bytes() == before


def test_only_a_close_class_name_is_suggested(tmp_path: Path, image: Path) -> None:
    model = write_colour_model(tmp_path / "colours.onnx", classes=1000)
    for given, meant in (("nosuch", ""), ("ostritch", "ostrich"), ("stingrey", "stingray")):
        done = call("explain", model, image, "--class", given)
        assert ("Did you mean" in str(done.exception)) == bool(meant)
        assert not meant or f"Did you mean {meant}?" in str(done.exception)


def test_classes_go_by_name_wordnet_id_and_index(tmp_path: Path, image: Path) -> None:
    model = write_colour_model(tmp_path / "colours.onnx", classes=1000)
    for given in ("tabby", "Tabby cat", "n02123045", "281", 281):
        assert windtunnel.explain(model, image, given).explained.index == 281
    with pytest.raises(UserError, match=r"2 classes of colours have the name 'crane': n02012849 \(134\), "):
        windtunnel.explain(model, image, "crane")
    with pytest.raises(UserError, match="Did you mean goldfish"):
        windtunnel.explain(model, image, "golddfish")


def test_reports_carry_maps_only_when_asked(demo: Path) -> None:
    done = call("report", demo)
    assert done.exit_code == 0
    page = (demo / "report.html").read_text()
    assert "Saliency map" not in page and "<h2>Confusions</h2>" in page
    assert call("report", demo, "--explain", "demo").exit_code == 0
    page = (demo / "report.html").read_text()
    shown = re.findall(r'alt="Saliency map of (\d) on (\d+) under', page)
    failures = worst_failures(windtunnel.load_run(demo).scoring).failures
    assert shown == [(one.predicted, one.image) for one in failures[:6]]
    assert "The prediction depends on the " in page and page.count("saliency map of the predicted class") == 2


def test_a_map_is_of_the_image_and_the_answer_the_run_holds(demo: Path) -> None:
    run = windtunnel.load_run(demo)
    model = load_model("demo")
    for one in worst_failures(run.scoring, explain_with(run.scoring, model)).failures[:6]:
        assert one.saliency is not None and one.confidence is not None
        told = re.search(r"covered, (\d) goes from ([\d.]+) % to", one.saliency.text)
        assert told and told[1] == one.predicted
        assert float(told[2]) == pytest.approx(100 * one.confidence, abs=0.1)


def test_time_bounds_the_maps_and_not_the_report(demo: Path) -> None:
    run = windtunnel.load_run(demo)
    shown = worst_failures(run.scoring, explain_with(run.scoring, load_model("demo"), seconds=0))
    assert all(one.saliency is None for one in shown.failures)
    assert "0 of 6 saliency maps were made within the limit of 0 seconds" in shown.note


def test_other_models_and_preprocesses_are_refused(demo: Path, tmp_path: Path) -> None:
    model = write_colour_model(tmp_path / "colours.onnx")
    twin = Path(shutil.copy(model, tmp_path / "twin.onnx"))
    shutil.copy(demo_model_path().with_name(demo_model_path().name + ".toml"), tmp_path / "twin.onnx.toml")
    for arguments, words in (
        (("--explain", model), "Give that model and its --preprocess"),
        (("--explain", twin), "twin is not the model of"),
        (
            ("--explain", "demo", "--preprocess", "imagenet"),
            "digits (preset imagenet) differs from the model of ",
        ),
        (("--explain", "demo", "--json"), "--explain draws images into report.html"),
        (("--preprocess", "imagenet"), "give both or neither"),
    ):
        done = call("report", demo, *arguments)
        with spelled_by(as_option):
            assert isinstance(done.exception, UserError) and words in str(done.exception)


def test_confusions_are_scikit_learns(demo: Path) -> None:
    run = windtunnel.load_run(demo)
    seen = run.scoring.observed
    right = np.array([labels[0] for labels in seen.labels])
    spoilt = [place for place, one in enumerate(run.conditions) if one.kind == "corruption"]
    for part, columns in zip(confusion_tables(run.scoring), ([seen.column("native")], spoilt), strict=True):
        counts = confusion_matrix(np.repeat(right, len(columns)), seen.chosen[:, columns].ravel())
        assert part["predictions"] == counts.sum() and part["incorrect"] == counts.sum() - np.trace(counts)
        assert part["pairs"] == (counts > 0).sum() - (np.diag(counts) > 0).sum()
        images = {
            (said, label): int((seen.chosen[right == label][:, columns] == said).any(axis=1).sum())
            for said in range(10) for label in range(10) if said != label
        }  # fmt: skip
        expected = sorted((-counts[label, said] for (said, label), n in images.items() if n >= 3))
        assert [-row["n"] for row in part["rows"]] == expected[:10]
        for row in part["rows"]:
            said, label = int(row["predicted"]), int(row["label"])
            assert row["n"] == counts[label, said] and row["images"] == images[said, label]
            assert row["share"] == pytest.approx(counts[label, said] / counts[label].sum())
            place = list(seen.ids).index(row["image"])
            column = seen.column(row["condition"])
            assert (seen.chosen[place, column], right[place]) == (said, label)


def test_every_confusion_shows_its_image(demo: Path) -> None:
    run = windtunnel.load_run(demo)
    parts = confusion_tables(run.scoring)
    found = confusion_examples(run.scoring, parts, explain_with(run.scoring, load_model("demo")))
    rows = [row for part in parts for row in part["rows"]]
    assert len(found.images) == len({(row["condition"], row["image"], row["output"]) for row in rows})
    assert sum(one.saliency is not None for one in found.images.values()) == 6
    assert all(one.image.startswith("data:image/jpeg") for one in found.images.values())


def test_markdown_and_json_hold_the_confusions(demo: Path) -> None:
    parts = confusion_tables(windtunnel.load_run(demo).scoring)
    assert json.loads(call("report", demo, "--json").output)["confusions"] == parts
    first = parts[1]["rows"][0]
    cells = (first["predicted"], first["label"], first["n"], first["images"], f"{100 * first['share']:.1f}")
    assert f"| {' | '.join(map(str, cells))} |" in call("report", demo, "--markdown").output


def test_a_run_of_nothing_but_images_shows_the_surest_wrong_answers(tmp_path: Path) -> None:
    suite = tmp_path / "plain.toml"
    suite.write_text('name = "plain"\nversion = 1\nunits = []\nmetrics = ["top1_error"]\n')
    done = call(
        "run", "demo", "demo", "--suite", suite, "--out", tmp_path / "run", "--workers", 1, "--explain"
    )
    assert done.exit_code == 0, done.exception
    run = windtunnel.load_run(tmp_path / "run")
    shown = worst_failures(run.scoring).failures
    seen = run.scoring.observed
    column = seen.column("native")
    wrong = np.flatnonzero(seen.rank[:, column] > 0)
    assert shown[0].image == seen.ids[wrong[seen.confidence[wrong, column].argmax()]]
    assert {one.condition for one in shown} == {"native"} and {one.clean_image for one in shown} == {""}
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Misclassified images, most confident predictions first" in page and 'class="images of-2"' in page
    assert page.count('alt="Saliency map of') >= 6
    assert run.report().read_text().count('alt="Saliency map of') == 0
    assert run.report(explain="demo").read_text().count('alt="Saliency map of') >= 6


def test_missing_images_leave_the_table(digit_folder: Path, tmp_path: Path) -> None:
    run = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "run")
    parts = confusion_tables(run.scoring)
    assert any(part["rows"] for part in parts), "else this shows nothing"
    for file in digit_folder.rglob("*.png"):
        file.unlink()
    assert "<h2>Confusions</h2>" in windtunnel.load_run(tmp_path / "run").report().read_text()


def test_of_a_natural_run_the_shifted_part_is_in_question(tmp_path: Path) -> None:
    """Four of six images of one class are taken for another; the clean ones' mistakes do not count."""
    first, second = IN_A[:2]
    for place, said in enumerate([second] * 4 + [first] * 2):
        put(tmp_path / "imagenet-a" / WNIDS[first] / f"{place}.jpg", said, shade=place)
    put(tmp_path / "imagenet-a" / WNIDS[second] / "x.jpg", second)
    clean = clean_folder(tmp_path / "val", IN_A[:2], right=0, wrong=5)
    model = f"{write_model(tmp_path)}:answers"
    done = call("run", model, tmp_path / "imagenet-a", "--clean", clean, "--suite", "imagenet-a",
                "--out", tmp_path / "run", "--workers", 1, "--explain")  # fmt: skip
    assert done.exit_code == 0, done.exception
    run = windtunnel.load_run(tmp_path / "run")
    (part,) = confusion_tables(run.scoring)
    (row,) = part["rows"]
    assert (part["part"], part["predictions"], part["incorrect"], part["pairs"]) == ("imagenet-a", 7, 4, 1)
    names = [imagenet_names()[WNIDS[label]] for label in (second, first)]
    assert [row["predicted"], row["label"], row["n"], row["of"]] == [*names, 4, 6]
    shown = worst_failures(run.scoring).failures
    assert len(shown) == 2 and not any(one.image.startswith("clean/") for one in shown)
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count(f'alt="Saliency map of {names[0]} on') == 3, "two failures, one confusion"
    assert (
        f"The prediction depends on no single patch: covering any one of them does not lower {names[0]} from"
        in page
    ), "one colour"


def test_collapsed_classes_are_explained_under_their_own_names(tmp_path: Path) -> None:
    """Outputs 3 and 4 stand for one class; the model says 3, the label is the other class."""
    for place in range(4):
        put(tmp_path / "images" / "bird" / f"{place}.png", 3, shade=place)
        put(tmp_path / "images" / "fish" / f"{place}.png", 3 + place % 2, shade=place)
    (tmp_path / "map.csv").write_text("output,class\n0,bird\n1,bird\n3,fish\n4,fish\n")
    suite = tmp_path / "plain.toml"
    suite.write_text('name = "plain"\nversion = 1\nunits = []\nmetrics = ["top1_error"]\n')
    model = f"{write_model(tmp_path)}:ten"
    run = windtunnel.run(
        model, tmp_path / "images", suite, label_map=tmp_path / "map.csv", out=tmp_path / "r"
    )
    (row,) = confusion_tables(run.scoring)[0]["rows"]
    assert (row["predicted"], row["label"], row["n"], row["share"]) == ("fish", "bird", 4, 1)
    failure = worst_failures(run.scoring, explain_with(run.scoring, load_model(model))).failures[0]
    assert failure.saliency is not None and failure.confidence is not None
    assert (
        f"covering any one of them does not lower fish from {100 * failure.confidence:.1f} %"
        in failure.saliency.text
    )
