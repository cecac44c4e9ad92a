"""The outcome of a gate as table cells, Markdown, JUnit XML and GitHub annotations."""

from __future__ import annotations

import math
from xml.etree import ElementTree

from windtunnel.analysis.gate import MOST_IMAGES_TO_DECIDE, Check, Gate, Unchecked
from windtunnel.core.metrics import unit_of
from windtunnel.report.markdown_table import markdown_table, plain
from windtunnel.report.score_format import amount, scale, signed_number

OUTCOMES = {"worse": "✗ worse", "not worse": "✓ not worse", "unsure": "? cannot tell"}
VERDICTS = {"passed": "✓ passed", "undecided": "? undecided", "failed": "✗ failed"}
# The effect of undecided rules by --unsure; "worse" is --unsure pass if another rule fails.
UNSURE_TEXT = {
    "pass": "Undecided rules do not fail (exit code 0); with --unsure fail they do (exit code 1).",
    "fail": "Undecided rules fail because of --unsure fail.",
    "worse": "The gate fails because a score is worse (exit code 1). Undecided rules alone do not fail it, "
    "except with --unsure fail.",
}
INTERVALS = (
    "The rules are decided by these intervals. Their ends are one-sided, at levels that keep the error rate "
    "of all rules together at 5 %."
)
HEADER = ("rule", "score", "base", "run", "change", "interval", "allowed", "outcome")


def check_cells(check: Check) -> list[str]:
    """A check as cells, with the columns of HEADER."""
    return [
        check.rule,
        check.score,
        amount(check.base, check.metric),
        amount(check.run, check.metric),
        signed_number(check.difference, check.metric),
        f"[{signed_number(check.low, check.metric)}, {signed_number(check.high, check.metric)}]",
        f"{scale(check.metric) * check.limit:+g}",
        OUTCOMES[check.outcome],
    ]


def verdict(gate: Gate) -> str:
    """The verdict of a gate in one line, with counts of outcomes."""
    numbers = {
        "worse": gate.count("worse"),
        "cannot tell": gate.count("unsure"),
        "not worse": gate.count("not worse"),
    }
    counts = ", ".join(f"{number} {name}" for name, number in numbers.items() if number)
    doubt = ", but the numbers may be wrong (see the warnings)" if gate.implausible else ""
    return f"{VERDICTS[gate.verdict]}{doubt}: {counts} ({gate.images:,} images, paired)"


def full_verdict(gate: Gate) -> str:
    """The verdict, followed by the effect of undecided rules if there are any."""
    return f"{verdict(gate)}. {unsure_text(gate)}" if gate.count("unsure") else verdict(gate)


def unsure_text(gate: Gate) -> str:
    """The effect of a gate's undecided rules."""
    return UNSURE_TEXT["worse" if gate.unsure == "pass" and gate.failed else gate.unsure]


def undecided_sentences(gate: Gate) -> list[str]:
    """A sentence for every undecided rule."""
    checks = [sentence(check) for check in gate.checks if check.outcome == "unsure"]
    return [*checks, *map(unchecked_sentence, gate.unchecked)]


def unchecked_sentence(unchecked: Unchecked) -> str:
    """A rule that could not be checked, as a sentence."""
    return (
        f"The default rule {unchecked.rule} is undecided: {unchecked.why}. Run both with the same options, "
        "or give --rule."
    )


def gate_markdown(gate: Gate) -> str:
    """A gate as Markdown for a pull request."""
    others = sorted({check.metric for check in gate.checks if not unit_of(check.metric).is_share})
    other_units = f" ({', '.join(others)} in their own units)" if others else ""
    lines = [
        f"### windtunnel gate: {verdict(gate)}",
        "",
        f"`{gate.run}` against `{gate.base}`; changes in percentage points{other_units}.",
        "",
        *markdown_table(HEADER, ([f"`{rule}`", *rest] for rule, *rest in map(check_cells, gate.checks))),
    ]
    unsure = [f"**{OUTCOMES['unsure']}** {text}" for text in undecided_sentences(gate)]
    unsure += [unsure_text(gate)] if unsure else []
    lines += [f"\n{text}" for text in (*unsure, INTERVALS, *map(plain, gate.warnings))]
    return "\n".join(lines) + "\n"


def gate_junit(gate: Gate) -> str:
    """A gate as JUnit XML: a test case per check; undecided checks are skipped, or fail with --unsure fail.

    The verdict is a property of the test suite, and warnings are its system-err.
    """
    unsure_fails = gate.unsure == "fail"
    failures = gate.count("worse") + (gate.count("unsure") if unsure_fails else 0)
    suite = ElementTree.Element(
        "testsuite",
        name="windtunnel gate",
        tests=str(len(gate.checks) + len(gate.unchecked)),
        failures=str(failures),
        errors="0",
        skipped=str(0 if unsure_fails else gate.count("unsure")),
    )
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", name="verdict", value=full_verdict(gate))
    for check in gate.checks:
        case = ElementTree.SubElement(suite, "testcase", classname=check.rule, name=check.score)
        if check.outcome == "worse" or (check.outcome == "unsure" and unsure_fails):
            ElementTree.SubElement(case, "failure", message=sentence(check))
        elif check.outcome == "unsure":
            ElementTree.SubElement(case, "skipped", message=sentence(check))
    for unchecked in gate.unchecked:
        case = ElementTree.SubElement(suite, "testcase", classname=unchecked.rule, name=unchecked.rule)
        outcome = "failure" if unsure_fails else "skipped"
        ElementTree.SubElement(case, outcome, message=unchecked_sentence(unchecked))
    if gate.warnings:
        ElementTree.SubElement(suite, "system-err").text = "\n".join(gate.warnings)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def gate_annotations(gate: Gate) -> list[str]:
    """GitHub workflow commands: an error per failure, and a warning per undecided check or other warning."""
    lines = [f"::warning title=windtunnel gate::{_escaped(text)}" for text in gate.warnings]
    for check in gate.checks:
        if check.outcome == "not worse":
            continue
        kind = "error" if check.outcome == "worse" or gate.unsure == "fail" else "warning"
        lines.append(f"::{kind} title=windtunnel gate::{_escaped(sentence(check))}")
    kind = "error" if gate.unsure == "fail" else "warning"
    lines += [
        f"::{kind} title=windtunnel gate::{_escaped(unchecked_sentence(unchecked))}"
        for unchecked in gate.unchecked
    ]
    return lines


def sentence(check: Check) -> str:
    """A check as a sentence; for an undecided one, followed by the number of images that would decide it."""
    outcome = {"worse": "is worse", "not worse": "is not worse", "unsure": "is undecided"}[check.outcome]
    _, _, base, run, difference, interval, *_ = check_cells(check)
    unit = " points" if unit_of(check.metric).is_share else ""
    text = (
        f"{check.score} {outcome}: {base} to {run}, change {difference} {interval}{unit} on {check.images:,} "
        f"images, rule {check.rule}"
    )
    return f"{text}. {_images_to_decide_text(check)}" if check.outcome == "unsure" else text


def _images_to_decide_text(check: Check) -> str:
    """The number of images that would decide an undecided check."""
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
