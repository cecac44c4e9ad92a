"""Timelines: what a model said of every frame of its least steady images, made again from the recipe."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition
from windtunnel.core.images import Image
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import compared, flips_of, name, pairs_of, sequences_of
from windtunnel.report.figures import COLOURS
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.sections.sequences import metrics_of_sequences
from windtunnel.report.source_images import (
    class_names,
    label_of,
    no_originals,
    open_originals,
    prediction_name,
    thumbnail,
)

IMAGES = 6
FRAME_PX = 80
# Images that scores.json and the page name, the least steady first, and those that Markdown names.
UNSTEADY_LISTED = 20
UNSTEADY_SHOWN = 6


class UnsteadyImages(Section):
    """The images whose predictions flip most, frame by frame."""

    name = "unsteady-images"
    title = "The least steady images"
    help = "The images whose predictions flip most over all sequences, frame by frame."
    order = 1000
    json_order = 60

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"unsteady": least_steady(given.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["sequences"] and metrics_of_sequences(document))

    def content(self, document: Document, given: ReportInput) -> Content:
        return Content({"moving": timelines(given.run)})

    def markdown(self, document: Document) -> list[str]:
        rows = [
            [one["image"], one["label"], f"{100 * one['flip_probability']:.1f} %", one["worst"]]
            for one in document["unsteady"][:UNSTEADY_SHOWN]
        ]
        header = ["least steady images", "label", "flips, mean over sequences", "most under"]
        return markdown_table(header, rows) if rows else []


@dataclass(frozen=True)
class Frame:
    """One frame: what was said, in that answer's colour, and whether that is a flip."""

    number: int
    said: str
    colour: str
    flips: bool
    image: str


@dataclass(frozen=True)
class Timeline:
    """An image under one sequence."""

    image: str
    condition: str
    label: str
    compared: str
    flips: int
    pairs: int
    frames: list[Frame]

    @property
    def answers(self) -> dict[str, tuple[str, int]]:
        """Every answer's colour and number of frames, in the order they were first given."""
        counts = Counter(frame.said for frame in self.frames)
        return {frame.said: (frame.colour, counts[frame.said]) for frame in self.frames}


@dataclass(frozen=True)
class Timelines:
    """Timelines to look at, and why there are not more."""

    shown: list[Timeline]
    note: str


def timelines(run: ScoredRun, count: int = IMAGES) -> Timelines:
    """The images that flip most over all sequences, each under the one it flips most under of those left.

    No sequence is shown twice: one that unsettles every image would be all there is to see.
    """
    if not sequences_of(run) or not len(run.clips.ids):
        return Timelines([], "")
    chosen = _choose(run, count)
    if not chosen:
        return Timelines([], "No image's answer changes in any sequence.")
    originals = open_originals(run)
    if originals is None:
        return Timelines([], no_originals(run))
    found = []
    for row, condition in chosen:
        made = originals.under(str(run.clips.ids[row]), name(condition))
        if made:
            found.append(_timeline(run, row, condition, made[0]))
    return Timelines(found, originals.note)


def _choose(run: ScoredRun, count: int) -> list[tuple[int, Condition]]:
    """Rows of the clips, and the sequence each is shown under."""
    conditions, shares = sequences_of(run), flip_shares(run)
    shown: set[int] = set()
    found: list[tuple[int, Condition]] = []
    for row in np.argsort(-shares.mean(axis=1), kind="stable"):
        free = [place for place in np.argsort(-shares[row], kind="stable") if place not in shown]
        if len(found) == count or not free:
            break
        if shares[row, free[0]]:
            shown.add(int(free[0]))
            found.append((int(row), conditions[free[0]]))
    return found


def _timeline(run: ScoredRun, row: int, condition: Condition, images: list[Image]) -> Timeline:
    names = class_names(run)
    best = run.clips.top(name(condition))[row, :, 0]
    said = [prediction_name(names, int(one)) for one in best]
    answers = enumerate(dict.fromkeys(said))
    colours = {answer: COLOURS[min(place, len(COLOURS) - 1)] for place, answer in answers}
    flips = flips_of(run, condition)[row]
    flipped = set(pairs_of(run, condition)[1][flips].tolist())
    id_ = str(run.clips.ids[row])
    return Timeline(
        id_,
        name(condition),
        label_of(run, id_),
        compared(run, condition),
        len(flipped),
        len(flips),
        [
            Frame(number, answer, colours[answer], number in flipped, thumbnail(image, FRAME_PX))
            for number, (answer, image) in enumerate(zip(said, images, strict=True))
        ],
    )


def flip_shares(run: ScoredRun) -> NDArray[np.float64]:
    """The share of compared frames whose answer differs, images x sequences."""
    return np.stack([flips_of(run, one).mean(axis=1) for one in sequences_of(run)], axis=1)


def least_steady(run: ScoredRun, count: int = UNSTEADY_LISTED) -> list[dict[str, Any]]:
    """The images whose answers flip most, mean over all sequences, and under which they flip most."""
    found = sequences_of(run)
    if not found or not len(run.clips.ids):
        return []
    shares = flip_shares(run)
    means = shares.mean(axis=1)
    order = np.argsort(-means, kind="stable")[:count]
    return [
        {
            "image": str(run.clips.ids[row]),
            "label": label_of(run, str(run.clips.ids[row])),
            "flip_probability": float(means[row]),
            "worst": name(found[int(shares[row].argmax())]),
            "worst_flip_probability": float(shares[row].max()),
        }
        for row in order
        if means[row] > 0
    ]


unsteady_images = UnsteadyImages()
