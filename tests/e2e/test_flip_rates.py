"""Scores divided by AlexNet's published figures, over clips whose every answer is known beforehand."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.reference.test_stability import brute_force_distance
from windtunnel.metrics.flip_rates import THE_TEN, mean_ratio, ratio
from windtunnel.metrics.sequence_scores import TOP_FIVE, each, mean
from windtunnel.report.plan_summary import plan_lines
from windtunnel.report.source_images import class_names
from windtunnel.report.tables import run_document
from windtunnel.runs import Run
from windtunnel.suites.golden_digests import golden_image

# Flip probability in per cent and top-5 distance, of ImageNet-P's paper, appendix E.
ALEXNET = {
    "gaussian_noise": (23.65, 4.77),
    "shot_noise": (30.06, 5.76),
    "motion_blur": (9.30, 1.93),
    "zoom_blur": (5.94, 1.34),
    "snow": (11.93, 2.42),
    "brightness": (4.89, 1.19),
    "translate": (11.01, 2.63),
    "rotate": (13.10, 2.95),
    "tilt": (7.05, 1.75),
    "scale": (23.53, 4.48),
}
NOISE = ("gaussian_noise", "shot_noise")
# The ten best classes at every grey level a frame may have, best first. From the first to the second the
# top-5 distance is 5, and 9 the other way.
ORDERS = {
    40: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    80: [9, 0, 1, 2, 3, 4, 5, 6, 7, 8],
    120: [0, 2, 1, 3, 4, 5, 6, 7, 8, 9],
    160: [5, 6, 7, 8, 9, 0, 1, 2, 3, 4],
}
CLASSES = ("n01440764", "n01443537", "n01484850")
# As the published clips.
FRAMES = dict.fromkeys(ALEXNET, 31) | {"translate": 41}


class Ranking:
    """A thousand outputs, of which the ten first are ranked as the frame's grey level says."""

    name = fingerprint = "ranking"

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        scores = np.full((len(batch), 1000), -99, np.float32)
        for row, grey in enumerate(batch.mean(axis=(1, 2, 3))):
            level = min(ORDERS, key=lambda one: abs(one - grey))
            scores[row, ORDERS[level]] = -np.arange(10)
        return scores


def drawn_levels() -> dict[tuple[str, str], list[int]]:
    """The grey levels of every sequence and image, frame by frame; other ones in each."""
    rng = np.random.default_rng(11)
    keys = itertools.product(ALEXNET, CLASSES)
    shares = [0.4, 0.3, 0.2, 0.1]
    return {key: rng.choice(sorted(ORDERS), FRAMES[key[0]], p=shares).tolist() for key in keys}


def draw(root: Path, size: tuple[int, int] = (224, 224), level: str = "") -> Path:
    """The clips as folders of frames; noise of another difficulty has folders of its own."""
    for (unit, class_), greys in drawn_levels().items():
        folder = root / (unit + (level if unit in NOISE else "")) / class_ / "image"
        folder.mkdir(parents=True)
        for number, grey in enumerate(greys):
            Image.new("RGB", size, (grey,) * 3).save(folder / f"{number:03d}.png")
    return root


def compared(unit: str, greys: list[int], stride: int = 1) -> list[tuple[int, int]]:
    """Which grey levels are set beside each other, earlier and later."""
    if unit in NOISE:
        return [(greys[0], later) for later in greys[1:]]
    return list(zip(greys[:-stride], greys[stride:], strict=True))


def by_hand(unit: str, stride: int = 1) -> tuple[float, float]:
    """Flip probability and top-5 distance of a sequence, counted over the levels that were drawn."""
    pairs = [
        pair
        for (name, _), greys in drawn_levels().items()
        if name == unit
        for pair in compared(unit, greys, stride)
    ]
    flips = [ORDERS[before][0] != ORDERS[after][0] for before, after in pairs]
    moves = [brute_force_distance(ORDERS[before], ORDERS[after]) for before, after in pairs]
    return float(np.mean(flips)), float(np.mean(moves))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("clips")
    return windtunnel.run(Ranking(), draw(root / "set"), out=root / "run")


def values(run: Run, metric: str) -> dict[str, float]:
    """Scores by sequence without prefix and level."""
    found = run.scores([metric])
    return {one.condition.removeprefix("seq/").partition(":")[0].split("+")[0]: one.value for one in found}


@pytest.mark.parametrize(("metric", "place"), [("flip_probability", 0), ("ut5d", 1)])
def test_sequences_are_counted_by_hand(run: Run, metric: str, place: int) -> None:
    expected = {unit: by_hand(unit)[place] for unit in ALEXNET}
    assert values(run, metric) == pytest.approx(expected)


@pytest.mark.parametrize(("metric", "mean", "place"), [("flip_rate", "mfr", 0), ("t5d", "mt5d", 1)])
def test_rates_are_divided_by_alexnets_figures(run: Run, metric: str, mean: str, place: int) -> None:
    rates = {
        unit: by_hand(unit)[place] / (figures[place] / 100 if place == 0 else figures[place])
        for unit, figures in ALEXNET.items()
    }
    assert values(run, metric) == pytest.approx(rates)
    assert values(run, mean) == {"": pytest.approx(np.mean(list(rates.values())))}


def test_the_ten_are_the_papers() -> None:
    assert tuple(ALEXNET) == THE_TEN


def test_the_distance_goes_from_the_earlier_frame_to_the_later(run: Run) -> None:
    turned = [
        brute_force_distance(ORDERS[after], ORDERS[before])
        for (name, _), greys in drawn_levels().items()
        if name == "tilt"
        for before, after in compared("tilt", greys)
    ]
    assert by_hand("tilt")[1] != pytest.approx(np.mean(turned)), "these clips tell the directions apart"
    assert values(run, "ut5d")["tilt"] == pytest.approx(by_hand("tilt")[1])


@pytest.mark.parametrize("difficulty", [2, 3])
def test_another_difficulty_has_no_flip_rate(tmp_path: Path, difficulty: int) -> None:
    """Noise stays compared with its first frame, the rest with the frame that many before."""
    data = draw(tmp_path / "set", level=f"_{difficulty}")
    found = windtunnel.run(Ranking(), data, "imagenet-p", difficulty=difficulty, out=tmp_path / "run")
    assert values(found, "flip_probability") == pytest.approx(
        {unit: by_hand(unit, difficulty)[0] for unit in ALEXNET}
    )
    assert not found.scores(["flip_rate", "mfr", "t5d", "mt5d"])
    assert any("difficulty 1, this run is" in note for note in run_document(found.scoring, [])["notes"])


@pytest.mark.parametrize(("size", "why"), [((32, 32), "edition 224"), ((256, 200), "own canvas")])
def test_another_canvas_has_no_flip_rate(tmp_path: Path, size: tuple[int, int], why: str) -> None:
    found = windtunnel.run(Ranking(), draw(tmp_path / "set", size), out=tmp_path / "run")
    assert len(found.scores(["flip_probability"])) == 10
    assert not found.scores(["flip_rate", "mfr", "t5d", "mt5d"])
    assert any(why in note for note in run_document(found.scoring, [])["notes"])


def test_fewer_than_ten_sequences_say_why_there_is_no_mean(run: Run, tmp_path: Path) -> None:
    data = run.path.parent / "set"
    some = windtunnel.run(Ranking(), data, "imagenet-p", only=["tilt", "scale"], out=tmp_path / "run")
    notes = run_document(some.scoring, [])["notes"]
    assert "No mFR, no mT5D: they are defined over ImageNet-P's 10 sequences, and the run has 2." in notes
    assert any(note.startswith("FR and T5D of each sequence are normalised by AlexNet's") for note in notes)
    assert set(values(some, "flip_rate")) == {"tilt", "scale"} and not some.scores(["mfr"])
    notes = run_document(run.scoring, [])["notes"]
    assert any(note.startswith("FR, mFR, T5D and mT5D are normalised by AlexNet's") for note in notes)
    assert not any(note.startswith("No mFR") for note in notes)


def test_a_sequence_of_another_length_has_no_flip_rate(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "set"
    shutil.copytree(run.path.parent / "set", data)
    for frame in data.glob("tilt/*/*/*.png"):
        if int(frame.stem) >= 20:
            frame.unlink()
    found = windtunnel.run(Ranking(), data, out=tmp_path / "run")
    told = "Other numbers of frames than in the published clips: seq/tilt+stored-png 20 of 31."
    assert told in found.info.remarks
    assert len(values(found, "flip_probability")) == 10
    assert set(values(found, "flip_rate")) == set(values(found, "t5d")) == set(ALEXNET) - {"tilt"}
    assert not found.scores(["mfr", "mt5d"])
    notes = run_document(found.scoring, [])["notes"]
    assert any("no FR and no T5D of seq/tilt+stored-png (20 frames of 31); no mFR" in one for one in notes)


def test_images_without_labels_have_the_classes_that_the_model_declares(tmp_path: Path) -> None:
    """Flip rates and names rest on what the outputs are, not on what the images show."""
    (tmp_path / "images").mkdir()
    for number in range(2):
        Image.fromarray(golden_image(300 + number)).save(tmp_path / "images" / f"{number}.png")
    (tmp_path / "model.toml").write_text('labels = "imagenet-1k"\n')
    declared, plain = (
        windtunnel.plan(Ranking(), tmp_path / "images", "imagenet-p", only=["tilt"], preprocess=how)
        for how in (tmp_path / "model.toml", None)
    )
    line = dict(plan_lines(declared, tmp_path, 1, 0))["data"]
    assert line.endswith("1,000 classes, as the model declares them, since no image has a label")
    assert dict(plan_lines(plain, tmp_path, 1, 0))["data"].endswith("; no labels")
    found = windtunnel.run(
        Ranking(),
        tmp_path / "images",
        "imagenet-p",
        only=["tilt"],
        preprocess=tmp_path / "model.toml",
        out=tmp_path / "run",
    )
    assert [one.condition for one in found.scores(["flip_rate", "t5d"])] == ["seq/tilt"] * 2
    assert class_names(found.scoring)[0] == "tench" and len(class_names(found.scoring)) == 1000
    document = run_document(found.scoring, found.scores())
    assert "With or without the mask" not in {pitfall["heading"] for pitfall in document["pitfalls"]}
    assert "No FR" not in " ".join(document["notes"])


def test_every_distance_is_measured_once(run: Run) -> None:
    """Each, mean and ratios, by AlexNet's figures and by a stored run, rest on the same numbers."""
    asked = []

    def counting(top: np.ndarray, pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        asked.append(len(pairs[0]))
        return TOP_FIVE.distance(top, pairs)

    kind = replace(TOP_FIVE, each="counted", distance=counting)
    fresh = windtunnel.load_run(run.path)
    assert len(fresh.scoring.clips.ids) == 3
    divided = fresh.against(fresh)
    found = [one for seen in (fresh, divided) for made in (each, mean, ratio, mean_ratio)
             for one in made(kind, seen.scoring, seen.scoring.observed)]  # fmt: skip
    assert len(found) > 10 + 1 + 10 + 1 and len(asked) == 10
    assert max(one.columns.itemsize for one in found if one.combine is None) == 1, "50,000 clips fit"
