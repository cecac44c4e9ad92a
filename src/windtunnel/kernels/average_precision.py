"""Matching of detections with annotated objects, and average precision, as COCO's evaluation defines them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.jit import jit

FALSE_POSITIVE, TRUE_POSITIVE, IGNORED = 0, 1, 2
# Recall is read at 0, 0.01 ... 1, rounded as COCO's evaluation rounds them.
RECALL_LEVELS = np.linspace(0, 1, 101)
# COCO's evaluation adds this to the denominator of precision, and takes it from an overlap of 1.
EPSILON = float(np.spacing(1))
NEARLY_ONE = 1 - 1e-10


@jit
def _overlap(box: NDArray[np.float64], other: NDArray[np.float64], crowd: bool) -> float:
    """Intersection over union of two boxes (left, top, right, bottom); over the first box for a crowd."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    area = (box[2] - box[0]) * (box[3] - box[1])
    if crowd:
        return float(common / area)
    return float(common / (area + (other[2] - other[0]) * (other[3] - other[1]) - common))


@jit
def match_boxes(
    found_key: NDArray[np.int64],
    found_box: NDArray[np.float64],
    true_key: NDArray[np.int64],
    true_box: NDArray[np.float64],
    true_crowd: NDArray[np.bool_],
    thresholds: NDArray[np.float64],
) -> NDArray[np.int8]:
    """Whether each detection is a true or false positive, or ignored, at every overlap threshold.

    Detections are sorted by key (image and category), then by falling score; objects by key, those that are
    no crowd first. A detection takes the free object with the largest overlap, at least the threshold; a
    crowd is taken only if no object is, any number of times, and the detection is then ignored.
    """
    outcome = np.zeros((len(found_key), len(thresholds)), np.int8)
    begin = 0
    place = 0
    while place < len(found_key):
        key = found_key[place]
        stop = place
        while stop < len(found_key) and found_key[stop] == key:
            stop += 1
        while begin < len(true_key) and true_key[begin] < key:
            begin += 1
        end = begin
        while end < len(true_key) and true_key[end] == key:
            end += 1
        overlaps = np.empty((stop - place, end - begin))
        for found in range(place, stop):
            for true in range(begin, end):
                overlaps[found - place, true - begin] = _overlap(
                    found_box[found], true_box[true], true_crowd[true]
                )
        for at in range(len(thresholds)):
            taken = np.zeros(end - begin, np.bool_)
            for found in range(stop - place):
                best = min(thresholds[at], NEARLY_ONE)
                match = -1
                for true in range(end - begin):
                    crowd = true_crowd[begin + true]
                    if taken[true] and not crowd:
                        continue
                    if match >= 0 and not true_crowd[begin + match] and crowd:
                        break
                    if overlaps[found, true] < best:
                        continue
                    best = overlaps[found, true]
                    match = true
                if match >= 0:
                    taken[match] = True
                    outcome[place + found, at] = IGNORED if true_crowd[begin + match] else TRUE_POSITIVE
        place = stop
    return outcome


@jit
def average_precisions(
    found_start: NDArray[np.int64],
    found_image: NDArray[np.int64],
    outcome: NDArray[np.int8],
    true_start: NDArray[np.int64],
    true_image: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Mean over categories of the average precision, for every row of image weights and every threshold.

    Precision is largest at true positives, and recall changes only there: between them, only the weights of
    all detections are summed, once for all thresholds.

    Args:
        found_start: the first detection of each category, and the number of detections at the end.
        found_image: the image of each detection, by category, then by falling score.
        outcome: as `match_boxes` returns it, in the same order.
        true_start, true_image: the same for objects that are no crowd.
        weights: replicates x images.

    Returns:
        Replicates x thresholds; NaN for a replicate without any object.
    """
    replicates, thresholds = len(weights), outcome.shape[1]
    categories = len(found_start) - 1
    event_start, event_place = _events(found_start, outcome)
    precisions = np.full((replicates, thresholds), np.nan)
    most = 0
    for category in range(categories):
        most = max(most, found_start[category + 1] - found_start[category])
    reached, times = np.empty(most), np.empty(most)
    recall, precision = np.empty(most), np.empty(most)
    for replicate in range(replicates):
        weight = weights[replicate]
        counted = 0
        sums = np.zeros(thresholds)
        for category in range(categories):
            objects = 0.0
            for place in range(true_start[category], true_start[category + 1]):
                objects += weight[true_image[place]]
            if objects == 0:
                continue
            counted += 1
            first = found_start[category]
            total = 0.0
            for place in range(found_start[category + 1] - first):
                times[place] = weight[found_image[first + place]]
                total += times[place]
                reached[place] = total
            for at in range(thresholds):
                right, ignored, count = 0.0, 0.0, 0
                for event in range(event_start[category, at], event_start[category, at + 1]):
                    place = event_place[event]
                    if times[place] == 0:
                        continue
                    if outcome[first + place, at] == IGNORED:
                        ignored += times[place]
                        continue
                    right += times[place]
                    recall[count] = right / objects
                    precision[count] = right / (reached[place] - ignored + EPSILON)
                    count += 1
                sums[at] += _read_curve(recall, precision, count)
        if counted:
            for at in range(thresholds):
                precisions[replicate, at] = sums[at] / counted
    return precisions


@jit
def _read_curve(recall: NDArray[np.float64], precision: NDArray[np.float64], count: int) -> float:
    """The mean over recall levels of the largest precision at this recall or more."""
    for place in range(count - 2, -1, -1):
        precision[place] = max(precision[place], precision[place + 1])
    total, place = 0.0, 0
    for level in RECALL_LEVELS:
        while place < count and recall[place] < level:
            place += 1
        if place == count:
            break
        total += precision[place]
    return float(total / len(RECALL_LEVELS))


@jit
def _events(
    found_start: NDArray[np.int64], outcome: NDArray[np.int8]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The detections that are no false positives, by category and threshold.

    Returns:
        The first of them for each category and threshold, with the end of each category's last threshold;
        and their places among the detections of the category.
    """
    categories, thresholds = len(found_start) - 1, outcome.shape[1]
    start = np.zeros((categories, thresholds + 1), np.int64)
    places = np.empty(int((outcome != FALSE_POSITIVE).sum()), np.int64)
    count = 0
    for category in range(categories):
        for at in range(thresholds):
            start[category, at] = count
            for place in range(found_start[category], found_start[category + 1]):
                if outcome[place, at] != FALSE_POSITIVE:
                    places[count] = place - found_start[category]
                    count += 1
        start[category, thresholds] = count
    return start, places
