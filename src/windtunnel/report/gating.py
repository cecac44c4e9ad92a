"""A gate's outcome for people, pull requests and CI: cells, Markdown, JUnit, annotations."""

from __future__ import annotations

from xml.etree import ElementTree

from windtunnel.analysis.gate import Check, Gate, Unchecked
from windtunnel.metrics.names import NOT_SHARES
from windtunnel.report.amounts import amount, change, scale
from windtunnel.report.markdown import markdown_table

MARKS = {"worse": "✗ worse", "not worse": "✓ not worse", "unsure": "? cannot tell"}
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
    """The gate in one sentence."""
    numbers = {
        "worse": found.count("worse"),
        "not worse": found.count("not worse"),
        "cannot tell": found.count("unsure"),
    }
    counts = ", ".join(f"{number} {name}" for name, number in numbers.items() if number)
    return f"{'failed' if found.failed else 'passed'}: {counts} ({found.pictures:,} pictures, paired)"


def advice(found: Gate) -> str:
    """What to do about rules that cannot be told, or ""."""
    few = sum(check.outcome == "unsure" for check in found.checks)
    if not few:
        return ""
    return (
        f"{few} of {len(found.checks)} cannot be told with {found.pictures:,} pictures: "
        "use more pictures or a wider limit."
    )


def remarks(found: Gate) -> list[str]:
    """What a reader must know beside the checks: rules that cannot be told, and warnings."""
    return [text for text in (advice(found), *map(untold, found.unchecked), *found.warnings) if text]


def untold(one: Unchecked) -> str:
    """A rule that was not checked, in one sentence."""
    return f"The default rule {one.rule} cannot be told: {one.why}; run both alike, or give --rule."


def gate_markdown(found: Gate) -> str:
    """The gate as a comment for a pull request."""
    others = sorted({check.metric for check in found.checks} & set(NOT_SHARES))
    beside = f" ({', '.join(others)} in their own units)" if others else ""
    lines = [
        f"### windtunnel gate {verdict(found)}",
        "",
        f"`{found.run}` against `{found.base}`; changes in percentage points{beside}.",
        "",
        *markdown_table(HEADER, ([f"`{rule}`", *rest] for rule, *rest in map(check_cells, found.checks))),
    ]
    lines += [f"\n{text}" for text in (INTERVALS, *remarks(found))]
    return "\n".join(lines) + "\n"


def gate_junit(found: Gate) -> str:
    """The gate as JUnit XML: a test case per check; what cannot be told is skipped, or fails.

    Warnings stand in the suite's system-err.
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
    for check in found.checks:
        case = ElementTree.SubElement(suite, "testcase", classname=check.rule, name=check.score)
        if check.outcome == "worse" or (check.outcome == "unsure" and unsure_fails):
            ElementTree.SubElement(case, "failure", message=sentence(check, found.pictures))
        elif check.outcome == "unsure":
            ElementTree.SubElement(case, "skipped", message=sentence(check, found.pictures))
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
        text = _escaped(sentence(check, found.pictures))
        lines.append(f"::{kind} title=windtunnel gate::{text}")
    kind = "error" if found.unsure == "fail" else "warning"
    lines += [f"::{kind} title=windtunnel gate::{_escaped(untold(one))}" for one in found.unchecked]
    return lines


def sentence(check: Check, pictures: int) -> str:
    """A check in one sentence."""
    what = {"worse": "is worse", "not worse": "is not worse", "unsure": "cannot be told"}[check.outcome]
    _, _, base, run, moved, interval, *_ = check_cells(check)
    unit = "" if check.metric in NOT_SHARES else " points"
    return (
        f"{check.score} {what}: {base} to {run}, change {moved} {interval}{unit} on {pictures:,} pictures, "
        f"rule {check.rule}"
    )


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
