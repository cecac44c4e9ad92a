"""What answers hang on, against models whose answer is known to hang on one place, and gradients by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.special import softmax

import windtunnel
from windtunnel.analysis.explain import explain_preprocessed, half_area
from windtunnel.analysis.grad_cam import grad_cam, last_convolution
from windtunnel.analysis.occlusion import class_scores, covered_image, occlude, patches_of
from windtunnel.core.errors import UserError
from windtunnel.core.labels import Projection
from windtunnel.models import Model, load_model
from windtunnel.models.preprocess import Tensor
from windtunnel.models.torch import TorchPredictor
from windtunnel.options.explain import ScoreKind
from windtunnel.report.saliency_overlay import (
    FALLS,
    FULL_COLOUR,
    RISES,
    overlay,
    range_text,
    scale_of,
    side_by_side,
)

CORNER = 40


def corner_model(scores: Callable[[np.ndarray], np.ndarray] | None = None) -> Model:
    """Three logits; the second is the mean red of the corner, all others are fixed."""

    def call(batch: np.ndarray) -> np.ndarray:
        red = batch[:, :CORNER, :CORNER, 0].astype(np.float64).mean(axis=(1, 2)) / 255
        return np.stack([np.full(len(batch), 2.0), 4 * red, np.full(len(batch), -1.0)], axis=1)

    return load_model(scores or call)


def image_with_corner(side: int = 224) -> np.ndarray:
    image = np.full((side, side, 3), 20, np.uint8)
    image[:CORNER, :CORNER] = (250, 40, 90)
    return image


def brute_force(image: np.ndarray, patch: int, starts: list[int]) -> np.ndarray:
    """Fall of the second logit by arithmetic alone: how much of the corner a patch covers."""
    mean = round(float(image[..., 0].mean()))
    total, count = np.zeros(image.shape[:2]), np.zeros(image.shape[:2])
    for top in starts:
        for left in starts:
            common = max(0, min(top + patch, CORNER) - top) * max(0, min(left + patch, CORNER) - left)
            for row in range(top, top + patch):
                total[row, left : left + patch] += 4 * common / CORNER**2 * (250 - mean) / 255
                count[row, left : left + patch] += 1
    return total / count


def test_the_map_is_the_mean_fall_over_covering_patches() -> None:
    image = image_with_corner()
    found = occlude(corner_model(), image, 1, kind="logit")
    starts = list(range(0, 193, 16))
    assert len(found.patches) == len(starts) ** 2 == 169
    np.testing.assert_allclose(found.map, brute_force(image, 32, starts), atol=1e-6)
    assert found.falls.argmax() == 0, "the patch in the corner"
    assert (found.map[64:] == 0).all() and (found.map[:, 64:] == 0).all()


def test_probabilities_are_softmaxes_and_answers_are_noted() -> None:
    image = image_with_corner()
    model = corner_model()
    found = occlude(model, image, 1)
    assert found.before == pytest.approx(softmax([2.0, 4 * 250 / 255, -1.0])[1])
    covered = image.copy()
    covered[:32, :32] = np.rint(image.mean(axis=(0, 1)))
    logits = [2.0, 4 * covered[:CORNER, :CORNER, 0].mean() / 255, -1.0]
    assert found.after[0] == pytest.approx(softmax(logits)[1], abs=1e-6)
    assert found.predicted[0] == np.argmax(logits) != 1 and (found.predicted[1:] == 1).sum() > 100


def test_masked_and_collapsed_classes() -> None:
    image = image_with_corner()[None]
    model = corner_model()
    logits = np.array([2.0, 4 * 250 / 255, -1.0])
    masked = class_scores(model, image, projection=Projection(kept=(1, 2)))[0]
    np.testing.assert_allclose(masked, [0, *softmax(logits[1:])], atol=1e-6)
    collapsed = class_scores(model, image, projection=Projection(kept=(0, 1), outputs=((0, 1), (2,))))[0]
    np.testing.assert_allclose(collapsed, softmax([logits[:2].max(), logits[2]]), atol=1e-6)


def test_logits_of_a_model_that_gives_probabilities_are_refused() -> None:
    model = corner_model(lambda batch: np.full((len(batch), 4), 0.25))
    assert model.outputs == "probabilities"
    with pytest.raises(UserError, match=r"outputs probabilities, not logits"):
        occlude(model, image_with_corner(), 1, kind="logit")


@pytest.mark.parametrize("cover", ["mean", "blur"])
def test_the_same_map_again_whatever_the_batch(cover: str) -> None:
    image = np.random.default_rng(0).integers(0, 256, (96, 128, 3)).astype(np.uint8)
    model = corner_model()
    once = occlude(model, image, 1, cover=cover).map
    model.batch = 7
    untouched = image.copy()
    np.testing.assert_array_equal(occlude(model, image, 1, cover=cover).map, once)
    np.testing.assert_array_equal(image, untouched)


@pytest.mark.parametrize("size", [(224, 224), (299, 299), (32, 32), (8, 8), (100, 333)])
def test_patches_cover_everything_and_stay_inside(size: tuple[int, int]) -> None:
    count = np.zeros(size)
    for patch in patches_of(*size):
        assert patch.width == patch.height == round(min(size) * 32 / 224)
        assert 0 <= patch.top <= size[0] - patch.height and 0 <= patch.left <= size[1] - patch.width
        count[patch.top : patch.top + patch.height, patch.left : patch.left + patch.width] += 1
    assert count.min() >= 1


def test_covers_are_the_mean_colour_and_a_wide_blur() -> None:
    image = image_with_corner()
    mean = covered_image(image)
    assert (mean == np.rint(image.reshape(-1, 3).mean(axis=0))).all()
    noise = np.random.default_rng(0).integers(0, 256, (224, 224, 3)).astype(np.uint8)
    assert covered_image(noise, "blur").std() < noise.std() / 20


def test_what_the_answer_hangs_on_in_words() -> None:
    found = explain_preprocessed(corner_model(), image_with_corner())
    before = softmax([2.0, 4 * 250 / 255, -1.0])[1]
    assert (found.explained.index, found.decisive_patch.where) == (1, "top left")
    assert (
        found.words.startswith(f"the top left: with this patch covered, 1 goes from {100 * before:.1f} % to ")
        and "the prediction becomes 0" in found.words
    )
    assert (found.patches, found.lowering, found.changing) == (169, 9, 1)
    assert [one.index for one in found.top] == [1, 0, 2]
    nothing = explain_preprocessed(
        corner_model(lambda batch: np.tile([1.0, 3.0], (len(batch), 1))), image_with_corner()
    )
    assert (
        nothing.words.startswith("no single patch: covering any one of them does not lower 1 from")
        and nothing.half_area == 1
    )


def test_half_of_the_map_by_hand() -> None:
    assert half_area(np.array([[4.0, 2.0], [1.0, 1.0]])) == 0.25
    assert half_area(np.array([[1.0, 1.0], [1.0, 1.0]])) == 0.5
    assert half_area(np.array([[3.0, -9.0], [0.0, 0.0]])) == 0.25


def two_channels(stride: int = 1) -> torch.nn.Module:
    """Red and green as feature maps, changed in place; class 0 is 4 red - 2 green, class 1 2 green."""
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 2, stride, stride=stride, bias=False),
        torch.nn.ReLU(inplace=True),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(2, 2, bias=False),
    )
    with torch.no_grad():
        network[0].weight.zero_()
        network[0].weight[0, 0] = network[0].weight[1, 1] = 1 / stride**2
        network[4].weight.copy_(torch.tensor([[4.0, -2.0], [0.0, 2.0]]))
    return network


def test_grad_cam_by_hand() -> None:
    """Gradients are w_k / 16 everywhere, so the map is max(0, (4 red - 2 green) / 16)."""
    image = np.full((4, 4, 3), 51, np.uint8)
    image[:2, :2, 0] = 255
    image[:, :2, 1] = 255
    predictor = TorchPredictor(two_channels(), Tensor())
    expected = np.array([[2, 2, 0.4, 0.4], [2, 2, 0.4, 0.4], [0, 0, 0.4, 0.4], [0, 0, 0.4, 0.4]]) / 16
    np.testing.assert_allclose(grad_cam(predictor, image, 0), expected, atol=1e-7)
    green = np.tile(np.array([2, 2, 0.4, 0.4]) / 16, (4, 1))
    np.testing.assert_allclose(grad_cam(predictor, image, 1, "0"), green, atol=1e-7)


def test_gradients_stop_where_the_rectifier_does() -> None:
    """Of 16 places 4 are red and 8 green: a = 4/16 4/16 and -2/16 8/16, which cancel in the red corner."""
    image = np.zeros((4, 4, 3), np.uint8)
    image[:2, :2, 0] = 255
    image[:, :2, 1] = 255
    found = grad_cam(TorchPredictor(two_channels(), Tensor()), image, 0)
    np.testing.assert_allclose(found, np.zeros((4, 4)), atol=1e-7)
    image[2:, :2, 1] = 0
    found = grad_cam(TorchPredictor(two_channels(), Tensor()), image, 0)
    np.testing.assert_allclose(found[:2, :2], 4 / 16 * 4 / 16 - 2 / 16 * 4 / 16, atol=1e-7)


def test_small_maps_are_enlarged_bilinearly() -> None:
    """Two places become four: a, (3a + b) / 4, (a + 3b) / 4, b."""
    image = np.full((4, 4, 3), 51, np.uint8)
    image[:, :2, 1] = 255
    a, b = 2 / 4, 2 / 4 / 5
    expected = np.tile(np.array([a, (3 * a + b) / 4, (a + 3 * b) / 4, b]), (4, 1))
    predictor = TorchPredictor(two_channels(stride=2), Tensor())
    np.testing.assert_allclose(grad_cam(predictor, image, 1), expected, atol=1e-7)


class Backwards(torch.nn.Module):
    """Parts written down in another order than they are used, and a convolution after the pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.after = torch.nn.Conv2d(4, 2, 1)
        self.late = torch.nn.Conv2d(5, 4, 3)
        self.early = torch.nn.Conv2d(3, 5, 3)
        self.unused = torch.nn.Conv2d(3, 3, 1)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        maps = self.late(self.early(values))
        return self.after(maps.mean(dim=(2, 3), keepdim=True)).flatten(1)


def test_the_last_convolution_is_the_last_that_sees_places() -> None:
    module = Backwards()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    image = np.random.default_rng(0).integers(0, 256, (16, 16, 3)).astype(np.uint8)
    predictor = TorchPredictor(module, Tensor())
    assert last_convolution(predictor, image) == "late"
    np.testing.assert_array_equal(grad_cam(predictor, image, 1), grad_cam(predictor, image, 1, "late"))
    assert not any(part._forward_hooks for part in module.modules()), "nothing stays behind"
    for layer, words in (("lat", "Did you mean late"), ("unused", "is not used")):
        with pytest.raises(UserError, match=words):
            grad_cam(predictor, image, 1, layer)


def test_a_module_without_convolutions_is_told() -> None:
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2))
    with pytest.raises(UserError, match="no two-dimensional convolution"):
        grad_cam(TorchPredictor(module, Tensor()), np.zeros((4, 4, 3), np.uint8), 0)
    with pytest.raises(UserError, match="does not output feature maps"):
        grad_cam(TorchPredictor(module, Tensor()), np.zeros((4, 4, 3), np.uint8), 0, "0")


def test_both_methods_find_the_same_place() -> None:
    image = np.zeros((224, 224, 3), np.uint8)
    image[48:112, 128:192, 0] = 255
    predictor = TorchPredictor(two_channels(stride=16), Tensor())
    gradient = grad_cam(predictor, image, 0).ravel()
    covered = occlude(load_model(predictor), image, 0, kind="logit").map.ravel()
    cosine = gradient @ covered / np.linalg.norm(gradient) / np.linalg.norm(covered)
    assert cosine > 0.9


def test_colours_say_for_and_against() -> None:
    image = np.full((2, 2, 3), 100, np.uint8)
    drawn = overlay(image, np.array([[0.5, -0.5], [0.0, 0.25]]), 0.5).astype(int)
    assert np.abs(drawn[0, 0] - FALLS).max() < 45 and np.abs(drawn[0, 1] - RISES).max() < 45
    assert len(set(drawn[1, 0])) == 1, "grey where the prediction depends on nothing"
    np.testing.assert_array_equal(overlay(image, np.zeros((2, 2)), 0.5), drawn[1, 0, 0])


def test_a_colour_means_the_same_fall_in_every_map() -> None:
    """A fall of 10 points of probability is drawn alike in a map of 10 and in one of 50 points."""
    image = np.full((1, 2, 3), 100, np.uint8)
    full = FULL_COLOUR["probability"]
    weak = overlay(image, np.array([[0.1, 0.0]]), full)
    strong = overlay(image, np.array([[0.1, full]]), full)
    np.testing.assert_array_equal(weak[0, 0], strong[0, 0])
    # By hand: grey 100 made pale is 154.25; 0.8 * sqrt(0.1/0.5) = 35.777 % of (213, 94, 0) on it.
    wanted = [round(0.64223 * 154.25 + 0.35777 * colour) for colour in (213, 94, 0)]
    assert weak[0, 0].tolist() == wanted
    beyond = overlay(image, np.array([[2 * full, full]]), full)
    np.testing.assert_array_equal(beyond[0, 0], beyond[0, 1])


@pytest.mark.parametrize(
    ("kind", "names"),
    [("probability", ["50+", "20", "5", "0", "5", "20", "50+"]),
     ("logit", ["5+", "2", "0.5", "0", "0.5", "2", "5+"])],
)  # fmt: skip
def test_occlusion_maps_have_a_legend_with_a_fixed_scale(kind: ScoreKind, names: list[str]) -> None:
    found = explain_preprocessed(corner_model(), image_with_corner(), kind=kind)
    scale = scale_of(found)
    assert [name for _, name in scale.tick_positions] == names and scale.full == FULL_COLOUR[kind]
    # The colour of the legend at a mark is the colour of the map at that value.
    bar = scale.colours(1001)
    for place, name in scale.tick_positions:
        value = float(name.rstrip("+")) / (100 if kind == "probability" else 1)
        drawn = overlay(
            np.full((1, 1, 3), 128, np.uint8), np.array([[math.copysign(value, place - 0.5)]]), scale.full
        )
        assert np.abs(bar[round(1000 * place)].astype(int) - drawn[0, 0]).max() <= 1
    sheet = side_by_side(found)
    assert sheet.size[0] == 2 * 448 + 8 and sheet.size[1] > 448 + 40
    # The bar under the images holds the colours of the map, from one end of the scale to the other.
    legend = np.asarray(sheet)[448:].reshape(-1, 3)
    ends_drawn = overlay(np.full((1, 2, 3), 128, np.uint8), np.array([[-scale.full, scale.full]]), scale.full)
    for colour in ends_drawn[0]:
        assert (legend == colour).all(axis=1).any()
    assert (legend.max(axis=1) < 60).sum() > 200, "text"


def test_a_map_without_unit_says_that_its_scale_is_its_own() -> None:
    image = np.zeros((224, 224, 3), np.uint8)
    image[48:112, 128:192, 0] = 255
    found = windtunnel.explain(two_channels(stride=16), image, 0, method="grad-cam")
    scale = scale_of(found)
    assert found.score is None and scale.full == pytest.approx(found.map.max())
    assert "not comparable between images" in scale.title and range_text(found).startswith("0 to ")
    assert [place for place, _ in scale.tick_positions] == pytest.approx([0, 0.1**0.5, 0.4**0.5, 1])
