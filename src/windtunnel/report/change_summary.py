"""The change between two runs as Markdown for pull requests and job summaries, and as GitLab issues."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from windtunnel.analysis.comparison import Comparison
from windtunnel.analysis.gate import Check, Gate
from windtunnel.core.wording import counted
from windtunnel.report.comparison import (
    changed_columns,
    changed_rows,
    family_rows,
    headline_rows,
    run_names,
)
from windtunnel.report.gate_outcome import gate_markdown, sentence, unchecked_sentence
from windtunnel.report.markdown_table import markdown_table, plain

# The longest comment that GitHub accepts, in characters.
MOST_CHARACTERS = 65_536
# Changed conditions outside the closed table, the worst first.
WORST_SHOWN = 10
# Changed conditions in the closed table; smaller numbers are tried if the text is too long.
MORE_SHOWN = (500, 100, 30, 0)
CUT = "\n\nThe text is cut because it is too long; `windtunnel compare --csv` prints everything.\n"
CODE_QUALITY_FILE = "run.json"


def change_markdown(gate: Gate, comparison: Comparison, limit: int = MOST_CHARACTERS) -> str:
    """The verdict of a gate, the change of the scores and the worst conditions, within `limit` characters.

    The comparison is of the gate's base run and its run, in this order.
    """
    text = ""
    for more in MORE_SHOWN:
        text = "\n".join(
            [gate_markdown(gate), *_score_lines(comparison), *_condition_lines(comparison, more)]
        )
        if len(text) <= limit:
            return text
    kept = text[: limit - len(CUT)]
    return f"{kept[: kept.rfind(chr(10))]}{CUT}"


def _score_lines(comparison: Comparison) -> list[str]:
    names = run_names(comparison)
    header = ["", *names, "change [95 % CI]"]
    lines = ["#### Scores", "", *_table(header, headline_rows(comparison)), ""]
    if families := family_rows(comparison):
        header = ["family, mean top-1 error", *header[1:]]
        lines += [*_closed(f"{len(families)} families of corruptions", _table(header, families)), ""]
    return lines


def _condition_lines(comparison: Comparison, more: int) -> list[str]:
    """The conditions that changed, the worst first: a table, and a closed one with up to `more` others."""
    rows = changed_rows(comparison, 1)
    every = counted(len(comparison.by_condition(1)), "condition")
    lines = ["#### Conditions that changed the most", ""]
    if not rows:
        return [*lines, f"None of {every} changed significantly (Holm, 5 %).", ""]
    columns = _change_first(changed_columns(comparison, 1))
    rows = list(map(_change_first, rows))
    lines += [
        f"{len(rows):,} of {every} changed significantly (Holm, 5 %); the worst are listed first.",
        "",
        *_table(columns, rows[:WORST_SHOWN]),
        "",
    ]
    others = rows[WORST_SHOWN : WORST_SHOWN + more]
    if others:
        lines += [*_closed(counted(len(others), "other condition"), _table(columns, others)), ""]
    left_out = len(rows) - len(rows[:WORST_SHOWN]) - len(others)
    if left_out:
        lines += [f"{left_out:,} more are left out; `windtunnel compare --csv` prints them.", ""]
    return lines


def _change_first(cells: Sequence[str]) -> list[str]:
    """The change next to the condition, where a phone shows it without scrolling."""
    condition, base, run, change, *others = cells
    return [condition, change, base, run, *others]


def _closed(title: str, lines: Iterable[str]) -> list[str]:
    """Lines in an element that the reader opens."""
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return markdown_table(list(map(plain, header)), [list(map(plain, row)) for row in rows])


def code_quality_json(gate: Gate) -> str:
    """A gate as GitLab's code-quality JSON: an issue per rule that is worse or undecided."""
    checks = [check for check in gate.checks if check.outcome != "not worse"]
    issues = [
        _issue(gate, check.rule, check.score, sentence(check), _severity(gate, check)) for check in checks
    ]
    undecided = "major" if gate.unsure == "fail" else "minor"
    issues += [
        _issue(gate, unchecked.rule, unchecked.rule, unchecked_sentence(unchecked), undecided)
        for unchecked in gate.unchecked
    ]
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _severity(gate: Gate, check: Check) -> str:
    if check.outcome == "worse":
        return "critical"
    return "major" if gate.unsure == "fail" else "minor"


def _issue(gate: Gate, rule: str, score: str, description: str, severity: str) -> dict[str, object]:
    """An issue; its fingerprint depends on the rule and the score, so that GitLab finds it again."""
    return {
        "description": description,
        "check_name": f"windtunnel gate: {rule}",
        "fingerprint": hashlib.sha256(f"{rule}\0{score}".encode()).hexdigest()[:32],
        "severity": severity,
        "location": {"path": f"{gate.run}/{CODE_QUALITY_FILE}", "lines": {"begin": 1}},
    }
