"""Published figures next to a run's own on natural sets, and ObjectNet by the masked rule of other tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import windtunnel
from tests.conftest import Command
from tests.natural_sets import WNIDS, clean_folder, put, video_set, write_model
from windtunnel.metrics.published_figures import Measured, published_models, sources
from windtunnel.metrics.published_results import why_not_comparable
from windtunnel.published.natural_sets import masked_classes

IN_A, IN_O = (list(masked_classes(f"in_imagenet_{one}")) for one in "ao")


@pytest.fixture
def model(tmp_path: Path) -> str:
    return f"{write_model(tmp_path)}:answers"


def published(run: windtunnel.Run) -> dict[str, dict]:
    run.report()
    found = json.loads((run.path / "scores.json").read_text())["published"]
    return {field["metric"]: field for field in found}


def test_imagenet_a(model: str, tmp_path: Path) -> None:
    root = tmp_path / "imagenet-a"
    for number, label in enumerate(IN_A[:10]):
        put(root / WNIDS[label] / "one.png", label if number < 3 else IN_A[20], shade=number)
    run = windtunnel.run(model, root, clean=clean_folder(tmp_path / "val", IN_A[:10]), out=tmp_path / "run")
    field = published(run)["accuracy"]
    assert field["value"] == pytest.approx(0.3) and field["low"] < 0.3 < field["high"]
    # DeiT-base has 28.2 % in the paper, and most of the testbed's less; three are better than 30 %.
    names = [row["name"] if row else "own" for row in field["models"]]
    assert names.index("own") == 3 and names[4] == "DeiT-base"
    assert {source["name"] for source in field["sources"]} == {"paper-a", "testbed-a"}
    paper = next(source for source in field["sources"] if source["name"] == "paper-a")
    assert paper["measured"] == "7,500 published images, 200 classes compete"
    assert paper["why_not_comparable"] == "Not comparable: 10 images, published 7,500."
    page = (run.path / "report.html").read_text()
    assert "Comparison with published results" in page and "Measured on 7,500 published images" in page
    assert "paper-a, measured on 7,500 published images" in (run.path / "report.md").read_text()


def test_imagenet_o(model: str, tmp_path: Path) -> None:
    root = tmp_path / "imagenet-o"
    for number, label in enumerate(IN_O[:10]):
        put(root / WNIDS[label] / "one.png", IN_O[number + 3], shade=number)
    clean = clean_folder(tmp_path / "val", IN_O[:10])
    run = windtunnel.run(model, root, clean=clean, out=tmp_path / "run")
    field = published(run)["msp_aupr"]
    (own,) = run.scores(["aupr:msp"])
    assert field["value"] == own.value
    assert "2,000 published OOD images and 10,000 ID images" in field["sources"][0]["measured"]
    said = field["sources"][0]["why_not_comparable"]
    assert "10 OOD images, published 2,000" in said and "40 ID images, published 10,000" in said


def test_video_sets(model: str, tmp_path: Path) -> None:
    frames = {offset: ([0], 404) for offset in (-10, -1, 0, 1, 10)}
    sets = {f"ILSVRC2015_val_{number}": frames for number in range(3)}
    sets["ILSVRC2015_val_9"] = {0: ([0], 404), 10: ([0], 1)}
    run = windtunnel.run(model, video_set(tmp_path / "imagenet-vid-robust", sets), out=tmp_path / "run")
    found = published(run)
    assert (found["pm_0"]["value"], found["pm_10"]["value"]) == (1, 0.75)
    assert {source["name"] for source in found["pm_10"]["sources"]} == {"paper-vid", "testbed-vid"}
    said = found["pm_10"]["sources"][0]
    assert said["why_not_comparable"] == "Not comparable: 4 anchors, published 1,109."
    assert said["measured"] == "1,109 published anchors, 30 classes compete"


def test_the_whole_published_set_is_like_with_like() -> None:
    theirs = sources()["paper-a"].measured
    yours = Measured("imagenet-a", 0, 7500, "stored", theirs.canvas, "none", classes=200)
    assert why_not_comparable(yours, theirs, "accuracy") == ""


def test_the_command_lists_them(windtunnel_command: Command) -> None:
    said = windtunnel_command("list", "published").stdout
    for text in (
        "paper-a",
        "paper-o",
        "testbed-vid",
        "testbed-ytbb",
        "1,109 published anchors",
        "AUPR of msp",
    ):
        assert text in said


def test_figures_are_whole_numbers_of_images() -> None:
    """Every share to two decimals is that of some whole number of the set's images."""
    for source in ("testbed-a", "testbed-objectnet", "testbed-vid", "testbed-ytbb"):
        total = sources()[source].measured.images
        for row in published_models(source=source):
            for value in row.values.values():
                count = round(value * total)
                assert round(100 * count / total, 2) == pytest.approx(100 * value, abs=0.0051), row
    counts = {row.name: row.values for row in published_models(source="testbed-vid")}["resnet50"]
    assert (round(1109 * counts["pm_0"]), round(1109 * counts["pm_10"])) == (749, 582)


def test_objectnet_masked(model: str, tmp_path: Path, windtunnel_command: Command) -> None:
    root = tmp_path / "objectnet"
    for name, folder, first, second in (
        ("a.png", "alarm_clock", 530, 0),
        ("b.png", "alarm_clock", 409, 0),
        ("c.png", "banana", 409, 0),
        ("d.png", "banana", 0, 954),  # a tench, which is none of the overlapping classes, then a banana
    ):
        put(root / "images" / folder / name, first, second, border=2)
    runs = {
        suite: windtunnel.run(model, root, suite, out=tmp_path / "runs" / suite)
        for suite in ("objectnet", "objectnet-masked")
    }
    values = {
        suite: {one.condition: one.value for one in run.scores(["top1_error"])} for suite, run in runs.items()
    }
    assert values == {"objectnet": {"objectnet": 0.5}, "objectnet-masked": {"objectnet-masked": 0.25}}
    masked = runs["objectnet-masked"]
    assert len(masked.scoring.projection.kept) == 125  # the ImageNet classes of the 113 folders
    field = published(masked)["accuracy"]
    assert [source["name"] for source in field["sources"]] == ["testbed-objectnet"]
    assert "objectnet" not in json.dumps(published(runs["objectnet"]))
    twice = windtunnel_command("run", model, root, "--suite", "objectnet-masked", "--mask")
    assert twice.returncode == 2 and "over 125 of ImageNet's classes;" in twice.stderr
