"""Adversarial filtration equals a brute-force reading of ImageNet-A's steps."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.core.errors import UserError
from windtunnel.curate.filtration import STAGES, CropPredictions, FilterRules, filter_candidates

CROPS = 10
CLASSES = 3
# Few values, so that ties and values at the threshold are frequent.
CONFIDENCES = [0.0, 0.05, 0.1, 0.15, 0.150001, 0.2, 0.5]


@dataclass(frozen=True)
class Candidate:
    """One candidate: a predicted class, its confidence and the true class's, for every model and crop."""

    id: str
    label: int
    views: tuple[tuple[tuple[int, float, float], ...], ...]


@st.composite
def candidates(draw):
    """Up to 40 candidates with the predictions of one or two models."""
    models = draw(st.integers(1, 2))
    count = draw(st.integers(0, 40))
    dice = random.Random(draw(st.integers(0, 2**32)))
    # Most candidates are never right, so that the later steps have something to do.
    right = draw(st.sampled_from([0.0, 0.01, 0.3]))
    high = draw(st.sampled_from([0.0, 0.01, 0.5]))

    def view(label):
        predicted = label if dice.random() < right else (label + dice.randrange(1, CLASSES)) % CLASSES
        true = dice.choice(CONFIDENCES if dice.random() < high else CONFIDENCES[:4])
        return predicted, dice.choice(CONFIDENCES), true

    made = []
    for number in dice.sample(range(1000), count):
        label = dice.randrange(CLASSES)
        views = tuple(tuple(view(label) for _ in range(CROPS)) for _ in range(models))
        made.append(Candidate(f"id{number}", label, views))
    return made, models


def brute_force(pool, rules):
    """The stage of every candidate, one candidate and one crop at a time."""
    single = np.float32
    stage, queue = {}, {}
    for candidate in pool:
        views = [view for model in candidate.views for view in model]
        if any(
            predicted == candidate.label or single(true) == single(best) for predicted, best, true in views
        ):
            stage[candidate.id] = "correct"
            continue
        if any(single(true) > single(rules.max_true_confidence) for _, _, true in views):
            stage[candidate.id] = "confident"
            continue
        if rules.pair_from == "centre":
            chosen = candidate.views[0][4]
        else:
            chosen = views[0]
            for view in views[1:]:
                if single(view[1]) > single(chosen[1]):
                    chosen = view
        first = max(true for _, _, true in views) if rules.keep_first == "least-true" else -chosen[1]
        queue.setdefault((candidate.label, chosen[0]), []).append((single(first), candidate.id))
    for waiting in queue.values():
        for place, (_, id_) in enumerate(sorted(waiting)):
            stage[id_] = "over_cap" if rules.pair_cap and place >= rules.pair_cap else "shortlisted"
    return stage


def filtered(pool, models, rules):
    """The stages by the product's arrays."""
    arrays = np.array([candidate.views for candidate in pool]).reshape(len(pool), models, CROPS, 3)
    predictions = CropPredictions(
        arrays[..., 0].astype(np.int64), arrays[..., 1].astype(np.float32), arrays[..., 2].astype(np.float32)
    )
    labels = np.array([candidate.label for candidate in pool], np.int64)
    return filter_candidates([candidate.id for candidate in pool], labels, predictions, rules)


def stages(pool, models, rules):
    """The stages by id."""
    result = filtered(pool, models, rules)
    return {candidate.id: STAGES[place] for candidate, place in zip(pool, result.stage, strict=True)}


RULES = st.builds(
    FilterRules,
    max_true_confidence=st.sampled_from([0.0, 0.1, 0.15, 1.0]),
    pair_cap=st.sampled_from([0, 1, 2, 15]),
    pair_from=st.sampled_from(["centre", "most-confident"]),
    keep_first=st.sampled_from(["least-true", "most-wrong"]),
)


@settings(max_examples=200, deadline=None)
@given(candidates(), RULES)
def test_filtration_equals_the_steps_of_the_paper(made, rules):
    pool, models = made
    assert stages(pool, models, rules) == brute_force(pool, rules)


@settings(max_examples=50, deadline=None)
@given(candidates(), RULES, st.randoms(use_true_random=False))
def test_order_of_candidates_does_not_matter(made, rules, dice):
    pool, models = made
    shuffled = list(pool)
    dice.shuffle(shuffled)
    assert stages(shuffled, models, rules) == stages(pool, models, rules)


def one(id_, label, predicted=1, true=0.0, *, confidence=0.9, odd=None):
    """A candidate with ten equal crops, or with one odd crop (number, predicted, true)."""
    views = [(predicted, confidence, true)] * CROPS
    if odd:
        views[odd[0]] = (odd[1], confidence, odd[2])
    return Candidate(id_, label, (tuple(views),))


def test_one_right_crop_drops_a_candidate():
    pool = [one("a", 0), one("b", 0, odd=(9, 0, 0.1))]
    result = filtered(pool, 1, FilterRules())
    assert [STAGES[place] for place in result.stage] == ["shortlisted", "correct"]
    assert result.view[1] == 9


def test_exactly_15_per_cent_is_kept_and_more_is_dropped():
    pool = [one("a", 0, true=0.15), one("b", 0, odd=(3, 1, 0.1501))]
    result = filtered(pool, 1, FilterRules())
    assert [STAGES[place] for place in result.stage] == ["shortlisted", "confident"]
    assert result.view[1] == 3


def test_the_sixteenth_of_a_confusion_falls_and_equal_ones_are_ranked_by_id():
    pool = [one(f"id{number:02}", 0) for number in reversed(range(16))] + [one("other", 2)]
    assert [id_ for id_, stage in stages(pool, 1, FilterRules()).items() if stage == "over_cap"] == ["id15"]
    funnel = filtered(pool, 1, FilterRules()).funnel()
    assert funnel == {"candidates": 17, "never_correct": 17, "low_true_confidence": 17, "shortlist": 16}


def test_the_centre_crop_of_the_first_model_defines_the_confusion():
    pool = [one("a", 0, odd=(4, 2, 0.0)), one("b", 0)]
    assert filtered(pool, 1, FilterRules()).pair_class.tolist() == [2, 1]


@pytest.mark.parametrize("change", [{"max_true_confidence": 1.5}, {"pair_cap": -1}, {"pair_from": "x"}])
def test_wrong_rules_are_refused(change):
    with pytest.raises(UserError):
        FilterRules(**change)


def test_the_true_class_may_share_the_highest_confidence():
    """Which of equal classes is named first does not matter."""
    tied = [one("tied", 0, odd=None, true=0.1, confidence=0.1), one("lower", 0, true=0.1, confidence=0.11)]
    assert stages(tied, 1, FilterRules()) == {"tied": "correct", "lower": "shortlisted"}
