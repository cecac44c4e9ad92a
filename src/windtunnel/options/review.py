"""The options of review tasks."""

from __future__ import annotations

from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record

OVERLAP = 3
CHECK_EVERY = 20
LEASE_MINUTES = 30
PRACTICE_PASS = 0.8


@options_record
class ReviewOptions(Options):
    """The options of `review create` and `create_review_task`."""

    source: str | None = option_field(
        default=None,
        help="What is judged: a step with a shortlist (hard, ood), video for frame sets, or candidates. "
        "Default: frame sets for pairs and anchors, else the only shortlist, else all candidates.",
    )
    images: str | Path | None = option_field(
        default=None,
        help="A folder of images, another dataset, or a table of files; its images are collected first.",
        metavar="FOLDER",
        path="maybe",
    )
    title: str | None = option_field(
        default=None, help="Name of the task for people. Default: its kind, project and name."
    )
    instructions: str | Path | None = option_field(
        default=None,
        help="Text file with what reviewers should know; empty lines separate paragraphs.",
        metavar="FILE",
        path="file",
    )
    overlap: int = option_field(default=OVERLAP, help="How many people judge each item.", minimum=1)
    answers: str | Path | None = option_field(
        default=None,
        help="CSV file with the known verdicts of some items: id (or set and frame), role (practice, "
        "check or example), verdict, and optionally explanation. They are judged in a practice round, hidden "
        "among others, or shown with the instructions.",
        metavar="FILE",
        path="file",
    )
    practice_pass: float = option_field(
        default=PRACTICE_PASS, help="Share of the practice round that must be right.", metavar="SHARE"
    )
    check_every: int = option_field(
        default=CHECK_EVERY, help="One hidden check item in that many items; 0 for none.", minimum=0
    )
    second_pass: str = option_field(
        default="conflicts",
        help="Items of the joint second pass: those without a strict majority, or all that somebody flagged.",
        choices=("conflicts", "flagged"),
    )
    classes: str | Path | None = option_field(
        default=None,
        help="Text file with one class per line, which verdicts may name. Default: the classes of the items; "
        "all of ImageNet-1k for WordNet ids.",
        metavar="FILE",
        path="file",
    )
    lease: int = option_field(
        default=LEASE_MINUTES,
        help="Minutes for which an item is kept for the person who has it on screen.",
        minimum=1,
        metavar="MINUTES",
    )
    seed: int = option_field(default=0, help="Seed of the order in which people see items.")
