"""CE, mCE and relative mCE: AlexNet's own errors, by the definition, and where they do not apply."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import windtunnel
from windtunnel.core.conditions import Condition
from windtunnel.core.labels import IMAGENET_1K
from windtunnel.core.metrics import REGISTRY
from windtunnel.metrics.corruption_error import ALEXNET_CLEAN, THE_FIFTEEN, alexnet_errors
from windtunnel.metrics.published_results import measured_on, place_among
from windtunnel.report.sections.notes import run_notes
from windtunnel.suites.golden_digests import golden_image


@pytest.fixture(scope="module")
def alexnet() -> tuple[SimpleNamespace, SimpleNamespace]:
    """A run whose error rates are AlexNet's, to the image: a stand-in for 50,000 stored images."""
    errors = {"clean": ALEXNET_CLEAN} | {
        f"{unit}:{level}": rate
        for unit in THE_FIFTEEN
        for level, rate in enumerate(alexnet_errors()[unit], 1)
    }
    conditions = [
        Condition("clean"),
        *(
            Condition("corruption", unit, level, codec="jpeg:85")
            for unit in THE_FIFTEEN
            for level in range(1, 6)
        ),
    ]
    rank = np.zeros((50_000, len(errors)), np.int32)
    for column, rate in enumerate(errors.values()):
        rank[: round(50_000 * rate), column] = 1
    recipe = SimpleNamespace(
        suite=SimpleNamespace(units=THE_FIFTEEN),
        canvas=SimpleNamespace(edition=224),
        data=SimpleNamespace(label_space=IMAGENET_1K),
    )
    run = SimpleNamespace(
        recipe=recipe,
        conditions=conditions,
        corruptions=[condition for condition in conditions if condition.is_corruption],
        projection=SimpleNamespace(counts_all=True),
        baseline=None,
    )
    names = tuple(errors)
    return run, SimpleNamespace(
        wrong=rank > 0, correct=rank == 0, conditions=names, column=names.index, ids=np.arange(50_000)
    )


@pytest.mark.parametrize(
    ("metric", "count"), [("ce", 15), ("mce", 1), ("relative_ce", 15), ("relative_mce", 1)]
)
def test_alexnets_errors_score_a_hundred(alexnet: tuple, metric: str, count: int) -> None:
    found = REGISTRY.get(metric).function(*alexnet)
    assert len(found) == count
    assert [100 * one.value for one in found] == pytest.approx([100] * count, abs=1e-9)


def test_the_table_is_whole() -> None:
    table = alexnet_errors()
    assert len(table) == 19
    assert set(THE_FIFTEEN) <= set(table)
    for errors in table.values():
        assert np.allclose(np.array(errors) * 50000, np.rint(np.array(errors) * 50000), atol=1e-6)
    assert np.mean(table["fog"]) == pytest.approx(0.819324)


@pytest.fixture
def imagenet_folder(tmp_path: Path) -> Path:
    for number in range(6):
        folder = tmp_path / "val" / ("n01440764" if number % 2 else "n01443537")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.roll(golden_image(230), 31 * number, axis=1)).save(folder / f"{number}.png")
    return tmp_path / "val"


def by_brightness(batch: np.ndarray) -> np.ndarray:
    """Class 0 for dark images, class 1 for bright ones: right or wrong by luck."""
    scores = np.zeros((len(batch), 1000))
    mean = batch.mean(axis=(1, 2, 3))
    scores[:, 0], scores[:, 1] = 130 - mean, mean - 130
    return scores


def test_scores_follow_the_definition(tmp_path: Path, imagenet_folder: Path) -> None:
    run = windtunnel.run(by_brightness, imagenet_folder, "imagenet-c", out=tmp_path / "run")
    scores = {(score.metric, score.condition): score for score in run.scores()}
    top1 = {name: score.value for (metric, name), score in scores.items() if metric == "top1_error"}
    ces, relative = [], []
    for unit in THE_FIFTEEN:
        errors = np.array([top1[f"{unit}:{level}+jpeg:85"] for level in range(1, 6)])
        alexnet = np.array(alexnet_errors()[unit])
        ces.append(errors.sum() / alexnet.sum())
        relative.append((errors - top1["clean"]).sum() / (alexnet - 0.435).sum())
        assert scores["ce", unit].value == pytest.approx(ces[-1])
    assert scores["mce", ""].value == pytest.approx(np.mean(ces))
    assert scores["relative_mce", ""].value == pytest.approx(np.mean(relative))
    assert scores["mce", ""].low < scores["mce", ""].value < scores["mce", ""].high
    assert len(scores["mce", ""].parts) == 75
    assert any("This run has other images" in note for note in run_notes(run.scoring))
    # Among published models: every one of them beside why it does not compare.
    place = place_among(scores["mce", ""].value, "mce", measured_on(run.scoring), source="paper-c")
    assert place.of == 19
    for said in (
        "6 images, published 50,000",
        "made from your images",
        "windtunnel's textures",
        "the baseline was",
    ):
        assert said in place.others[0].why_not_comparable


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"codec": "none"}, "JPEG 85"),
        ({"suite": "imagenet-c-native"}, None),
        ({"only": ["fog:3"]}, "all five severities"),
        ({"mask": True}, "1,000 classes"),
    ],
)
def test_without_the_published_setting_there_is_no_mce(
    tmp_path: Path, imagenet_folder: Path, options: dict, reason: str | None
) -> None:
    given = {"suite": "imagenet-c", "only": ["fog"], **options}
    run = windtunnel.run(by_brightness, imagenet_folder, out=tmp_path / "run", **given)
    assert not {"ce", "mce", "relative_mce"} & {score.metric for score in run.scores()}
    assert any(score.metric == "mean_error" for score in run.scores())
    if reason:
        assert any(reason in note for note in run_notes(run.scoring))


def test_the_extra_four_have_ce_but_no_mce(tmp_path: Path, imagenet_folder: Path) -> None:
    run = windtunnel.run(by_brightness, imagenet_folder, "imagenet-c-extra", out=tmp_path / "run")
    metrics = [score.metric for score in run.scores()]
    assert metrics.count("ce") == 4
    assert "mce" not in metrics
    assert any("This run has other images" in note for note in run_notes(run.scoring))


def test_a_part_of_the_fifteen_has_ce_and_says_why_it_has_no_mce(
    tmp_path: Path, imagenet_folder: Path
) -> None:
    run = windtunnel.run(by_brightness, imagenet_folder, "imagenet-c", only=["fog"], out=tmp_path / "run")
    assert [score.condition for score in run.scores() if score.metric == "ce"] == ["fog"]
    assert any("5 severities, and this run has 1 such corruption." in note for note in run_notes(run.scoring))


def test_one_image_gives_no_endless_interval(tmp_path: Path, imagenet_folder: Path) -> None:
    run = windtunnel.run(by_brightness, imagenet_folder, "imagenet-c", subset=1, out=tmp_path / "run")
    assert run.report().exists()
    assert all(0 <= score.low <= score.value <= score.high for score in run.scores())
