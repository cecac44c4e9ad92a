"""Verdicts of reviewers on frame sets: which sets and frames are accepted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from windtunnel.core.csv_cells import plain_cell
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.file_digests import file_digest
from windtunnel.core.option_names import option
from windtunnel.core.wording import listed
from windtunnel.curate.frame_tables import SETS_TABLE, SetFrame
from windtunnel.curate.verdicts import (
    ACCEPT,
    ACCEPTED,
    NO_MAJORITY,
    REJECTED,
    VERDICTS,
    decision_of,
    refuse_unnamed_votes,
)
from windtunnel.data.table import SUFFIXES, label_names, table_rows

# The outcome of a frame that is in the set.
EXPORTED = "exported"
# By what the votes decide: of a frame whose anchor is accepted, and of all frames of other anchors.
OUTCOMES = {ACCEPTED: EXPORTED, REJECTED: REJECTED, NO_MAJORITY: NO_MAJORITY, "": "not_reviewed"}
ANCHOR_OUTCOMES = {
    REJECTED: "anchor_rejected",
    NO_MAJORITY: "anchor_no_majority",
    "": "set_not_reviewed",
}
COLUMNS = ("set", "frame", "verdict")


@dataclass(frozen=True)
class FrameVerdicts:
    """The verdicts of a table; a later row of the same reviewer replaces the earlier one.

    Attributes:
        location: the file.
        digest: of its content.
        votes: by set and index of the frame, the verdict of each reviewer.
        labels: by set, the classes that most of the reviewers who accept its anchor have confirmed, where
            one of them gave any.
        notes: by set and index of the frame, the note of each reviewer.
    """

    location: str
    digest: str
    votes: Mapping[tuple[str, int], Mapping[str, str]]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Mapping[tuple[str, int], Mapping[str, str]] = field(default_factory=dict)

    def relabelled(self, frames: Sequence[SetFrame]) -> tuple[SetFrame, ...]:
        """The frames with the confirmed classes of their anchor, where there are any."""
        return tuple(
            replace(frame, labels=self.labels[frame.set]) if frame.set in self.labels else frame
            for frame in frames
        )

    def of(self, frame: SetFrame) -> str:
        """What the votes on a frame decide; "" if nobody judged it."""
        votes = self.votes.get((frame.set, frame.index), {}).values()
        return decision_of(votes) if votes else ""

    def outcomes(self, frames: Sequence[SetFrame]) -> dict[tuple[str, int], str]:
        """By set and frame, `exported` for an accepted frame, else why the reviewed version leaves it out.

        An anchor that is not accepted removes its set. An anchor without a verdict is accepted with the first
        accepted frame of its set, because reviewers compare frames with it.
        """
        outcomes: dict[tuple[str, int], str] = {}
        members: dict[str, list[SetFrame]] = {}
        for frame in frames:
            members.setdefault(frame.set, []).append(frame)
        for set_, rows in members.items():
            (anchor,) = (frame for frame in rows if not frame.offset)
            by_frame = any(self.of(frame) == ACCEPTED for frame in rows if frame.offset)
            decision = self.of(anchor) or (ACCEPTED if by_frame else "")
            for frame in rows:
                own = decision if frame is anchor else self.of(frame)
                outcomes[set_, frame.index] = ANCHOR_OUTCOMES.get(decision) or OUTCOMES[own]
        return outcomes


def read_frame_verdicts(file: Path, frames: Sequence[SetFrame]) -> FrameVerdicts:
    """Read a table with the columns set, frame and verdict, and further optional ones.

    The labels of an anchor's accepting row, separated by `;`, are classes of its whole set. A class needs a
    strict majority of the reviewers who accept the anchor; a row without labels confirms those it has. If no
    class has one, they stay as they are. `judged_labels` are those that the reviewer saw; verdicts on other
    labels than the frame has now are refused.
    """
    if file.suffix.lower() not in SUFFIXES or not file.is_file():
        raise UserError(
            f"No such table: {file}. Give a file ({', '.join(SUFFIXES)}) with the columns "
            f"{', '.join(COLUMNS)}."
        )
    known = {(frame.set, frame.index) for frame in frames}
    sets = {set_ for set_, _ in known}
    rows = table_rows(file)
    if not rows:
        raise UserError(f"{option('reviewed')} is {file}, which has no verdicts; give a table with some.")
    columns = {name for row in rows for name in row}
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise UserError(
            f"{file} has the columns {listed(sorted(map(str, columns)))}; {missing[0]} is missing. Give "
            f"{', '.join(COLUMNS)}, and optionally reviewer, labels, judged_labels and note."
        )
    votes: dict[tuple[str, int], dict[str, str]] = {}
    labels: dict[tuple[str, int], dict[str, list[str]]] = {}
    notes: dict[tuple[str, int], dict[str, str]] = {}
    judged: dict[tuple[str, int], dict[str, tuple[str, tuple[str, ...]]]] = {}
    places: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for number, row in enumerate(rows, 1):
        where = f"{file}: row {number}"
        set_ = set_name(str(row["set"] or ""))
        if set_ not in sets:
            raise unknown_name("frame set", set_, sets, f"{where}; the project's {SETS_TABLE} lists them")
        verdict = str(row["verdict"] or "").strip().lower()
        if verdict not in VERDICTS:
            raise UserError(f"{where} has the verdict '{verdict}'; give {', '.join(VERDICTS)}.")
        index = frame_index(str(row["frame"] if row["frame"] is not None else ""), where)
        if (set_, index) not in known:
            raise UserError(f"{where}: frame {index} is not in the set {set_}; give one of its frames.")
        reviewer = plain_cell(str(row.get("reviewer") or "").strip())
        places.setdefault((set_, index), []).append((where, reviewer))
        judged_labels = tuple(label_names(row.get("judged_labels")))
        judged.setdefault((set_, index), {})[reviewer] = where, judged_labels
        votes.setdefault((set_, index), {})[reviewer] = verdict
        notes.setdefault((set_, index), {})[reviewer] = plain_cell(str(row.get("note") or "").strip())
        labels.setdefault((set_, index), {})[reviewer] = label_names(row.get("labels"))
    refuse_unnamed_votes(places.values())
    confirmed = {}
    for frame in frames:
        place = frame.set, frame.index
        if frame.offset or place not in votes:
            continue
        given = [labels[place][name] for name, verdict in votes[place].items() if verdict == ACCEPT]
        if any(given) and (most := _majority([names or frame.labels for names in given])):
            confirmed[frame.set] = most
    _check_judged_labels(frames, judged, confirmed)
    return FrameVerdicts(str(file), file_digest(file), votes, confirmed, notes)


def _check_judged_labels(
    frames: Sequence[SetFrame],
    judged: Mapping[tuple[str, int], Mapping[str, tuple[str, tuple[str, ...]]]],
    confirmed: Mapping[str, tuple[str, ...]],
) -> None:
    """Refuse verdicts on labels that are neither those of the frame now nor the confirmed ones of its set.

    Args:
        frames: the frames as they are now.
        judged: by set and index of the frame, the place and the labels of each reviewer's last verdict.
        confirmed: the confirmed labels, by set.
    """
    for frame in frames:
        allowed = [frame.labels, confirmed.get(frame.set, frame.labels)]
        for where, labels in judged.get((frame.set, frame.index), {}).values():
            if labels and set(labels) not in map(set, allowed):
                shown = " or ".join(f"'{', '.join(names)}'" for names in dict.fromkeys(allowed))
                raise UserError(
                    f"{where} judges the label '{', '.join(labels)}', but the frame has {shown} now; remove "
                    "the rows of the set, and review it again."
                )


def _majority(given: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The classes that more than half of the reviewers give, in the order in which they occur."""
    counts = Counter(name for names in given for name in dict.fromkeys(names))
    return tuple(name for name, count in counts.items() if 2 * count > len(given))


def set_name(text: str) -> str:
    """The name of a set, which may be written as the anchor's key in `pmsets.json`."""
    return text.strip().removeprefix("val/").removesuffix(".png")


def frame_index(text: str, where: str) -> int:
    """The index of a frame: a number, or the frame's key."""
    number = re.fullmatch(r"(?:.*/)?(\d+)(?:\.png)?", text.strip())
    if not number:
        raise UserError(f"{where} has the frame '{text}'; give its number in the video, such as 123.")
    return int(number[1])
