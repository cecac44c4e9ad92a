"""Every report section declares its facts in its own file; a section in a file of the user's is enough."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import windtunnel.report.sections
from tests.strangers import write_example
from windtunnel.cli import main
from windtunnel.core.errors import UserError
from windtunnel.report.sections import REGISTRY, Section, by_order
from windtunnel.suites.inclusion import include

FOLDER = Path(next(iter(windtunnel.report.sections.__path__)))
NAMES = REGISTRY.shipped()
LONGEST_HELP = 110
FILES = ("report.html", "report.md", "scores.json")
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def shipped_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test includes is unknown to the next one."""
    monkeypatch.setattr(REGISTRY, "_added", {})
    monkeypatch.setattr(REGISTRY, "_loaded", dict(REGISTRY._loaded))


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr(REGISTRY, "_added", {})  # as a new process starts
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments)])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run with its report."""
    out = tmp_path_factory.mktemp("sections") / "run"
    with pytest.raises(SystemExit) as ended:
        main(
            ["run", "demo", "demo", "--suite", "smoke", "--subset", "40", "--workers", "1", "--out", str(out)]
        )
    assert not ended.value.code
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """The run in a folder that a test may write to."""
    copy = Path(shutil.copytree(finished, tmp_path / "run"))
    return replaced(copy / "scores.json", str(finished), str(copy)).parent


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The example of CONTRIBUTING.md, as a contributor copies it."""
    return write_example("sections", tmp_path)


def replaced(file: Path, before: str, after: str) -> Path:
    """The same file with a part of its text replaced."""
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    return file


def test_the_folder_holds_sections_and_their_templates() -> None:
    stems = [name.replace("-", "_") for name in NAMES]
    assert sorted(file.stem for file in FOLDER.glob("*.py")) == sorted(["__init__", *stems])
    in_files = [stem for stem, name in zip(stems, NAMES, strict=True) if not REGISTRY.get(name).template]
    assert sorted(file.name for file in FOLDER.glob("*.j2")) == sorted(f"{stem}.html.j2" for stem in in_files)


@pytest.mark.parametrize("name", NAMES)
def test_a_section_has_its_facts(name: str) -> None:
    section = REGISTRY.get(name)
    assert section.name == name
    assert section.title and section.help.endswith(".")
    assert 20 < len(section.help) <= LONGEST_HELP
    assert section.order > 0
    assert section.template_file == FOLDER / f"{name.replace('-', '_')}.html.j2"


def test_no_two_sections_have_the_same_place() -> None:
    sections = REGISTRY.all()
    assert max(Counter(section.order for section in sections).values()) == 1
    overrides = [section for section in sections if type(section).data is not Section.data]
    assert max(Counter(section.json_order for section in overrides).values()) == 1
    assert by_order()[0].name == "warnings" and by_order()[-1].name == "recipe"


def test_no_two_sections_show_the_same_metric() -> None:
    shown = Counter(metric for section in REGISTRY.all() for metric in section.shows)
    assert set(shown.values()) == {1}


def test_a_section_of_the_users_own_is_listed(own: Path, call: Call) -> None:
    code, out, _ = call("list", "sections", "--json", "--include", own)
    rows = json.loads(out)
    assert code == 0
    assert [row["order"] for row in rows] == sorted(row["order"] for row in rows)
    names = [row["name"] for row in rows]
    assert names[names.index("class-balance") - 1] == "confusions"
    assert {row["name"]: row["about"] for row in rows}["class-balance"].startswith("How many scored images")
    assert len(rows) == len(NAMES) + 1


def test_it_is_in_html_markdown_and_json(own: Path, run: Path, call: Call) -> None:
    before = {name: (run / name).read_text() for name in FILES}
    code, _, err = call("report", run, "--include", own)
    assert (code, err) == (0, "")
    document = json.loads((run / "scores.json").read_text())
    counts = document.pop("class_balance")
    assert document == json.loads(before["scores.json"])
    assert (len(counts), sum(counts.values())) == (10, 40)
    page = (run / "report.html").read_text()
    largest = max(counts.values())
    assert f"<h2>Class balance</h2>\n<p>10 classes, at most {largest} images each.</p>" in page
    assert page.index("<h2>Confusions</h2>") < page.index("<h2>Class balance</h2>")
    assert page.index("<h2>Class balance</h2>") < page.index("<h2>Calibration</h2>")
    figures = re.search(r'<script id="figures" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert figures is not None
    assert json.loads(figures[1])["class_balance"]["data"][0]["y"] == list(counts.values())
    assert "## Class balance\n\n| class | images |" in (run / "report.md").read_text()
    _, out, _ = call("report", run, "--markdown", "--include", own)
    assert "| class | images |" in out
    # Without the file the report is what it was.
    code, _, _ = call("report", run)
    assert {name: (run / name).read_text() for name in FILES} == before


def test_a_new_run_shows_it(own: Path, run: Path, call: Call) -> None:
    arguments = ("run", "demo", "demo", "--suite", "smoke", "--subset", 40, "--workers", 1, "--out", run)
    code, _, _ = call(*arguments, "--include", own)
    assert code == 0
    assert "<h2>Class balance</h2>" in (run / "report.html").read_text()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("counts = Counter(", "counts = 1 / 0 + Counter(", "ZeroDivisionError: division by zero"),
        ('{"class_balance": {label', '{"scores": {label', "ValueError: scores.json already has the key"),
        (" n for label, n in", " {n} for label, n in", "TypeError: Object of type set is not JSON"),
        ('len(document["class_balance"]) > 1', 'document["balance"]', "KeyError: 'balance'"),
        ("{{ largest | thousands }}", "{{ most }}", "UndefinedError: 'most' is undefined"),
        ('{"class_balance": figure}', '{"curves": figure}', "ValueError: another section has the figure"),
        ("        return [f\"## ", "        return [1, f\"## ", "TypeError: sequence item 0: expected str"),
    ],
)  # fmt: skip
def test_a_broken_one_gets_one_line_and_the_rest_is_written(
    before: str, after: str, said: str, own: Path, run: Path, call: Call
) -> None:
    shipped = {name: (run / name).read_text() for name in FILES}
    for name in FILES:
        (run / name).unlink()
    code, _, err = call("report", run, "--include", replaced(own, before, after))
    assert code == 0
    (line,) = err.splitlines()
    assert line.startswith(f"The section 'class-balance' failed: {said}")
    assert line.endswith("; the rest of the report is written.")
    failure = line.removesuffix("; the rest of the report is written.")
    document = json.loads((run / "scores.json").read_text())
    assert document.pop("failed_sections") == {"class-balance": failure}
    document.pop("class_balance", None)
    assert document == json.loads(shipped["scores.json"])
    markdown = (run / "report.md").read_text()
    assert markdown.replace(f"{failure}\n\n", "") == shipped["report.md"]
    assert failure in markdown
    page = (run / "report.html").read_text()
    assert re.findall("<h2>.*?</h2>", page.replace("<h2>Class balance</h2>", "")) == re.findall(
        "<h2>.*?</h2>", shipped["report.html"]
    )


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            '    help = "How many scored images every class has."\n',
            "",
            "'class-balance' declares no help; see",
        ),
        ("    order = 1550", "    place = 1550", "'class-balance' declares no order; see CONTRIBUTING.md"),
        (
            "    template = ",
            "    html = ",
            "template (and there is no file class_balance.html.j2 next to it)",
        ),
        ('"class-balance"', '"recipe"', "declares the section 'recipe', which windtunnel already has"),
    ],
)
def test_a_section_without_its_facts_is_refused(before: str, after: str, said: str, own: Path) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        include(replaced(own, before, after))
    assert "class-balance" not in REGISTRY.names()


def test_its_template_may_be_a_file_next_to_it(own: Path, run: Path, call: Call) -> None:
    text = own.read_text()
    template = re.search(r'    template = """\n(.*?)"""\n', text, re.DOTALL)
    assert template is not None
    own.write_text(text.replace(template[0], ""))
    own.with_suffix(".html.j2").write_text(template[1])
    code, _, err = call("report", run, "--include", own)
    assert (code, err) == (0, "")
    assert "<h2>Class balance</h2>\n<p>10 classes" in (run / "report.html").read_text()
