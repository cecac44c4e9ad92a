"""What a model takes for what: its most frequent wrong answers, each with an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.error import corruption_columns
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.saliency import Explain, Hanging, explain_nothing
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.source_images import (
    class_names,
    label_names,
    open_originals,
    part_in_question,
    plain_condition,
    rows_in_question,
    thumbnail,
)

# Fewer different images than this, or groups of images, are anecdotes.
MINIMUM = 3
SHOWN = 10
IMAGE_PX = 96


class Confusions(Section):
    """The most frequent confusions, each with an image."""

    name = "confusions"
    title = "What it takes for what"
    help = "The most frequent incorrect predictions by predicted and true class, each with an image."
    order = 1500
    json_order = 130

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"confusions": confusion_tables(given.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["confusions"])

    def content(self, document: Document, given: ReportInput) -> Content:
        return Content({"confused": examples(given.run, document["confusions"], given.explain)})

    def markdown(self, document: Document) -> list[str]:
        header = ["said", "right was", "answers", "images", "share of that class, %"]
        lines = []
        for part in document["confusions"]:
            rows = [
                [row["said"], row["right"], f"{row['n']:,}", f"{row['images']:,}",
                 f"{100 * row['share']:.1f}"]
                for row in part["rows"]
            ]  # fmt: skip
            if rows:
                lines += [f"## {self.title}: {part['part']}", "", *markdown_table(header, rows), ""]
        return lines


@dataclass(frozen=True)
class Example:
    """An image that was confused so, surely, and what the answer hangs on."""

    image: str
    hanging: Hanging | None


@dataclass(frozen=True)
class Examples:
    """By condition, image and answer, images of confusions; and why there are not more."""

    images: dict[tuple[str, str, int], Example]
    note: str

    @property
    def has_maps(self) -> bool:
        """Whether any image has a saliency map."""
        return any(example.hanging for example in self.images.values())


def confusion_tables(run: ScoredRun) -> list[dict[str, Any]]:
    """Wrong answers by (said, right), the most frequent first: of plain images, and of corrupted ones.

    share = wrong answers so / answers to images of the right class. A confusion counts from three different
    images on, or three groups where images belong together: fewer are anecdotes.
    """
    part, plain, spoilt = part_in_question(run), plain_condition(run), corruption_columns(run)
    parts = {part.name if part else plain: [run.observed.column(plain)]} if plain else {}
    parts |= {"corrupted": spoilt} if spoilt else {}
    if not len(rows_in_question(run)):
        return []
    return [_part(run, name, columns) for name, columns in parts.items()]


def _part(run: ScoredRun, name: str, columns: list[int]) -> dict[str, Any]:
    seen = run.observed
    rows = rows_in_question(run)
    labels = [seen.labels[row] for row in rows]
    kinds = sorted(set(labels))
    number = {label: place for place, label in enumerate(kinds)}
    right = np.array([number[label] for label in labels], np.int64)
    every = seen.rank[rows][:, columns] > 0
    # A prediction that is not finite confuses no two classes.
    wrong = every & ~seen.not_finite[rows][:, columns]
    place, offset = np.nonzero(wrong)
    said = seen.chosen[rows][:, columns][wrong].astype(np.int64)
    pairs, pair, count = np.unique(said * len(kinds) + right[place], return_inverse=True, return_counts=True)
    images = _different(pair, place, len(pairs))
    groups = run.groups
    units = images if groups is None else _different(pair, groups[rows][place], len(pairs))
    asked = np.bincount(right, minlength=len(kinds))[pairs % len(kinds)] * len(columns)
    order = np.lexsort((pairs, -count / asked, -count))
    shown = [int(one) for one in order if units[one] >= MINIMUM][:SHOWN]
    # Of best classes alone nobody knows how sure the model was: the first will do.
    sure = seen.confidence[rows][:, columns][wrong] if seen.gives_probabilities else np.zeros(len(said))
    names = class_names(run)
    found = []
    for one in shown:
        answer, label = divmod(int(pairs[one]), len(kinds))
        members = np.flatnonzero(pair == one)
        surest = members[sure[members].argmax()]
        found.append(
            {
                "said": names.get(answer, f"class {answer}"),
                "right": label_names(run, kinds[label]),
                "n": int(count[one]),
                "images": int(images[one]),
                "of": int(asked[one]),
                "share": float(count[one] / asked[one]),
                "output": answer,
                "image": str(seen.ids[rows[place[surest]]]),
                "condition": seen.conditions[columns[offset[surest]]],
            }
        )
    return {
        "part": name,
        "conditions": len(columns),
        "answers": int(wrong.size),
        "wrong": int(every.sum()),
        "kinds": len(pairs),
        "minimum": MINIMUM,
        "group": "" if groups is None else run.group,
        "rows": found,
    }


def _different(pair: NDArray[np.int64], unit: NDArray[np.int64], pairs: int) -> NDArray[np.int64]:
    """Of every pair, in how many different units it is seen."""
    span = int(unit.max(initial=0)) + 1
    return np.bincount(np.unique(pair * span + unit) // span, minlength=pairs)


def examples(run: ScoredRun, parts: list[dict[str, Any]], explain: Explain = explain_nothing) -> Examples:
    """An image of every confusion that is shown, made again from the recipe."""
    rows = [row for part in parts for row in part["rows"]]
    originals = open_originals(run) if rows else None
    if originals is None:
        return Examples({}, "")
    made = {}
    for row in rows:
        frames = originals.under(row["image"], row["condition"])
        if frames:
            made[row["condition"], row["image"], row["output"]] = frames[0][0]
    maps = explain([(image, said) for (*_, said), image in made.items()], IMAGE_PX)
    shown = zip(made.items(), maps.maps, strict=True)
    images = {key: Example(thumbnail(image, IMAGE_PX), one) for (key, image), one in shown}
    return Examples(images, " ".join(filter(None, (originals.note, maps.note))))


confusions = Confusions()
