"""Accuracies on seen and unseen subtypes, by hand; and the published types."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest
from scipy import stats

from windtunnel import published
from windtunnel.analysis.subtypes import TestImages as SubtypeImages
from windtunnel.analysis.subtypes import subtype_robustness
from windtunnel.data.class_types import published_types
from windtunnel.published.imagenet import imagenet_1k

# Two types; a and c are seen, b, d and e are unseen.
SUBTYPES = ("a",) * 4 + ("c",) * 4 + ("b",) * 2 + ("d",) * 4 + ("e",) * 2
TYPES = tuple("warm" if name in "ab" else "cool" for name in SUBTYPES)
IMAGES = SubtypeImages(TYPES, SUBTYPES, np.array([name in "bde" for name in SUBTYPES]))
# a 4 of 4, c 2 of 4; b 1 of 2, d 1 of 4, e 0 of 2.
CORRECT = np.array([[1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]], bool)


def wilson_of(share: float, size: float, quantile: float) -> tuple[float, float]:
    """Wilson's interval, as in textbooks."""
    centre = (share + quantile**2 / (2 * size)) / (1 + quantile**2 / size)
    reach = quantile / (1 + quantile**2 / size)
    reach *= math.sqrt(share * (1 - share) / size + quantile**2 / (4 * size**2))
    return centre - reach, centre + reach


def test_accuracies_chance_and_drop() -> None:
    result = subtype_robustness(IMAGES, {("net", "network"): CORRECT}, "warm")
    (model,) = result.models
    assert (model.seen.value, model.seen.images, model.seen.subtypes) == (6 / 8, 8, 2)
    assert (model.unseen.value, model.unseen.images, model.unseen.subtypes) == (2 / 8, 8, 3)
    assert model.drop.value == 0.5
    assert result.chance == 0.5 and result.frequent_type == "warm"
    assert (result.frequent_seen, result.frequent_unseen) == (4 / 8, 2 / 8)
    by_type = {row.type: row for row in model.types}
    assert (by_type["warm"].seen.value, by_type["warm"].unseen.value) == (1.0, 0.5)
    assert (by_type["cool"].seen.value, by_type["cool"].unseen.value) == (0.5, 1 / 6)
    assert {row.subtype: row.accuracy for row in model.subtypes} == {
        "a": 1.0, "b": 0.5, "c": 0.5, "d": 0.25, "e": 0.0,
    }  # fmt: skip
    assert "Only 2 seen or unseen subtypes" in result.notes[0]


def test_intervals_are_clustered_by_subtype() -> None:
    (model,) = subtype_robustness(IMAGES, {("net", "network"): CORRECT}, "warm").models
    # Two groups of 4 with 4 and 2 correct: they deviate by +1 and -1 from 4 * 0.75. The variance of the mean
    # is 2/1 * (1 + 1) / 8^2 = 1/16, a third of 0.75 * 0.25. If images of a subtype fail together, the size
    # is 8^2 / (4^2 + 4^2) = 2. Both groups decide the variance, so K^2 = 4, and the sizes are averaged:
    # 1/size = (4 * 1/3 + 2 * 1/2) / (4 + 2) = 7/18.
    low, high = wilson_of(0.75, 18 / 7, stats.t.ppf(0.975, 1))
    assert (model.seen.low, model.seen.high) == pytest.approx((low, high), abs=1e-9)
    # Newcombe's square-and-add of the two intervals.
    unseen = model.unseen
    below = math.sqrt((0.75 - low) ** 2 + (unseen.high - 0.25) ** 2)
    above = math.sqrt((high - 0.75) ** 2 + (0.25 - unseen.low) ** 2)
    assert (model.drop.low, model.drop.high) == pytest.approx((0.5 - below, 0.5 + above))
    # Images of one subtype are not independent: the interval is wider than that of 8 independent images.
    independent = wilson_of(0.75, 8, stats.norm.ppf(0.975))
    assert model.seen.low < independent[0] and model.seen.high > independent[1]


def test_seeds_are_averaged() -> None:
    correct = np.concatenate([CORRECT, ~CORRECT])
    (model,) = subtype_robustness(IMAGES, {("net", "network"): correct}, "warm").models
    assert model.seeds == 2 and model.seen.value == model.unseen.value == 0.5
    assert {row.accuracy for row in model.subtypes} == {0.5}


def test_the_published_types_are_classes_of_imagenet() -> None:
    types = published_types()
    assert len(types) == len(set(types.values())) == 25
    rows = list(csv.DictReader(io.StringIO(published.read_text("subtype_types.csv"))))
    classes = list(csv.DictReader(io.StringIO(published.read_text("subtype_classes.csv"))))
    names = [row["class"] for row in classes]
    assert len(names) == len(set(names)) and set(names) <= set(imagenet_1k().classes)
    for row in rows:
        assert sum(one["type"] == row["name"] for one in classes) == int(row["imagenet_1k_classes"])
    assert types["n02084071"] == "dog" and types["n04576211"] == "vehicle"
    of_class = {row["class"]: row["type"] for row in classes}
    assert of_class["n02099601"] == "dog"  # golden retriever
    assert of_class["n02129604"] == "big cat"  # tiger
