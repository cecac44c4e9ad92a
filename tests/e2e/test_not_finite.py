"""A prediction that is not finite is wrong, counted and reported, whatever made it."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from sklearn.metrics import average_precision_score, roc_auc_score

import windtunnel
from windtunnel import load_model, open_dataset
from windtunnel.analysis.doctor import diagnose
from windtunnel.api import score_predictions
from windtunnel.core.seeding import digest64
from windtunnel.metrics.ood_scores import KL_MATCHING
from windtunnel.options import DoctorOptions
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import masked_classes
from windtunnel.report.score_summary import score_lines
from windtunnel.report.sections.notes import run_notes

CLASSES = 10


class Overflows:
    """Scores that depend on every pixel; bright images overflow."""

    name = fingerprint = "overflows"

    def __init__(self, limit: float = 66.5, classes: int = CLASSES) -> None:
        self.limit, self.classes = limit, classes

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        light = batch.mean(axis=(1, 2, 3))
        phases = np.arange(1, self.classes + 1)
        scores = np.sin(light[:, None] * phases).astype(np.float32) * 3
        # The probe images, a grey ramp, must pass: a model that fails on these is refused.
        over = (light > self.limit) & (np.abs(light - 127) > 1)
        scores[over, 3] = np.inf
        scores[over & (light > self.limit + 20)] = np.nan
        return scores


@pytest.fixture
def exact(tmp_path: Path) -> Path:
    """Images of 32 pixels as they are."""
    file = tmp_path / "exact.toml"
    file.write_text('[geometry]\nrule = "exact"\ncrop_px = 32\n')
    return file


def rows_of(run: windtunnel.Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run.predictions().to_pylist()
    return found


def lost_by_condition(run: windtunnel.Run) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows_of(run):
        if row["status"] == "not_finite":
            counts[row["condition"]] = counts.get(row["condition"], 0) + 1
    return counts


def test_every_image_stays_in_every_condition(digit_folder: Path, exact: Path, tmp_path: Path) -> None:
    run = windtunnel.run(Overflows(), digit_folder, "smoke", preprocess=exact, out=tmp_path / "run")
    lost = lost_by_condition(run)
    assert 0 < lost["clean"] < 40 and lost["native"] == lost["clean"]
    # By hand from the stored rows: no top class, or another than the label.
    wrong: dict[str, list[bool]] = {}
    for row in rows_of(run):
        label = int(row["sample_id"].split("/")[0])
        said = row["top"][0] if row["top"] else None
        wrong.setdefault(row["condition"], []).append(said != label)
    scores = {(one.metric, one.condition): one for one in run.scores()}
    for condition, answers in wrong.items():
        score = scores["top1_error", condition]
        assert (score.n, score.value) == (40, pytest.approx(np.mean(answers)))
        told = f"{lost.get(condition, 0)} prediction" in score.formula and "not finite" in score.formula
        assert told == bool(lost.get(condition))
    corrupted = [name for name in wrong if ":" in name]
    assert scores["mean_error", ""].value == pytest.approx(np.mean([wrong[name] for name in corrupted]))
    assert f"{sum(lost[name] for name in corrupted if name in lost)} predictions are not finite" in (
        scores["mean_error", ""].formula
    )


def test_terminal_report_and_json_tell_how_many(digit_folder: Path, exact: Path, tmp_path: Path) -> None:
    run = windtunnel.run(Overflows(), digit_folder, "smoke", preprocess=exact, out=tmp_path / "run")
    lost = lost_by_condition(run)
    images = len({row["sample_id"] for row in rows_of(run) if row["status"] == "not_finite"})
    sentence = f"{sum(lost.values())} predictions are not finite, on {images} images, and counted as wrong: "
    assert any(
        label == "not finite" and sentence in text for label, text in score_lines(run.scoring, run.scores())
    )
    assert any(sentence in note for note in run_notes(run.scoring))
    assert sentence in run.report().read_text()
    document = json.loads((run.path / "scores.json").read_text())
    assert document["not_finite"] == {
        "predictions": sum(lost.values()), "images": images, "by_condition": lost,
    }  # fmt: skip
    assert document["failed_images"] == 0
    # No class was predicted, so none is confused with another.
    assert all(row["output"] >= 0 for part in document["confusions"] for row in part["rows"])
    assert document["confusions"][0]["incorrect"] == sum(
        not row["top"] or row["top"][0] != int(row["sample_id"].split("/")[0])
        for row in rows_of(run)
        if row["condition"] == "clean"
    )


def test_it_is_fully_confident_and_wrong(digit_folder: Path, exact: Path, tmp_path: Path) -> None:
    """ECE, Brier and NLL by their formulas, of rows as stored; a lost one has confidence 1 and no label."""
    run = windtunnel.run(
        Overflows(), digit_folder, "smoke", only=["gaussian_noise"], preprocess=exact, out=tmp_path / "run"
    )
    confidence, right, brier, nll = [], [], [], []
    for row in (row for row in rows_of(run) if row["condition"] == "clean"):
        if row["status"] == "not_finite":
            values = (1.0, False, 2.0, -np.log(np.finfo(np.float32).tiny))
        else:
            label = np.exp(row["label_score"] - row["logsumexp"])
            values = (
                np.exp(row["top_score"][0] - row["logsumexp"]),
                row["label_rank"] == 0,
                row["sum_p2"] - 2 * label + 1,
                -np.log(label),
            )
        for column, value in zip((confidence, right, brier, nll), values, strict=True):
            column.append(value)
    assert 0 < confidence.count(1.0) < 40
    bins = np.ceil(np.array(confidence) * 15).astype(int)
    ece = sum(
        abs(np.mean(np.array(confidence)[bins == one]) - np.mean(np.array(right)[bins == one]))
        * (bins == one).mean()
        for one in np.unique(bins)
    )
    found = {one.metric: one.value for one in run.scores(["ece", "brier", "nll"]) if one.condition == "clean"}
    assert found == {
        "ece": pytest.approx(ece, abs=1e-6),
        "brier": pytest.approx(np.mean(brier), abs=1e-5),
        "nll": pytest.approx(np.mean(nll), rel=1e-5),
    }


def test_predictions_made_elsewhere_follow_the_same_rule(
    digit_folder: Path, exact: Path, tmp_path: Path
) -> None:
    """The same outputs, run and imported: the same rows and scores."""
    run = windtunnel.run(
        Overflows(), digit_folder, "smoke", preprocess=exact, keep="logits", out=tmp_path / "run"
    )
    rows = rows_of(run)
    nothing = [float("nan")] * CLASSES
    table = {
        "sample_id": [row["sample_id"] for row in rows if row["condition"] != "native"],
        "condition": [row["condition"] for row in rows if row["condition"] != "native"],
        "logits": [row["logits"] or nothing for row in rows if row["condition"] != "native"],
    }
    pq.write_table(pa.table(table), tmp_path / "given.parquet")
    given = score_predictions(tmp_path / "given.parquet", digit_folder, "smoke", out=tmp_path / "given")
    same = ("sample_id", "condition", "top", "label_rank", "label_score", "sum_p2", "status", "reason")
    stored = {(row["sample_id"], row["condition"]): row for row in rows}
    lost = 0
    for row in rows_of(given):
        ours = stored[row["sample_id"], row["condition"]]
        assert {name: row[name] for name in same} == {name: ours[name] for name in same}
        lost += row["status"] == "not_finite"
    assert lost
    metrics = ["top1_error", "top5_error", "mean_error", "flip_share", "ece", "brier", "nll"]
    ours = {(one.metric, one.condition): one for one in run.scores(metrics)}
    for one in given.scores(metrics):
        same_score = ours[one.metric, one.condition]
        assert (one.value, one.low, one.high, one.n) == (
            same_score.value, same_score.low, same_score.high, same_score.n,
        )  # fmt: skip


def test_best_classes_with_gaps_or_nan_scores_are_not_finite(digit_folder: Path, tmp_path: Path) -> None:
    ids = sorted(str(file.relative_to(digit_folder)) for file in digit_folder.rglob("*.png"))
    labels = [int(one.split("/")[0]) for one in ids]
    lines = [f"{one},{label},0.9" for one, label in zip(ids, labels, strict=True)]
    lines[0], lines[1] = f"{ids[0]},nan,nan", f"{ids[1]},{labels[1]},nan"
    (tmp_path / "best.csv").write_text("id,top1,score1\n" + "\n".join(lines))
    run = score_predictions(tmp_path / "best.csv", digit_folder, "smoke", out=tmp_path / "run")
    assert [row["status"] for row in rows_of(run)][:3] == ["not_finite", "not_finite", "ok"]
    (score,) = run.scores()
    assert (score.value, score.n) == (2 / 40, 40)


def test_flips_are_certain_where_a_frame_is_not_finite(tmp_path: Path) -> None:
    """Of two lost frames too: a model that says nothing at all must not look steady."""
    for number, light in enumerate((40, 90, 120)):
        pixels = np.random.default_rng(number).integers(0, 2 * light, (32, 32, 3)).astype(np.uint8)
        (tmp_path / "images" / str(number)).mkdir(parents=True)
        Image.fromarray(pixels).save(tmp_path / "images" / str(number) / "one.png")
    run = windtunnel.run(
        Overflows(limit=90.2), tmp_path / "images", "imagenet-p", only=["brightness"], keep="logits",
        labels_are_outputs=True,
        out=tmp_path / "run",
    )  # fmt: skip
    rows = [row for row in rows_of(run) if row["condition"] == "seq/brightness"]
    assert {row["status"] for row in rows} == {"ok", "not_finite"}
    frames = len(rows) // 3
    flips, distances, zipf = [], [], []
    for start in range(0, len(rows), frames):
        clip = rows[start : start + frames]
        for before, after in pairwise(clip):
            if before["top"] is None or after["top"] is None:
                flips.append(1)
                distances.append(18)  # the largest among eight classes or more, by the paper's definition
                weights = 1 / np.arange(1, CLASSES + 1)
                zipf.append((weights * np.maximum(1 - weights, weights - weights[-1])).sum())
                continue
            flips.append(before["top"][0] != after["top"][0])
            places = {said: place for place, said in enumerate(after["top"], 1)}
            distances.append(sum(abs(i - places.get(one, 6)) for i, one in enumerate(before["top"], 1)))
            first, second = (
                {int(one): place for place, one in enumerate(np.argsort(-np.array(row["logits"])), 1)}
                for row in (before, after)
            )
            zipf.append(sum(abs(1 / first[one] - 1 / second[one]) / first[one] for one in first))
    assert 0 < np.mean(flips) < 1
    found = {one.metric: one for one in run.scores(["flip_probability", "ut5d", "zipf_distance"])}
    assert found["flip_probability"].n == 3
    assert found["flip_probability"].value == pytest.approx(np.mean(flips))
    assert found["ut5d"].value == pytest.approx(np.mean(distances))
    assert found["zipf_distance"].value == pytest.approx(np.mean(zipf), rel=1e-6)
    lost = sum(row["status"] == "not_finite" for row in rows)
    assert f"{lost} predictions are not finite and counted as changed" in found["flip_probability"].formula
    run.report()
    assert f"seq/brightness {lost}" in " ".join(run_notes(run.scoring))


def test_an_image_without_a_score_is_ranked_wrong(tmp_path: Path) -> None:
    """Out of distribution below all others, in distribution above: what AUROC and AUPR must not forgive."""
    names, rng = imagenet_1k().classes, np.random.default_rng(0)
    for part, low, high, count in (("imagenet-o", 0, 160, 6), ("val", 60, 200, 8)):
        for index in masked_classes("in_imagenet_o")[:4]:
            (tmp_path / part / names[index]).mkdir(parents=True)
            for place in range(count):
                pixels = rng.integers(0, rng.integers(low, high) + 1, (40, 40, 3)).astype(np.uint8)
                Image.fromarray(pixels).save(tmp_path / part / names[index] / f"{place}.png")
    run = windtunnel.run(
        Overflows(limit=62, classes=1000), tmp_path / "imagenet-o", clean=tmp_path / "val",
        out=tmp_path / "run",
    )  # fmt: skip
    rows = rows_of(run)
    out = np.array([not row["sample_id"].startswith("clean/") for row in rows])
    lost = np.array([row["status"] == "not_finite" for row in rows])
    assert lost[out].any() and lost[~out].any() and not lost.all()
    kept = list(masked_classes("in_imagenet_o"))
    values = np.where(out, -1e9, 1e9)
    for place in np.flatnonzero(~lost):
        logits = np.array(rows[place]["logits"])[kept]
        values[place] = -logits.max()
    found = {(one.metric, one.condition): one for one in run.scores()}
    assert found["auroc", "max_logit"].n == len(rows)
    assert found["auroc", "max_logit"].value == pytest.approx(roc_auc_score(out, values))
    assert found["aupr", "max_logit"].value == pytest.approx(average_precision_score(out, values))
    assert f"{lost.sum()} outputs are not finite and ranked as wrong" in found["auroc", "max_logit"].formula
    run.report()
    document = json.loads((run.path / "scores.json").read_text())
    assert document["not_finite"]["images"] == lost.sum()


class Overflowing:
    """Random logits of the image that the colour encodes; none are finite where the blue channel is 9."""

    name = fingerprint = "overflowing"
    logits = np.random.default_rng(3).normal(0, 2, (256, 256, CLASSES)).astype(np.float32)

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        colour = batch[:, 0, 0].astype(int)
        scores = self.logits[colour[:, 0], colour[:, 1]].copy()
        scores[colour[:, 2] == 9] = np.nan
        return scores


def write_colours(folder: Path, part: int, count: int, every: int) -> Path:
    """A table of uniform images, every so many of which overflow (0: none do)."""
    folder.mkdir()
    lines = ["path,label"]
    for place in range(count):
        blue = 9 if every and place % every == 0 else 0
        Image.fromarray(np.full((40, 40, 3), (part, place, blue), np.uint8)).save(folder / f"{place:03}.png")
        lines.append(f"{place:03}.png,c{place // every % CLASSES if every else place % CLASSES}")
    (folder / "table.csv").write_text("\n".join(lines))
    return folder / "table.csv"


def test_kl_matching_scores_as_many_of_them_as_of_other_images(tmp_path: Path) -> None:
    """An image chosen for the templates is not scored, whether its outputs are finite or not."""
    clean, out = write_colours(tmp_path / "in", 1, 240, 4), write_colours(tmp_path / "out", 2, 40, 0)
    run = windtunnel.run(
        Overflowing(), out, "ood", clean=clean, out=tmp_path / "run", labels_are_outputs=True
    )
    inside = [row for row in rows_of(run) if row["sample_id"].startswith("clean/")]
    lost = np.array([row["status"] == "not_finite" for row in inside])
    chosen = np.array([digest64(KL_MATCHING, row["sample_id"]) & 1 for row in inside], bool)
    assert (len(inside), lost.sum()) == (240, 60) and (lost & chosen).any()
    found = {one.condition: one for one in run.scores(["auroc"])}
    assert found["kl_matching"].n == 40 + (~chosen).sum()
    assert f"templates of {(chosen & ~lost).sum()} images" in found["kl_matching"].formula
    for score, taken in (("msp", np.full(240, True)), ("kl_matching", ~chosen)):
        assert f"{(lost & taken).sum()} outputs are not finite and ranked as wrong" in found[score].formula
        # An ID image that is not finite ranks above all OOD images: the others alone decide the rest.
        assert found[score].value <= 1 - (lost & taken).sum() / taken.sum()
    said = " ".join(run_notes(run.scoring))
    assert f"kl_matching is evaluated on {chosen.sum()} fewer ID images" in said
    assert f"do not use {(lost & chosen).sum()} of these ID images: their outputs are not finite" in said


def test_the_doctor_counts_them_as_wrong_and_says_so(digit_folder: Path, exact: Path) -> None:
    found = diagnose(load_model(Overflows(), exact), open_dataset(digit_folder), DoctorOptions(subset=0))
    assert any("not finite and counted as wrong" in remark for remark in found.remarks)
