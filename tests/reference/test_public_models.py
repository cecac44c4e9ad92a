"""Tables of other people's results: read as they are written, joined by model and size, against SciPy."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import scipy.stats

from windtunnel.analysis.effective_robustness import above_fit
from windtunnel.analysis.public_models import (
    join_tables,
    known_tables,
    public_field,
    read_table,
)
from windtunnel.analysis.shifts import Share
from windtunnel.core.errors import UserError
from windtunnel.stats.accuracy_fits import Fit, fit_accuracies

HEADER = "model,img_size,top1,top1_err,top5,top5_err,param_count,crop_pct,interpolation"
# Clean odds 1, 3, 9, 99 and 3; shifted odds are their squares over 9, but for small at 288 pixels.
CLEAN = [
    "tiny,224,50.0,50.0,70.0,30.0,5.3,0.875,bicubic",
    "small,224,75.0,25.0,90.0,10.0,25.56,0.875,bilinear",
    "small,288,75.0,25.0,90.0,10.0,25.56,1.000,bilinear",
    "large,224,90.0,10.0,97.0,3.0,305.08,0.875,bicubic",
    'giant,560,99.0,1.0,99.9,0.1,"1,014.45",1.000,bicubic',
    "lonely,224,80.0,20.0,95.0,5.0,1.0,0.875,bicubic",
]
SHIFTED = [
    "tiny,224,10.0,90.0,30.0,70.0,5.3,0.875,bicubic,-40.0,-40.0,0",
    "small,224,50.0,50.0,70.0,30.0,25.56,0.875,bilinear,-25.0,-20.0,0",
    "small,288,60.0,40.0,70.0,30.0,25.56,1.000,bilinear,-15.0,-20.0,0",
    "large,224,90.0,10.0,97.0,3.0,305.08,0.875,bicubic,0.0,0.0,0",
    f'giant,560,{100 * 1089 / 1090:.6f},0.1,99.9,0.1,"1,014.45",1.000,bicubic,+0.9,0.0,0',
    "other,224,5.0,95.0,9.0,91.0,1.0,0.875,bicubic,,,",
]


def write(path: Path, rows: list[str], header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "results-imagenet.csv", CLEAN)
    write(
        tmp_path / "results-imagenetv2-matched-frequency.csv", SHIFTED, HEADER + ",top1_diff,top5_diff,rank"
    )
    return tmp_path


def test_rows_are_read_as_fractions_by_model_and_size(folder: Path) -> None:
    rows = read_table(folder / "results-imagenet.csv").rows
    assert len(rows) == 6
    assert rows["small", 224].top1 == rows["small", 288].top1 == 0.75
    assert rows["giant", 560].parameters == 1_014_450_000
    assert rows["tiny", 224].parameters == 5_300_000
    assert rows["small", 288].crop_pct == "1.000"


def test_pairs_are_of_the_same_model_at_the_same_size(folder: Path) -> None:
    field = public_field(folder, "imagenet-v2")
    assert [(one.model, one.img_size) for one, _ in field.pairs] == [
        ("tiny", 224),
        ("small", 224),
        ("small", 288),
        ("large", 224),
        ("giant", 560),
    ]
    assert all((one.model, one.img_size) == (other.model, other.img_size) for one, other in field.pairs)
    assert field.missing_count == 2
    assert field.missing == (
        "lonely at 224 pixels is not in results-imagenetv2-matched-frequency.csv; other at 224 pixels is not "
        "in results-imagenet.csv.",
    )
    assert field.preprocess == 4


def test_the_line_worked_by_hand() -> None:
    """Odds 1, 3, 9 become 1/9, 1, 9: logit = 2 logit - ln 9, a perfect line."""
    fit = fit_accuracies([0.5, 0.75, 0.9], [0.1, 0.5, 0.9])
    assert fit is not None
    assert fit.slope == pytest.approx(2)
    assert fit.intercept == pytest.approx(-math.log(9))
    assert fit.correlation == pytest.approx(1)
    assert fit.shifted_at(0.99) == pytest.approx(1089 / 1090)


def test_the_line_is_scipys(folder: Path) -> None:
    field = public_field(folder, "imagenet-v2")
    across = [math.log(one.top1 / (1 - one.top1)) for one, _ in field.pairs]
    up = [math.log(one.top1 / (1 - one.top1)) for _, one in field.pairs]
    expected = scipy.stats.linregress(across, up)
    assert field.fit is not None
    assert field.fit.slope == pytest.approx(expected.slope)
    assert field.fit.intercept == pytest.approx(expected.intercept)
    assert field.fit.correlation == pytest.approx(expected.rvalue)
    assert (field.fit.n, field.fit.left_out) == (5, 0)


def test_accuracies_without_a_logit_are_counted_and_left_out() -> None:
    fit = fit_accuracies([0.5, 0.75, 0.9, 0.6, 1.0], [0.1, 0.5, 0.9, 0.0, 0.9])
    assert fit is not None
    assert (fit.n, fit.left_out) == (3, 2)
    assert fit_accuracies([0.5, 0.6, 0.0], [0.1, 0.2, 0.3]) is None
    assert fit_accuracies([0.5, 0.5, 0.5], [0.1, 0.2, 0.3]) is None


def test_the_network_that_filtered_is_told_by_name(tmp_path: Path) -> None:
    """ImageNet-A's table has another model where the network that chose its images should stand."""
    facts = known_tables()["imagenet-a"]
    filtering = "resnet50.tv_in1k,224,76.1,23.9,92.9,7.1,25.56,0.875,bilinear"
    instead = "resmlp_24_224.fb_dino,224,0.48,99.52,5.0,95.0,30.02,0.875,bicubic,,,"
    clean = read_table(write(tmp_path / facts.clean, [*CLEAN[:5], filtering]))
    shifted = read_table(write(tmp_path / facts.shifted, [*SHIFTED[:5], instead], HEADER + ",a,b,c"))
    field = join_tables(clean, shifted, facts)
    assert field.missing_count == 2
    assert "resnet50.tv_in1k at 224 pixels is not in results-imagenet-a.csv" in field.missing[0]
    assert "its true accuracy is 0" in field.missing[0]
    assert len(field.missing) == 2


def test_clean_results_on_the_same_classes_come_first(folder: Path) -> None:
    write(folder / "results-imagenet-a.csv", SHIFTED[:5], HEADER + ",a,b,c")
    assert public_field(folder, "imagenet-a").clean.name == "results-imagenet.csv"
    write(folder / "results-imagenet-a-clean.csv", CLEAN[:5])
    assert public_field(folder, "imagenet-a").clean.name == "results-imagenet-a-clean.csv"
    assert public_field(folder, "imagenet-a", same_classes=False).clean.name == "results-imagenet.csv"
    write(folder / "mine.csv", SHIFTED[:5], HEADER + ",a,b,c")
    assert public_field(folder / "mine.csv").clean.name == "results-imagenet.csv"


@pytest.mark.parametrize(
    ("rows", "header", "words"),
    [
        ([CLEAN[0], CLEAN[0]], HEADER, "line 3: tiny is listed twice at 224 pixels"),
        (["tiny,224,fifty,,,,,,"], HEADER, "line 2: top1 is 'fifty'"),
        (["tiny,224,150,,,,,,"], HEADER, "top1 is 150"),
        (["tiny,224,0.5", "small,224,0.75"], "model,img_size,top1", "not fractions"),
        (["tiny,50"], "model,top1", "lacks the column img_size"),
        ([], HEADER, "has no results"),
    ],
)
def test_tables_that_cannot_be_read_are_told_in_one_line(
    tmp_path: Path, rows: list[str], header: str, words: str
) -> None:
    path = write(tmp_path / "table.csv", rows, header)
    with pytest.raises(UserError, match=words) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def test_what_is_not_there_is_named(folder: Path) -> None:
    for source, natural, words in (
        (folder / "nothing", "imagenet-a", "No such table"),
        (folder, "objectnet", "No public table of objectnet is known"),
        (folder, "imagenet-r", "does not contain results-imagenet-r.csv"),
    ):
        with pytest.raises(UserError, match=words):
            public_field(source, natural)
    (folder / "results-imagenet.csv").unlink()
    with pytest.raises(UserError, match="needs its clean results in the same folder"):
        public_field(folder, "imagenet-v2")


def test_a_clean_table_is_no_table_of_a_shifted_set(folder: Path) -> None:
    with pytest.raises(
        UserError, match=r"contains results on clean images; give the table of the shifted set"
    ):
        public_field(folder / "results-imagenet.csv")


def test_above_the_line_is_as_unsure_as_both_accuracies() -> None:
    same = Fit(1.0, 0.0, 1.0, 10, 0)  # gives the clean accuracy itself: the difference of two shares
    clean, shifted = Share(0.8, 0.76, 0.83, 100), Share(0.6, 0.57, 0.64, 100)
    # -20 less sqrt(3^2 + 3^2) and plus sqrt(4^2 + 4^2), by hand.
    line, above = above_fit(clean, shifted, same)
    assert line == pytest.approx(0.8)
    assert above is not None and (above.value, above.low, above.high) == pytest.approx(
        (-0.2, -0.2 - 0.03 * 2**0.5, -0.2 + 0.04 * 2**0.5)
    )
    assert above_fit(Share(1.0, 0.9, 1.0, 20), shifted, same) == (None, None)
    assert above_fit(clean, shifted, None) == (None, None)


def test_above_the_line_knows_no_edge_of_the_plot() -> None:
    same = Fit(1.0, 0.0, 1.0, 10, 0)
    sure = Share(0.1, 0.1, 0.1, 10)
    # The line itself goes on to 0 and to 1, rising or falling.
    for fit, ends in ((same, (0.0, 1.0)), (Fit(-1.0, 0.0, -1.0, 10, 0), (1.0, 0.0))):
        assert (fit.shifted_at(0.0), fit.shifted_at(1.0)) == ends
    _, above = above_fit(Share(0.0005, 0.0, 0.001, 2000), sure, same)
    assert above is not None and above.high == pytest.approx(0.1 - 0.0005 + 0.0005)
    _, above = above_fit(Share(0.9, 0.8, 1.0, 10), sure, same)
    assert above is not None and above.low == pytest.approx(0.1 - 0.9 - 0.1)
