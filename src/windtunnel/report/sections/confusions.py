"""Confusions: the most frequent pairs of predicted and true class, each with an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.error import corruption_columns
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.saliency import Explain, SaliencyMap, explain_nothing
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.source_images import (
    class_names,
    evaluated_part,
    evaluated_rows,
    label_names,
    open_source_images,
    thumbnail,
    unmodified_condition,
)

# A pair is listed if it occurs on at least this many different images, or groups of images.
MINIMUM = 3
PAIRS_SHOWN = 10
IMAGE_PX = 96


class Confusions(Section):
    """The most frequent confusions, each with an example."""

    name = "confusions"
    title = "Confusions"
    help = "The most frequent incorrect predictions by predicted and true class, each with an image."
    order = 1500
    json_order = 130

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"confusions": confusion_tables(inputs.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["confusions"])

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content({"examples": confusion_examples(inputs.run, document["confusions"], inputs.explain)})

    def markdown(self, document: Document) -> list[str]:
        header = ["predicted", "true class", "predictions", "images", "share of that class, %"]
        lines = []
        for part in document["confusions"]:
            rows = [
                [row["predicted"], row["label"], f"{row['n']:,}", f"{row['images']:,}",
                 f"{100 * row['share']:.1f}"]
                for row in part["rows"]
            ]  # fmt: skip
            if rows:
                lines += [f"## {self.title}: {part['part']}", "", *markdown_table(header, rows), ""]
        return lines


@dataclass(frozen=True)
class Example:
    """A misclassified image as a data URI, and the saliency map of the predicted class."""

    image: str
    saliency: SaliencyMap | None


@dataclass(frozen=True)
class Examples:
    """Examples by condition, image and predicted output, and a note on those that are missing."""

    images: dict[tuple[str, str, int], Example]
    note: str

    @property
    def has_maps(self) -> bool:
        """Whether any image has a saliency map."""
        return any(example.saliency for example in self.images.values())


def confusion_tables(run: ScoredRun) -> list[dict[str, Any]]:
    """The most frequent pairs of predicted and true class, of unmodified and of corrupted images.

    share = incorrect predictions of the pair / predictions for images of the true class. A pair is listed if
    it occurs on at least three different images, or groups of images if the run has groups.
    """
    part, unmodified, corrupted = evaluated_part(run), unmodified_condition(run), corruption_columns(run)
    columns_by_part = (
        {part.name if part else unmodified: [run.observed.column(unmodified)]} if unmodified else {}
    )
    columns_by_part |= {"corrupted": corrupted} if corrupted else {}
    if not len(evaluated_rows(run)):
        return []
    return [_confusion_table(run, name, columns) for name, columns in columns_by_part.items()]


def _confusion_table(run: ScoredRun, name: str, columns: list[int]) -> dict[str, Any]:
    observed, rows = run.observed, evaluated_rows(run)
    incorrect = observed.wrong[rows][:, columns]
    pairs = _confused_pairs(run, rows, columns)
    order = np.lexsort((pairs.codes, -pairs.counts / pairs.possible, -pairs.counts))
    listed = [int(pair) for pair in order if pairs.units[pair] >= MINIMUM][:PAIRS_SHOWN]
    return {
        "part": name,
        "conditions": len(columns),
        "predictions": int(incorrect.size),
        "incorrect": int(incorrect.sum()),
        "pairs": len(pairs.codes),
        "minimum": MINIMUM,
        "group": "" if run.groups is None else run.group,
        "rows": [_pair_row(run, pairs, pair) for pair in listed],
    }


@dataclass(frozen=True)
class _Pairs:
    """Confused pairs of predicted and true class, and the predictions that form them.

    Attributes:
        codes: of every pair, predicted output times number of labels plus position of the label.
        labels: the distinct labels of the images.
        counts, images, units: of every pair, its predictions, different images, and different groups.
        possible: of every pair, the predictions for images of the true class.
        pair: the pair of every incorrect prediction.
        row, column: its image and condition.
        confidence: its confidence; zeros if the run has no probabilities.
    """

    codes: NDArray[np.int64]
    labels: list[tuple[int, ...]]
    counts: NDArray[np.int64]
    images: NDArray[np.int64]
    units: NDArray[np.int64]
    possible: NDArray[np.int64]
    pair: NDArray[np.int64]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    confidence: NDArray[np.float64]


def _confused_pairs(run: ScoredRun, rows: NDArray[np.int64], columns: list[int]) -> _Pairs:
    observed, groups = run.observed, run.groups
    row_labels = [observed.labels[row] for row in rows]
    labels = sorted(set(row_labels))
    position = {label: index for index, label in enumerate(labels)}
    true_class = np.array([position[label] for label in row_labels], np.int64)
    # A prediction that is not finite has no predicted class.
    confused = observed.wrong[rows][:, columns] & ~observed.not_finite[rows][:, columns]
    image, offset = np.nonzero(confused)
    predicted = observed.chosen[rows][:, columns][confused].astype(np.int64)
    code = predicted * len(labels) + true_class[image]
    codes, pair, counts = np.unique(code, return_inverse=True, return_counts=True)
    images = _distinct_counts(pair, image, len(codes))
    has_confidence = observed.gives_probabilities
    return _Pairs(
        codes,
        labels,
        counts,
        images,
        images if groups is None else _distinct_counts(pair, groups[rows][image], len(codes)),
        np.bincount(true_class, minlength=len(labels))[codes % len(labels)] * len(columns),
        pair,
        rows[image],
        np.array(columns, np.int64)[offset],
        observed.confidence[rows][:, columns][confused] if has_confidence else np.zeros(len(predicted)),
    )


def _pair_row(run: ScoredRun, pairs: _Pairs, pair: int) -> dict[str, Any]:
    """A pair as JSON, with its most confident prediction as the example."""
    observed = run.observed
    output, label = divmod(int(pairs.codes[pair]), len(pairs.labels))
    members = np.flatnonzero(pairs.pair == pair)
    example = members[pairs.confidence[members].argmax()]
    return {
        "predicted": class_names(run).get(output, f"class {output}"),
        "label": label_names(run, pairs.labels[label]),
        "n": int(pairs.counts[pair]),
        "images": int(pairs.images[pair]),
        "of": int(pairs.possible[pair]),
        "share": float(pairs.counts[pair] / pairs.possible[pair]),
        "output": output,
        "image": str(observed.ids[pairs.row[example]]),
        "condition": observed.conditions[pairs.column[example]],
    }


def _distinct_counts(pair: NDArray[np.int64], unit: NDArray[np.int64], pairs: int) -> NDArray[np.int64]:
    """The number of different units of every pair."""
    span = int(unit.max(initial=0)) + 1
    return np.bincount(np.unique(pair * span + unit) // span, minlength=pairs)


def confusion_examples(
    run: ScoredRun, parts: list[dict[str, Any]], explain: Explain = explain_nothing
) -> Examples:
    """An image of every listed confusion, regenerated from the recipe."""
    rows = [row for part in parts for row in part["rows"]]
    sources = open_source_images(run) if rows else None
    if sources is None:
        return Examples({}, "")
    regenerated = {}
    for row in rows:
        frames = sources.frames_under(row["image"], row["condition"])
        if frames:
            regenerated[row["condition"], row["image"], row["output"]] = frames[0][0]
    saliency = explain([(image, output) for (*_, output), image in regenerated.items()], IMAGE_PX)
    images = {
        key: Example(thumbnail(image, IMAGE_PX), saliency_map)
        for (key, image), saliency_map in zip(regenerated.items(), saliency.maps, strict=True)
    }
    return Examples(images, " ".join(filter(None, (sources.note, saliency.note))))


confusions = Confusions()
