"""The rule language of the gate, Holm's levels, and patterns of conditions."""

from __future__ import annotations

import numpy as np
import pytest

from windtunnel.analysis.gate import ALARM_LEVEL, Check, Trial, images_to_decide, judge, worse
from windtunnel.analysis.gate_rules import Rule, matching, parse_rule, pooled
from windtunnel.core.errors import UserError
from windtunnel.report.gate_outcome import sentence
from windtunnel.stats.estimates import Symmetric
from windtunnel.stats.measure import Measure
from windtunnel.stats.multiple_tests import holm_levels
from windtunnel.stats.paired import estimate_difference

UNMODIFIED = ("native", "clean", "clean+jpeg:85")
CONDITIONS = (
    *UNMODIFIED,
    "fog:1+jpeg:85",
    "fog:2+jpeg:85",
    "frost:1+jpeg:85",
    "decode=opencv",
    "resize=opencv-area",
    "resize=torch-bilinear",
)
KEYS = [
    *(("top1_error", name) for name in CONDITIONS),
    ("mean_error", ""),
    ("ce", "fog"),
    ("flip_probability", "seq/tilt"),
]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mce <= +1.0", (False, "", "mce", "<=", 0.01)),
        ("mCE<=+1", (False, "", "mce", "<=", 0.01)),
        ("mean error <= 0", (False, "", "mean_error", "<=", 0.0)),
        ("fog:* error <= +3", (False, "fog:*", "top1_error", "<=", 0.03)),
        (" each fog:* error  <=  -0.5 ", (True, "fog:*", "top1_error", "<=", -0.005)),
        ("auroc >= -2", (False, "", "auroc", ">=", -0.02)),
        ("AUROC:energy >= -2", (False, "energy", "auroc", ">=", -0.02)),
        ("each decode=* error <= +1", (True, "decode=*", "top1_error", "<=", 0.01)),
        ("nll <= +0.05", (False, "", "nll", "<=", 0.05)),
        ("mFP <= +1", (False, "", "mfp", "<=", 0.01)),
        ("tilt FP <= +1", (False, "tilt", "flip_probability", "<=", 0.01)),
        ("tilt uT5D <= +0.5", (False, "tilt", "ut5d", "<=", 0.5)),
        ("fog:3 brier <= +0.01", (False, "fog:3", "brier", "<=", 0.01)),
    ],
)
def test_rules_are_read(text: str, wanted: tuple[object, ...]) -> None:
    rule = parse_rule(text)
    assert (rule.each, rule.pattern, rule.metric, rule.sign, pytest.approx(rule.limit)) == wanted


@pytest.mark.parametrize(
    "text",
    ["", "mce", "mce <= 3", "mce < +3", "mce == +1", "<= +1", "a b c <= +1", "each mce <= +1", "mce <= +x"],
)
def test_other_texts_are_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(UserError, match=r"write \[each\] \[CONDITION\] METRIC <= \+POINTS"):
        parse_rule(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("aurra <= +1", "less aurra is worse; write for example >= -1"),
        ("mean_error >= -1", "more mean_error is worse; write for example <= \\+1"),
        ("each fog:* error >= -1", "more top1_error is worse"),
        ("residual_robustness >= 0", "more residual_robustness is worse"),
    ],
)
def test_rules_that_look_the_wrong_way_are_refused(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        parse_rule(text)


def test_rules_look_where_a_metric_gets_worse() -> None:
    assert parse_rule("aurra >= -1").limit == pytest.approx(-0.01)
    assert parse_rule("mean_error <= -1").limit == pytest.approx(-0.01)  # it must get better


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mean_error <= +1", [""]),
        ("clean error <= +1", ["clean"]),
        ("clean+jpeg:85 error <= +1", ["clean+jpeg:85"]),
        ("fog:1 error <= +1", ["fog:1+jpeg:85"]),
        ("fog error <= +1", ["fog:1+jpeg:85", "fog:2+jpeg:85"]),
        ("f*:1 error <= +1", ["fog:1+jpeg:85", "frost:1+jpeg:85"]),
        ("* error <= +1", ["fog:1+jpeg:85", "fog:2+jpeg:85", "frost:1+jpeg:85"]),
        ("fog ce <= +1", ["fog"]),
        ("decode=opencv error <= +1", ["decode=opencv"]),
        ("resize=* error <= +1", ["resize=opencv-area", "resize=torch-bilinear"]),
        ("*=opencv* error <= +1", ["decode=opencv", "resize=opencv-area"]),
        ("*=* error <= +1", ["decode=opencv", "resize=opencv-area", "resize=torch-bilinear"]),
    ],
)
def test_patterns_find_conditions(text: str, wanted: list[str]) -> None:
    assert [condition for _, condition in matching(parse_rule(text), KEYS, UNMODIFIED)] == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mcee <= +1", "Unknown metric in rule 'mcee <= \\+1'"),
        ("error <= +1", "needs a condition"),
        ("rain:* error <= +1", "Unknown condition in rule .*Known: clean"),
        ("fog:7 error <= +1", "fog has level 1, 2, not '7'; write 'fog:1 top1_error <= "),
        ("seq/tilt:1 FP <= +1", "seq/tilt has no levels, not '1'; write 'seq/tilt flip_"),
        ("tilt:1 FP <= +1", "seq/tilt has no levels"),
    ],
)
def test_what_does_not_exist_is_named(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        matching(parse_rule(text), KEYS, UNMODIFIED)


def test_a_pool_is_the_mean_of_its_scores() -> None:
    rng = np.random.default_rng(0)
    linear = [
        Measure("e", str(place), "share", (str(place),), rng.random((9, 1)) < 0.5) for place in range(3)
    ]
    both = pooled(linear, "p")
    assert both.value == pytest.approx(np.mean([one.value for one in linear]))
    assert both.parts == ("0", "1", "2")
    curved = [
        Measure("e", "", "", (), rng.random((9, 2)), combine=lambda means: means[..., 0] * means[..., 1])
        for _ in range(2)
    ]
    assert pooled(curved, "p").value == pytest.approx(np.mean([one.value for one in curved]))
    assert pooled(linear[:1], "p") is linear[0]


def test_holms_levels_stop_at_the_first_that_stands() -> None:
    assert holm_levels([0.001, 0.9, 0.02], 0.05) == pytest.approx([0.05 / 3, 0.05, 0.05 / 2])
    assert holm_levels([0.03, 0.9, 0.04], 0.05) == pytest.approx([0.05 / 3, 0.05 / 3, 0.05 / 3])
    assert holm_levels([], 0.05) == []


def test_outcomes_are_where_the_interval_lies() -> None:
    def test(value: float, error: float, sign: str = "<=") -> Trial:
        rule = Rule("r", False, "", "m", sign, 0.01 if sign == "<=" else -0.01)  # type: ignore[arg-type]
        return Trial(rule, "m", 0.2, 0.2 + value, Symmetric(value, error, 0, "z"), 400)

    tests = [
        test(0.05, 0.01),
        test(0.0, 0.002),
        test(0.01, 0.01),
        test(-0.05, 0.01, ">="),
        test(0.0, 0.001, ">="),
    ]
    checks = judge(tests)
    assert [one.outcome for one in checks] == ["worse", "not worse", "unsure", "worse", "not worse"]
    assert worse(tests) == [True, False, False, True, False]
    for check in checks:
        beyond = check.low > check.limit if check.limit > 0 else check.high < check.limit
        assert beyond == (check.outcome == "worse")
    alone = judge([test(0.05, 0.01)])[0]
    assert alone.level == ALARM_LEVEL
    assert alone.low > checks[0].low


@pytest.mark.parametrize("per_image", [1, 15])
@pytest.mark.parametrize(
    ("limit", "broken"),
    [
        ("<= +2", 0.03),  # the estimate lies on the side that fails
        ("<= +4", 0.03),  # and on the side that passes
        ("<= +1", 0.0),  # no prediction differs
    ],
)
def test_the_images_that_would_decide_are_those_at_which_copies_of_the_data_decide(
    limit: str, broken: float, per_image: int
) -> None:
    rng = np.random.default_rng(3)
    old = rng.random((150, per_image)) < 0.2
    new = old.copy()
    flat = new.reshape(-1)
    flat[np.flatnonzero(~flat)[: round(broken * flat.size)]] = True
    if per_image > 1:
        old, new = rng.permuted(old, axis=0), rng.permuted(new, axis=0)
    weights = np.full(per_image, 1 / per_image)

    def outcome(copies: int) -> Check:
        before, after = (
            Measure("mean_error", "", "", (), np.tile(wrong, (copies, 1)), weights if per_image > 1 else None)
            for wrong in (old, new)
        )
        estimate = estimate_difference(before, after)
        rule = parse_rule(f"mean_error {limit}")
        return judge([Trial(rule, "", before.value, after.value, estimate, 150 * copies)])[0]

    first = outcome(1)
    assert first.outcome == "unsure" and first.images_to_decide is not None
    copies = next(number for number in range(2, 500) if outcome(number).outcome != "unsure")
    assert 150 * (copies - 1) * 0.97 <= first.images_to_decide <= 150 * copies * 1.03
    assert outcome(copies).images_to_decide is None


def test_the_images_that_would_decide_by_hand() -> None:
    """z = (0.03 - 0.01) / 0.02 = 1; the gate asks for 1.7507 at 4 %: 1.7507^2 = 3.0649 times the images."""
    rule = parse_rule("mean_error <= +1")
    worse_side = judge([Trial(rule, "", 0.2, 0.23, Symmetric(0.03, 0.02, 0, "z"), 1000)])[0]
    assert worse_side.images_to_decide == 3065
    # z = (0 - 0.01) / 0.01 = -1, and 1.6449 is asked for "not worse" at 5 %: 2.7055 times.
    fine_side = judge([Trial(rule, "", 0.2, 0.2, Symmetric(0.0, 0.01, 0, "z"), 1000)])[0]
    assert fine_side.images_to_decide == 2706
    falling = parse_rule("aurra >= -1")
    mirrored = judge([Trial(falling, "", 0.2, 0.17, Symmetric(-0.03, 0.02, 0, "z"), 1000)])[0]
    assert mirrored.images_to_decide == 3065


def test_few_images_far_from_deciding_get_a_number_too() -> None:
    """z(0.04) = 1.7507 and z(0.485) = 0.03761: 6 * (1.7507 / 0.03761)^2 = 13,002 images."""
    found = images_to_decide(6, 0.485, 0.04)
    assert found is not None and abs(found - 13_002) < 15
    # z(0.499) = 0.0025066: 487,800 times the images.
    few = images_to_decide(2, 0.499, 0.04)
    assert few is not None and abs(few - 975_600) < 500
    assert images_to_decide(3, 0.499, 0.04) is None


@pytest.mark.parametrize("value", [0.01, 0.0100001])
def test_no_number_of_images_is_promised_where_the_estimate_lies_at_the_limit(value: float) -> None:
    rule = parse_rule("mean_error <= +1")
    found = judge([Trial(rule, "mean_error", 0.2, 0.2 + value, Symmetric(value, 0.02, 0, "z"), 1000)])[0]
    assert found.outcome == "unsure" and found.images_to_decide is None
    assert "very close to the limit: if it stays the same, more than 1,000,000 images" in sentence(found)


def test_scores_over_all_conditions_take_none() -> None:
    keys = [("mce", ""), ("top1_error", "fog:1"), ("top1_error", "clean")]
    with pytest.raises(UserError, match="mce is over all conditions and takes no condition"):
        matching(parse_rule("fog mce <= +1"), keys, ())
    with pytest.raises(UserError, match="Did you mean fog"):
        matching(parse_rule("fogg:* error <= +1"), keys, ())
