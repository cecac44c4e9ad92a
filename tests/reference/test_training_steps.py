"""Image steps and batch steps of training, against hand-worked cases, Pillow's definitions and SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from windtunnel.core.calls import parse_call
from windtunnel.models.preprocess import Tensor
from windtunnel.models.wrappers import REGISTRY as WRAPPERS
from windtunnel.train.averaging import AveragedWeights
from windtunnel.train.batch_steps import REGISTRY as BATCH_STEPS
from windtunnel.train.batch_steps.moex import exchanged
from windtunnel.train.image_steps import REGISTRY as IMAGE_STEPS
from windtunnel.train.image_steps import applied
from windtunnel.train.image_steps.augmix import OPERATIONS, mixture
from windtunnel.train.step import PixelRange, Step, training_step

PHOTO = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
GREY = np.full((64, 64, 3), 128, np.uint8)
IMAGENET = Tensor(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def stepped(text: str, image: np.ndarray, name: str = "image") -> np.ndarray:
    return applied(image, [parse_call(text, IMAGE_STEPS)], 0, 0, name, "0")


def many(text: str, image: np.ndarray, count: int = 100) -> Iterator[np.ndarray]:
    return (stepped(text, image, str(number)) for number in range(count))


@pytest.mark.parametrize("name", IMAGE_STEPS.shipped())
def test_an_image_step_depends_on_its_draws_and_leaves_its_input_alone(name: str) -> None:
    before = PHOTO.copy()
    first = list(many(name, PHOTO, 8))
    assert all(np.array_equal(one, two) for one, two in zip(first, many(name, PHOTO, 8), strict=True))
    assert np.array_equal(PHOTO, before)
    assert all(image.shape == PHOTO.shape and image.dtype == np.uint8 for image in first)
    distinct = len({image.tobytes() for image in first})
    assert distinct > 1 if IMAGE_STEPS.get(name).random else distinct == 1


def test_augmix_weights_are_shares() -> None:
    drawn = [mixture(np.random.default_rng(number), 3, 1.0) for number in range(2000)]
    assert all(abs(sum(weights) - 1) < 1e-12 and min(weights) >= 0 for weights, _ in drawn)
    # Beta(1, 1) is uniform, and one weight of Dirichlet(1, 1, 1) is Beta(1, 2).
    assert stats.kstest([share for _, share in drawn], "uniform").pvalue > 0.01
    assert stats.kstest([weights[0] for weights, _ in drawn], stats.beta(1, 2).cdf).pvalue > 0.01
    even, share = mixture(np.random.default_rng(0), 4, 1e9)  # the limit of large alpha
    assert np.allclose(even, 0.25, atol=1e-3) and abs(share - 0.5) < 1e-3


def test_augmix_without_operations_is_the_image() -> None:
    for text in ("augmix(severity=0)", "augmix(severity=0, width=7, depth=2, alpha=0.1)"):
        assert all(np.array_equal(image, PHOTO) for image in many(text, PHOTO, 20))


def test_augmix_mixes_nothing_but_its_operations() -> None:
    """Of one value, tonal operations keep a flat image flat, and geometric ones add black at most."""
    for image in many("augmix(severity=10)", GREY[:32, :32], 50):
        centre = image[14:18, 14:18]
        assert centre.min() == centre.max()


def test_augmix_operations_at_the_largest_severity_are_those_of_the_paper() -> None:
    from PIL import Image

    photo = Image.fromarray(np.repeat(np.repeat(PHOTO[:30, :30, :1] // 2 + 20, 1, 0), 3, 2))
    pixels = np.asarray(photo).astype(int)
    by_level = {number: [np.asarray(op(photo, level)).astype(int) for level in (10.0, -10.0)]
                for number, op in enumerate(OPERATIONS)}  # fmt: skip
    low, high = pixels.min(), pixels.max()
    assert np.abs(by_level[0][0] - (pixels - low) * 255 / (high - low)).max() <= 1  # autocontrast
    assert stats.spearmanr(by_level[1][0].ravel(), pixels.ravel()).statistic > 0.99  # equalize keeps order
    assert np.array_equal(by_level[2][0], pixels & 0b1000_0000)  # posterize: 4 bits, less 4, at least 1
    assert np.array_equal(by_level[4][0], 255 - pixels)  # solarize: from 256 - 256 on
    for number, axis in ((7, 1), (8, 0)):  # translate by a third of 30 pixels
        for moved, sign in zip(by_level[number], (-1, 1), strict=True):
            want = np.roll(pixels, sign * 10, axis)
            want = np.moveaxis(want, axis, 0)
            want[slice(-10, None) if sign < 0 else slice(10)] = 0
            assert np.array_equal(np.moveaxis(moved, axis, 0), want)
    for number, axis in ((5, 1), (6, 0)):  # shear: row r moves by 0.3 r
        lines = np.moveaxis(pixels, axis, 1)[..., 0]
        for sheared, sign in zip(by_level[number], (1, -1), strict=True):
            row = np.moveaxis(sheared, axis, 1)[20][..., 0]
            # Pillow samples at pixel centres, (r + 1/2) 0.3 = 6.15 for row 20.
            place = np.arange(30) + sign * 6.15
            inside = (place > 0) & (place < 29)
            assert np.abs(row - np.interp(place, np.arange(30), lines[20]))[inside].max() <= 1.5
    turned = np.asarray(OPERATIONS[3](photo, 10.0))
    assert np.array_equal(turned, np.asarray(photo.rotate(30, Image.Resampling.BILINEAR)))


def test_cutout_covers_half_of_each_side_at_most() -> None:
    covered = [
        image[..., 0] == 7 for image in many("cutout(fill=7)", np.full((32, 32, 3), 200, np.uint8), 500)
    ]
    assert max(mask.sum() for mask in covered) == 16 * 16
    # The square begins 8 pixels before its centre, and the border cuts it.
    inside = np.mean([min(32, centre + 8) - max(0, centre - 8) for centre in range(32)])
    assert abs(np.mean([mask.sum() for mask in covered]) - inside**2) < 6
    rows = np.array([mask.any(axis=1).sum() for mask in covered])
    assert rows.min() == 8  # a centre in the first row
    assert not any((image == 7).any() for image in many("cutout(fill=7, share=0)", GREY, 5))


@pytest.mark.parametrize(
    ("text", "value", "deviation"),
    [
        ("gaussian_noise(sigma=0.1, least=0.1, probability=1)", 128, 25.5),
        ("speckle_noise(sigma=0.2, least=0.2, probability=1)", 128, 25.6),
        ("speckle_noise(sigma=0.2, least=0.2, probability=1)", 64, 12.8),
        ("uniform_noise(width=0.2, least=0.2, probability=1)", 128, 51 / np.sqrt(3)),
    ],
)
def test_noise_has_the_stated_strength(text: str, value: int, deviation: float) -> None:
    noise = np.concatenate([image.ravel() for image in many(text, np.full_like(GREY, value), 20)]) - float(
        value
    )
    assert abs(noise.std() - deviation) < 0.01 * deviation
    assert abs(noise.mean() + 0.5) < 0.2  # bytes are truncated


def test_uniform_noise_is_uniform() -> None:
    (image,) = many(
        "uniform_noise(width=0.2, least=0.2, probability=1)", np.full((256, 256, 3), 128, np.uint8), 1
    )
    counts = np.bincount(image.ravel(), minlength=256)
    assert not counts[:77].any() and not counts[179:].any()  # 128 +- 51
    assert stats.chisquare(counts[77:179]).pvalue > 0.001


def test_noise_strengths_and_clean_images_are_drawn() -> None:
    images = list(many("gaussian_noise(sigma=0.2, least=0.1)", GREY, 400))
    clean = [np.array_equal(image, GREY) for image in images]
    assert 160 < sum(clean) < 240
    strengths = np.array([image.std() for image, same in zip(images, clean, strict=True) if not same]) / 255
    assert strengths.min() > 0.1 and strengths.max() < 0.205 and strengths.std() > 0.02


def test_clahe_is_the_wrapper() -> None:
    wrapper = WRAPPERS.get("clahe")
    (want,) = wrapper.views(PHOTO[None], wrapper.settings({"clip": 3}))
    assert np.array_equal(stepped("clahe(clip=3)", PHOTO), want[0])


def test_pixel_range_is_the_preprocessing() -> None:
    for tensor in (IMAGENET, Tensor(channels="bgr", layout="nhwc", divisor=1.0, std=(-2.0, 1.0, 3.0))):
        pixels = PixelRange.of(tensor)
        black, white = (torch.from_numpy(tensor.apply(np.full((1, 2, 2, 3), v, np.uint8))) for v in (0, 255))
        for name, want in (("low", torch.minimum(black, white)), ("high", torch.maximum(black, white)),
                           ("unit", (white - black).abs())):  # fmt: skip
            assert torch.allclose(getattr(pixels, name).expand_as(want), want, rtol=1e-5, atol=1e-6)
        assert torch.equal(pixels.clipped(black - 1e6 * pixels.unit), pixels.low.expand_as(black))


def batch(
    inputs: torch.Tensor, labels: list[int], key: int, module: Any = None, tensor: Tensor = IMAGENET
) -> Step:
    views = (inputs * 2,)
    return training_step(
        module, inputs, torch.tensor(labels), max(labels) + 1, PixelRange.of(tensor), key, views=views
    )


def changed(text: str, step: Step) -> Step:
    call = parse_call(text, BATCH_STEPS)
    with call.plugin.applied(step, call.settings) as other:
        return other


@pytest.mark.parametrize("key", range(5))
def test_mixup_averages_inputs_as_targets(key: int) -> None:
    inputs = torch.randn(6, 3, 4, 4, generator=torch.Generator().manual_seed(key))
    mixed = changed("mixup(alpha=1)", batch(inputs, list(range(6)), key))
    want = torch.einsum("nk,kchw->nchw", mixed.targets, inputs)  # image k is the only one of class k
    assert torch.allclose(mixed.inputs, want, atol=1e-6)
    assert torch.allclose(mixed.views[0], 2 * want, atol=1e-6)
    assert torch.allclose(mixed.targets.sum(dim=1), torch.ones(6)) and mixed.labels is None
    assert not torch.equal(mixed.inputs, inputs)


@pytest.mark.parametrize(("alpha", "text"), [(0.2, "mixup"), (1.0, "mixup(alpha=1)")])
def test_mixup_draws_shares_from_the_beta_distribution(alpha: float, text: str) -> None:
    inputs = torch.zeros(2, 3, 1, 1)
    steps = (changed(text, batch(inputs, [0, 1], key)) for key in range(3000))
    shares = [float(step.targets[0, 0]) for step in steps if step.targets[0, 0] < 1]
    # Half of the pairs are (0, 1) with themselves: their targets stay. Shares next to 1 count as such.
    assert stats.kstest(shares, stats.beta(alpha, alpha).cdf).statistic < 0.05


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("channels", ["rgb", "grey"])
def test_cutmix_targets_are_shares_of_area(layout: Any, channels: Any) -> None:
    count = 1 if channels == "grey" else 3
    tensor = Tensor(channels=channels, layout=layout, mean=(0.0,) * count, std=(1.0,) * count)
    colours = np.arange(5, dtype=np.float32)[:, None, None, None]
    shape = (5, count, 12, 20) if layout == "nchw" else (5, 12, 20, count)
    sizes = set()
    for key in range(40):
        inputs = torch.from_numpy(np.broadcast_to(colours, shape).copy())
        mixed = changed("cutmix", batch(inputs, list(range(5)), key, tensor=tensor))
        for row in range(5):
            plane = mixed.inputs[row, 0] if layout == "nchw" else mixed.inputs[row, ..., 0]
            for class_ in range(5):
                assert abs(float((plane == class_).float().mean() - mixed.targets[row, class_])) < 1e-6
            foreign = np.argwhere(plane.numpy() != row)
            if len(foreign):  # a box, without holes
                spans = foreign.max(axis=0) - foreign.min(axis=0) + 1
                assert len(foreign) == spans.prod()
                sizes.add(tuple(spans))
        assert torch.equal(mixed.views[0], 2 * mixed.inputs)
    assert len(sizes) > 10


def test_moex_gives_the_partners_moments_at_every_position() -> None:
    features = torch.randn(4, 16, 5, 7, dtype=torch.float64) * 3 + 1
    partner = torch.tensor([2, 0, 3, 1])
    got = exchanged(features, partner).numpy()
    want = features.numpy()[partner]
    np.testing.assert_allclose(got.mean(axis=1), want.mean(axis=1), atol=1e-9)
    np.testing.assert_allclose(got.std(axis=1), want.std(axis=1), rtol=1e-4)  # 1e-5 is added to variances
    # What is left without the moments is the image's own.
    own = features.numpy()
    score = (own - own.mean(axis=1, keepdims=True)) / own.std(axis=1, keepdims=True)
    again = (got - got.mean(axis=1, keepdims=True)) / got.std(axis=1, keepdims=True)
    np.testing.assert_allclose(again, score, atol=1e-9)


def test_moex_changes_the_layer_only_while_the_loss_is_computed() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU())
    inputs = torch.randn(4, 3, 6, 6)
    plain = module[0](inputs)
    step = batch(inputs, [0, 1, 2, 3], 1, module)
    call = parse_call("moex(probability=1)", BATCH_STEPS)
    with call.plugin.applied(step, call.settings) as mixed:
        inside = module[0](inputs)
        twice = module[0](torch.cat([inputs, inputs]))
        own = mixed.targets.diagonal()
        assert set(np.round(own.tolist(), 6)) <= {0.9, 1.0}
        partner = torch.where(own == 1, torch.arange(4), (mixed.targets - torch.diag(own)).argmax(dim=1))
        assert torch.equal(inside, exchanged(plain, partner))
        assert torch.equal(twice, torch.cat([inside, inside]))
    assert torch.equal(module[0](inputs), plain)
    assert torch.equal(changed("moex(probability=0)", step).targets, step.targets)


@pytest.mark.parametrize("name", BATCH_STEPS.shipped())
def test_batches_of_the_stated_share_are_mixed(name: str) -> None:
    module = torch.nn.Conv2d(3, 2, 1)
    inputs = torch.rand(8, 3, 8, 8)
    text = f"{name}(probability=0.25)"
    mixed = sum(changed(text, batch(inputs, [*range(8)], key, module)).labels is None for key in range(400))
    assert 70 < mixed < 130


def test_averaged_weights_have_the_closed_form() -> None:
    decay, module = 0.8, torch.nn.BatchNorm1d(3)
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=3).astype(np.float32) for _ in range(6)]
    module.weight.data = torch.from_numpy(weights[0].copy())
    average = AveragedWeights(module, decay)
    for number, weight in enumerate(weights[1:]):
        module.weight.data = torch.from_numpy(weight.copy())
        module.running_mean.fill_(number)
        average.update(module, 100 + number)
    want = decay**5 * weights[0] + sum(
        (1 - decay) * decay ** (5 - number) * weights[number] for number in range(1, 6)
    )
    np.testing.assert_allclose(average.module.weight.numpy(), want, rtol=1e-6)
    assert average.module.running_mean.tolist() == [4.0] * 3
    assert not average.module.training and not average.module.weight.requires_grad


def test_the_average_of_a_short_training_forgets_its_first_weights() -> None:
    """1/10 of them after one step, 1/10 * 2/11 after two; 98 % after 20 steps without the warm-up."""
    module = torch.nn.Linear(1, 1, bias=False)
    module.weight.data.fill_(1.0)
    average = AveragedWeights(module, 0.999)
    module.weight.data.fill_(0.0)
    shares = []
    for step in range(20):
        average.update(module, step)
        shares.append(average.module.weight.item())
    np.testing.assert_allclose(shares[:3], [0.1, 0.1 * 2 / 11, 0.1 * 2 / 11 * 3 / 12], rtol=1e-5)
    assert shares[-1] < 1e-4


def test_draws_do_not_depend_on_other_steps() -> None:
    """A step at the same position draws the same, whatever else the list contains."""
    calls = [parse_call(text, IMAGE_STEPS) for text in ("clahe", "cutout(fill=7)")]
    other = [parse_call(text, IMAGE_STEPS) for text in ("clahe(clip=5)", "cutout(fill=7)")]
    masks = [applied(GREY, steps, 0, 0, "image", "0") == 7 for steps in (calls, other)]
    assert np.array_equal(*masks)
