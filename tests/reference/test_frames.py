"""pm-k against a plain reading of its definition, the published counts' intervals, and values by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest

from windtunnel.metrics.frame_sets import FrameSets, frame_sets, mean_over_frames, worst_within
from windtunnel.stats.intervals import exact_share

Rows = list[tuple[str, str, int, str]]


def as_table(rows: Rows) -> pa.Table:
    names = ("group", "sample_id", "offset", "role")
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


def drawn(seed: int) -> tuple[Rows, dict[str, bool]]:
    """Sets over shared frames: some frames serve two anchors, some anchors have no neighbour."""
    rng = np.random.default_rng(seed)
    rows: Rows = []
    for video in range(12):
        for anchor in (15, 19):
            if rng.random() < 0.2:
                continue
            name = f"v{video}/{anchor:04}"
            rows.append((name, name, 0, "anchor"))
            size = int(rng.integers(0, 11))
            for offset in range(-size, size + 1):
                if offset and rng.random() < 0.8:
                    rows.append((name, f"v{video}/{anchor + offset:04}", offset, "neighbour"))
    order = rng.permutation(len(rows))
    frames = {row[1]: bool(rng.random() < 0.9) for row in rows}
    return [rows[place] for place in order], frames


def by_definition(rows: Rows, right: dict[str, bool], k: int, anchor_required: bool) -> dict[str, bool]:
    """For every anchor: is every accepted frame within k right, and the anchor where it is required?"""
    found = {}
    for group in {row[0] for row in rows}:
        near = [row for row in rows if row[0] == group and row[3] == "neighbour" and abs(row[2]) <= k]
        held = [right[row[1]] for row in near]
        if anchor_required:
            held.append(right[group])
        found[group] = all(held)
    return found


def judged(rows: Rows, right: dict[str, bool]) -> tuple[FrameSets, np.ndarray, np.ndarray]:
    ids = np.array(sorted(right), object)
    sets = frame_sets(as_table(rows), ids)
    values = np.array([right[one] for one in ids])
    return sets, values[sets.anchors], values[sets.rows]


@pytest.mark.parametrize("seed", range(8))
def test_pm_k_is_its_definition_under_both_anchor_rules(seed: int) -> None:
    rows, right = drawn(seed)
    sets, anchor_right, neighbour_right = judged(rows, right)
    for k in range(sets.largest + 2):
        for required in (True, False):
            held = anchor_right if required else np.ones_like(anchor_right)
            found = worst_within(sets, held, neighbour_right, k)
            assert dict(zip(sets.names, found.tolist(), strict=True)) == by_definition(
                rows, right, k, required
            )


def test_means_over_frames_by_definition() -> None:
    rows, right = drawn(3)
    sets, anchor_right, neighbour_right = judged(rows, right)
    count, frames = mean_over_frames(sets, anchor_right, neighbour_right)
    for name, found, of in zip(sets.names, count, frames, strict=True):
        own = [right[row[1]] for row in rows if row[0] == name]
        assert (found, of) == (sum(own), len(own))


def test_a_set_with_a_frame_that_failed_leaves_whole() -> None:
    rows: Rows = [
        ("a", "a", 0, "anchor"), ("a", "f", 1, "neighbour"),
        ("b", "b", 0, "anchor"), ("b", "gone", -1, "neighbour"),
        ("c", "c", 0, "anchor"),
        ("d", "d", 0, "anchor"), ("d", "f", -3, "neighbour"),
    ]  # fmt: skip
    sets = frame_sets(as_table(rows), np.array(["a", "b", "c", "d", "f"], object))
    assert (sets.names, sets.left_out, sets.largest) == (("a", "c", "d"), 1, 3)
    assert sets.offsets.tolist() == [1, -3]


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [
        (749, 1109, 0.6469, 0.7029),
        (582, 1109, 0.4949, 0.5545),
        (1158, 2030, 0.5486, 0.5921),
        (890, 2030, 0.4167, 0.4603),
    ],
)
def test_intervals_of_the_published_counts(right: int, of: int, low: float, high: float) -> None:
    values = (np.arange(of) < right).astype(float)
    found = exact_share(values)
    assert found == pytest.approx((low, high), abs=5e-5)
    wanted = binomtest(right, of).proportion_ci(method="exact")
    assert found == pytest.approx((wanted.low, wanted.high))


def test_anchors_of_one_video_are_not_as_sure_as_anchors_of_many() -> None:
    rng = np.random.default_rng(0)
    videos = np.repeat(np.arange(60), 5)
    hard = rng.random(60) < 0.4
    values = (~hard[videos]).astype(float)
    alone, together = exact_share(values), exact_share(values, videos)
    # All alike within a video: worth no more than the sixty videos.
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])
    by_video = binomtest(int((~hard).sum()), 60).proportion_ci(method="exact")
    assert together == pytest.approx((by_video.low, by_video.high), abs=0.01)
    # Two or fewer of a kind per video, drawn one by one: about as sure as if no video were known.
    loose = (rng.random(300) < 0.6).astype(float)
    grouped, single = exact_share(loose, videos), exact_share(loose)
    assert grouped[1] - grouped[0] == pytest.approx(single[1] - single[0], rel=0.25)
