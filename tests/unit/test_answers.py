"""How answers to natural sets are counted, for models of every kind of output."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np
import pytest

from tests.natural_sets import WNIDS
from windtunnel.analysis.caveats import training_conflicts
from windtunnel.analysis.declared_names import names_network
from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.metrics.accuracy_drop import difference_of_shares, square_and_add
from windtunnel.published import read_text
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import masked_classes, natural_set, natural_sets
from windtunnel.stats.measure import Measure
from windtunnel.tasks.classification.natural_labels import map_natural_classes
from windtunnel.tasks.classification.summary import summarise


@dataclass
class Outputs:
    """As much of a model as counting needs."""

    class_count: int
    classes: tuple[str, ...] = ()
    name: str = "net"


def space_of(name: str) -> LabelSpace:
    natural = natural_set(name)
    return LabelSpace(name, natural.classes, "") if natural.classes else imagenet_1k()


@pytest.mark.parametrize(("name", "count"), [("imagenet-a", 200), ("imagenet-o", 200), ("imagenet-r", 200)])
def test_masks_count_two_hundred_outputs(name: str, count: int) -> None:
    labels, projection = map_natural_classes(natural_set(name), space_of(name), Outputs(1000))
    assert labels == tuple(range(1000)) and len(projection.kept) == count
    turned = tuple(reversed(WNIDS))
    labels, other = map_natural_classes(natural_set(name), space_of(name), Outputs(1000, turned))
    assert sorted(999 - place for place in other.kept) == list(projection.kept)
    assert labels[0] == 999


def test_a_model_of_the_sets_own_classes_is_taken_as_it_is() -> None:
    own = masked_classes("in_imagenet_a")
    labels, projection = map_natural_classes(natural_set("imagenet-a"), space_of("imagenet-a"), Outputs(200))
    assert projection.kind == "identity"
    assert [labels[index] for index in own] == list(range(200)) and labels.count(-1) == 800
    labels, projection = map_natural_classes(natural_set("vid-robust"), space_of("vid-robust"), Outputs(30))
    assert projection.kind == "identity" and labels == tuple(range(30))
    labels, _ = map_natural_classes(natural_set("objectnet"), space_of("objectnet"), Outputs(113))
    assert labels[409] == labels[530] == 0 and labels[0] == -1
    rows = csv.DictReader(io.StringIO(read_text("objectnet_113.csv")))
    folders = tuple(sorted((row["folder"] for row in rows), reverse=True))
    named = Outputs(113, folders)
    labels, _ = map_natural_classes(natural_set("objectnet"), space_of("objectnet"), named)
    assert labels[610] == folders.index("t-shirt")


def test_what_cannot_be_projected_is_refused() -> None:
    for outputs, what in ((Outputs(10), "10 outputs"), (Outputs(2, ("cat", "dog")), "'cat'")):
        for name in ("imagenet-a", "imagenet-sketch", "objectnet", "ytbb-robust"):
            with pytest.raises(UserError, match=what):
                map_natural_classes(natural_set(name), space_of(name), outputs)


def test_classes_collapse_by_their_best_output() -> None:
    natural = natural_set("vid-robust")
    _, projection = map_natural_classes(natural, space_of("vid-robust"), Outputs(1000))
    assert projection.outputs[3] == (444, 671) and len(projection.kept) == 30
    assert sum(map(len, projection.outputs)) == 288
    scores = np.full((1, 1000), -9.0, np.float32)
    scores[0, 671], scores[0, 0] = -1.0, 50.0  # a bicycle for two; tench stands for nothing
    assert projection.apply(scores)[0].argmax() == 3


def test_ytbb_classes_without_output_never_win_and_are_never_right() -> None:
    natural = natural_set("ytbb-robust")
    _, projection = map_natural_classes(natural, space_of("ytbb-robust"), Outputs(1000))
    empty = [place for place in range(24) if place not in projection.kept]
    assert [natural.classes[place] for place in empty] == ["cow", "giraffe", "skateboard", "toilet", "none"]
    scores = np.full((3, 1000), -5.0, np.float32)
    scores[:, 404] = -1.0
    classes = projection.apply(scores)
    mask = projection.mask_for(1000)
    found = summarise(classes, [[6], [6, 13], []], "logits", mask)
    assert found.top[0, 0] == 13, "not one of the empty classes, whose score might be 0"
    # Only a cow: wrong. A cow and an airplane: right. No label: none.
    assert found.label_rank.tolist() == [19, 0, -1]
    assert np.isfinite(found.label_score[:2]).all()
    shares = np.full((1, 1000), 0.001, np.float32)
    assert summarise(projection.apply(shares), [[6]], "probabilities", mask).label_score.tolist() == [0.0]


def test_filter_networks_are_known_by_name() -> None:
    named = (
        "resnet50.tv_in1k", "ResNet-50", "resnet_50-v1", "ResNet50_fp16.onnx", "torchvision_resnet50",
        "tv_resnet50", "my-resnet50", "timm/resnet50.a1_in1k", "base_resnet50", "resnet50-imagenet1k_v2",
        "wide_resnet50_2 against resnet50",
    )  # fmt: skip
    for text in named:
        assert names_network(text, "ResNet-50"), text
    others = (
        "resnet50d", "wide_resnet50_2", "resnext50", "resnet152", "seresnet50", "resnet501", "ResNet-50-D",
        "ResNet50_v2", "resnet50_gn", "timm/resnet50_gn.a1h_in1k", "my-wide-resnet-50", "se_resnet50",
        "x-resnet50", "xresnet50", "legacy_seresnet50", "resnetv2_50",
        "nf_resnet50.ra2_in1k",
    )  # fmt: skip
    for text in others:
        assert not names_network(text, "ResNet-50"), text


def test_training_data_are_known_under_all_their_names() -> None:
    natural = natural_set("imagenet-o")
    seen = (
        "in21k", "IN-22k", "imagenet-21k-p", "ImageNet21K-P", "imagenet_21kp", "in22k_ft_in1k",
        "ImageNet-22k (fall 2011)", "imagenet-o", "ImageNet-12k", "imagenet12k", "in12k_ft_in1k", "IN-12k",
    )  # fmt: skip
    assert training_conflicts(natural, ["imagenet-1k", *seen]) == seen
    others = ("imagenet-1k", "imagenet", "imagenet-only", "imagenet-real", "in1k", "laion-2b", "coin-21k", "")
    assert training_conflicts(natural, others) == ()
    assert training_conflicts(natural_set("imagenet-r"), ["imagenet-real", "imagenet-r"]) == ("imagenet-r",)
    assert training_conflicts(natural_set("imagenet-v2"), ["imagenetv2-top-images"]) == (
        "imagenetv2-top-images",
    )


def test_every_set_has_its_facts() -> None:
    for natural in natural_sets().values():
        assert natural.title and natural.source and natural.part
        if natural.output_rule in ("mask", "several", "collapse"):
            labels, _ = map_natural_classes(natural, space_of(natural.name), Outputs(1000))
            assert len(labels) == len(space_of(natural.name))


def test_the_drops_interval_is_newcombes() -> None:
    """The two examples of Newcombe 1998, table II, method 10: 56/70 - 48/80 and 9/10 - 3/10."""
    for (first, n), (second, m), ends in (
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
    ):
        wrong = np.concatenate([np.arange(n) < first, np.arange(m) < second])
        of = np.arange(n + m) < n
        columns = np.stack([wrong & of, of, wrong & ~of, ~of], axis=1)
        measure = Measure(
            "accuracy_drop", "", "", (), columns, combine=difference_of_shares, interval_of=square_and_add
        )
        assert measure.value == pytest.approx(first / n - second / m)
        assert measure.interval() == pytest.approx(ends, abs=5e-5)


def test_measures_of_a_part_follow_the_images_that_are_joined() -> None:
    wrong = np.array([[True], [False], [True]])
    measure = Measure("top1_error", "x", "", (), wrong, rows=np.array([1, 4, 6]))
    some = measure.over(np.array([6, 0, 1]))
    assert some.columns[:, 0].tolist() == [True, True] and some.rows is not None
    assert some.rows.tolist() == [0, 2]
    assert some.in_groups(np.array([7, 8, 9])).groups is None, "each on its own is no group"
    grouped = measure.in_groups(np.array([0, 1, 2, 3, 1, 5, 6]))
    assert grouped.groups is not None and grouped.groups.tolist() == [1, 1, 6]
    assert len(measure.over(np.array([0, 2])).columns) == 0
