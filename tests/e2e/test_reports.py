"""What reports say beside the scores: published company, traps, slices, calibration, several runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image
from sklearn.calibration import calibration_curve

import windtunnel
from windtunnel.cli import cli
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import spelled_by
from windtunnel.metrics.calibration import ece_by_chance, ece_values, reliability
from windtunnel.options.command_line import as_option
from windtunnel.report.sections.pitfalls import PITFALLS
from windtunnel.report.tables import run_document

DOCS = Path(__file__).parents[2] / "docs"


class Guess:
    """A model that says class 0 of so many, as surely as it is told."""

    def __init__(self, classes: int) -> None:
        self.name = self.fingerprint = f"guess-{classes}"
        self.classes = classes

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        scores = np.zeros((len(batch), self.classes), np.float32)
        scores[:, 0] = 1 + batch.mean(axis=(1, 2, 3)) / 255
        return scores


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reports") / "demo"
    windtunnel.run("demo", "demo", "demo", out=out)
    return out


@pytest.fixture(scope="module")
def table_run(tmp_path_factory: pytest.TempPathFactory) -> windtunnel.Run:
    """Forty images in a table that says which camera took them: one class from each."""
    root = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(1)
    rows = ["path,label,camera,serial"]
    for number in range(40):
        Image.fromarray(rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(root / f"{number}.png")
        rows.append(f"{number}.png,{number % 2},{'left' if number % 2 else 'right'},{number}")
    (root / "images.csv").write_text("\n".join(rows))
    return windtunnel.run(Guess(2), root / "images.csv", "smoke", out=root / "run")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments], catch_exceptions=True)


def document_of(run: windtunnel.Run) -> dict[str, object]:
    return json.loads(json.dumps(run_document(run.scoring, run.scores())))


def test_bins_are_scikit_learns_and_sum_to_the_ece() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.05, 1, 500)
    right = rng.uniform(size=500) < confidence**2
    bins = reliability(confidence[:, None], right[:, None])
    accuracy, mean = calibration_curve(right, confidence, n_bins=15)
    np.testing.assert_allclose([one.accuracy for one in bins], accuracy)
    np.testing.assert_allclose([one.confidence for one in bins], mean)
    ece = sum(one.n / 500 * abs(one.confidence - one.accuracy) for one in bins)
    assert ece == pytest.approx(ece_values(confidence[:, None], right[:, None]).mean())


def test_calibration_is_of_clean_and_of_corrupted_images(demo: Path) -> None:
    found = document_of(windtunnel.load_run(demo))["reliability"]
    seen = windtunnel.load_run(demo).scoring.observed
    assert sum(one["n"] for one in found["clean"]) == len(seen.ids)
    corrupted = [name for name in seen.conditions if ":" in name.split("+")[0]]
    assert sum(one["n"] for one in found["corrupted"]) == len(seen.ids) * len(corrupted)


def test_worst_slices_are_those_of_the_slices_command(demo: Path) -> None:
    found = {one["by"]: one for one in document_of(windtunnel.load_run(demo))["slices"]}
    printed = json.loads(call("slices", demo, "--by", "class", "--metric", "mean_error", "--json").output)
    assert [row["group"] for row in found["class"]["rows"]] == [row["group"] for row in printed][:10]
    assert found["class"]["rows"][0]["value"] == printed[0]["value"]
    assert "size" not in found, "digits have one size"


def test_columns_with_few_values_are_slices_and_names_are_not(table_run: windtunnel.Run) -> None:
    found = {one["by"]: one for one in document_of(table_run)["slices"]}
    assert set(found) == {"class", "camera"}
    rows = found["camera"]["rows"]
    assert [(row["name"], row["n"]) for row in rows] == [("left", 20), ("right", 20)]
    assert [row["value"] for row in rows] == pytest.approx([1, 0])


def test_every_pitfall_has_its_paragraph_in_the_docs() -> None:
    headings = re.findall(r"^## (.+)$", (DOCS / "explanation" / "footguns.md").read_text(), re.M)
    assert [heading for heading in headings if heading in PITFALLS] == list(PITFALLS)


def test_pitfalls_are_reported_where_they_apply_and_only_there(demo: Path, table_run: windtunnel.Run) -> None:
    of_demo = {pitfall["heading"] for pitfall in document_of(windtunnel.load_run(demo))["pitfalls"]}
    assert "The model's preprocessing" not in of_demo and "Few images per class" not in of_demo
    assert "Severities of small editions" in of_demo
    of_guess = {pitfall["heading"]: pitfall["why"] for pitfall in document_of(table_run)["pitfalls"]}
    assert "is at chance level (50.0 %)" in of_guess["The model's preprocessing"]
    assert "With or without the mask" not in of_guess


def test_a_run_of_few_corruptions_has_no_published_company(demo: Path) -> None:
    assert document_of(windtunnel.load_run(demo))["published"] == []


def test_fifteen_corruptions_stand_among_published_models(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for number, name in enumerate(("n01440764", "n01443537")):
        (tmp_path / "val" / name).mkdir(parents=True)
        pixels = rng.integers(0, 256, (40, 40, 3)).astype(np.uint8)
        Image.fromarray(pixels).resize((256, 256)).save(tmp_path / "val" / name / f"{number}.png")
    run = windtunnel.run(Guess(1000), tmp_path / "val", "imagenet-c", out=tmp_path / "run")
    scores = {score.metric: score.value for score in run.scores() if not score.condition}
    found = {one["metric"]: one for one in document_of(run)["published"]}
    assert list(found) == ["mce", "mean_error", "relative_mce"]
    models = found["mce"]["models"]
    place = models.index(None)
    assert all(one["value"] < scores["mce"] for one in models[:place])
    assert all(one["value"] >= scores["mce"] for one in models[place + 1 :])
    assert {"AlexNet", "ResNet-50"} <= {one["name"] for one in models if one}
    for source in found["mce"]["sources"]:
        assert "2 images, published 5" in source["why_not_comparable"]


def test_markdown_holds_the_headline_and_every_cell(demo: Path) -> None:
    text = call("report", demo, "--markdown").output
    run = windtunnel.load_run(demo)
    assert text.startswith("# digits on held-out-digits\n")
    for score in run.scores():
        if score.metric == "mean_error":
            assert f"| mean error | {100 * score.value:.1f} % | " in text
        if score.metric == "top1_error" and ":" in score.condition:
            assert f"{100 * score.value:.1f}" in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("| gaussian_noise")}
    assert len(widths) == 1
    assert (demo / "report.md").exists() is False, "printing writes nothing"


def test_the_recipe_states_only_preprocessing_that_was_applied(demo: Path, table_run: windtunnel.Run) -> None:
    of_file, of_callable = (
        next(
            line
            for line in call("report", path, "--markdown").output.splitlines()
            if "- preprocessing" in line
        )
        for path in (demo, table_run.path)
    )
    assert "divisor" in of_file and "by the model itself" not in of_file
    assert (
        of_callable.endswith("conversion to a tensor: by the model itself") and "divisor" not in of_callable
    )


def test_several_runs_make_one_page_and_leave_the_runs_alone(demo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    windtunnel.run("demo", "demo", "demo", out=other, seed=1)
    before = {path: path.stat().st_mtime_ns for path in other.rglob("*")}
    page = tmp_path / "both.html"
    done = call("report", demo, other, "--out", page)
    assert done.exit_code == 0 and done.output.strip() == str(page)
    assert "Not paired" in page.read_text(), "other seeds"
    assert {path: path.stat().st_mtime_ns for path in other.rglob("*")} == before
    as_json = json.loads(call("report", demo, other, "--json").output)
    compared = json.loads(call("compare", demo, other, "--json").output)
    assert {name: as_json[name] for name in compared} == compared
    assert [one["natural"] for one in as_json["shifts"]] == [False, False]
    assert call("report", demo, other, "--csv").output == call("compare", demo, other, "--csv").output
    assert call("report", demo, other, "--markdown").output.startswith(
        f"# digits ({demo.name}) against digits (other)"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--json", "--csv"), "exclude each other"),
        (("--markdown", "--csv"), "exclude each other"),
        (("--out", "page.html"), "--out is for the page of several runs"),
    ],
)
def test_options_that_do_not_go_together(demo: Path, arguments: tuple[str, ...], words: str) -> None:
    done = call("report", demo, *arguments)
    assert isinstance(done.exception, UserError)
    with spelled_by(as_option):
        assert words in str(done.exception)


def test_chance_is_what_a_calibrated_model_scores() -> None:
    """Simulated: answers right exactly as often as the model says."""
    rng = np.random.default_rng(0)
    for count in (200, 1000):
        confidence = rng.beta(4, 2, count)
        scored = [
            ece_values(confidence[:, None], (rng.uniform(size=count) < confidence)[:, None]).mean()
            for _ in range(300)
        ]
        assert ece_by_chance(confidence) == pytest.approx(np.mean(scored), rel=0.06)


def test_few_images_are_not_called_guessing(tmp_path: Path) -> None:
    """Three wrong of twenty with two classes is better than guessing."""
    for number in range(20):
        folder = tmp_path / "data" / ("0" if number < 17 else "1")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((40, 40, 3), number * 9, np.uint8)).save(folder / f"{number}.png")
    run = windtunnel.run(Guess(2), tmp_path / "data", "smoke", only=["fog:1"], out=tmp_path / "run")
    assert "The model's preprocessing" not in {pitfall["heading"] for pitfall in document_of(run)["pitfalls"]}


def test_a_suite_of_one_metric_still_makes_a_whole_page(tmp_path: Path) -> None:
    suite = tmp_path / "mine.toml"
    suite.write_text('name = "mine"\nversion = 1\nunits = ["fog"]\nmetrics = ["mean_error"]\n')
    run = windtunnel.run("demo", "demo", suite, subset=60, out=tmp_path / "run")
    page = run.report().read_text()
    places = set(re.findall(r'<div id="(\w+)" class="figure', page))
    drawn = json.loads(re.search(r'<script id="figures"[^>]*>(.*?)</script>', page, re.S).group(1))
    assert set(drawn) == places and "reliability" in places
    assert "<h2>Slices with the highest error</h2>" in page and "<h2>Misclassified images</h2>" in page
