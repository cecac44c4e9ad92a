"""Scores of runs: by weights, by a stored run, by slices, and after a map of labels."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.api import slices
from windtunnel.report.sections.notes import run_notes

UserError = windtunnel.UserError
ALL = "'top1_error', 'residual_robustness', 'flip_share', 'ce', 'relative_ce', 'ece', 'brier', 'nll', 'aurra'"


def suite(path: Path, more: str = "") -> Path:
    """Two corruptions behind a codec, scored in every way."""
    path.write_text(
        "name = 'two'\nversion = 1\nedition = 32\ncodec = 'jpeg:85'\nunits = ['gaussian_noise', 'fog']\n"
        f"metrics = [{ALL}]\n{more}"
    )
    return path


@pytest.fixture
def run(tmp_path: Path, digit_folder: Path) -> windtunnel.Run:
    two = suite(tmp_path / "two.toml", "weights = { fog = 3, gaussian_noise = 1 }")
    return windtunnel.run("demo", digit_folder, two, out=tmp_path / "run")


def values(run: windtunnel.Run, **options: object) -> dict[tuple[str, str], float]:
    return {(one.metric, one.condition): one.value for one in run.scores(**options)}


def test_flips_are_counted_against_clean_with_the_same_codec(run: windtunnel.Run) -> None:
    table = run.predictions(["condition", "top"]).to_pylist()
    best = {(row["sample_id"], row["condition"]): row["top"][0] for row in table}
    ids = sorted({row["sample_id"] for row in table})
    flips = np.mean([best[id_, "fog:3+jpeg:85"] != best[id_, "clean+jpeg:85"] for id_ in ids])
    found = values(run)
    assert found["flip_share", "fog:3+jpeg:85"] == flips
    errors = {name: value for (metric, name), value in found.items() if metric == "top1_error"}
    assert found["residual_robustness", "fog:3+jpeg:85"] == pytest.approx(
        errors["fog:3+jpeg:85"] - errors["clean"]
    )
    spoilt = [value for name, value in errors.items() if ":" in name.split("+")[0]]
    assert found["residual_robustness", ""] == pytest.approx(np.mean(spoilt) - errors["clean"])


def test_weights_are_a_score_of_their_own(run: windtunnel.Run, tmp_path: Path, digit_folder: Path) -> None:
    found = values(run)
    mean = {
        unit: np.mean([found["top1_error", f"{unit}:{level}+jpeg:85"] for level in range(1, 6)])
        for unit in ("fog", "gaussian_noise")
    }
    score = run.scores(["weighted_error"])[0]
    assert score.value == pytest.approx((3 * mean["fog"] + mean["gaussian_noise"]) / 4)
    assert "fog 3, gaussian_noise 1" in score.formula
    # Another weight scores the same predictions anew.
    other = suite(tmp_path / "two.toml", "weights = { fog = 1 }")
    again = windtunnel.run("demo", digit_folder, other, out=tmp_path / "run")
    assert again.scoring.digest == run.scoring.digest
    assert again.scores(["weighted_error"])[0].value == pytest.approx(mean["fog"])
    for wrong, words in (
        ("weights = { mist = 1 }", "Unknown unit in the weights"),
        ("weights = { fog = 0 }", "give a number above 0"),
        ("weights = { fog = true }", "give a number above 0"),
    ):
        with pytest.raises(UserError, match=words):
            windtunnel.run("demo", digit_folder, suite(tmp_path / "wrong.toml", wrong))


def dim(batch: np.ndarray) -> np.ndarray:
    """A worse model: the class by mean brightness."""
    scores = np.zeros((len(batch), 10))
    scores[np.arange(len(batch)), (batch.mean(axis=(1, 2, 3)) // 3).astype(int) % 10] = 1
    return scores * 5


def test_a_stored_run_as_baseline(run: windtunnel.Run, tmp_path: Path, digit_folder: Path) -> None:
    base = windtunnel.run(dim, digit_folder, tmp_path / "two.toml", out=tmp_path / "base", subset=30)
    found = values(run, baseline=base)
    kept = set(base.samples["id"].to_pylist())
    rows = [
        row for row in run.predictions(["condition", "label_rank"]).to_pylist() if row["sample_id"] in kept
    ]
    theirs = base.predictions(["condition", "label_rank"]).to_pylist()

    def error(table: list[dict], name: str) -> float:
        return float(np.mean([row["label_rank"] > 0 for row in table if row["condition"] == name]))

    names = [f"fog:{level}+jpeg:85" for level in range(1, 6)]
    above, below = (sum(error(table, name) for name in names) for table in (rows, theirs))
    assert found["ce", "fog"] == pytest.approx(above / below)
    score = next(one for one in run.scores(baseline=base) if one.metric == "ce")
    assert score.low < score.value < score.high
    assert score.n == 30
    assert "on the same images" in score.formula
    own = values(run, baseline=run.path)
    assert own["ce", "fog"] == 1.0
    told = run_notes(run.against(base).scoring)
    assert any("10 images are not in the baseline" in note for note in told)
    # The worse model does not get much worse in noise: nothing to divide by.
    if ("relative_ce", "fog") not in found:
        assert any(
            "No relative CE: the baseline's errors minus its clean error under fog" in note for note in told
        )
    assert all(np.isfinite(value) for value in found.values())


def test_equal_answers_of_two_models_are_no_certainty(
    run: windtunnel.Run, tmp_path: Path, digit_folder: Path
) -> None:
    base = windtunnel.run(dim, digit_folder, tmp_path / "two.toml", out=tmp_path / "base")

    def other(batch: np.ndarray) -> np.ndarray:
        return dim(batch) * 2  # the same classes, from another model

    twin = windtunnel.run(other, digit_folder, tmp_path / "two.toml", out=tmp_path / "twin")
    old, new = (windtunnel.load_run(one.path, baseline=run) for one in (base, twin))
    rules = ["fog ce <= 0", "* error <= 0", "aurra >= 0"]
    for check in windtunnel.gate(new, old, rules).checks:
        assert check.difference == 0 and check.outcome == "unsure"
        assert check.low < 0 < check.high
    # About as wide as what the same answers say of the errors themselves.
    ce, error, _ = windtunnel.gate(new, old, rules).checks
    scale = max(one.value for one in new.scores() if one.metric == "ce" and one.condition == "fog")
    assert 0.5 < ce.high / (scale * error.high) < 10
    # One and the same model is known not to differ.
    assert windtunnel.gate(new, new, rules[:1]).checks[0].outcome == "not worse"


def test_scores_over_fewer_images_are_not_compared_and_that_is_said(
    run: windtunnel.Run, tmp_path: Path, digit_folder: Path
) -> None:
    base = windtunnel.run(dim, digit_folder, tmp_path / "two.toml", out=tmp_path / "base", subset=30)
    divided = run.against(base)
    found = windtunnel.compare(divided, divided)
    told = [text for text in found.warnings if text.startswith("Not compared (over 30 of 40 images")]
    assert len(told) == 1 and "fog ce" in told[0] and "the others are not in the baseline run" in told[0]
    with pytest.raises(UserError, match="CE cannot be compared: over 30 of 40 images"):
        windtunnel.gate(divided, divided, ["fog ce <= +1"])


def test_a_baseline_that_does_not_fit_is_refused(
    run: windtunnel.Run, tmp_path: Path, digit_folder: Path
) -> None:
    other = windtunnel.run("demo", digit_folder, tmp_path / "two.toml", seed=1, out=tmp_path / "seed")
    with pytest.raises(UserError, match="seeds 0 and 1 differ"):
        run.against(other)
    drawn_otherwise = windtunnel.load_run(run.path)
    recipe = drawn_otherwise.recipe
    drawn_otherwise.scoring.recipe = msgspec.structs.replace(recipe, stream=recipe.stream + 1)
    with pytest.raises(UserError, match=r"random stream versions .* differ"):
        run.against(drawn_otherwise)
    masked = windtunnel.run("demo", digit_folder, tmp_path / "two.toml", mask=True, out=tmp_path / "masked")
    with pytest.raises(UserError, match="all outputs compete in one run and only classes of the data"):
        run.against(masked)
    assert masked.against(masked.path).scores(["ce"])
    smoke = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "smoke")
    with pytest.raises(UserError, match="shares no corruption"):
        run.scores(baseline=smoke)


def test_a_perfect_baseline_is_a_note_and_no_number(tmp_path: Path, digit_folder: Path) -> None:
    two = suite(tmp_path / "two.toml")
    run = windtunnel.run("demo", digit_folder, two, out=tmp_path / "run")
    rows = run.predictions(["condition"]).to_pylist()
    lines = [
        json.dumps({"id": row["sample_id"], "condition": row["condition"], "top": [int(row["sample_id"][0])]})
        for row in rows
    ]
    (tmp_path / "right.jsonl").write_text("\n".join(lines))
    from windtunnel.api import score_predictions

    perfect = score_predictions(tmp_path / "right.jsonl", digit_folder, two, out=tmp_path / "perfect")
    assert not {"ce", "relative_ce"} & {one.metric for one in run.scores(baseline=perfect)}
    told = run_notes(run.against(perfect).scoring)
    assert any(
        "No CE: the baseline's errors under fog are not clearly above 0 (0.0 %" in note for note in told
    )


def test_slices_by_class_size_and_column(tmp_path: Path, digits: tuple[np.ndarray, np.ndarray]) -> None:
    images, classes = digits
    (tmp_path / "files").mkdir()
    lines = ["path,label,site"]
    for row in range(80):
        name = f"{row:03d}.png"
        Image.fromarray(images[row]).save(tmp_path / "files" / name)
        lines.append(f"files/{name},{classes[row]},{'north' if row % 4 else 'south'}")
    (tmp_path / "table.csv").write_text("\n".join(lines))
    run = windtunnel.run("demo", tmp_path / "table.csv", "smoke", out=tmp_path / "run")
    found = slices(run, "site", "top1_error", "gaussian_noise:5")
    assert {(one.group, one.n) for one in found} == {("north", 60), ("south", 20)}
    whole = run.scores(["top1_error"])
    noisy = next(one.value for one in whole if one.condition == "gaussian_noise:5")
    assert sum(one.n * one.value for one in found) / 80 == pytest.approx(noisy)
    assert all(one.low <= one.value <= one.high for one in found)
    assert [one.group for one in slices(run, "size", "nll")] == ["  32-63 px"]
    by_class = slices(run, "class", "mean_error", minimum=8)
    assert all(one.n >= 8 for one in by_class)
    assert [one.shrunk for one in by_class] == sorted((one.shrunk for one in by_class), reverse=True)
    for wrong, words in (
        (("place", "top1_error"), "Unknown column to slice by 'place'"),
        (("class", "ece"), "must be a mean"),
        (("class", "top1_error", "mist:3"), "Unknown condition"),
    ):
        with pytest.raises(UserError, match=words):
            slices(run, *wrong)


def test_slices_on_the_command_line(run: windtunnel.Run, windtunnel_command: Command) -> None:
    shown = windtunnel_command("slices", run.path, "--by", "class", "--minimum", 3)
    assert shown.returncode == 0, shown.stderr
    assert "n = " in shown.stdout
    document = json.loads(windtunnel_command("slices", run.path, "--by", "size", "--json").stdout)
    assert document[0]["n"] == 40
    table = windtunnel_command("slices", run.path, "--by", "size", "--csv", "--condition", "fog:3").stdout
    assert "fog:3+jpeg:85" in table
    told = windtunnel_command("slices", run.path, "--by", "mood")
    assert (told.returncode, len(told.stderr.splitlines())) == (2, 1)


def test_a_map_collapses_outputs_by_the_best(tmp_path: Path, digits: tuple[np.ndarray, np.ndarray]) -> None:
    images, classes = digits
    for row in range(40):
        folder = tmp_path / "parity" / ("odd" if classes[row] % 2 else "even")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[row]).save(folder / f"{row}.png")
    file = tmp_path / "map.csv"
    file.write_text("output,class\n" + "\n".join(f"{k},{'odd' if k % 2 else 'even'}" for k in range(10)))
    run = windtunnel.run(
        "demo", tmp_path / "parity", "smoke", label_map=file, keep="logits", out=tmp_path / "run"
    )
    assert run.recipe.projection.kind == "collapse"
    for row in run.predictions(["top", "top_score", "label_rank", "logits", "sum_p2"]).to_pylist():
        logits = np.array(row["logits"])
        assert len(logits) == 10
        pair = np.array([logits[0::2].max(), logits[1::2].max()])
        assert row["top"][:2] == np.argsort(-pair, kind="stable").tolist()
        assert row["top_score"][:2] == pytest.approx(sorted(pair, reverse=True))
        label = int(row["sample_id"].startswith("odd"))
        assert row["label_rank"] == int(pair.argmax() != label)
        share = np.exp(pair - pair.max()) / np.exp(pair - pair.max()).sum()
        assert row["sum_p2"] == pytest.approx((share**2).sum(), rel=1e-5)
    assert any(
        "10 of the model's 10 outputs are mapped to 2 classes" in note for note in run_notes(run.scoring)
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("output,class\n0,zero", "no output for 10 of the data's 10 classes .*it has 'zero'"),
        ("output,class\n77,0", "output '77'; the model has 10 outputs"),
        ("output,class\n1,0\n1,1", "is mapped to '0' and to '1'"),
        ("output,class\n1,0", "no output for 9 of the data's 10 classes"),
        ("from,to\n1,0", "it needs output and class"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(
    tmp_path: Path, digit_folder: Path, text: str, words: str
) -> None:
    (tmp_path / "map.csv").write_text(text)
    with pytest.raises(UserError, match=words):
        windtunnel.run("demo", digit_folder, "smoke", label_map=tmp_path / "map.csv", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
