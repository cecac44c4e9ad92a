"""Comparing runs and gating on them: what is found, what is said, how it ends."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from PIL import Image
from rich.console import Console

import windtunnel
from tests.conftest import Command
from windtunnel.analysis.gate import Check, Gate
from windtunnel.analysis.pairing import join_runs
from windtunnel.analysis.relative_error import against_first
from windtunnel.cli import cli
from windtunnel.cli.gate import print_gate
from windtunnel.core.option_names import spelled_by
from windtunnel.data.demo import demo_model_path
from windtunnel.metrics.score import score_run
from windtunnel.options.command_line import as_option
from windtunnel.report.gate_outcome import check_cells, gate_junit, gate_markdown, sentence
from windtunnel.runs import Run

ABOUT = 'family = "spoilt"\nparameters = 1_234\ntags = ["small", "bad"]\n'


class Spoilt:
    """The demo's network, wrong about a share of images that hangs on their pixels alone."""

    def __init__(self, share: float) -> None:
        self.name, self.fingerprint = f"spoilt{share}", f"spoilt{share}"
        self._share, self._model = share, windtunnel.load_model("demo")

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        scores = self._model.predict(batch)
        chosen = (batch.astype(np.int64).sum(axis=(1, 2, 3)) * 2654435761 % 1000) < 1000 * self._share
        return np.where(chosen[:, None], -scores, scores)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    declared = root / "spoilt.toml"
    declared.write_text(ABOUT + demo_model_path().with_name("digits.onnx.toml").read_text())
    wide = {"suite": "demo", "subset": 200}
    windtunnel.run("demo", "demo", out=root / "good", **wide)
    windtunnel.run("demo", "demo", out=root / "seeded", seed=1, **wide)
    windtunnel.run("demo", "demo", "demo", out=root / "few", subset=60)
    windtunnel.run("demo", "demo", "smoke", out=root / "other-suite", subset=200)
    for share, name in ((0.02, "near"), (0.3, "bad")):
        windtunnel.run(Spoilt(share), "demo", out=root / name, preprocess=declared, **wide)
    windtunnel.run("demo", "demo", "demo", out=root / "no-shards", subset=60)
    shutil.rmtree(root / "no-shards" / "shards")
    return root


@pytest.fixture
def invoke(runs: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.chdir(runs)

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(cli, arguments)

    return call


def test_a_run_with_itself_differs_in_nothing(runs: Path) -> None:
    found = windtunnel.compare(runs / "good", runs / "good")
    assert {(one.difference.value, one.difference.low, one.difference.high) for one in found.changes} == {
        (0, 0, 0)
    }
    assert found.changed() == []
    assert found.flips[0].images == ()
    assert found.warnings == ()
    assert found.against_first[1].value == 1.0
    gate = windtunnel.gate(runs / "good", runs / "good", ["* error <= 0", "clean error <= 0"], unsure="fail")
    assert [check.outcome for check in gate.checks] == ["not worse", "not worse"]
    assert not gate.failed


def test_differences_are_those_of_the_predictions(runs: Path) -> None:
    old, new = (windtunnel.load_run(runs / name) for name in ("good", "bad"))
    found = windtunnel.compare(old, new)
    wrong = {}
    for run in (old, new):
        for row in run.predictions(["condition", "label_rank"]).to_pylist():
            wrong[run is new, row["condition"], row["sample_id"]] = row["label_rank"] > 0
    ids = old.samples["id"].to_pylist()
    for change in found.changes:
        if change.metric != "top1_error":
            continue
        pairs = [(wrong[False, change.condition, id_], wrong[True, change.condition, id_]) for id_ in ids]
        broken, mended = pairs.count((False, True)), pairs.count((True, False))
        assert found.flips[0].conditions[change.condition] == (broken, mended)
        assert change.difference.value == pytest.approx((broken - mended) / len(ids))
        assert change.difference.discordant == broken + mended
    worst = found.flips[0].images[0]
    assert worst[1] == sum(
        wrong[True, condition.name, worst[0]] and not wrong[False, condition.name, worst[0]]
        for condition in old.conditions
    )
    assert len(found.changed()) == 17
    assert any("not comparable" in text for text in found.warnings)
    assert found.columns[1].family == "spoilt"
    assert (found.columns[1].parameters, found.columns[1].tags) == (1234, ("small", "bad"))
    assert "family" not in json.dumps(new.recipe.to_json())


def test_errors_divided_by_a_stored_run(runs: Path) -> None:
    joined = join_runs([runs / "good", runs / "bad"])
    measure, reasons = against_first(joined, 1)
    assert measure is not None and reasons == ()
    errors = [{score.condition: score.value for score in score_run(run) if score.metric == "top1_error"}
              for run in joined.runs]  # fmt: skip
    units = ("gaussian_noise", "defocus_blur", "jpeg_compression")
    ratios = [
        sum(errors[1][f"{unit}:{level}"] for level in range(1, 6))
        / sum(errors[0][f"{unit}:{level}"] for level in range(1, 6))
        for unit in units
    ]
    assert measure.value == pytest.approx(np.mean(ratios))
    by_baseline = score_run(joined.runs[1].scored_as(joined.runs[0]), ["ce"])
    assert measure.value == pytest.approx(np.mean([score.value for score in by_baseline]))
    assert measure.metric == "mean_ce_against_first"  # mCE has fifteen corruptions
    low, high = measure.interval()
    assert 1 < low < measure.value < high


@pytest.mark.parametrize("errors", [0, 1])
def test_too_few_errors_of_the_first_run_are_not_divided_by(
    digit_folder: Path, tmp_path: Path, errors: int
) -> None:
    run = windtunnel.run("demo", digit_folder, "demo", out=tmp_path / "run")
    rows = run.predictions(["condition"]).to_pylist()
    wrong = [row["sample_id"] for row in rows if row["condition"] == "defocus_blur:1"][:errors]
    with (tmp_path / "base.jsonl").open("w") as stream:
        for row in rows:
            id_, condition = row["sample_id"], row["condition"]
            spoilt = id_ in wrong if condition == "defocus_blur:1" else not condition.startswith("defocus")
            said = (int(id_[0]) + spoilt) % 10
            stream.write(json.dumps({"id": id_, "condition": condition, "top": [said]}) + "\n")
    base = windtunnel.score_predictions(tmp_path / "base.jsonl", digit_folder, "demo", out=tmp_path / "base")
    found = windtunnel.compare(base, run)
    assert found.against_first == {}
    told = [text for text in found.warnings if text.startswith("No scores normalised by")]
    assert len(told) == 1
    assert "errors under defocus_blur are not clearly above 0" in told[0] and "40 images" in told[0]


def test_other_seeds_are_not_paired_and_that_is_said(runs: Path) -> None:
    found = windtunnel.compare(runs / "good", runs / "seeded")
    assert found.unpaired_because.startswith("seeds 0 and 1 differ")
    assert found.flips == ()
    assert found.warnings[0].startswith("Not paired: seeds 0 and 1 differ")
    assert {one.difference.test for one in found.changes} == {"unpaired"}
    with pytest.raises(windtunnel.UserError, match="seeds 1 and 0 differ"):
        windtunnel.gate(runs / "good", runs / "seeded")


def test_too_few_shared_images_are_not_paired(runs: Path) -> None:
    found = windtunnel.compare(runs / "good", runs / "few")
    assert found.unpaired_because == "only 60 of 200 images are the same in all runs"


def test_other_masks_are_told_and_refused(tmp_path: Path, digit_folder: Path) -> None:
    plain = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "plain")
    masked = windtunnel.run("demo", digit_folder, "smoke", mask=True, out=tmp_path / "masked")
    assert any("all outputs compete in one run and only classes of the data compete" in text
               for text in windtunnel.compare(plain, masked).warnings)  # fmt: skip
    for new, old in ((masked, plain), (plain, masked)):
        with pytest.raises(windtunnel.UserError, match="cannot be checked against"):
            windtunnel.gate(new, old)
    assert not windtunnel.gate(masked, masked).failed
    # The same kind of mask, of fewer classes.
    narrow = windtunnel.load_run(masked.path)
    projection = narrow.recipe.projection
    fewer = msgspec.structs.replace(projection, kept=projection.kept[:-1])
    narrow.scoring.recipe = msgspec.structs.replace(narrow.recipe, projection=fewer)
    assert any(
        "but the classes differ between runs" in text for text in windtunnel.compare(masked, narrow).warnings
    )
    with pytest.raises(windtunnel.UserError, match="but the classes differ between runs"):
        windtunnel.gate(narrow, masked)


def test_other_conditions_are_not_compared(runs: Path) -> None:
    found = windtunnel.compare(runs / "good", runs / "other-suite")
    assert ("top1_error", "gaussian_noise:3") in found.scores
    assert ("mean_error", "") not in found.scores
    assert any("Not compared" in text and "mean_error" in text for text in found.warnings)


def test_incomplete_images_leave_both_runs(runs: Path, tmp_path: Path, digit_folder: Path) -> None:
    first = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "whole")
    next(iter(sorted(digit_folder.rglob("*.png")))).write_bytes(b"no image")
    second = windtunnel.run(Spoilt(0.1), digit_folder, "smoke", out=tmp_path / "hurt",
                            preprocess=demo_model_path().with_name("digits.onnx.toml"))  # fmt: skip
    found = windtunnel.compare(first, second)
    assert found.images == 39
    assert {score.n for scores in found.scores.values() for score in scores} == {39}
    assert "1 of 40 images are left out" in found.warnings[0]


@pytest.mark.parametrize("metric", ["ece", "rms_calibration_error", "aurra"])
def test_scores_of_confidence_are_those_of_the_shared_images(runs: Path, tmp_path: Path, metric: str) -> None:
    suite = tmp_path / "confident.toml"
    suite.write_text(
        f"name = 'confident'\nversion = 1\nextends = 'smoke'\nmetrics = ['top1_error', '{metric}']\n"
    )
    whole = windtunnel.run("demo", "demo", suite, subset=200, out=tmp_path / "whole")
    fewer = windtunnel.run("demo", "demo", suite, subset=184, out=tmp_path / "fewer")
    assert set(fewer.samples["id"].to_pylist()) < set(whole.samples["id"].to_pylist())
    found = windtunnel.compare(whole, fewer)
    assert found.images == 184 and found.unpaired_because == ""
    alone = {(one.metric, one.condition): one for one in fewer.scores()}
    for key, scores in found.scores.items():
        for score in scores:
            wanted = (alone[key].value, alone[key].low, alone[key].high)
            assert (score.value, score.low, score.high) == pytest.approx(wanted)
    checks = windtunnel.gate(whole, fewer, [f"{metric} {'>= -1' if metric == 'aurra' else '<= +1'}"]).checks
    assert checks[0].run == pytest.approx(alone[metric, ""].value)


def test_three_runs_are_ranked(runs: Path) -> None:
    found = windtunnel.compare(runs / "good", runs / "near", runs / "bad")
    ranks = [column.rank for column in found.columns]
    assert ranks[2] is not None and (ranks[2].low, ranks[2].high) == (3, 3)
    assert {one.other for one in found.changes} == {1, 2}


def test_compare_prints_a_table_json_and_csv(invoke: object, runs: Path) -> None:
    text = invoke("compare", "good", "bad", "--flips", "flips.csv")  # type: ignore[operator]
    assert text.exit_code == 0, text.output
    for part in (
        "spoilt, 1,234 parameters, small, bad",
        "mean error",
        "200, the same in all runs, paired",
        "broken",
    ):
        assert part in text.output
    same = invoke("compare", "good", "seeded").output  # type: ignore[operator]
    assert "digits (good)" in same and "digits (seeded)" in same
    flips = list(csv.DictReader((runs / "flips.csv").open()))
    assert list(flips[0]) == ["run", "image", "broken", "repaired"]
    document = json.loads(invoke("compare", "good", "bad", "--json").output)  # type: ignore[operator]
    assert document["paired"] is True
    assert document["flips"][0]["flipped_images"] == len(flips)
    rows = list(csv.DictReader(io.StringIO(invoke("compare", "good", "bad", "--csv").output)))  # type: ignore[operator]
    assert len(rows) == len(document["differences"])
    assert float(rows[0]["run_value"]) - float(rows[0]["base_value"]) == pytest.approx(
        float(rows[0]["difference"])
    )


def test_errors_of_writing_name_the_file_given(runs: Path, windtunnel_command: Command) -> None:
    done = windtunnel_command("report", "good", "bad", "--out", "nowhere/both.html", cwd=runs)
    assert done.returncode == 2
    assert "nowhere/both.html" in done.stderr and "unfinished" not in done.stderr


def test_the_gate_fails_a_worse_run_everywhere_it_speaks(invoke: object, runs: Path) -> None:
    result = invoke(  # type: ignore[operator]
        "gate", "bad", "--against", "good", "--markdown", "gate.md", "--junit", "gate.xml", "--github"
    )
    assert result.exit_code == 1, result.output
    assert "✗ failed: 2 worse (200 images, paired)" in result.output
    assert result.output.count("::error title=windtunnel gate::") == 2
    assert "| `mean_error <= +1` | mean_error |" in (runs / "gate.md").read_text()
    suite = ElementTree.parse(runs / "gate.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "2", "0")
    assert len(suite.findall("testcase/failure")) == 2


def test_a_default_rule_that_cannot_be_asked_is_told(
    invoke: object, digit_folder: Path, tmp_path: Path
) -> None:
    made = windtunnel.make_set("demo", digit_folder, tmp_path / "made", layout="folders")
    shutil.rmtree(made / "clean")
    run = windtunnel.run("demo", made, out=tmp_path / "run")
    assert ("top1_error", "clean") not in {(one.metric, one.condition) for one in run.scores()}
    files = ("--markdown", str(tmp_path / "gate.md"), "--junit", str(tmp_path / "gate.xml"), "--github")
    result = invoke("gate", str(run.path), "--against", str(run.path), *files)  # type: ignore[operator]
    assert result.exit_code == 0, result.output
    told = "The default rule clean error <= +2 is not checked"
    assert f"warning  {told}" in result.output
    assert f"::warning title=windtunnel gate::{told}" in result.output
    assert told in (tmp_path / "gate.md").read_text()
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()[0]
    assert told in (suite.findtext("system-err") or "")
    only = windtunnel.gate(run, run, ["mean_error <= +1"])
    assert only.warnings == ()


def test_what_cannot_be_told_does_not_read_like_a_pass(invoke: object, runs: Path) -> None:
    rules = ("--rule", "mean_error <= +1.2", "--rule", "each jpeg_compression error <= +30")
    files = ("--markdown", "unsure.md", "--junit", "unsure.xml", "--github")
    result = invoke("gate", "near", "--against", "good", *rules, *files)  # type: ignore[operator]
    assert result.exit_code == 0, result.output
    check = windtunnel.gate(runs / "near", runs / "good", rules[1::2]).checks[0]
    assert check.images_to_decide is not None and check.images_to_decide > 200
    lines = result.output.splitlines()
    verdict = next(line for line in lines if "not worse (200" in line)
    assert verdict.startswith("? undecided: 1 cannot tell, 5 not worse (200 images, paired)")
    assert "exit code 0" in verdict and "--unsure fail" in verdict and "passed" not in result.output
    own = [line for line in lines if line.startswith("? cannot tell")]
    assert len(own) == 1 and "mean_error <= +1.2" in own[0]
    shown = re.search(r"about ([\d,]+) images would decide it", own[0])
    assert shown is not None
    # Two digits, rounded up.
    assert 1 <= int(shown[1].replace(",", "")) / check.images_to_decide < 1.1
    for text in (result.output, (runs / "unsure.md").read_text(), (runs / "unsure.xml").read_text()):
        assert shown[0] in text and "--unsure fail" in text and "undecided" in text
    assert "::warning title=windtunnel gate::mean_error is undecided" in result.output
    assert (runs / "unsure.md").read_text().startswith("### windtunnel gate: ? undecided: 1 cannot tell")
    suite = ElementTree.parse(runs / "unsure.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert shown[0] in str(suite.findall("testcase/skipped")[0].get("message"))

    result = invoke("gate", "near", "--against", "good", *rules, "--unsure", "fail")  # type: ignore[operator]
    assert result.exit_code == 1
    assert "✗ failed: 1 cannot tell, 5 not worse (200 images, paired)" in result.output
    assert "--unsure fail" in result.output
    result = invoke("gate", "near", "--against", "good", *rules, "--unsure", "fail", "--json")  # type: ignore[operator]
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["failed"] is True and document["verdict"] == "failed"
    assert [one["outcome"] for one in document["checks"]].count("unsure") == 1
    assert document["checks"][0]["images_to_decide"] == check.images_to_decide
    assert {one["images_to_decide"] for one in document["checks"][1:]} == {None}
    passing = invoke("gate", "near", "--against", "good", *rules, "--json")  # type: ignore[operator]
    assert json.loads(passing.stdout)["verdict"] == "undecided"


def test_a_failed_gate_says_nothing_of_exit_code_0() -> None:
    values = (0.1, 0.2, 0.1, 0.05, 0.15, 0.01, 0.05, "paired", "worse", 200, None)
    worse = Check("mean_error <= +1", "mean_error", "mean_error", *values)
    unsure = replace(worse, rule="clean error <= +9.9", score="clean error", outcome="unsure")
    failed = Gate("new", "old", 200, (worse, unsure), (), "pass", ())
    undecided = replace(failed, checks=(unsure,))
    console = Console(record=True, file=io.StringIO(), width=200)
    print_gate(console, failed)
    for text in (console.export_text(), gate_markdown(failed), gate_junit(failed)):
        assert "exit code 1" in text and "exit code 0" not in text and "--unsure fail" in text
    for text in (gate_markdown(undecided), gate_junit(undecided)):
        assert "exit code 0" in text


def test_scores_that_are_no_shares_keep_their_unit(digit_folder: Path, tmp_path: Path) -> None:
    suite = tmp_path / "likely.toml"
    suite.write_text(
        "name = 'likely'\nversion = 1\nextends = 'smoke'\nmetrics = ['top1_error', 'nll', 'brier']\n"
    )
    old = windtunnel.run("demo", digit_folder, suite, out=tmp_path / "old")
    declared = demo_model_path().with_name("digits.onnx.toml")
    new = windtunnel.run(Spoilt(0.5), digit_folder, suite, out=tmp_path / "new", preprocess=declared)
    found = windtunnel.gate(new, old, ["nll <= +0.05", "clean brier <= +3", "clean error <= +90"])
    nll, brier, error = found.checks
    values = [next(one.value for one in run.scores(["nll"]) if not one.condition) for run in (old, new)]
    assert (nll.base, nll.run, nll.limit) == pytest.approx((*values, 0.05))
    assert (brier.limit, error.limit, nll.outcome, brier.outcome) == (3, 0.9, "worse", "not worse")
    assert check_cells(nll)[2:5] == [f"{nll.base:.4f} nats", f"{nll.run:.4f} nats", f"{nll.difference:+.4f}"]
    assert check_cells(nll)[6] == "+0.05" and check_cells(error)[6] == "+90"
    assert "percentage points (brier, nll in their own units)" in gate_markdown(found)
    assert " points on" not in sentence(nll) and " points on" in sentence(error)


def test_a_better_run_passes(invoke: object) -> None:
    result = invoke(
        "gate", "good", "--against", "bad", "--rule", "mean error <= +0", "--rule", "* error <= +0"
    )  # type: ignore[operator]
    assert result.exit_code == 0
    assert "✓ passed: 2 not worse (200 images, paired)" in result.output
    assert "cannot tell" not in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare", "good"), "1 run given; give two"),
        (("compare", "good", "nowhere"), "nowhere is not a run folder"),
        (("compare", "good", "no-shards"), "is not finished (0 of"),
        (("compare", "good", "bad", "--json", "--csv"), "exclude each other"),
        (("compare", "good", "seeded", "--flips", "f.csv"), "--flips needs the same images"),
        (("gate", "good", "--against", "seeded"), "seeds 1 and 0 differ"),
        (("gate", "good", "--against", "few"), "only 60 of 200"),
        (("gate", "good", "--against", "bad", "--rule", "mce < 1"), "write [each] [CONDITION] METRIC"),
        (("gate", "good", "--against", "bad", "--rule", "mcee <= +1"), "Unknown metric in rule"),
        (("gate", "good", "--against", "bad", "--rule", "mce <= +1"), "neither run has mCE"),
        (("gate", "good", "--against", "bad", "--rule", "fog:* error <= +1"), "Unknown condition in rule"),
    ],
)
def test_mistakes_are_one_line(invoke: object, arguments: tuple[str, ...], words: str) -> None:
    result = invoke(*arguments)  # type: ignore[operator]
    assert isinstance(result.exception, windtunnel.UserError)
    with spelled_by(as_option):
        said = str(result.exception)
    assert words in said
    assert "\n" not in said


def test_other_data_are_refused(runs: Path, tmp_path: Path, digit_folder: Path) -> None:
    other = windtunnel.run("demo", digit_folder, "demo", out=tmp_path / "other")
    with pytest.raises(windtunnel.UserError, match="share no image"):
        windtunnel.compare(Run(runs / "good"), other)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("family = 3", "give a text"),
        ("parameters = 1.5", "give a whole number"),
        ("tags = [1]", "list of texts"),
    ],
)
def test_declarations_are_checked(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "m.toml").write_text(line + "\n")
    with pytest.raises(windtunnel.UserError, match=words):
        windtunnel.load_model("demo", tmp_path / "m.toml")


def spoil(path: Path) -> None:
    """Another image of the same size in a file."""
    size = Image.open(path).size
    Image.new("RGB", size, "red").save(path)


@pytest.mark.parametrize("layout", ["folders", "arrays"])
def test_a_run_over_made_files_joins_a_run_in_memory(
    tmp_path: Path, digit_folder: Path, layout: str, invoke: object
) -> None:
    suite = "smoke" if layout == "folders" else "demo"  # arrays hold all five severities
    made = windtunnel.make_set(suite, digit_folder, tmp_path / "made", layout=layout)
    memory = windtunnel.run("demo", digit_folder, suite, out=tmp_path / "memory")
    files = windtunnel.run("demo", made, suite, out=tmp_path / "files")
    assert files.samples["content"] != memory.samples["content"]
    assert files.samples["source"] == memory.samples["content"]
    assert "source" not in memory.samples.column_names
    found = windtunnel.compare(memory, files)
    assert found.unpaired_because == "" and found.images == 40
    assert ("mean_error", "") in found.scores
    assert {(one.difference.value, one.difference.low, one.difference.high) for one in found.changes} == {
        (0, 0, 0)
    }
    spoilt = windtunnel.run(
        Spoilt(0.3),
        made,
        suite,
        out=tmp_path / "bad",
        preprocess=demo_model_path().with_name("digits.onnx.toml"),
    )
    gate = windtunnel.gate(spoilt, memory)
    assert gate.failed and gate.images == 40
    assert windtunnel.load_run(memory.path, baseline=files).scoring.baseline is files.scoring
    command = invoke("gate", str(files.path), "--against", str(memory.path))  # type: ignore[operator]
    assert command.exit_code == 0, command.output
    # With the sources given, the images are their own.
    given = windtunnel.run("demo", made, suite, out=tmp_path / "given", clean=digit_folder)
    assert "source" not in given.samples.column_names
    assert windtunnel.compare(memory, given).images == 40


def test_a_changed_clean_file_is_no_longer_its_source(tmp_path: Path, digit_folder: Path) -> None:
    made = windtunnel.make_set("smoke", digit_folder, tmp_path / "made", layout="folders")
    spoil(min((made / "clean").rglob("*.png")))
    memory = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "memory")
    files = windtunnel.run("demo", made, "smoke", out=tmp_path / "files")
    assert files.samples["source"].null_count == 1
    found = windtunnel.compare(memory, files)
    assert found.images == 39
    assert "1 of 40 images are left out" in found.warnings[0]


def test_runs_over_files_without_sources_are_read(tmp_path: Path, digit_folder: Path) -> None:
    made = windtunnel.make_set("smoke", digit_folder, tmp_path / "made", layout="folders")
    files = windtunnel.run("demo", made, "smoke", out=tmp_path / "files")
    table = files.samples.drop_columns(["source"])
    pq.write_table(table, files.path / "samples.parquet")
    old = windtunnel.load_run(files.path)
    assert windtunnel.compare(old, old).images == 40
    memory = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "memory")
    with pytest.raises(windtunnel.UserError, match="share no image"):
        windtunnel.compare(memory, old)
    # The same command adds them.
    windtunnel.run("demo", made, "smoke", out=files.path)
    assert windtunnel.compare(memory, files.path).images == 40
