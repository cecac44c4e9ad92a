"""Flip timelines: every frame and its predicted class, of the images with the most flips."""

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
    missing_data_note,
    open_source_images,
    prediction_name,
    thumbnail,
)

TIMELINES = 6
FRAME_PX = 80
# Numbers of images that scores.json and the page list, and that Markdown lists.
IMAGES_LISTED = 20
IMAGES_IN_MARKDOWN = 6


class FlipTimelines(Section):
    """The images with the most flips, frame by frame."""

    name = "flip-timelines"
    title = "Images with the most flips"
    help = "The images with the most flips over all sequences, frame by frame."
    order = 1000
    json_order = 60

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"most_flipped_images": most_flipped_images(inputs.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["sequences"] and metrics_of_sequences(document))

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content({"timelines": timelines(inputs.run)})

    def markdown(self, document: Document) -> list[str]:
        rows = [
            [row["image"], row["label"], f"{100 * row['flip_probability']:.1f} %", row["worst"]]
            for row in document["most_flipped_images"][:IMAGES_IN_MARKDOWN]
        ]
        header = ["images with the most flips", "label", "mean flip probability", "worst sequence"]
        return markdown_table(header, rows) if rows else []


@dataclass(frozen=True)
class Frame:
    """A frame: its number, predicted class, colour of that class, and whether it is a flip."""

    number: int
    predicted: str
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
    def predictions(self) -> dict[str, tuple[str, int]]:
        """Colour and number of frames of every predicted class, in order of first occurrence."""
        counts = Counter(frame.predicted for frame in self.frames)
        return {frame.predicted: (frame.colour, counts[frame.predicted]) for frame in self.frames}


@dataclass(frozen=True)
class Timelines:
    """The timelines to show, and a note on those that are missing."""

    shown: list[Timeline]
    note: str


def timelines(run: ScoredRun, count: int = TIMELINES) -> Timelines:
    """The images with the most flips over all sequences, each under its worst sequence that is not shown yet.

    Every sequence is shown at most once, so that one hard sequence does not fill the page.
    """
    if not sequences_of(run) or not len(run.clips.ids):
        return Timelines([], "")
    chosen = _choose(run, count)
    if not chosen:
        return Timelines([], "No prediction flips in any sequence.")
    sources = open_source_images(run)
    if sources is None:
        return Timelines([], missing_data_note(run))
    shown = []
    for row, condition in chosen:
        clips = sources.frames_under(str(run.clips.ids[row]), name(condition))
        if clips:
            shown.append(_timeline(run, row, condition, clips[0]))
    return Timelines(shown, sources.note)


def _choose(run: ScoredRun, count: int) -> list[tuple[int, Condition]]:
    """Rows of the clips, and the sequence that each is shown under."""
    conditions, shares = sequences_of(run), flip_shares(run)
    used: set[int] = set()
    chosen: list[tuple[int, Condition]] = []
    for row in np.argsort(-shares.mean(axis=1), kind="stable"):
        unused = [index for index in np.argsort(-shares[row], kind="stable") if index not in used]
        if len(chosen) == count or not unused:
            break
        if shares[row, unused[0]]:
            used.add(int(unused[0]))
            chosen.append((int(row), conditions[unused[0]]))
    return chosen


def _timeline(run: ScoredRun, row: int, condition: Condition, images: list[Image]) -> Timeline:
    names = class_names(run)
    outputs = run.clips.top(name(condition))[row, :, 0]
    predictions = [prediction_name(names, int(output)) for output in outputs]
    distinct = enumerate(dict.fromkeys(predictions))
    colours = {predicted: COLOURS[min(position, len(COLOURS) - 1)] for position, predicted in distinct}
    flips = flips_of(run, condition)[row]
    flipped = set(pairs_of(run, condition)[1][flips].tolist())
    image_id = str(run.clips.ids[row])
    return Timeline(
        image_id,
        name(condition),
        label_of(run, image_id),
        compared(run, condition),
        len(flipped),
        len(flips),
        [
            Frame(number, predicted, colours[predicted], number in flipped, thumbnail(image, FRAME_PX))
            for number, (predicted, image) in enumerate(zip(predictions, images, strict=True))
        ],
    )


def flip_shares(run: ScoredRun) -> NDArray[np.float64]:
    """The share of frame pairs with different predictions, images x sequences."""
    return np.stack([flips_of(run, sequence).mean(axis=1) for sequence in sequences_of(run)], axis=1)


def most_flipped_images(run: ScoredRun, count: int = IMAGES_LISTED) -> list[dict[str, Any]]:
    """The images with the highest flip probability, mean over all sequences, and their worst sequences."""
    sequences = sequences_of(run)
    if not sequences or not len(run.clips.ids):
        return []
    shares = flip_shares(run)
    means = shares.mean(axis=1)
    order = np.argsort(-means, kind="stable")[:count]
    return [
        {
            "image": str(run.clips.ids[row]),
            "label": label_of(run, str(run.clips.ids[row])),
            "flip_probability": float(means[row]),
            "worst": name(sequences[int(shares[row].argmax())]),
            "worst_flip_probability": float(shares[row].max()),
        }
        for row in order
        if means[row] > 0
    ]


flip_timelines = FlipTimelines()
