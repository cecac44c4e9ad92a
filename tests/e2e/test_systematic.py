"""Swapped steps of a pipeline, end to end: the pixels a model sees, the scores, and what is left out."""

from __future__ import annotations

import io
import json
import statistics
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.onnx_models import write_colour_model
from windtunnel.core.errors import UserError
from windtunnel.report.sections.deployment import pixel_differences
from windtunnel.suites.suite_files import load_suite

IMAGENET_S = [
    "native", "clean", "decode=opencv", "decode=ffmpeg",
    "resize=pillow-nearest", "resize=pillow-bicubic",
    "resize=opencv-nearest", "resize=opencv-bilinear", "resize=opencv-bicubic",
]  # fmt: skip


def photo(seed: int, height: int = 90, width: int = 131) -> np.ndarray:
    """A soft random image: neither flat nor noise."""
    coarse = np.random.default_rng(seed).integers(0, 256, (9, 13, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Twelve JPEG files in three classes."""
    root = tmp_path / "photos"
    for number in range(12):
        file = root / f"{number % 3}" / f"{number}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(photo(number)).save(file, quality=80)
    return root


class Watcher:
    """A model that remembers what it was shown, and says which third of the greys the mean is in."""

    name = "watcher"

    def __init__(self) -> None:
        self.seen: set[bytes] = set()

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        self.seen |= {image.tobytes() for image in batch}
        means = batch.reshape(len(batch), -1).mean(axis=1) * 7 % 3
        return -np.abs(means[:, None] - np.arange(3)[None]).astype(np.float32)


def test_imagenet_s_shows_the_model_what_the_libraries_make(photos: Path, tmp_path: Path) -> None:
    model = Watcher()
    run = windtunnel.run(model, photos, "imagenet-s", out=tmp_path / "run")
    assert [condition.name for condition in run.conditions] == IMAGENET_S
    interpolations = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC}
    for file in photos.glob("*/*.jpg"):
        pixels = np.asarray(Image.open(file).convert("RGB"))
        made = [np.asarray(Image.fromarray(pixels).resize((256, 256), Image.Resampling[name.upper()]))
                for name in interpolations]  # fmt: skip
        made += [cv2.resize(pixels, (256, 256), interpolation=code) for code in interpolations.values()]
        bgr = cv2.imread(str(file), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
        other = [cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), by_ffmpeg(file)]
        made += [np.asarray(Image.fromarray(one).resize((256, 256), Image.Resampling.BILINEAR))
                 for one in other]  # fmt: skip
        for whole in made:
            assert whole[16:240, 16:240].tobytes() in model.seen


def by_ffmpeg(file: Path) -> np.ndarray:
    import av

    with av.open(io.BytesIO(file.read_bytes())) as container:
        return next(container.decode(video=0)).to_ndarray(format="rgb24")


def test_axis_scores_follow_from_the_predictions(photos: Path, tmp_path: Path) -> None:
    run = windtunnel.run(Watcher(), photos, "imagenet-s", out=tmp_path / "run")
    rows = run.predictions(["condition", "label_rank", "top"]).to_pylist()
    accuracy = {
        name: statistics.mean(row["label_rank"] == 0 for row in rows if row["condition"] == name)
        for name in IMAGENET_S
    }
    chosen = {name: [row["top"][0] for row in rows if row["condition"] == name] for name in IMAGENET_S}
    scores = {(score.metric, score.condition): score for score in run.scores()}
    for axis, size in (("decode", 3), ("resize", 6)):
        methods = ["clean", *(name for name in IMAGENET_S if name.startswith(f"{axis}="))]
        values = [accuracy[name] for name in methods]
        assert len(methods) == size
        assert scores[f"{axis}_mean_accuracy", ""].value == pytest.approx(statistics.mean(values))
        assert scores[f"{axis}_accuracy_std", ""].value == pytest.approx(statistics.stdev(values))
        assert scores[f"{axis}_accuracy_range", ""].value == pytest.approx(max(values) - min(values))
        flips = [len(set(answers)) > 1 for answers in zip(*(chosen[name] for name in methods), strict=True)]
        assert scores[f"{axis}_flip_share", ""].value == pytest.approx(statistics.mean(flips))
    for name in IMAGENET_S[2:]:
        assert scores["step_cost", name].value == pytest.approx(accuracy["clean"] - accuracy[name])
        assert (
            scores["step_cost", name].low <= scores["step_cost", name].value <= scores["step_cost", name].high
        )
        flips = [a != b for a, b in zip(chosen[name], chosen["clean"], strict=True)]
        assert scores["step_flip_share", name].value == pytest.approx(statistics.mean(flips))


def test_the_standard_deviation_is_given_without_what_chance_adds(photos: Path, tmp_path: Path) -> None:
    run = windtunnel.run(Watcher(), photos, "imagenet-s", out=tmp_path / "run")
    scores = {score.metric: score for score in run.scores(["axis_accuracy"])}
    rows = run.predictions(["condition", "label_rank"]).to_pylist()
    methods = ["clean", *(name for name in IMAGENET_S if name.startswith("resize="))]
    right = np.array([[row["label_rank"] == 0 for row in rows if row["condition"] == name]
                      for name in methods], float)  # fmt: skip
    centred = right - right.mean(axis=0)
    noise = np.cov(centred).trace() / 12 / 5
    wanted = max(0.0, right.mean(axis=1).var(ddof=1) - noise) ** 0.5
    assert scores["resize_accuracy_std_corrected"].value == pytest.approx(wanted)
    paper, corrected = scores["resize_accuracy_std"], scores["resize_accuracy_std_corrected"]
    assert (paper.low, paper.high) == (corrected.low, corrected.high)
    assert 0 <= paper.low <= wanted < paper.value <= paper.high
    # Pillow and OpenCV decode alike here: said, and counted among the methods all the same.
    assert "3 methods (clean, decode=opencv, decode=ffmpeg), 2 of them distinct" in (
        scores["decode_accuracy_std"].formula
    )


def test_an_axis_of_identical_pixels_has_no_scatter_and_one_of_steady_answers_may(
    photos: Path, tmp_path: Path
) -> None:
    def steady(batch: np.ndarray) -> np.ndarray:
        return np.tile(np.float32([1, 0, 0]), (len(batch), 1))

    run = windtunnel.run(steady, photos, "systematic", only=["decode=opencv", "resize=opencv-area"],
                         out=tmp_path / "run")  # fmt: skip
    scores = {score.metric: score for score in run.scores(["axis_accuracy"])}
    for what in ("accuracy_std", "accuracy_std_corrected", "accuracy_range", "flip_share"):
        same, steady_answers = scores[f"decode_{what}"], scores[f"resize_{what}"]
        assert (same.value, same.low, same.high) == (0, 0, 0)
        assert (steady_answers.value, steady_answers.low) == (0, 0)
        # Twelve images without a flip leave room for one in four.
        assert 0.1 < steady_answers.high < 0.35


def test_identical_pixels_are_said_to_be_identical(photos: Path, tmp_path: Path) -> None:
    run = windtunnel.run("demo", photos, "systematic", only=["decode=opencv", "resize=opencv-nearest"],
                         out=tmp_path / "run", labels_are_outputs=True)  # fmt: skip
    costs = {score.condition: score for score in run.scores(["step_cost"])}
    assert "identical on every image" in costs["decode=opencv"].formula
    assert (costs["decode=opencv"].low, costs["decode=opencv"].high) == (0, 0)
    flips = {score.condition: score for score in run.scores(["step_flip_share"])}
    assert (flips["decode=opencv"].low, flips["decode=opencv"].high) == (0, 0)
    assert "identical" not in costs["resize=opencv-nearest"].formula
    change = run.predictions(["condition", "pixel_change", "pixel_change_max"]).to_pylist()
    assert all(row["pixel_change"] > 0 for row in change if row["condition"] == "resize=opencv-nearest")
    assert {row["pixel_change_max"] for row in change if row["condition"] == "decode=opencv"} == {0}


def test_an_image_one_decoder_cannot_read_leaves_every_condition(photos: Path, tmp_path: Path) -> None:
    Image.fromarray(photo(99)).save(photos / "0" / "99.png")
    run = windtunnel.run("demo", photos, "systematic", only=["decode=*"], out=tmp_path / "run",
                         labels_are_outputs=True)  # fmt: skip
    assert run.scoring.observed.left_out == 1
    assert {score.n for score in run.scores()} == {12}
    bad = [row for row in run.predictions(["condition", "status", "reason"]).to_pylist() if row["reason"]]
    assert {row["sample_id"] for row in bad} == {"0/99.png"}
    assert all("reads JPEG only, this is PNG" in row["reason"] for row in bad)


def test_decoders_that_read_none_of_the_images_are_left_out_and_named(
    digit_folder: Path, tmp_path: Path
) -> None:
    plan = windtunnel.plan("demo", digit_folder, "systematic")
    names = [condition.name for condition in plan.conditions]
    assert "decode=opencv" in names and "decode=simplejpeg" not in names
    (line,) = plan.info.remarks
    assert line.startswith("Left out: decode=simplejpeg, ")
    assert line.endswith("40 of 40 images are in a format that it does not read.")


def test_numerics_are_model_variants_and_workers_change_nothing(photos: Path, tmp_path: Path) -> None:
    runs = [
        windtunnel.run("demo", photos, "systematic", only=["numerics=*", "colour=bgr"], workers=workers,
                       out=tmp_path / f"run{workers}", labels_are_outputs=True)
        for workers in (1, 2)
    ]  # fmt: skip
    first, second = (
        {path.name: path.read_bytes() for path in (run.path / "shards").iterdir()} for run in runs
    )
    assert first == second
    rows = runs[0].predictions(["condition", "top_score", "pixel_change"]).to_pylist()
    scores = {name: [row["top_score"] for row in rows if row["condition"] == name]
              for name in ("native", "numerics=float16", "numerics=int8")}  # fmt: skip
    assert scores["native"] != scores["numerics=float16"] != scores["numerics=int8"]
    assert np.asarray(scores["numerics=int8"]) == pytest.approx(
        np.asarray(scores["native"]), rel=0.2, abs=0.5
    )
    assert all(row["pixel_change"] == 0 for row in rows if row["condition"].startswith("numerics"))


def test_a_step_around_the_models_own_preprocess_changes_that_step_alone(
    photos: Path, tmp_path: Path
) -> None:
    declared = tmp_path / "model.onnx.toml"
    declared.write_text(
        '[geometry]\nresizer = "pillow-bicubic"\nrule = "short-side"\nresize_px = 40\ncrop_px = 32\n'
    )
    model = write_colour_model(tmp_path / "model.onnx", classes=3)
    plan = windtunnel.plan(model, photos, "systematic")
    names = [condition.name for condition in plan.conditions]
    assert "resize=pillow-bilinear" in names and "resize=pillow-bicubic" not in names
    assert "geometry=squash" in names and "geometry=short-side" not in names
    squash = next(one for one in plan.conditions if one.name == "geometry=squash")
    assert squash.geometry["rule"] == "squash" and squash.geometry["resizer"] == "pillow-bicubic"
    assert len({condition.id for condition in plan.conditions}) == len(plan.conditions)


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ("decode=pilow", "Unknown decode 'pilow'. Did you mean pillow?"),
        ("decod=pillow", "Unknown axis 'decod'. Did you mean decode?"),
        ("numerics=int4", "Unknown numerics 'int4'"),
    ],
)
def test_mistakes_are_one_line(windtunnel_command: Command, unit: str, message: str) -> None:
    done = windtunnel_command("run", "demo", "demo", "--suite", "systematic", "--only", unit)
    assert done.returncode == 2
    assert message in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_missing_extra_names_its_cure(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(UserError, match=r"decode=ffmpeg: .*pip install 'av>="):
        windtunnel.plan("demo", photos, "imagenet-s", labels_are_outputs=True)
    plan = windtunnel.plan("demo", photos, "systematic", labels_are_outputs=True)
    assert any("decode=ffmpeg" in line and "pip install 'av>=" in line for line in plan.info.remarks)


def break_library(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a package of that name first that is there and cannot be imported."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("raise ImportError('libfar.so.7: cannot open\\nit')")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize(
    ("library", "step"),
    [
        ("av", "decode=ffmpeg"),
        ("torch", "resize=torch-bilinear, resize=torch-bilinear-antialias"),
        ("onnx", "numerics=float16, numerics=int8"),
    ],
)
def test_an_extra_that_cannot_be_imported_is_as_good_as_missing_and_says_why(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, step: str
) -> None:
    break_library(library, tmp_path / "broken", monkeypatch)
    plan = windtunnel.plan("demo", photos, "systematic", labels_are_outputs=True)
    told = [line for line in plan.info.remarks if library in line]
    assert len(told) == 1 and told[0].startswith(f"Left out: {step}")
    assert f"needs {library}, which is installed but cannot be imported" in told[0]
    assert "ImportError: libfar.so.7: cannot open it" in told[0]
    assert f"pip install --force-reinstall '{library}>=" in told[0]
    assert not {one.name for one in plan.conditions} & set(step.split(", "))
    with pytest.raises(UserError, match=rf"{step.split(',')[0]}: .*libfar\.so\.7"):
        windtunnel.plan("demo", photos, "systematic", only=[step.split(",")[0]], labels_are_outputs=True)


def test_a_named_step_whose_library_cannot_be_imported_is_refused_before_any_work(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_library("av", tmp_path / "broken", monkeypatch)
    for work in (
        lambda out: windtunnel.run("demo", photos, "imagenet-s", out=out, labels_are_outputs=True),
        lambda out: windtunnel.make_set("imagenet-s", photos, out),
    ):
        with pytest.raises(UserError, match=r"decode=ffmpeg: Decoder ffmpeg needs av.*libfar\.so\.7"):
            work(tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_imagenet_s_scores_eight_distinct_sets(photos: Path) -> None:
    plan = windtunnel.plan(Watcher(), photos, "imagenet-s")
    sets = [one for one in plan.conditions if one.kind != "native"]
    assert len({one.id for one in sets}) == len(sets) == 8
    # Nine are named: one of each axis is the canvas itself.
    assert len(load_suite("imagenet-s").units) == 9
    assert plan.info.remarks == (
        "No change: decode=pillow, resize=pillow-bilinear; the canvas is made this way already.",
    )


def test_decoders_are_left_out_where_nothing_is_decoded() -> None:
    plan = windtunnel.plan("demo", "demo", "imagenet-s")
    names = [one.name for one in plan.conditions]
    assert not [name for name in names if name.startswith("decode=")]
    assert len([name for name in names if name.startswith("resize=")]) == 5
    assert plan.info.remarks[0] == (
        "Left out: decode=pillow, decode=opencv, decode=ffmpeg; the images are arrays, which are not decoded."
    )
    with pytest.raises(UserError, match=r"No step of the pipeline changes\. Left out: decode=ffmpeg; "):
        windtunnel.plan("demo", "demo", "systematic", only=["decode=ffmpeg"])


@pytest.mark.parametrize("only", [["decode=pillow"], ["decode=pillow", "geometry=exif-ignore"]])
def test_steps_that_swap_nothing_are_refused_alone_and_told_beside_others(
    photos: Path, only: list[str]
) -> None:
    told = f"No change: {', '.join(only)}; the canvas is made this way already."
    with pytest.raises(UserError, match=f"No step of the pipeline changes. {told}"):
        windtunnel.plan(Watcher(), photos, "systematic", only=only)
    plan = windtunnel.plan(Watcher(), photos, "systematic", only=[*only, "decode=opencv"])
    assert [one.name for one in plan.conditions] == ["native", "decode=opencv"]
    assert plan.info.remarks == (told,)


def test_a_model_without_a_crop_is_checked_too(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "model.onnx.toml").write_text(
        '[geometry]\nrule = "short-side"\nresize_px = 40\ncrop_px = 0\n'
    )
    model = write_colour_model(tmp_path / "model.onnx", classes=3, side="side")
    run = windtunnel.run(model, photos, "systematic", only=["geometry=*"], out=tmp_path / "run")
    names = {condition.name for condition in run.conditions}
    assert names == {"native", "geometry=squash", "geometry=long-side-round", "geometry=exif-apply"}
    assert run.scoring.observed.left_out == 0
    with pytest.raises(UserError, match="No change: geometry=no-margin"):
        windtunnel.plan(model, photos, "systematic", only=["geometry=no-margin"])


def test_the_terminal_and_the_document_say_which_step_costs_most(
    photos: Path, windtunnel_command: Command
) -> None:
    done = windtunnel_command(
        "run", "demo", photos, "--suite", "imagenet-s", "--labels-are-outputs", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert "costliest" in done.stderr and "(bias-corrected)" in done.stderr
    document = json.loads(done.stdout)
    placed = {field["metric"]: field for field in document["published"]}
    assert {"decode_mean_accuracy", "resize_accuracy_std"} <= set(placed)
    reasons = [source["why_not_comparable"] for field in placed.values() for source in field["sources"]]
    assert reasons and all("images" in reason and "canvas" not in reason for reason in reasons)


def strongest_channel(batch: np.ndarray) -> np.ndarray:
    """A model whose classes are red, green and blue."""
    return np.asarray(batch.astype(np.float32).mean(axis=(1, 2)))


@pytest.mark.parametrize(
    ("steps", "costs"),
    # Red and blue swapped: 8 of 12 images break and none is repaired, mid-p 2^-8 = 0.0039. Holm multiplies
    # it by the number of steps that change pixels: 4 keep it below 5 %, 13 do not, though its interval is
    # far from 0.
    [(["colour=bgr", "colour=nv12", "resize=pillow-box", "resize=opencv-area"], True),
     (["colour=*", "resize=*"], False)],
)  # fmt: skip
def test_the_terminal_gives_the_verdict_of_the_report(
    tmp_path: Path, windtunnel_command: Command, steps: list[str], costs: bool
) -> None:
    for number in range(12):
        file = tmp_path / "photos" / f"{number % 3}" / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        pixels = photo(number) // 4
        pixels[..., number % 3] += 150
        Image.fromarray(pixels).save(file)
    run = windtunnel.run(
        strongest_channel, tmp_path / "photos", "systematic", only=steps, out=tmp_path / "run"
    )
    run.report()
    check = json.loads((run.path / "scores.json").read_text())["deployment"]
    (swap,) = (row for row in check["rows"] if row["step"] == "colour=bgr")
    changing = sum(not row["identical"] for row in check["rows"])
    assert swap["p"] == pytest.approx(changing * 2**-8) and swap["cost"]["low"] > 0.2
    assert (swap["p"] <= 0.05) == costs
    said = windtunnel_command("score", run.path).stdout
    assert check["verdict"] in said
    assert ("Steps that cost accuracy significantly: colour=bgr (66.7 points)." in said) == costs
    assert ("No step costs accuracy significantly" in said) == (not costs)
    line = next(line for line in said.splitlines() if line.startswith("costliest"))
    low, high = (100 * swap["cost"][end] for end in ("low", "high"))
    assert f"colour=bgr 66.7 points [{low:.1f}, {high:.1f}], p {swap['p']:.2g}" in line and "Holm" in line
    assert ("not significant" in line) == (not costs)


def test_the_report_checks_the_deployment(photos: Path, tmp_path: Path) -> None:
    run = windtunnel.run(Watcher(), photos, "systematic", out=tmp_path / "run",
                         only=["decode=opencv", "resize=*", "geometry=squash", "colour=bgr"])  # fmt: skip
    page = run.report().read_text()
    assert "Deployment check" in page and "Which step costs the most accuracy?" in page
    assert "0 (identical)" in page and "Error by severity" not in page
    assert page.count("pixels that resize=") == 1 and page.count("pixels that decode=opencv") == 0
    check = json.loads((run.path / "scores.json").read_text())["deployment"]
    costs = [row["cost"]["value"] for row in check["rows"]]
    assert costs == sorted(costs, reverse=True)
    scores = {score.condition: score for score in run.scores(["step_cost"])}
    for row in check["rows"]:
        score = scores[row["step"]]
        assert row["cost"] == {"value": score.value, "low": score.low, "high": score.high}
    assert {row["axis"]: row["methods"] for row in check["axes"]}["decoder"] == 2
    assert "## Deployment check" in (run.path / "report.md").read_text()


@pytest.fixture
def unlabelled(tmp_path: Path) -> Path:
    """Eight JPEG files in one folder: no classes."""
    root = tmp_path / "flat"
    root.mkdir()
    for number in range(8):
        Image.fromarray(photo(number)).save(root / f"{number}.jpg", quality=80)
    return root


def test_answers_that_change_are_scored_and_shown_without_labels(
    unlabelled: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    (unlabelled / "bad.jpg").write_bytes((unlabelled / "0.jpg").read_bytes()[:900])
    run = windtunnel.run(Watcher(), unlabelled, "systematic", out=tmp_path / "run",
                         only=["decode=opencv", "resize=*", "colour=bgr"])  # fmt: skip
    rows = run.predictions(["condition", "status", "top"]).to_pylist()
    chosen: dict[str, list[int]] = {}
    for row in rows:
        if row["status"] == "ok":
            chosen.setdefault(row["condition"], []).append(row["top"][0])
    scores = {(score.metric, score.condition): score for score in run.scores()}
    assert {metric for metric, _ in scores} == {
        "step_flip_share", "decode_flip_share", "resize_flip_share", "colour_flip_share"
    }  # fmt: skip
    for name in (one.name for one in run.conditions if one.kind == "pipeline"):
        flips = [a != b for a, b in zip(chosen[name], chosen["native"], strict=True)]
        assert scores["step_flip_share", name].value == pytest.approx(statistics.mean(flips))
        assert scores["step_flip_share", name].n == 8
    most = max(score.value for (metric, _), score in scores.items() if metric == "step_flip_share")
    assert most > 0
    page = run.report().read_text()
    check = json.loads((run.path / "scores.json").read_text())["deployment"]
    assert check["rows"][0]["flips"]["value"] == most and check["rows"][0]["cost"] is None
    assert {row["step"]: row["pixel_change"] for row in check["rows"]}["resize=opencv-nearest"] > 0
    assert "Which step changes the most predictions?" in page and "accuracy lost" not in page
    assert "pixels that resize=" in page and "pixels that decode=" not in page
    written = (run.path / "report.md").read_text()
    assert "No error rates: no image has a label." in written
    assert f"| {check['rows'][0]['step']} | {100 * most:.1f} % |" in written
    said = windtunnel_command("score", run.path).stdout
    assert "no image has a label" in said and f"{100 * most:.1f} %" in said.partition("most changed")[2]
    assert "bad.jpg" in said.partition("left out")[2]


def test_runs_without_labels_are_compared_by_the_answers_that_change(
    unlabelled: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        windtunnel.run(Watcher(), unlabelled, "systematic", only=["resize=*"], out=tmp_path / name)
    found = windtunnel.compare(tmp_path / "a", tmp_path / "b")
    assert found.images == 8 and not found.unpaired_because
    first, second = found.scores["resize_flip_share", ""]
    assert first.value == second.value > 0


def test_images_of_differences_show_some_and_axes_without_any_are_left_out(
    photos: Path, tmp_path: Path
) -> None:
    Image.fromarray(np.full((90, 131, 3), 77, np.uint8)).save(photos / "0" / "flat.jpg")
    run = windtunnel.run(Watcher(), photos, "systematic", out=tmp_path / "run",
                         only=["decode=opencv", "resize=pillow-box", "resize=opencv-nearest",
                               "geometry=long-side-round", "geometry=squash"])  # fmt: skip
    shown = pixel_differences(run.scoring)
    change = run.scoring.observed.pixel_change.mean(axis=0)
    of_resizes = {name: change[run.scoring.observed.column(name)]
                  for name in ("resize=pillow-box", "resize=opencv-nearest")}  # fmt: skip
    assert [one.step for one in shown] == [max(of_resizes, key=of_resizes.__getitem__), "geometry=squash"]
    assert all(one.change > 0 and one.image != "0/flat.jpg" for one in shown)


def test_the_terminal_names_no_costliest_step_where_nothing_costs(
    photos: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    run = windtunnel.run("demo", photos, "systematic", only=["decode=opencv", "decode=simplejpeg"],
                         out=tmp_path / "run", labels_are_outputs=True)  # fmt: skip
    said = windtunnel_command("score", run.path).stdout
    assert "no step costs accuracy" in said


def test_how_far_accuracies_lie_apart_is_shown_in_points_with_intervals(photos: Path, tmp_path: Path) -> None:
    run = windtunnel.run(Watcher(), photos, "imagenet-s", out=tmp_path / "run")
    page = run.report().read_text()
    markdown = (run.path / "report.md").read_text()
    scores = {score.metric: score for score in run.scores(["axis_accuracy"])}
    std, corrected, span = (scores[f"resize_accuracy_{what}"] for what in ("std", "std_corrected", "range"))
    cells = [f"{100 * value:.3f}" for value in (std.value, corrected.value, std.low, std.high, span.value)]
    row = next(line for line in markdown.splitlines() if line.startswith("| resizer |"))
    assert f"| {cells[0]} | {cells[1]} | {cells[2]} to {cells[3]} | {cells[4]} |" in row
    assert f"{100 * span.low:.3f} to {100 * span.high:.3f}" in row
    assert f"| resize_accuracy_std | {cells[0]} points |" in markdown
    assert f"std over resizes {cells[0]} points ranks " in markdown
    for text in cells:
        assert text in page
    # OpenCV decodes what Pillow does: three decoders, two of them distinct.
    assert "| decoder | 3, 2 distinct |" in markdown and "3, 2 distinct" in page


def test_a_check_of_identical_steps_speaks_of_no_chance(photos: Path, tmp_path: Path) -> None:
    run = windtunnel.run(Watcher(), photos, "systematic", only=["decode=opencv", "decode=simplejpeg"],
                         out=tmp_path / "run")  # fmt: skip
    page = run.report().read_text()
    assert "No step changes a pixel of any image" in page and "significantly" not in page
    check = json.loads((run.path / "scores.json").read_text())["deployment"]
    (decoders,) = check["axes"]
    assert (decoders["methods"], decoders["distinct"]) == (3, 1)


def test_a_report_without_swapped_steps_has_no_such_check(tmp_path: Path) -> None:
    run = windtunnel.run("demo", "demo", "demo", subset=40, out=tmp_path / "run")
    assert "Deployment check" not in run.report().read_text()
