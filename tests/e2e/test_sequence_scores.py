"""Scores of sequences at their edges: one image, masks, groups, baselines, AlexNet's figures."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.e2e.test_sequence_runs import Brightest


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six coarse patterns of 32 pixels in six classes; the first one alone is light."""
    root = tmp_path_factory.mktemp("patterns")
    rng = np.random.default_rng(3)
    for number in range(6):
        (root / str(number)).mkdir()
        small = rng.integers(*((156, 256) if not number else (0, 156)), (8, 8, 3)).astype(np.uint8)
        Image.fromarray(small).resize((32, 32)).save(root / str(number) / f"{number}.png")
    return root


class Wild:
    """Six classes in an order that hangs on every bit of the image; of dark ones always the same."""

    name = fingerprint = "wild"

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        found = []
        for image in batch:
            seed = int(image.astype(np.int64).sum()) if image.mean() > 140 else 0
            found.append(np.random.default_rng(seed).permutation(6).astype(np.float32))
        return np.stack(found)


def test_a_run_of_one_image_has_scores_and_a_report(patterns: Path, tmp_path: Path) -> None:
    """Nothing is known of other images, so that an interval is all there can be."""
    run = windtunnel.run(
        Brightest(), patterns, "imagenet-p", only=["tilt"], subset=1, keep="logits", out=tmp_path / "run"
    )
    run.report()
    document = json.loads((run.path / "scores.json").read_text())
    found = {one["metric"]: one for one in document["scores"]}
    assert (found["ut5d"]["low"], found["ut5d"]["high"]) == (0, 15)  # six classes
    for metric in ("zipf_distance", "log_distance"):
        score = run.scores([metric])[0]
        assert score.low == 0 and score.value < score.high < np.inf


def test_intervals_of_distances_stay_where_distances_can_be(patterns: Path, tmp_path: Path) -> None:
    run = windtunnel.run(Wild(), patterns, "imagenet-p", only=["tilt"], keep="logits", out=tmp_path / "run")
    found = run.scores(["ut5d", "mean_ut5d", "zipf_distance", "log_distance"])
    assert len(found) == 4
    for score in found:
        # Six images, five of them calm.
        assert 0 < score.low < score.value < score.high
    assert found[0].high <= 15


class Eight:
    """Eight outputs that follow each other as images grow lighter; the data knows six of them."""

    name = fingerprint = "eight"

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        step = batch.mean(axis=(1, 2, 3)) / 255 * 600 % 8
        return -np.abs(step[:, None] - np.arange(8)).astype(np.float32)


def weighted_distance(before: np.ndarray, after: np.ndarray) -> float:
    """The definition read aloud, w_i = 1/i, on scores of the classes that count."""
    order, new = (list(np.argsort(-scores, kind="stable")) for scores in (before, after))
    return sum(1 / i * abs(1 / i - 1 / (new.index(one) + 1)) for i, one in enumerate(order, start=1))


@pytest.mark.parametrize("how", ["mask", "map"])
def test_distances_over_the_ranking_count_the_classes_that_count(
    patterns: Path, tmp_path: Path, how: str
) -> None:
    (tmp_path / "map.csv").write_text("output,class\n" + "".join(f"{7 - one},{one}\n" for one in range(6)))
    options = (
        {"mask": True, "labels_are_outputs": True} if how == "mask" else {"label_map": tmp_path / "map.csv"}
    )
    run = windtunnel.run(
        Eight(), patterns, "imagenet-p", only=["brightness"], keep="logits", out=tmp_path / "run", **options
    )
    chosen = list(range(6)) if how == "mask" else [7 - one for one in range(6)]
    found = []
    for path in sorted(patterns.rglob("*.png")):
        id_ = path.relative_to(patterns).as_posix()
        clip = windtunnel.perturb(np.asarray(Image.open(path)), "brightness", seed=0, sample_id=id_)
        scores = Eight()(np.stack(list(clip)))[:, chosen]
        found.append(np.mean([weighted_distance(*two) for two in itertools.pairwise(scores)]))
    assert run.scores(["zipf_distance"])[0].value == pytest.approx(np.mean(found))


def test_unlabelled_images_in_groups_have_scores_slices_and_a_report(patterns: Path, tmp_path: Path) -> None:
    rows = [f"{path.as_posix()},,{number % 3}" for number, path in enumerate(sorted(patterns.rglob("*.png")))]
    (tmp_path / "images.csv").write_text("\n".join(["path,label,video", *rows]))
    run = windtunnel.run(
        Brightest(),
        tmp_path / "images.csv",
        "imagenet-p",
        only=["tilt"],
        group="video",
        out=tmp_path / "run",
    )
    run.report()
    notes = json.loads((run.path / "scores.json").read_text())["notes"]
    assert any(note.startswith("6 images in 3 groups by video") for note in notes)
    found = windtunnel.slices(run, "video", "mfp", minimum=1)
    assert [one.group for one in found] == [], "a slice that is one group has no interval"
    alone = run.grouped_by("")
    parts = windtunnel.slices(alone, "video", "mfp", minimum=2)
    assert sorted(one.group for one in parts) == ["0", "1", "2"] and {one.n for one in parts} == {2}
    assert np.mean([one.value for one in parts]) == pytest.approx(run.scores(["mfp"])[0].value)
    assert [one.n for one in windtunnel.slices(alone, "size", "mfp", minimum=2)] == [6]


def table_of(patterns: Path, file: Path) -> Path:
    """A table of the patterns in three videos."""
    rows = ["path,label,video"]
    for number, path in enumerate(sorted(patterns.rglob("*.png"))):
        rows.append(f"{path.as_posix()},{path.parent.name},{number % 3}")
    file.write_text("\n".join(rows))
    return file


class Unable(Brightest):
    """The same with other steps; it may fail on light images."""

    def __init__(self, steps: int, limit: float = 255) -> None:
        self.name = self.fingerprint = f"unable-{steps}"
        self.steps, self.limit = steps, limit

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        light = batch.mean(axis=(1, 2, 3))
        scores = -np.abs((light / 255 * self.steps % 6)[:, None] - np.arange(6)).astype(np.float32)
        if (light > self.limit).any():
            raise ValueError("too light")
        return scores


def test_flips_by_the_first_run_rest_on_the_images_that_all_runs_share(
    patterns: Path, tmp_path: Path
) -> None:
    """The third run lacks an image, which leaves the ratio of the first two as well."""
    lost = sorted(patterns.rglob("*.png"))[0]
    models = [Unable(600), Unable(300), Unable(450, limit=140)]
    data = table_of(patterns, tmp_path / "images.csv")
    runs = [
        windtunnel.run(
            model, data, "imagenet-p", only=["tilt", "scale"], group="video", out=tmp_path / model.name
        )
        for model in models
    ]
    assert runs[2].scoring.observed.left_out == 1
    found = windtunnel.compare(*runs)
    rates = []
    for condition in ("seq/tilt", "seq/scale"):
        shares = []
        for run in runs[:2]:
            clips = run.predictions(["condition", "top"]).to_pylist()
            best = [
                row["top"][0]
                for row in clips
                if row["condition"] == condition and not row["sample_id"].endswith(lost.name)
            ]
            frames = np.array(best).reshape(5, 31)
            shares.append((frames[:, 1:] != frames[:, :-1]).mean())
        rates.append(shares[1] / shares[0])
    assert found.against_first[1].n == 5
    assert found.against_first[1].value == pytest.approx(np.mean(rates))


def test_other_difficulties_are_not_divided_by_the_first_run(patterns: Path, tmp_path: Path) -> None:
    easy, hard = (
        windtunnel.run(
            Brightest(), patterns, "imagenet-p", only=["tilt"], difficulty=one, out=tmp_path / str(one)
        )
        for one in (1, 2)
    )
    found = windtunnel.compare(easy, hard)
    assert not found.against_first
    assert any("difficulty 2 in" in warning for warning in found.warnings)
    with pytest.raises(
        windtunnel.UserError, match=r"cannot be normalised by .*: difficulty 1 in .*1 and 2 in .*2; "
    ):
        easy.scores(baseline=hard)
    with pytest.raises(windtunnel.UserError, match=r"by different formulas: difficulty 1 in .* and 2"):
        windtunnel.gate(hard, easy, ["mfp <= +1"])
    with pytest.raises(windtunnel.UserError, match=r"\(difficulty 1 there, 3 here\)"):
        windtunnel.run(Brightest(), patterns, "imagenet-p", only=["tilt"], difficulty=3, out=tmp_path / "1")
    score = hard.scores(["flip_rate"], baseline=hard)[0]
    assert "frames 2 apart" in score.formula, "which frames are compared is part of what is divided"
    same = windtunnel.compare(hard, hard).against_first[1]
    assert "difficulty 2" in same.formula
