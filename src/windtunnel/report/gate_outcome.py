"""A gate's outcome for people, pull requests and CI: cells, Markdown, JUnit, annotations."""

from __future__ import annotations

import math
from xml.etree import ElementTree

from windtunnel.analysis.gate import MOST_IMAGES_TO_DECIDE, Check, Gate, Unchecked
from windtunnel.core.metrics import unit_of
from windtunnel.report.markdown import markdown_table
from windtunnel.report.score_format import amount, change, scale

MARKS = {"worse": "✗ worse", "not worse": "✓ not worse", "unsure": "? cannot tell"}
VERDICTS = {"passed": "✓ passed", "undecided": "? undecided", "failed": "✗ failed"}
# What happens to undecided rules, by --unsure; "worse" is --unsure pass where another rule fails.
UNSURE_TEXT = {
    "pass": "Undecided rules do not fail (exit code 0); with --unsure fail they do (exit code 1).",
    "fail": "Undecided rules fail because of --unsure fail.",
    "worse": "The gate fails because of what is worse (exit code 1); undecided rules alone do not fail it, "
    "except with --unsure fail.",
}
# What the intervals are, for readers who do not know the gate.
INTERVALS = (
    "Intervals are those the rules decide by: one-sided ends, at levels that keep all rules together at 5 %."
)
HEADER = ("rule", "score", "base", "run", "change", "interval", "allowed", "outcome")


def check_cells(check: Check) -> list[str]:
    """A check as cells: rule, score, both values, change, interval, limit, outcome."""
    return [
        check.rule,
        check.score,
        amount(check.base, check.metric),
        amount(check.run, check.metric),
        change(check.difference, check.metric),
        f"[{change(check.low, check.metric)}, {change(check.high, check.metric)}]",
        f"{scale(check.metric) * check.limit:+g}",
        MARKS[check.outcome],
    ]


def verdict(found: Gate) -> str:
    """The gate in one line: symbol, verdict, counts."""
    numbers = {
        "worse": found.count("worse"),
        "cannot tell": found.count("unsure"),
        "not worse": found.count("not worse"),
    }
    counts = ", ".join(f"{number} {name}" for name, number in numbers.items() if number)
    return f"{VERDICTS[found.verdict]}: {counts} ({found.images:,} images, paired)"


def full_verdict(found: Gate) -> str:
    """The verdict, and what happens to undecided rules where there are any."""
    return f"{verdict(found)}. {unsure_text(found)}" if found.count("unsure") else verdict(found)


def unsure_text(found: Gate) -> str:
    """What happens to the undecided rules of a gate."""
    return UNSURE_TEXT["worse" if found.unsure == "pass" and found.failed else found.unsure]


def undecided(found: Gate) -> list[str]:
    """One sentence for every undecided rule."""
    checks = [sentence(check) for check in found.checks if check.outcome == "unsure"]
    return [*checks, *map(untold, found.unchecked)]


def untold(one: Unchecked) -> str:
    """A rule that was not checked, in one sentence."""
    return f"The default rule {one.rule} is undecided: {one.why}; run both alike, or give --rule."


def gate_markdown(found: Gate) -> str:
    """The gate as a comment for a pull request."""
    others = sorted({check.metric for check in found.checks if not unit_of(check.metric).is_share})
    beside = f" ({', '.join(others)} in their own units)" if others else ""
    lines = [
        f"### windtunnel gate: {verdict(found)}",
        "",
        f"`{found.run}` against `{found.base}`; changes in percentage points{beside}.",
        "",
        *markdown_table(HEADER, ([f"`{rule}`", *rest] for rule, *rest in map(check_cells, found.checks))),
    ]
    unsure = [f"**{MARKS['unsure']}** {text}" for text in undecided(found)]
    unsure += [unsure_text(found)] if unsure else []
    lines += [f"\n{text}" for text in (*unsure, INTERVALS, *found.warnings)]
    return "\n".join(lines) + "\n"


def gate_junit(found: Gate) -> str:
    """The gate as JUnit XML: a test case per check; an undecided one is skipped, or fails.

    The verdict is a property of the suite; warnings stand in its system-err.
    """
    unsure_fails = found.unsure == "fail"
    failures = found.count("worse") + (found.count("unsure") if unsure_fails else 0)
    suite = ElementTree.Element(
        "testsuite",
        name="windtunnel gate",
        tests=str(len(found.checks) + len(found.unchecked)),
        failures=str(failures),
        errors="0",
        skipped=str(0 if unsure_fails else found.count("unsure")),
    )
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", name="verdict", value=full_verdict(found))
    for check in found.checks:
        case = ElementTree.SubElement(suite, "testcase", classname=check.rule, name=check.score)
        if check.outcome == "worse" or (check.outcome == "unsure" and unsure_fails):
            ElementTree.SubElement(case, "failure", message=sentence(check))
        elif check.outcome == "unsure":
            ElementTree.SubElement(case, "skipped", message=sentence(check))
    for one in found.unchecked:
        case = ElementTree.SubElement(suite, "testcase", classname=one.rule, name=one.rule)
        ElementTree.SubElement(case, "failure" if unsure_fails else "skipped", message=untold(one))
    if found.warnings:
        ElementTree.SubElement(suite, "system-err").text = "\n".join(found.warnings)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def gate_annotations(found: Gate) -> list[str]:
    """GitHub's workflow commands: an error per failure, a warning for all else that a reader must know."""
    lines = [f"::warning title=windtunnel gate::{_escaped(text)}" for text in found.warnings]
    for check in found.checks:
        if check.outcome == "not worse":
            continue
        fails = check.outcome == "worse" or found.unsure == "fail"
        kind = "error" if fails else "warning"
        text = _escaped(sentence(check))
        lines.append(f"::{kind} title=windtunnel gate::{text}")
    kind = "error" if found.unsure == "fail" else "warning"
    lines += [f"::{kind} title=windtunnel gate::{_escaped(untold(one))}" for one in found.unchecked]
    return lines


def sentence(check: Check) -> str:
    """A check in one sentence; of an undecided one, another says what would decide it."""
    what = {"worse": "is worse", "not worse": "is not worse", "unsure": "is undecided"}[check.outcome]
    _, _, base, run, moved, interval, *_ = check_cells(check)
    unit = " points" if unit_of(check.metric).is_share else ""
    text = (
        f"{check.score} {what}: {base} to {run}, change {moved} {interval}{unit} on {check.images:,} images, "
        f"rule {check.rule}"
    )
    return f"{text}. {_what_decides(check)}" if check.outcome == "unsure" else text


def _what_decides(check: Check) -> str:
    """What would decide an undecided check."""
    if check.images_to_decide is None:
        return (
            "The change is very close to the limit: if it stays the same, more than "
            f"{MOST_IMAGES_TO_DECIDE:,} images are needed to decide it. Choose another limit."
        )
    needed = round_up(check.images_to_decide)
    return f"If the change stays the same, about {needed:,} images would decide it."


def round_up(number: int) -> int:
    """A whole number rounded up to two significant digits."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return math.ceil(number / step) * step


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
