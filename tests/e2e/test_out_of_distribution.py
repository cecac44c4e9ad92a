"""Runs over out-of-distribution images: what is stored, scored, refused, compared and gated."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.special import logsumexp, softmax
from sklearn.metrics import average_precision_score, roc_auc_score

import windtunnel
from tests.conftest import Command
from tests.onnx_models import colour_weights, write_colour_model
from windtunnel.core.scores import Score
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import masked_classes
from windtunnel.report.score_summary import score_lines
from windtunnel.report.sections.notes import run_notes

UserError = windtunnel.UserError

SCORES = ("msp", "max_logit", "energy", "entropy", "margin", "gen", "kl_matching")
KEPT = masked_classes("in_imagenet_o")


def write_images(folder: Path, count: int, seed: int, *, bright: bool) -> None:
    """Plain images of random colours; a colour model is surer of bright ones."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for place in range(count):
        low, high = (90, 256) if bright else (0, 200)
        colour = rng.integers(low, high, 3)
        Image.fromarray(np.full((40, 40, 3), colour, np.uint8)).save(folder / f"{place:03}.png")


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Ten of ImageNet-O's folders, and clean images of these and of two other classes."""
    root = tmp_path_factory.mktemp("out")
    names = imagenet_1k().classes
    for place, index in enumerate(KEPT[:10]):
        write_images(root / "imagenet-o" / names[index], 6, place, bright=False)
        write_images(root / "val" / names[index], 12, 100 + place, bright=True)
    others = sorted(set(range(1000)) - set(KEPT))[:2]
    for place, index in enumerate(others):
        write_images(root / "val" / names[index], 5, 200 + place, bright=True)
    return root / "imagenet-o", root / "val"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_colour_model(tmp_path_factory.mktemp("model") / "colours.onnx", classes=1000)


@pytest.fixture(scope="module")
def run(sets: tuple[Path, Path], model: Path, tmp_path_factory: pytest.TempPathFactory) -> windtunnel.Run:
    out = tmp_path_factory.mktemp("runs") / "run"
    return windtunnel.run(model, sets[0], clean=sets[1], out=out)


def by_name(scores: list[Score]) -> dict[tuple[str, str], Score]:
    return {(one.metric, one.condition): one for one in scores}


def told(run: windtunnel.Run) -> tuple[np.ndarray, np.ndarray]:
    """The 200 logits that count, and which images are out, read from the stored predictions."""
    table = run.predictions(["logits"])
    out = np.array([not one.startswith("clean/") for one in table["sample_id"].to_pylist()])
    return np.array(table["logits"].to_pylist())[:, list(KEPT)], out


def test_the_papers_number_is_average_precision_of_msp_over_200_outputs(run: windtunnel.Run) -> None:
    logits, out = told(run)
    assert (int(out.sum()), len(out)) == (60, 180)  # clean images of other classes are left out
    scores = by_name(run.scores())
    msp = -softmax(logits, axis=1).max(axis=1)
    found = scores["aupr", "msp"]
    assert found.value == pytest.approx(average_precision_score(out, msp))
    assert found.low < found.value < found.high and found.n == 180
    assert "60 OOD, 120 ID" in found.formula and "a random score has 33.3 %" in found.formula
    assert scores["auroc", "msp"].value == pytest.approx(roc_auc_score(out, msp))
    energy = -logsumexp(logits, axis=1)
    assert scores["auroc", "energy"].value == pytest.approx(roc_auc_score(out, energy))
    assert scores["auroc", "max_logit"].value == pytest.approx(roc_auc_score(out, -logits.max(axis=1)))


def test_every_score_is_judged_by_every_metric(run: windtunnel.Run) -> None:
    scores = by_name(run.scores())
    for metric in ("aupr", "auroc", "aupr_trapezoid", "fpr95", "fpr95_compat"):
        assert [condition for name, condition in scores if name == metric] == list(SCORES)
    # Accuracy is of the clean images alone: the folders of ImageNet-O are no labels.
    assert [condition for name, condition in scores if name == "top1_error"] == ["clean"]


def test_kl_matching_does_not_score_its_templates(run: windtunnel.Run) -> None:
    found = by_name(run.scores())["auroc", "kl_matching"]
    assert 60 + 30 < found.n < 60 + 90
    assert "these images are not scored" in found.formula
    detectors = run.scoring.detectors
    assert detectors is not None
    assert detectors.template.sum() == 180 - found.n and not detectors.template[detectors.out].any()


def test_one_score_can_be_asked_for(run: windtunnel.Run, windtunnel_command: Command) -> None:
    assert [one.condition for one in run.scores(["auroc:gen"])] == ["gen"]
    said = windtunnel_command("score", run.path, "--metric", "aupr:energy", "--json")
    assert [one["condition"] for one in json.loads(said.stdout)["scores"]] == ["energy"], said.stderr
    with pytest.raises(UserError, match="max_logit"):
        run.scores(["auroc:maxlogit"])
    with pytest.raises(UserError, match="metric"):
        run.scores(["top1_error:msp"])


def test_summaries_are_refused_before_any_work(sets: tuple[Path, Path], model: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match='keep="summary" does not store'):
        windtunnel.run(model, sets[0], clean=sets[1], keep="summary", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_report_and_the_command_line_show_them(run: windtunnel.Run, windtunnel_command: Command) -> None:
    page = run.report().read_text()
    assert "<h2>OOD detection</h2>" in page and 'id="confidence"' in page
    document = json.loads((run.path / "scores.json").read_text())
    assert (document["detection"]["n_ood"], document["detection"]["n_id"]) == (60, 120)
    assert sum(document["detection"]["ood"]) == pytest.approx(1)
    assert "| AUPR of msp |" in (run.path / "report.md").read_text()
    said = windtunnel_command("score", run.path).stdout
    assert "AUPR of msp" in said and "AUPR of others" in said


def test_kl_matching_stands_apart_with_its_own_chance(
    run: windtunnel.Run, windtunnel_command: Command
) -> None:
    scored = by_name(run.scores())["aupr", "kl_matching"].n
    table = run.report().read_text().partition("<h2>OOD detection</h2>")[2].partition("</table>")[0]
    rows = {
        cells[0]: cells[-2:]
        for row in re.findall(r"<tr>(.*?)</tr>", table)
        if (cells := re.findall(r"<td[^>]*>(.*?)</td>", row)) and cells[0] in SCORES
    }
    assert list(rows) == list(SCORES)
    for name, (chance, inside) in rows.items():
        count = scored - 60 if name == "kl_matching" else 120
        assert (chance, inside) == (f"{100 * 60 / (60 + count):.1f}", str(count))
    said = windtunnel_command("score", run.path).stdout.splitlines()
    ranked, apart = (
        next(one for one in said if one.startswith(f"AUPR of {name}")) for name in ("others", "kl")
    )
    assert "energy" in ranked and "kl_matching" not in ranked
    assert f"60 OOD, {scored - 60} ID" in apart and f"{100 * 60 / scored:.1f} %" in apart
    assert any(
        f"kl_matching is evaluated on {180 - scored} fewer ID images" in note
        for note in run_notes(run.scoring)
    )


def test_kl_matching_needs_templates_of_most_classes(
    sets: tuple[Path, Path], model: Path, tmp_path: Path
) -> None:
    for place, index in enumerate(KEPT[:20]):
        write_images(tmp_path / "val" / imagenet_1k().classes[index], 1, 300 + place, bright=True)
    run = windtunnel.run(model, sets[0], clean=tmp_path / "val", out=tmp_path / "run")
    assert [one.condition for one in run.scores(["auroc"])] == [one for one in SCORES if one != "kl_matching"]
    said = "No kl_matching: 20 of 20 classes have fewer than 2 template images"
    assert any(note.startswith(said) for note in run_notes(run.scoring))
    assert any(text.startswith(said) for _, text in score_lines(run.scoring, run.scores()))
    assert run.report().exists()
    with pytest.raises(UserError, match="The run has no kl_matching: 20 of 20 classes"):
        run.scores(["auroc:kl_matching"])
    with pytest.raises(UserError, match="kl_matching cannot be compared: a run has too few clean images"):
        windtunnel.gate(run, run, ["kl_matching auroc >= -1"])


def test_the_published_calibration_error_needs_two_bins(run: windtunnel.Run) -> None:
    # Of 120 clean images its one bin is the one it leaves out.
    assert run.scores(["rms_calibration_error_compat"]) == []
    assert len(run.scores(["rms_calibration_error"])) == 1
    assert any(
        "No rms_calibration_error_compat of clean: it omits" in note for note in run_notes(run.scoring)
    )


def test_probabilities_have_no_energy(sets: tuple[Path, Path], tmp_path: Path) -> None:
    soft = write_colour_model(tmp_path / "soft.onnx", classes=1000, softmax=True)
    run = windtunnel.run(soft, sets[0], clean=sets[1], out=tmp_path / "run")
    conditions = [one.condition for one in run.scores(["auroc"])]
    assert conditions == [one for one in SCORES if one not in ("energy", "max_logit")]
    assert any(
        "No max_logit, no energy: they need logits, and the model outputs probabilities" in note
        for note in run_notes(run.scoring)
    )
    lines = score_lines(run.scoring, run.scores())
    assert any(label == "note" and text.startswith("No max_logit, no energy") for label, text in lines)
    with pytest.raises(
        UserError, match="energy needs logits in both runs, and a model outputs probabilities"
    ):
        windtunnel.gate(run, run, ["energy aupr >= -1"])
    checks = windtunnel.gate(run, run, ["auroc:msp >= -1", "msp auroc >= -1"]).checks
    assert [check.score for check in checks] == ["msp auroc"] * 2
    with pytest.raises(UserError, match="energy needs logits, and this model outputs probabilities"):
        run.scores(["auroc:energy"])


def by_colour(batch: np.ndarray) -> np.ndarray:
    """Logits of 1,000 classes: a linear function of the mean colour."""
    return (batch.mean(axis=(1, 2)) / 32) @ colour_weights(1000, 3)


def blind(batch: np.ndarray) -> np.ndarray:
    """As sure of bright images as of dark ones: only the order of classes is left."""
    scores = by_colour(batch)
    return scores / np.abs(scores).max(axis=1, keepdims=True) * (1 + batch.mean(axis=(1, 2, 3)) % 7)[:, None]


def picky(batch: np.ndarray) -> np.ndarray:
    """The first model again, which fails on very dark images."""
    if (batch.mean(axis=(1, 2, 3)) < 60).any():
        raise ValueError("too dark")
    return by_colour(batch)


def test_compare_and_gate_pair_detection_scores(sets: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = (
        windtunnel.run(model, sets[0], clean=sets[1], out=tmp_path / model.__name__)
        for model in (by_colour, blind)
    )
    found = windtunnel.compare(old, new)
    change = next(one for one in found.changes if (one.metric, one.condition) == ("aupr", "msp"))
    assert change.difference.n == 180 and change.difference.test.startswith("paired")
    scores = found.scores["aupr", "msp"]
    assert change.difference.value == pytest.approx(scores[1].value - scores[0].value)
    assert change.difference.low <= change.difference.value <= change.difference.high
    rules = ["msp aupr >= -1", "kl_matching auroc >= -1"]
    assert windtunnel.gate(new, old, rules).checks[0].outcome == "worse"
    assert windtunnel.gate(old, old, rules).count("not worse") == 2
    assert found.headline == ("aupr", "msp")
    # Without rules the paper's number, and the clean error, may not get worse.
    usual = [check.rule for check in windtunnel.gate(new, old).checks]
    assert usual == ["msp aupr >= -2", "clean error <= +2"]
    with pytest.raises(UserError, match="less aupr is worse"):
        windtunnel.gate(old, old, ["msp aupr <= +1"])


def test_an_image_one_run_cannot_score_leaves_both(sets: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = (
        windtunnel.run(model, sets[0], clean=sets[1], out=tmp_path / model.__name__)
        for model in (by_colour, picky)
    )
    lost = new.scoring.observed.left_out
    assert 0 < lost < 18
    ours, theirs = windtunnel.compare(old, new).scores["auroc", "msp"]
    assert ours.n == theirs.n == 180 - lost
    # The same network on the same images: the same score, though one run has it of more images.
    assert ours.value == pytest.approx(theirs.value)
    assert by_name(old.scores())["auroc", "msp"].value != pytest.approx(ours.value, abs=1e-6)
