"""Runs over natural sets: the numbers a person counts by hand, whatever the way they come in."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import windtunnel
from tests.conftest import Command
from tests.natural_sets import WNIDS, clean_folder, put, video_set, write_csv, write_model
from windtunnel.analysis.multi_run import several
from windtunnel.api import score_predictions, slices
from windtunnel.core.records import PartRecord
from windtunnel.data.natural_layouts import open_natural
from windtunnel.published.natural_sets import masked_classes
from windtunnel.report.accuracy_drops import missing_drop_notes
from windtunnel.report.sections.notes import run_notes
from windtunnel.report.source_images import class_names

IN_A = list(masked_classes("in_imagenet_a"))
OUTSIDE = next(label for label in range(1000) if label not in IN_A)


@pytest.fixture
def model(tmp_path: Path) -> str:
    return f"{write_model(tmp_path)}:answers"


@pytest.fixture
def imagenet_a(tmp_path: Path) -> Path:
    """Twenty images of ten classes: six right, six right among the 200 alone, eight wrong."""
    root = tmp_path / "imagenet-a"
    for number, label in enumerate(IN_A[:10]):
        wrong = IN_A[(number + 1) % 10]
        first, second = (label, wrong) if number < 6 else (wrong, label)
        put(root / WNIDS[label] / "one.png", first, second, shade=number)
        first, second = (OUTSIDE, label) if number < 6 else (OUTSIDE, wrong)
        put(root / WNIDS[label] / "two.png", first, second, shade=number)
    return root


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """Forty images of the same classes, a quarter wrong, and four of another class."""
    return clean_folder(tmp_path / "val", [*IN_A[:10], OUTSIDE])


def values(run: windtunnel.Run, metric: str = "top1_error") -> dict[str, float]:
    return {one.condition: one.value for one in run.scores([metric])}


def test_only_the_two_hundred_classes_may_win(
    tmp_path: Path, model: str, imagenet_a: Path, clean: Path
) -> None:
    run = windtunnel.run(model, imagenet_a, clean=clean, out=tmp_path / "run")
    assert values(run) == pytest.approx({"imagenet-a": 8 / 20, "clean": 10 / 40})
    assert {one.condition: one.n for one in run.scores(["top1_error"])} == {"imagenet-a": 20, "clean": 40}
    assert values(run, "accuracy_drop") == pytest.approx({"": 8 / 20 - 10 / 40})
    assert [(one.name, one.role, len(one.rows)) for one in run.scoring.parts] == [
        ("imagenet-a", "shifted", 20),
        ("clean", "clean", 40),
    ]
    # The same images with every output: what wins outside of the 200 is wrong.
    plain = windtunnel.run(model, imagenet_a, "natural", clean=clean, out=tmp_path / "plain")
    assert values(plain)["shifted"] == pytest.approx(14 / 20)
    kept = run.predictions(["logits"])["logits"].to_pylist()
    assert all(len(one) == 1000 for one in kept)
    assert run.scoring.natural.parts[0] == PartRecord("imagenet-a", "shifted", count=20, of=20)


def test_the_drop_is_over_classes_that_have_clean_images(
    tmp_path: Path, model: str, imagenet_a: Path
) -> None:
    clean = clean_folder(tmp_path / "val", IN_A[:2])
    run = windtunnel.run(model, imagenet_a, clean=clean, out=tmp_path / "run")
    # All four images of the two classes are right among the 200; of the eight clean ones two are wrong.
    (drop,) = run.scores(["accuracy_drop"])
    assert (drop.value, drop.n) == (pytest.approx(0 - 2 / 8), 12)
    assert "over classes that both have" in drop.formula
    assert drop.formula.endswith("4 of 20 imagenet-a and 8 of 8 clean images")
    assert values(run)["imagenet-a"] == pytest.approx(8 / 20)
    said = "8 classes have no clean image: the accuracy drop leaves out 16 images of 20"
    assert any(said in note for note in run_notes(run.scoring))
    own = windtunnel.run(model, imagenet_a, "natural", clean=clean, out=tmp_path / "own")
    beside = several(run.scoring, own.scoring)
    assert any("the drop is over 12 of 28 images" in line for line in missing_drop_notes(beside.shifts))


def test_clean_images_numbered_otherwise_are_refused(tmp_path: Path, model: str, imagenet_a: Path) -> None:
    for place, label in enumerate(IN_A[:10]):
        put(tmp_path / "numbered" / str(place) / "a.png", label)
        put(tmp_path / "right" / str(label) / "a.png", label, shade=3)
    for other in (tmp_path / "numbered", "demo"):
        with pytest.raises(
            windtunnel.UserError, match=r"cover [01] of 10 classes of ImageNet-A.*WordNet ids"
        ):
            windtunnel.run(model, imagenet_a, clean=other, out=tmp_path / "run")
    run = windtunnel.run(model, imagenet_a, clean=tmp_path / "right", out=tmp_path / "run")
    assert values(run)["clean"] == 0


def test_scores_of_a_part_are_those_of_its_images_alone(
    tmp_path: Path, model: str, imagenet_a: Path, clean: Path
) -> None:
    run = windtunnel.run(model, imagenet_a, clean=clean, out=tmp_path / "both")
    alone = windtunnel.run(model, imagenet_a, out=tmp_path / "alone")
    for metric in ("top1_error", "top5_error", "ece", "rms_calibration_error", "aurra", "brier", "nll"):
        both = {one.condition: one for one in run.scores([metric])}["imagenet-a"]
        (one,) = alone.scores([metric])
        assert (one.value, one.low, one.high, one.n) == pytest.approx(
            (both.value, both.low, both.high, both.n)
        )
    assert values(alone, "accuracy_drop") == {}
    assert any("No clean images" in note for note in run_notes(alone.scoring))


def test_runs_resume_and_workers_change_nothing(
    tmp_path: Path, model: str, imagenet_a: Path, clean: Path
) -> None:
    run = windtunnel.run(model, imagenet_a, clean=clean, out=tmp_path / "one", chunk=7)
    before = {file.name: file.read_bytes() for file in (run.path / "shards").iterdir()}
    two = windtunnel.run(model, imagenet_a, clean=clean, out=tmp_path / "two", chunk=7, workers=2)
    assert {file.name: file.read_bytes() for file in (two.path / "shards").iterdir()} == before
    for name in sorted(before)[:3]:
        (run.path / "shards" / name).unlink()
    again = windtunnel.run(model, imagenet_a, clean=clean, out=tmp_path / "one", chunk=7)
    assert {file.name: file.read_bytes() for file in (again.path / "shards").iterdir()} == before


def test_images_that_cannot_be_read_leave_their_part_alone(
    tmp_path: Path, model: str, imagenet_a: Path, clean: Path
) -> None:
    (imagenet_a / WNIDS[IN_A[0]] / "one.png").write_bytes(b"no image")
    run = windtunnel.run(model, imagenet_a, clean=clean, out=tmp_path / "run")
    assert values(run) == pytest.approx({"imagenet-a": 8 / 19, "clean": 10 / 40})
    assert run.report().exists()


def test_out_of_distribution_images_are_kept_without_labels(tmp_path: Path, model: str) -> None:
    listed = list(masked_classes("in_imagenet_o"))
    for label in listed[:4]:
        put(tmp_path / "imagenet-o" / WNIDS[label] / "x.png", label, shade=99)
    clean = clean_folder(tmp_path / "val", listed[:6])
    run = windtunnel.run(model, tmp_path / "imagenet-o", clean=clean, out=tmp_path / "run")
    assert values(run) == pytest.approx({"clean": 6 / 24})
    assert [(one.name, one.role, len(one.rows)) for one in run.scoring.parts] == [
        ("imagenet-o", "out", 4),
        ("clean", "clean", 24),
    ]
    assert run.scoring.observed.unlabelled == 0
    assert run.report().exists()


VID = {
    "ILSVRC2015_val_0": {0: ([4], 7), -1: ([4], 20), 1: ([8], 151), 2: ([4], 151)},
    "ILSVRC2015_val_1": {0: ([8, 4], 7)},
    "ILSVRC2015_val_2": {0: ([8], 404), 3: ([8], 268)},
}


def test_frames_collapse_to_the_sets_classes_and_keep_their_sets(tmp_path: Path, model: str) -> None:
    run = windtunnel.run(model, video_set(tmp_path / "vid-robust", VID), out=tmp_path / "run")
    # Wrong are a dog taken for a bird's frame (+2), and the anchor that is an airplane.
    assert values(run) == pytest.approx({"vid-robust": 2 / 7})
    table = run.scoring.frame_sets
    assert table is not None and table.column_names == ["group", "sample_id", "offset", "role"]
    assert len(table) == 7 and table["role"].to_pylist().count("anchor") == 3
    assert run.scoring.natural.frame_sets == 3
    assert run.scoring.columns["video"][0] == "val/ILSVRC2015_val_0"
    (run.path / "groups.parquet").unlink()
    again = windtunnel.run(model, tmp_path / "vid-robust", out=tmp_path / "run")
    assert again.scoring.frame_sets is not None and again.scoring.frame_sets.equals(table)
    part = windtunnel.run(model, tmp_path / "vid-robust", out=tmp_path / "part", subset=2)
    assert part.scoring.frame_sets is not None
    assert set(part.scoring.frame_sets["sample_id"].to_pylist()) == set(part.samples["id"].to_pylist())


def test_frames_of_one_video_stay_together_in_intervals(tmp_path: Path, model: str) -> None:
    right, wrong = ([4], 7), ([4], 151)
    sets = {
        f"ILSVRC2015_val_{video}": dict.fromkeys(range(-4, 6), right if video % 2 else wrong)
        for video in range(20)
    }
    run = windtunnel.run(model, video_set(tmp_path / "vid-robust", sets), out=tmp_path / "run")
    assert run.scoring.group == "video"
    (together,) = run.scores(["top1_error"])
    (apart,) = run.scores(["top1_error"], group="")
    assert together.value == apart.value == 0.5
    # 200 frames that are alike within 20 videos are worth 20 answers: Student's t at 19 degrees.
    t = 2.0930
    reach = t * np.sqrt(0.25 / 19 + t * t / (4 * 19**2)) / (1 + t * t / 19)
    assert (together.high - together.low) / 2 == pytest.approx(reach, rel=1e-3)
    assert apart.high - apart.low < 0.15


def test_a_class_that_no_output_stands_for_counts_as_wrong(tmp_path: Path, model: str) -> None:
    root = video_set(tmp_path / "ytbb-robust", {"a_1": {0: ([6], 345)}, "b_2": {0: ([23], 407)}}, "x")
    run = windtunnel.run(model, root, out=tmp_path / "run")
    assert values(run) == {"ytbb-robust": 0.5}
    assert run.scoring.observed.unlabelled == 0
    assert np.isfinite([one.value for one in run.scores(["nll", "brier"])]).all()
    assert any(
        "1 image is of classes for which the model has no output" in note for note in run_notes(run.scoring)
    )


def test_objectnets_border_is_cut_and_any_id_is_right(tmp_path: Path, model: str) -> None:
    root = tmp_path / "objectnet"
    put(root / "images" / "alarm_clock" / "a.png", 530, border=2)
    put(root / "images" / "alarm_clock" / "b.png", 409, border=2)
    put(root / "images" / "banana" / "c.png", 409, border=2)
    put(root / "images" / "banana" / "d.png", 0, 954, border=2)
    run = windtunnel.run(model, root, out=tmp_path / "run")
    assert values(run) == {"objectnet": 0.5}
    assert all(
        "of several labels, the highest-ranked one counts" in one.formula
        for one in run.scores(["brier", "nll"])
    )
    assert run.scoring.projection.kind == "identity"
    assert run.report().exists()


def test_predictions_from_elsewhere_score_as_the_run(
    tmp_path: Path, model: str, imagenet_a: Path, clean: Path, windtunnel_command: Command
) -> None:
    run = windtunnel.run(model, imagenet_a, clean=clean, out=tmp_path / "run")
    table = run.predictions(["logits"])
    pq.write_table(table, tmp_path / "logits.parquet")
    np.savez(
        tmp_path / "logits.npz",
        id=np.array(table["sample_id"].to_pylist()),
        logits=np.array(table["logits"].to_pylist(), np.float32),
    )
    pairs = zip(table["sample_id"].to_pylist(), table["logits"].to_pylist(), strict=True)
    (tmp_path / "scores.json").write_text(json.dumps(dict(pairs)))
    for name in ("logits.parquet", "logits.npz", "scores.json"):
        given = score_predictions(
            tmp_path / name, imagenet_a, "imagenet-a", clean=clean, out=tmp_path / f"of-{name}"
        )
        for metric in ("top1_error", "accuracy_drop", "nll"):
            assert values(given, metric) == pytest.approx(values(run, metric))
        kept = given.predictions(["logits"])["logits"].to_pylist()
        assert np.allclose(kept, table["logits"].to_pylist())
    done = windtunnel_command(
        "score", "--predictions", "logits.parquet", "--data", imagenet_a, "--clean", clean, "--out", "said"
    )
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    assert "is read as ImageNet-A" in told and "10 of ImageNet-A's 200 class folders are present" in told


def test_compare_and_gate_pair_each_part(tmp_path: Path, imagenet_a: Path, clean: Path) -> None:
    file = write_model(tmp_path)
    old = windtunnel.run(f"{file}:answers", imagenet_a, clean=clean, out=tmp_path / "old")
    new = windtunnel.run(f"{file}:others", imagenet_a, clean=clean, out=tmp_path / "new")
    found = windtunnel.compare(old, new)
    assert found.headline == ("top1_error", "imagenet-a") and found.images == 60
    change = {(one.metric, one.condition): one.difference for one in found.changes}
    for part in ("imagenet-a", "clean"):
        difference = change["top1_error", part]
        assert difference.value == pytest.approx(values(new)[part] - values(old)[part])
        assert difference.test == "McNemar, mid-p"
        broken, mended = found.flips[0].conditions[part]
        assert (broken - mended) / difference.n == pytest.approx(difference.value)
    drop = change["accuracy_drop", ""]
    assert drop.low <= drop.value <= drop.high
    gate = windtunnel.gate(new, old, ["imagenet-a error <= +1", "accuracy_drop <= +1"])
    assert [check.score for check in gate.checks] == ["imagenet-a top1_error", "accuracy_drop"]
    assert {check.rule for check in windtunnel.gate(new, old).checks} == {
        "imagenet-a error <= +2",
        "clean error <= +2",
    }
    with pytest.raises(windtunnel.UserError, match="condition in rule"):
        windtunnel.gate(new, old, ["* error <= +1"])


def test_images_that_one_run_lacks_leave_both_parts_paired(
    tmp_path: Path, imagenet_a: Path, clean: Path
) -> None:
    file = write_model(tmp_path)
    old = windtunnel.run(f"{file}:answers", imagenet_a, clean=clean, out=tmp_path / "old")
    shorter = tmp_path / "less" / "imagenet-a"
    shutil.copytree(imagenet_a, shorter)
    (shorter / WNIDS[IN_A[0]] / "one.png").unlink()
    (shorter / WNIDS[IN_A[9]] / "two.png").unlink()
    new = windtunnel.run(f"{file}:others", shorter, clean=clean, out=tmp_path / "new")
    found = windtunnel.compare(old, new)
    assert not found.unpaired_because and found.images == 58
    shifted, clean_pair = (found.scores["top1_error", part] for part in ("imagenet-a", "clean"))
    # One right and one wrong image are gone.
    assert [one.n for one in shifted] == [18, 18] and shifted[0].value == pytest.approx(7 / 18)
    assert [one.n for one in clean_pair] == [40, 40]


def test_filter_networks_and_training_data_are_marked(
    tmp_path: Path, imagenet_a: Path, clean: Path, windtunnel_command: Command
) -> None:
    file = write_model(tmp_path, trained_on=["ImageNet-21k", "imagenet_a (2021)"])
    done = windtunnel_command("run", f"{file}:resnet50", imagenet_a, "--clean", clean, "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "Accuracy low by construction: ImageNet-A was filtered by ResNet-50" in done.stdout
    assert "trained on imagenet_a (2021)" in done.stdout
    run = windtunnel.load_run(tmp_path / "run")
    assert any("Accuracy low by construction" in note for note in run_notes(run.scoring))
    page = (tmp_path / "run" / "report.html").read_text()
    card = page[page.index("imagenet-a error") : page.index("clean error")]
    assert "Accuracy low by construction" in card


def test_the_command_line_says_what_was_counted(
    tmp_path: Path, model: str, imagenet_a: Path, clean: Path, windtunnel_command: Command
) -> None:
    done = windtunnel_command("run", model, imagenet_a, "--clean", clean, "--out", "run", "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert "imagenet-a error   40.0 %  [21.9, 61.3]   20 images" in done.stdout
    assert "clean error        25.0 %  [14.2, 40.2]   40 images" in done.stdout
    assert "200 of 1,000 outputs compete (masked before softmax)" in done.stdout
    assert "accuracy drop      15.0 points" in done.stdout
    assert "Accuracy low by construction" not in done.stdout
    page = (tmp_path / "run" / "report.html").read_text()
    assert "imagenet-a error" in page
    assert "1 condition, seed 0" in page
    assert "canvas" not in done.stderr and "(the data's classes)" not in page
    written = (tmp_path / "run" / "report.md").read_text()
    assert "imagenet-a error" in written and "1 condition, seed 0" in written
    by_class = slices(windtunnel.load_run(tmp_path / "run"), "class", minimum=2)
    assert len(by_class) == 10 and {one.n for one in by_class} == {2}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--suite", "imagenet-o"], "--clean DATA"),
        (["--only", "fog"], "scores images unchanged"),
        (["--codec", "png"], "scores images unchanged"),
        (["--suite", "imagenet-v2"], "numbers 0 to 999"),
        (["--suite", "vid-robust"], "pmsets.json"),
        (["--suite", "objectnet"], "113 folders"),
        (["--clean", "nowhere"], "No such data: nowhere"),
        (["--suite", "imagenet-c", "--clean", "imagenet-a"], "or a natural set"),
    ],
)
def test_mistakes_get_one_line(
    model: str, imagenet_a: Path, windtunnel_command: Command, options: list[str], what: str
) -> None:
    done = windtunnel_command("run", model, imagenet_a, *options, "--out", "run")
    assert done.returncode == 2 and what in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (imagenet_a.parent / "run").exists()


def test_natural_suites_make_nothing_and_open_sets_stay_what_they_are(
    tmp_path: Path, model: str, imagenet_a: Path
) -> None:
    with pytest.raises(windtunnel.UserError, match="nothing to make"):
        windtunnel.make_set("imagenet-a", imagenet_a, tmp_path / "made")
    opened = open_natural(imagenet_a, "imagenet-a")
    assert values(windtunnel.run(model, opened, out=tmp_path / "run")) == {"imagenet-a": 0.4}
    with pytest.raises(windtunnel.UserError, match="open as ImageNet-A"):
        windtunnel.run(model, opened, "smoke", out=tmp_path / "other")


def test_a_model_with_other_outputs_is_refused_before_work(
    tmp_path: Path, imagenet_a: Path, windtunnel_command: Command
) -> None:
    done = windtunnel_command("run", f"{write_model(tmp_path)}:ten", imagenet_a, "--out", "run")
    assert done.returncode == 2 and "10 outputs" in done.stderr
    assert not (tmp_path / "run").exists()


def test_models_of_the_sets_own_classes_run(tmp_path: Path, clean: Path) -> None:
    file = write_model(tmp_path)
    root = tmp_path / "imagenet-a"
    put(root / WNIDS[IN_A[3]] / "a.png", 3)
    put(root / WNIDS[IN_A[4]] / "b.png", 3)
    run = windtunnel.run(f"{file}:two_hundred", root, out=tmp_path / "a")
    assert values(run) == {"imagenet-a": 0.5}
    # The same classes compete as with the 200 of 1,000 outputs, so that the two may be compared.
    masked = windtunnel.run(f"{file}:answers", root, out=tmp_path / "masked")
    assert not any("not over the same classes" in line for line in windtunnel.compare(run, masked).warnings)
    frames = video_set(tmp_path / "vid-robust", {"ILSVRC2015_val_0": {0: ([4], 4), 1: ([4], 8)}})
    assert values(windtunnel.run(f"{file}:thirty", frames, out=tmp_path / "v")) == {"vid-robust": 0.5}


def test_maps_from_wordnet_make_wider_classes(
    tmp_path: Path, model: str, windtunnel_command: Command
) -> None:
    """Tench and goldfish are fish, goldfish a pet too; hens are birds; nothing is a planet."""
    tench, goldfish, hen = WNIDS[0], WNIDS[1], WNIDS[8]
    fish, bird, pet, planet, animal = (f"n9{place:07d}" for place in range(5))
    edges = [(animal, fish), (animal, bird), (fish, tench), (fish, "n88888888"), ("n88888888", goldfish),
             (pet, goldfish), (bird, hen)]  # fmt: skip
    (tmp_path / "is_a.txt").write_text("\n".join(" ".join(pair) for pair in edges))
    targets = [[fish, "fish"], [bird, "bird"], [pet, "pet"], [planet, "planet"]]
    write_csv(tmp_path / "targets.csv", ["wnid", "name"], targets)
    done = windtunnel_command("labels", "map", "targets.csv", "is_a.txt", "--out", "map.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "map.csv").read_text().splitlines() == [
        "output,class",
        f"{tench},fish",
        f"{goldfish},pet",
        f"{hen},bird",
    ]
    assert (
        "goldfish to pet, not fish" in done.stdout and "no ImageNet class is mapped to planet" in done.stdout
    )
    imagenet_map = windtunnel.map_imagenet_classes(tmp_path / "targets.csv", tmp_path / "is_a.txt")
    assert imagenet_map.ambiguous == {"goldfish": ("pet", "fish")}
    assert imagenet_map.mapping.to_csv() == (tmp_path / "map.csv").read_text()
    for name, first in (("fish", 0), ("pet", 1), ("bird", 0)):
        put(tmp_path / "zoo" / name / "a.png", first)
    run = windtunnel.run(
        model, tmp_path / "zoo", "natural", label_map=tmp_path / "map.csv", out=tmp_path / "run"
    )
    assert values(run) == {"shifted": pytest.approx(1 / 3)}
    # Without an image of a pet goldfish are still no fish.
    shutil.rmtree(tmp_path / "zoo" / "pet")
    put(tmp_path / "zoo" / "fish" / "b.png", 1)
    less = windtunnel.run(
        model, tmp_path / "zoo", "natural", label_map=tmp_path / "map.csv", out=tmp_path / "less"
    )
    assert values(less) == {"shifted": pytest.approx(2 / 3)}
    assert any("1 class of the map ('pet') has no image" in note for note in run_notes(less.scoring))
    assert "fish" in less.report().read_text() and class_names(less.scoring)[2] == "pet"
    for text, what in ((f"{fish} {tench} x", "two WordNet ids"), ("", "is empty")):
        (tmp_path / "bad.txt").write_text(text)
        bad = windtunnel_command("labels", "map", "targets.csv", "bad.txt", "--out", "map.csv")
        assert bad.returncode == 2 and what in bad.stderr
    for row, again in (([fish, "hound"], fish), (["n90000009", "fish"], "fish")):
        write_csv(tmp_path / "twice.csv", ["wnid", "name"], [*targets, row])
        bad = windtunnel_command("labels", "map", "twice.csv", "is_a.txt", "--out", "map.csv")
        assert bad.returncode == 2 and f"line 6 repeats '{again}'" in bad.stderr
    lost = windtunnel_command("labels", "map", "targets.csv", "nowhere.txt", "--out", "map.csv")
    assert lost.returncode == 2 and "No such file: nowhere.txt" in lost.stderr


@pytest.mark.parametrize("named", [False, True])
def test_outputs_without_names_are_taken_for_the_sets_classes_aloud(
    tmp_path: Path, imagenet_a: Path, named: bool
) -> None:
    labels = {"labels": [WNIDS[index] for index in IN_A]} if named else {}
    run = windtunnel.run(f"{write_model(tmp_path, **labels)}:two_hundred", imagenet_a, out=tmp_path / "run")
    said = [one for one in run_notes(run.scoring) if "does not name its 200 outputs" in one]
    assert len(said) == (0 if named else 1)
    assert all(
        "ImageNet-A's classes in the order of their WordNet ids; declare `labels`" in one for one in said
    )
    whole = windtunnel.run(f"{write_model(tmp_path)}:answers", imagenet_a, out=tmp_path / "whole")
    assert not any("does not name" in one for one in run_notes(whole.scoring))


@pytest.mark.parametrize("suite", ["ood", "natural"])
def test_images_on_both_sides_are_counted(tmp_path: Path, suite: str) -> None:
    for place in range(10):
        put(tmp_path / "day" / str(place) / "a.png", place, shade=place)
        put(tmp_path / "other" / str(place) / "b.png", place, shade=50 + place)
    shutil.copy(tmp_path / "day" / "1" / "a.png", tmp_path / "other" / "1" / "copied.png")
    model = f"{write_model(tmp_path)}:ten"
    run = windtunnel.run(model, tmp_path / "other", suite, clean=tmp_path / "day", out=tmp_path / "run")
    assert sum("1 of 11 images" in one and "'1/copied.png'" in one for one in run_notes(run.scoring)) == 1
    (tmp_path / "other" / "1" / "copied.png").unlink()
    apart = windtunnel.run(model, tmp_path / "other", suite, clean=tmp_path / "day", out=tmp_path / "apart")
    assert not any("identical files" in one for one in run_notes(apart.scoring))


def test_the_drop_of_videos_is_as_unsure_as_its_two_errors(tmp_path: Path, model: str) -> None:
    frames = video_set(tmp_path / "vid-robust", VID)
    clean = clean_folder(tmp_path / "val", [7, 151], right=1, wrong=0)
    run = windtunnel.run(model, frames, clean=clean, out=tmp_path / "run")
    errors = {one.condition: one for one in run.scores(["top1_error"])}
    shifted, beside = errors["vid-robust"], errors["clean"]
    (drop,) = run.scores(["accuracy_drop"])
    # Newcombe's square-and-add, by hand from the intervals beside it.
    below = np.hypot(shifted.value - shifted.low, beside.high - beside.value)
    above = np.hypot(shifted.high - shifted.value, beside.value - beside.low)
    assert (drop.low, drop.high) == pytest.approx((drop.value - below, min(1, drop.value + above)))
    assert drop.low < 0


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_a_set_in_an_archive_is_found_by_its_name(
    tmp_path: Path, model: str, imagenet_a: Path, clean: Path, kind: str
) -> None:
    packed = shutil.make_archive(str(tmp_path / "packed" / "imagenet-a"), kind, imagenet_a)
    run = windtunnel.run(model, packed, clean=clean, out=tmp_path / "run")
    assert values(run) == pytest.approx({"imagenet-a": 8 / 20, "clean": 10 / 40})


def test_no_other_mask_stands_under_a_published_sets_name(
    tmp_path: Path, model: str, imagenet_a: Path
) -> None:
    with pytest.raises(windtunnel.UserError, match=r"ImageNet-A is scored over 200 of ImageNet's classes;"):
        windtunnel.run(model, imagenet_a, mask=True, out=tmp_path / "run")
    with pytest.raises(windtunnel.UserError, match=r"over 288 of ImageNet's classes as 30 classes;"):
        windtunnel.run(model, video_set(tmp_path / "vid-robust", VID), mask=True, out=tmp_path / "run")
    run = windtunnel.run(model, imagenet_a, "natural", mask=True, out=tmp_path / "own")
    assert len(run.scoring.projection.kept) == 10


def test_classes_that_are_no_outputs_may_be_mapped(tmp_path: Path, model: str) -> None:
    put(tmp_path / "zoo" / "cat" / "a.png", 281)
    put(tmp_path / "zoo" / "dog" / "a.png", 151)
    with pytest.raises(windtunnel.UserError, match=r'label_map="FILE\.csv" \(columns output,class\)'):
        windtunnel.run(model, tmp_path / "zoo", "natural", out=tmp_path / "run")


def test_clean_images_of_other_classes_are_told_which_would_serve(tmp_path: Path) -> None:
    frames = video_set(tmp_path / "vid-robust", VID)
    others = clean_folder(tmp_path / "val", [999])
    with pytest.raises(windtunnel.UserError, match=rf"such as {WNIDS[7]}, .* such as bird, dog"):
        open_natural(frames, "vid-robust", others)


def test_metrics_of_other_tests_and_runs_of_other_tests_are_refused(
    tmp_path: Path, model: str, imagenet_a: Path, clean: Path, windtunnel_command: Command
) -> None:
    windtunnel.run(model, imagenet_a, clean=clean, out=tmp_path / "a")
    for metric, what in (("auroc:msp", "an out-of-distribution run"), ("pm_k", "frames of videos")):
        done = windtunnel_command("score", "a", "--metric", metric)
        assert done.returncode == 2 and f"{metric} needs" in done.stderr and what in done.stderr
    listed = list(masked_classes("in_imagenet_o"))
    for label in listed[:4]:
        put(tmp_path / "imagenet-o" / WNIDS[label] / "x.png", label, shade=99)
    inside = clean_folder(tmp_path / "inside", listed[:4])
    windtunnel.run(model, tmp_path / "imagenet-o", clean=inside, out=tmp_path / "o")
    held = windtunnel_command("gate", "a", "--against", "o")
    assert held.returncode == 2 and "they are different benchmarks (imagenet-a" in held.stderr


@pytest.mark.parametrize("suite", ["natural", "ood", "imagenet-a"])
def test_images_are_not_compared_with_themselves(
    tmp_path: Path, model: str, imagenet_a: Path, suite: str
) -> None:
    with pytest.raises(windtunnel.UserError, match="as the clean images; give ordinary images"):
        windtunnel.run(model, imagenet_a, suite, clean=f"{imagenet_a}/.", out=tmp_path / "run")
    shutil.copytree(imagenet_a, tmp_path / "copy")
    with pytest.raises(
        windtunnel.UserError, match=r"20 of 20 images .* are identical to some of the 20 clean images"
    ):
        windtunnel.run(model, imagenet_a, suite, clean=tmp_path / "copy", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_inspection_reads_a_set_as_a_run_does(
    tmp_path: Path, imagenet_a: Path, windtunnel_command: Command
) -> None:
    def said(folder: Path) -> str:
        done = windtunnel_command("data", "inspect", folder)
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.split())

    assert "10 of 200, 2 to 2 images each" in said(imagenet_a)
    frames = said(video_set(tmp_path / "vid-robust", VID))
    assert "2 of 30" in frames and "4=bird, 8=dog" in frames and "Read as ImageNet-Vid-Robust" in frames
    put(tmp_path / "objectnet-1.0" / "images" / "alarm_clock" / "a.png", 530, border=2)
    put(tmp_path / "objectnet-1.0" / "images" / "bath_towel" / "b.png", 530, border=2)
    objects = said(tmp_path / "objectnet-1.0")
    assert "Read as ObjectNet" in objects and "images 1 " in objects and "all 16x16" in objects


def test_the_doctor_counts_a_set_as_a_run_does(
    tmp_path: Path, model: str, imagenet_a: Path, windtunnel_command: Command
) -> None:
    done = windtunnel_command("doctor", model, imagenet_a, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # Twelve of twenty among the 200 classes; six of all the outputs.
    assert found["declared"]["accuracy"] == pytest.approx(12 / 20)
    assert any("as in a run over ImageNet-A" in one for one in found["remarks"])
