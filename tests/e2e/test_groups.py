"""Runs that say which of their images belong together: scores, slices, comparisons, gates, commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.api import slices
from windtunnel.core.scores import Score
from windtunnel.report.sections.notes import run_notes

UserError = windtunnel.UserError


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, digits: tuple[np.ndarray, np.ndarray]) -> Path:
    """120 digits by 24 writers, one image's writer unknown."""
    root = tmp_path_factory.mktemp("table")
    images, classes = digits
    lines = ["path,label,writer,school,row"]
    for row in range(120):
        Image.fromarray(images[row]).save(root / f"{row:08d}.png")
        writer = "" if row == 119 else f"w{row // 5}"
        lines.append(f"{row:08d}.png,{classes[row]},{writer},one,{row}")
    (root / "digits.csv").write_text("\n".join(lines))
    return root / "digits.csv"


@pytest.fixture(scope="module")
def run(table: Path) -> windtunnel.Run:
    return windtunnel.run("demo", table, "demo", out=table.parent / "run", group="writer")


def intervals(scores: list[Score]) -> dict[tuple[str, str], tuple[float, float]]:
    return {(one.metric, one.condition): (one.low, one.high) for one in scores}


def test_a_run_knows_its_groups(run: windtunnel.Run) -> None:
    assert run.scoring.group == "writer" and "writer" not in json.dumps(run.recipe.to_json())
    assert run.scoring.groups is not None and len(np.unique(run.scoring.groups)) == 25
    assert any("120 images in 25 groups by writer" in note for note in run_notes(run.scoring))
    alone = run.scores(group="")
    grouped = run.scores()
    assert [one.value for one in grouped] == [one.value for one in alone]
    assert intervals(grouped) != intervals(alone)
    assert intervals(windtunnel.load_run(run.path, group="").scores()) == intervals(alone)
    assert not any("groups" in note for note in run_notes(windtunnel.load_run(run.path, group="").scoring))


def test_every_image_its_own_group_is_no_group(run: windtunnel.Run) -> None:
    assert intervals(run.scores(group="row")) == intervals(run.scores(group=""))


def test_grouping_needs_no_new_prediction(run: windtunnel.Run, table: Path) -> None:
    before = {path.name: path.read_bytes() for path in (run.path / "shards").iterdir()}
    again = windtunnel.run("demo", table, "demo", out=run.path)
    assert again.scoring.group == ""
    once_more = windtunnel.run("demo", table, "demo", out=run.path, group="writer")
    assert once_more.scoring.group == "writer" and once_more.scoring.digest == run.scoring.digest
    assert {path.name: path.read_bytes() for path in (run.path / "shards").iterdir()} == before


def test_slices_and_baselines_keep_groups(run: windtunnel.Run) -> None:
    first = slices(run, "class", "mean_error", minimum=5)[0]
    alone = next(
        one
        for one in slices(run.grouped_by(""), "class", "mean_error", minimum=5)
        if one.group == first.group
    )
    assert first.value == alone.value and (first.low, first.high) != (alone.low, alone.high)
    ours = intervals(run.scores(["ce"], baseline=run.path))
    assert ours[("ce", "defocus_blur")] == pytest.approx((1, 1))


def test_compare_and_gate_use_the_groups_some_run_names(run: windtunnel.Run, table: Path) -> None:
    other = windtunnel.run("demo", table, "demo", out=table.parent / "plain", keep="summary")
    model = windtunnel.load_model("demo")

    def worse(batch: np.ndarray) -> np.ndarray:
        scores = model.predict(batch)
        return np.where(batch.sum(axis=(1, 2, 3))[:, None] % 5 == 0, -scores, scores)

    from windtunnel.data.demo import demo_model_path

    declared = demo_model_path().with_name("digits.onnx.toml")
    spoilt = windtunnel.run(worse, table, "demo", out=table.parent / "spoilt", preprocess=declared)
    for old, new in ((run, spoilt), (spoilt, run)):
        tests = {change.difference.test for change in windtunnel.compare(old, new).changes}
        assert tests and all("groups" in test for test in tests)
        assert "groups" in windtunnel.gate(new, old).checks[0].test
    plain = {change.difference.test for change in windtunnel.compare(other, spoilt).changes}
    assert not any("groups" in test for test in plain)
    with pytest.raises(UserError, match="by writer and by row"):
        windtunnel.compare(run, spoilt.grouped_by("row"))


def test_unpaired_runs_are_grouped_as_soon_as_one_is(run: windtunnel.Run, table: Path) -> None:
    seeded = windtunnel.run("demo", table, "demo", out=table.parent / "seeded", seed=1)
    assert seeded.scoring.group == ""
    found = windtunnel.compare(run, seeded)
    assert found.unpaired_because
    both = windtunnel.compare(run, seeded.grouped_by("writer"))
    assert found.scores == both.scores
    assert {(one.difference.low, one.difference.high) for one in found.changes} == {
        (one.difference.low, one.difference.high) for one in both.changes
    }
    with pytest.raises(UserError, match="by writer and by row"):
        windtunnel.compare(run, seeded.grouped_by("row"))
    elsewhere = windtunnel.load_run(seeded.path)
    elsewhere.scoring.columns.clear()
    with pytest.raises(UserError, match="has no column writer"):
        windtunnel.compare(run, elsewhere)


def test_gate_and_the_report_of_several_take_a_group(
    run: windtunnel.Run, table: Path, windtunnel_command: Command, tmp_path: Path
) -> None:
    plain = windtunnel.run("demo", table, "smoke", out=tmp_path / "plain")
    other = windtunnel.run(lambda batch: np.eye(10)[batch.sum(axis=(1, 2, 3)) % 10], table, "smoke",
                           out=tmp_path / "other")  # fmt: skip
    gated = windtunnel_command("gate", other.path, "--against", plain.path, "--group", "writer", "--json")
    assert gated.returncode == 1, gated.stderr
    assert all("groups" in one["test"] for one in json.loads(gated.stdout)["checks"])
    both = windtunnel_command("report", plain.path, other.path, "--group", "writer", "--json")
    assert both.returncode == 0, both.stderr
    assert all("groups" in one["test"] for one in json.loads(both.stdout)["differences"])


def test_columns_that_do_not_serve(run: windtunnel.Run, table: Path) -> None:
    with pytest.raises(UserError, match="Unknown column to group by 'writers'"):
        run.scores(group="writers")
    with pytest.raises(UserError, match="have the same school"):
        run.scores(group="school")
    with pytest.raises(UserError, match="Unknown column to group by"):
        windtunnel.run("demo", table, "demo", out=table.parent / "never", group="patient")
    assert not (table.parent / "never").exists()


def test_the_command_line(table: Path, windtunnel_command: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = windtunnel_command("run", "demo", table, "--suite", "smoke", "--group", "writer", "--out", out)
    assert done.returncode == 0, done.stderr
    assert windtunnel.load_run(out).scoring.group == "writer"
    assert "25 groups by writer" in (out / "report.html").read_text()
    wide, narrow = (
        json.loads(windtunnel_command("score", out, "--json", *more).stdout)["scores"]
        for more in ((), ("--group", ""))
    )
    assert [one["value"] for one in wide] == [one["value"] for one in narrow]
    assert [one["low"] for one in wide] != [one["low"] for one in narrow]
    by_class = ("slices", out, "--by", "class", "--metric", "mean_error", "--minimum", 5, "--json")
    known, unknown = (
        json.loads(windtunnel_command(*by_class, *more).stdout) for more in ((), ("--group", ""))
    )
    lows = [{one["group"]: one["low"] for one in found} for found in (known, unknown)]
    assert lows[0].keys() == lows[1].keys() and lows[0] != lows[1]
    wrong = windtunnel_command("run", "demo", table, "--group", "patient")
    assert wrong.returncode == 2 and "Unknown column to group by 'patient'" in wrong.stderr
