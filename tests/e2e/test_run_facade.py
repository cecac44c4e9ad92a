"""The public `Run` and `Scores`: opening, tables, and how consoles and notebooks show them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import fields, replace
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

import windtunnel
from windtunnel.core.scores import Score
from windtunnel.runs import Scores


class Cells(HTMLParser):
    """The cells of a table by row; every tag must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == [], "every tag is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert self.open[-1] in ("td", "th"), "text stands in cells only"
        self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("facade") / "run"
    windtunnel.run("demo", "demo", "demo", subset=40, out=out)
    return out


@pytest.fixture
def run(folder: Path) -> windtunnel.Run:
    return windtunnel.load_run(folder)


def test_load_run_opens_what_run_returned(folder: Path, run: windtunnel.Run) -> None:
    again = windtunnel.run("demo", "demo", "demo", subset=40, out=folder)
    assert isinstance(again, windtunnel.Run) and again.path == run.path == folder
    assert again.scores() == run.scores() and len(run.scores()) > 10
    assert again.predictions().equals(run.predictions())
    stored = json.loads((folder / "run.json").read_text())["recipe"]
    assert json.loads(json.dumps(run.recipe.to_json())) == stored
    assert run.samples.num_rows == 40


def test_a_run_used_as_a_baseline_is_the_same_given_as_a_path(folder: Path, run: windtunnel.Run) -> None:
    by_path = windtunnel.load_run(folder, baseline=folder).scores(["ce"])
    assert by_path == run.scores(["ce"], baseline=run) == run.against(run).scores(["ce"])
    assert by_path and all(score.value == pytest.approx(1) for score in by_path)
    assert run.scoring.baseline is None, "the run itself is unchanged"


def test_scores_as_an_arrow_table(run: windtunnel.Run) -> None:
    scores = run.scores()
    table = scores.to_arrow()
    assert table.column_names == [field.name for field in fields(Score)]
    assert table.to_pylist() == [score.to_json() for score in scores]
    assert {table.schema.field(name).type for name in ("value", "low", "high")} == {pa.float64()}


def test_the_columns_do_not_depend_on_the_scores(run: windtunnel.Run) -> None:
    whole = run.scores().to_arrow().schema
    without_severity = Scores(score for score in run.scores() if score.severity is None)
    assert without_severity and without_severity.to_arrow().schema == whole == Scores().to_arrow().schema


def test_scores_as_a_pandas_frame(run: windtunnel.Run) -> None:
    pytest.importorskip("pandas")
    scores = run.scores()
    frame = scores.to_pandas()
    assert list(frame.columns) == [field.name for field in fields(Score)]
    assert frame["value"].tolist() == [score.value for score in scores]
    assert frame["metric"].tolist() == [score.metric for score in scores]
    assert frame["severity"].isna().tolist() == [score.severity is None for score in scores]


def test_without_pandas_one_line_says_what_to_install(
    run: windtunnel.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = run.scores()

    class Hidden:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "pandas":
                raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Hidden(), *sys.meta_path])
    with pytest.raises(windtunnel.UserError, match=r"to_pandas\(\) needs pandas.*pip install 'pandas>="):
        scores.to_pandas()


def test_a_run_says_what_it_is(run: windtunnel.Run, folder: Path) -> None:
    text = repr(run)
    assert "\n" not in text and str(folder) in text
    assert "digits on held-out-digits, demo," in text and f"{len(run.conditions)} conditions" in text
    rows = dict(Cells(run._repr_html_()).rows)
    assert rows["suite"] == "demo" and rows["images"] == "40" and rows["folder"] == str(folder)


def test_scores_are_shown_as_a_table(run: windtunnel.Run) -> None:
    scores = run.scores()
    lines = repr(scores).splitlines()
    assert lines[0].split() == ["metric", "condition", "value", "low", "high", "n"]
    assert len(lines) == len(scores) + 1
    example = next(line for line in lines if line.split()[1] == scores[1].condition)
    assert (
        len({line.index(value) for line, value in ((lines[0], "value"), (example, example.split()[2]))}) == 1
    )
    shown = Cells(scores._repr_html_()).rows
    assert shown[0] == lines[0].split() and len(shown) == len(lines)
    assert [row[:2] for row in shown[1:]] == [[score.metric, score.condition] for score in scores]
    assert [float(row[2]) for row in shown[1:]] == pytest.approx([score.value for score in scores], rel=1e-3)


def test_names_in_html_are_escaped(run: windtunnel.Run) -> None:
    odd = "<script>alert('&amp;')</script>"
    scores = Scores([replace(run.scores()[0], condition=odd)])
    cells = Cells(scores._repr_html_())
    assert cells.rows[1][1] == odd and "script" not in cells.tags
    model = msgspec.structs.replace(run.info.model, name=odd)
    run.scoring.info = msgspec.structs.replace(run.info, model=model)
    cells = Cells(run._repr_html_())
    assert ["model", odd] in cells.rows and "script" not in cells.tags


def test_no_module_hides_a_public_name() -> None:
    for name in windtunnel.__all__:
        assert importlib.util.find_spec(f"windtunnel.{name}") is None, f"windtunnel.{name} is also a module"
    code = "import windtunnel; windtunnel.load_run; windtunnel.compare; assert callable(windtunnel.run)"
    subprocess.run([sys.executable, "-c", code], check=True)
