"""Corruptions as steps of a pipeline: kinds of images, what is the same again, what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import windtunnel
from windtunnel.corruptions import REGISTRY
from windtunnel.suites.golden_digests import golden_image
from windtunnel.suites.suite_files import load_suite
from windtunnel.transforms import Corrupt, CorruptedDataset, RandomCorrupt, TrainedOnTestWarning

UserError = windtunnel.UserError

COLOUR = golden_image(48)[:40]
GREY = np.ascontiguousarray(COLOUR[:, :, 0])
EVEN = np.full((32, 32, 3), 128, np.uint8)
SNOW = Corrupt("snow", 3, seed=7)


def wanted(pixels: np.ndarray) -> np.ndarray:
    return windtunnel.corrupt(pixels, "snow", 3, seed=7, sample_id="a.png")


class Wrapped(torch.Tensor):
    """As torchvision's typed tensors are: a subclass and nothing more."""


def test_pillow_images() -> None:
    for pixels, mode in ((COLOUR, "RGB"), (GREY, "L")):
        image = Image.fromarray(pixels)
        image.info["exif"] = b"kept"
        out = SNOW(image, index="a.png")
        assert isinstance(out, Image.Image)
        assert (out.mode, out.size, out.info) == (mode, (48, 40), {"exif": b"kept"})
        assert np.array_equal(out, wanted(pixels))
        assert np.array_equal(image, pixels)


@pytest.mark.parametrize("mode", ["RGBA", "P", "1", "CMYK", "LA", "I;16", "F"])
def test_other_modes_are_refused_with_their_cure(mode: str) -> None:
    with pytest.raises(UserError, match=rf"mode is {mode}; call \.convert\('RGB'\)"):
        SNOW(Image.new(mode, (48, 48)))


@pytest.mark.parametrize("pixels", [COLOUR, GREY, GREY[:, :, None]], ids=["HWC", "HW", "HW1"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64, ">f4"])
def test_arrays(pixels: np.ndarray, dtype: Any) -> None:
    image = pixels if dtype == np.uint8 else (pixels / 255).astype(dtype)
    before = image.copy()
    out = SNOW(image, index="a.png")
    assert (out.dtype, out.shape) == (np.dtype(dtype), pixels.shape)
    scale = 1 if dtype == np.uint8 else 255
    assert np.array_equal(np.rint(out.astype(np.float64) * scale), wanted(pixels))
    assert np.array_equal(image, before)


@pytest.mark.parametrize("pixels", [COLOUR, GREY, GREY[:, :, None]], ids=["3HW", "HW", "1HW"])
@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
@pytest.mark.parametrize("layout", ["auto", "CHW", "HWC"])
def test_tensors(pixels: np.ndarray, dtype: torch.dtype, layout: Any) -> None:
    moved = pixels if layout == "HWC" or pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    image = torch.from_numpy(np.ascontiguousarray(moved))
    if dtype != torch.uint8:
        image = (image.double() / 255).to(dtype)
    out = Corrupt("snow", 3, seed=7, layout=layout)(image, index="a.png")
    assert isinstance(out, torch.Tensor)
    assert (out.dtype, out.shape) == (dtype, image.shape)
    assert out.is_contiguous()
    # bfloat16 has fewer levels than a byte: what went in is what is left of the image.
    entered = pixels if dtype != torch.bfloat16 else (image.double() * 255).round().byte().numpy()
    if dtype == torch.bfloat16 and layout != "HWC" and pixels.ndim == 3:
        entered = entered.transpose(1, 2, 0)
    expected = wanted(np.ascontiguousarray(entered))
    moved = expected if layout == "HWC" or pixels.ndim == 2 else expected.transpose(2, 0, 1)
    if dtype == torch.uint8:
        assert np.array_equal(out.numpy(), moved)
    else:
        assert torch.equal(out, torch.from_numpy(np.ascontiguousarray(moved)).to(dtype) / 255)


def test_tensors_of_other_types_keep_them_and_lose_gradients() -> None:
    image = torch.from_numpy(COLOUR.transpose(2, 0, 1).copy()).as_subclass(Wrapped)
    assert type(SNOW(image)) is Wrapped
    assert not SNOW(torch.full((3, 40, 40), 0.5, requires_grad=True)).requires_grad


def test_arrays_with_channels_first_need_their_layout() -> None:
    first = np.ascontiguousarray(COLOUR.transpose(2, 0, 1))
    with pytest.raises(UserError, match=r"\(3, 40, 48\) read as HWC has 48 channels.*layout='CHW'"):
        SNOW(first)
    out = Corrupt("snow", 3, seed=7, layout="CHW")(first, index="a.png")
    assert np.array_equal(out, wanted(COLOUR).transpose(2, 0, 1))


def test_floats_a_rounding_error_out_of_range_are_taken() -> None:
    image = np.float32([[0.0, 1.0]] * 16 * 2).repeat(16, axis=1)
    beyond = image * np.float32(1.000001) - np.float32(1e-7)
    assert np.array_equal(SNOW(beyond, index=0), SNOW(image, index=0))


@pytest.mark.parametrize(
    ("image", "match"),
    [
        (torch.randn(3, 64, 64), "before normalisation"),
        (np.full((64, 64, 3), 200.0), "from 200 to 200; give 0 to 1.*divide by 255"),
        (np.full((64, 64), np.nan), "from nan to nan; give 0 to 1"),
        (np.full((64, 64), np.inf, np.float16), "give 0 to 1"),
        (torch.zeros(64, 64, 3), r"read as CHW has 64 channels.*layout='HWC'"),
        (torch.zeros(8, 3, 64, 64), "one image at a time"),
        (np.zeros((2, 64, 64, 3), np.uint8), "one image at a time"),
        (np.zeros((64,), np.uint8), "one image at a time"),
        (np.zeros((3, 64, 3), np.uint8), "give layout='CHW' or layout='HWC'"),
        (torch.zeros(1, 64, 3), "give layout='CHW' or layout='HWC'"),
        (np.zeros((64, 64, 4), np.uint8), "has 4 channels; give 1 or 3"),
        (np.zeros((64, 64, 3), np.int64), "contains int64; give uint8"),
        (torch.zeros(3, 64, 64, dtype=torch.int64), "contains int64; give uint8"),
        (np.zeros((64, 64), bool), "contains bool; give uint8"),
        (np.zeros((31, 64, 3), np.uint8), "64x31 pixels; give one of at least 32"),
        (np.zeros((0, 64, 3)), "64x0 pixels"),
        (torch.zeros(3, 16, 16), "16x16 pixels"),
        ([[1, 2], [3, 4]], "is a list; give a PIL image"),
        ("image.png", "is a str; give a PIL image"),
        (None, "is a NoneType; give a PIL image"),
    ],
)
def test_what_is_no_image_is_refused_in_one_line(image: object, match: str) -> None:
    with pytest.raises(UserError, match=match) as caught:
        SNOW(image)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"name": "fogg"}, "Unknown corruption 'fogg'. Did you mean fog"),
        ({"name": ["fog"]}, "give its name"),
        (
            {"name": "s2n/blur:3"},
            "'s2n/blur:3' has a severity, but s2n/blur has one strength; write s2n/blur.",
        ),
        ({"name": "fog:3"}, "'fog:3' has a severity, but only the name is meant here; write fog."),
        ({"severity": 0}, "Severity is 0; give 1"),
        ({"severity": 6}, "Severity is 6"),
        ({"severity": 2.0}, "Severity is 2.0"),
        ({"seed": "x"}, "The seed is 'x'"),
        ({"seed": 1.5}, "The seed is 1.5"),
        ({"edition": 100}, "The edition is 100"),
        ({"layout": "NCHW"}, "Unknown layout 'NCHW'"),
        ({"settings": {"texture": "x"}}, "Unknown setting of fog"),
    ],
)
def test_corrupt_refuses_options_when_it_is_made(options: dict[str, Any], match: str) -> None:
    with pytest.raises(UserError, match=match) as caught:
        Corrupt(**{"name": "fog", **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"names": ["saturate", "satturate"]}, "Did you mean saturate"),
        ({"names": "saturate"}, "names is 'saturate'; give a list"),
        ({"names": []}, r"names is \[\]; give a list with at least one entry"),
        ({"names": [3]}, "give its name"),
        ({"severities": []}, "severities is"),
        ({"severities": 3}, "severities is 3; give a list"),
        ({"severities": [1, 6]}, "Severity is 6"),
        ({"p": -0.1}, "p is -0.1; give the share"),
        ({"p": 1.1}, "p is 1.1"),
        ({"p": float("nan")}, "p is nan"),
        ({"p": "half"}, "p is 'half'"),
        ({"p": True}, "p is True"),
        ({"seed": 0.5}, "The seed is 0.5"),
        ({"settings": {"frost": {"textures": "x"}}}, "Settings are given for frost"),
        ({"settings": {"saturate": {"x": "y"}}}, "Unknown setting of saturate"),
    ],
)
def test_random_corrupt_refuses_options_when_it_is_made(options: dict[str, Any], match: str) -> None:
    with pytest.raises(UserError, match=match) as caught:
        RandomCorrupt(**options)
    assert "\n" not in str(caught.value)


def test_an_index_is_the_sample_id_of_a_run() -> None:
    transform = Corrupt("gaussian_noise", 2, seed=5)
    for index, sample_id in ((3, "00000003"), (np.int64(3), "00000003"), ("b/c.png", "b/c.png")):
        expected = windtunnel.corrupt(EVEN, "gaussian_noise", 2, seed=5, sample_id=sample_id)
        assert np.array_equal(transform(EVEN, index=index), expected)
        assert np.array_equal(transform(EVEN, index=index), expected)
    with pytest.raises(UserError, match=r"The index is 1.5; give a row number or a sample id"):
        transform(EVEN, index=1.5)  # type: ignore[arg-type]


def test_a_seed_without_index_counts_calls() -> None:
    made = [Corrupt("gaussian_noise", seed=5) for _ in range(2)]
    first, again = ([one(EVEN).tobytes() for _ in range(20)] for one in made)
    assert first == again
    assert len(set(first)) == 20
    # An index neither takes a number nor gives one back.
    third = Corrupt("gaussian_noise", seed=5)
    third(EVEN, index=0)
    assert third(EVEN).tobytes() == first[0]


def test_threads_share_the_count() -> None:
    transform = Corrupt("gaussian_noise", seed=5)
    with ThreadPoolExecutor(4) as pool:
        outs = list(pool.map(lambda _: transform(EVEN).tobytes(), range(200)))
    assert len(set(outs)) == 200


@pytest.mark.parametrize("index", [None, 3])
def test_without_a_seed_nothing_repeats(index: int | None) -> None:
    transform = Corrupt("gaussian_noise")
    assert len({transform(EVEN, index=index).tobytes() for _ in range(20)}) == 20


def test_neither_random_state_of_others_is_used_nor_touched() -> None:
    transform = RandomCorrupt(seed=0)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    wanted_after = (np.random.random(), torch.rand(1))  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    transform(EVEN)
    assert wanted_after == (np.random.random(), torch.rand(1))  # noqa: NPY002


def test_copies_begin_again_and_make_the_same_pixels() -> None:
    for made in (
        Corrupt("frost", 2, seed=3, edition=64, settings={"textures": ""}, layout="CHW"),
        RandomCorrupt(["saturate", "spatter"], (1, 3), p=0.5, seed=3),
    ):
        image = np.ascontiguousarray(COLOUR.transpose(2, 0, 1)) if made.layout == "CHW" else COLOUR
        first = [made(image).tobytes() for _ in range(3)]
        copy = pickle.loads(pickle.dumps(made))
        assert repr(copy) == repr(made)
        assert [copy(image).tobytes() for _ in range(3)] == first
        assert copy(image, index="x").tobytes() == made(image, index="x").tobytes()


def test_repr_can_be_pasted() -> None:
    texts = [
        "Corrupt('fog', severity=3, seed=0)",
        "Corrupt('frost', severity=1, edition=64, layout='HWC', settings={'textures': ''})",
        "RandomCorrupt(['saturate', 'spatter'], severities=[1, 2], p=0.5, seed=1)",
        "CorruptedDataset([1], Corrupt('fog', severity=1, seed=0))",
    ]
    for text in texts:
        assert repr(eval(text)) == text


def test_random_corrupt_draws_from_the_extras_and_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = RandomCorrupt(seed=0)
    assert made.names == load_suite("imagenet-c-extra").units
    assert len(made.names) == 4


@pytest.mark.parametrize("name", load_suite("imagenet-c").units)
def test_each_test_corruption_warns_once_when_the_transform_is_made(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = RandomCorrupt(["saturate", name, name], [1], seed=0)
        made(EVEN)
        pickle.loads(pickle.dumps(made))(EVEN)
    (warning,) = caught
    assert warning.category is TrainedOnTestWarning
    assert warning.filename == __file__
    assert f"ImageNet-C tests {name}:" in str(warning.message)
    assert issubclass(TrainedOnTestWarning, UserWarning)


def test_random_corrupt_uses_every_name_and_severity_evenly() -> None:
    made = RandomCorrupt(["saturate", "gaussian_blur"], [1, 5], seed=0)
    outs = Counter(made(COLOUR).tobytes() for _ in range(400))
    expected = {
        windtunnel.corrupt(COLOUR, name, severity, seed=0).tobytes()
        for name in ("saturate", "gaussian_blur")
        for severity in (1, 5)
    }
    assert set(outs) == expected
    assert all(60 < count < 140 for count in outs.values())  # 100 each; 4.6 standard deviations


def test_p_is_the_share_of_corrupted_images() -> None:
    assert RandomCorrupt(p=0, seed=0)(COLOUR) is COLOUR
    half = RandomCorrupt(["gaussian_blur"], p=0.5, seed=0)
    kept = sum(half(COLOUR) is COLOUR for _ in range(400))
    assert 154 < kept < 246  # 200; 4.6 standard deviations
    with pytest.raises(UserError, match="before normalisation"):
        RandomCorrupt(p=0)(torch.randn(3, 64, 64))


def test_random_corrupt_decides_by_seed_and_index() -> None:
    made, other = (RandomCorrupt(seed=seed) for seed in (0, 1))
    first = [made(COLOUR, index=index).tobytes() for index in range(20)]
    assert [RandomCorrupt(seed=0)(COLOUR, index=index).tobytes() for index in range(19, -1, -1)] == first[
        ::-1
    ]
    assert first != [other(COLOUR, index=index).tobytes() for index in range(20)]


def test_every_corruption_works_as_a_transform() -> None:
    array = golden_image(160)
    image = torch.from_numpy(array.transpose(2, 0, 1).copy())
    for name in REGISTRY.shipped():
        severity = 2 if REGISTRY.get(name).severities else None
        out = Corrupt(name, severity, seed=0)(image, index="x").numpy().transpose(1, 2, 0)
        assert np.array_equal(out, windtunnel.corrupt(array, name, severity, seed=0, sample_id="x"))


def test_corruptions_with_one_strength_take_no_severity() -> None:
    assert repr(Corrupt("s2n/blur", seed=0)) == "Corrupt('s2n/blur', seed=0)"
    with pytest.raises(windtunnel.UserError, match="s2n/blur has one strength"):
        Corrupt("s2n/blur", 1)
    mixed = RandomCorrupt(["s2n/blur", "saturate"], severities=[5], seed=0)
    wanted = {
        windtunnel.corrupt(COLOUR, name, severity, seed=0, sample_id="a").tobytes()
        for name, severity in (("s2n/blur", None), ("saturate", 5))
    }
    assert mixed(COLOUR, index="a").tobytes() in wanted


def test_torch_is_not_imported_for_others() -> None:
    code = (
        "import sys, numpy\n"
        "from PIL import Image\n"
        "from windtunnel.transforms import Corrupt, CorruptedDataset, RandomCorrupt\n"
        "image = numpy.zeros((32, 32, 3), numpy.uint8)\n"
        "for made in (Corrupt('saturate', seed=0), RandomCorrupt()):\n"
        "    made(image), made(image / 255), made(Image.fromarray(image))\n"
        "CorruptedDataset([image], Corrupt('saturate', seed=0))[0]\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_spawned_process_finds_the_users_own_corruption(tmp_path: Path) -> None:
    (tmp_path / "upside_down.py").write_text(
        "from windtunnel.corruptions import corruption\n"
        "@corruption(params=(), severities={64: ((),) * 5, 32: ((),) * 5, 224: ((),) * 5},\n"
        "            imitates='A camera held wrong.', source='test', random=False)\n"
        "def upside_down(image, rng):\n"
        "    return image[::-1].copy()\n"
    )
    (tmp_path / "make.py").write_text(
        "import pickle, sys\n"
        "from pathlib import Path\n"
        "from windtunnel.suites.inclusion import include_files\n"
        "from windtunnel.transforms import Corrupt\n"
        "include_files([Path('upside_down.py')])\n"
        "sys.stdout.buffer.write(pickle.dumps(Corrupt('upside_down', seed=0)))\n"
    )
    (tmp_path / "use.py").write_text(
        "import pickle, sys, numpy\n"
        "image = numpy.arange(3072, dtype=numpy.uint8).reshape(32, 32, 3)\n"
        "assert (pickle.load(sys.stdin.buffer)(image) == image[::-1]).all()\n"
    )
    made = subprocess.run([sys.executable, "make.py"], cwd=tmp_path, check=True, stdout=subprocess.PIPE)
    subprocess.run([sys.executable, "use.py"], cwd=tmp_path, check=True, input=made.stdout)


IMAGES = [(EVEN, label) for label in range(6)]
NOISE = Corrupt("gaussian_noise", seed=0)


def test_a_data_set_corrupts_by_index() -> None:
    made = CorruptedDataset(IMAGES, NOISE)
    assert len(made) == 6
    backward = [made[row] for row in range(5, -1, -1)][::-1]
    assert [label for _, label in backward] == list(range(6))
    for row, (image, _) in enumerate(backward):
        expected = windtunnel.corrupt(EVEN, "gaussian_noise", 1, seed=0, sample_id=f"{row:08d}")
        assert np.array_equal(image, expected)
        assert np.array_equal(made[np.int64(row)][0], image)
    assert np.array_equal(made[-1][0], made[5][0])
    assert len(list(made)) == 6
    with pytest.raises(IndexError):
        made[6]


def test_a_data_set_of_bare_images_and_a_step_after() -> None:
    made = CorruptedDataset([EVEN, EVEN], NOISE, then=lambda image: image / 255)
    assert np.array_equal(made[1], NOISE(EVEN, index=1) / 255)


def test_epochs_differ_and_come_back() -> None:
    made = CorruptedDataset(IMAGES, NOISE)
    seen = []
    for epoch in range(3):
        made.set_epoch(epoch)
        assert made.epoch == epoch
        seen.append([image.tobytes() for image, _ in made])
    assert len({image for epoch in seen for image in epoch}) == 18
    copy = pickle.loads(pickle.dumps(made))
    assert copy.epoch == 2
    copy.set_epoch(1)
    assert [image.tobytes() for image, _ in copy] == seen[1]
    assert made.epoch == 2


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((iter(IMAGES), NOISE), r"give one with len\(\) and \[i\]"),
        ((IMAGES, print), "give a Corrupt or a RandomCorrupt"),
        ((IMAGES, Corrupt("fog")), "has no seed.*give seed=0"),
    ],
)
def test_data_sets_that_cannot_be_corrupted_are_refused(arguments: tuple[Any, Any], match: str) -> None:
    with pytest.raises(UserError, match=match):
        CorruptedDataset(*arguments)


def test_epochs_and_items_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(UserError, match="items are mappings"):
        CorruptedDataset([{"image": EVEN}], NOISE)[0]
    for epoch in (-1, 1.5, "x", None):
        with pytest.raises(UserError, match="The epoch is"):
            CorruptedDataset(IMAGES, NOISE).set_epoch(epoch)  # type: ignore[arg-type]


class Compose:
    """As torchvision's v2 `Compose` calls its steps: several inputs are handed on as several."""

    def __init__(self, *steps: Any) -> None:
        self.steps = steps

    def __call__(self, *inputs: Any) -> Any:
        several = len(inputs) > 1
        for step in self.steps:
            outputs = step(*inputs)
            inputs = outputs if several else (outputs,)
        return outputs


def flip(*inputs: Any) -> Any:
    """A step in the manner of v2: images are flipped, everything else is handed on, in the same structure."""
    flat = inputs if len(inputs) > 1 else inputs[0]
    if not isinstance(flat, tuple):
        return np.ascontiguousarray(flat[:, ::-1])
    return tuple(flip(one) if isinstance(one, np.ndarray) else one for one in flat)


def test_in_a_compose_labels_pass_through_and_key_nothing() -> None:
    pipeline = Compose(flip, Corrupt("gaussian_noise", 3, seed=5), flip)
    made = [pipeline(EVEN, 7) for _ in range(2)]
    assert [label for _, label in made] == [7, 7]
    # Of one class, but two images: without an index every call has draws of its own.
    assert not np.array_equal(made[0][0], made[1][0])
    alone = Compose(flip, Corrupt("gaussian_noise", 3, seed=5), flip)
    assert np.array_equal(alone(EVEN), made[0][0])
    boxes = np.zeros((2, 4))
    assert Corrupt("fog", seed=0)(EVEN, 7, boxes)[2] is boxes
    assert RandomCorrupt(seed=0)(EVEN, 3)[1] == 3


def test_a_sample_in_one_tuple_comes_back_as_one() -> None:
    Sample = namedtuple("Sample", "image label")
    noise = Corrupt("gaussian_noise", 3, seed=5)
    expected = noise(EVEN, index=1)
    for sample in ((EVEN, 7), [EVEN, 7], Sample(EVEN, 7)):
        found = noise(sample, index=1)
        assert type(found) is type(sample) and found[1] == 7
        assert np.array_equal(found[0], expected)
    found = Compose(flip, noise)((EVEN, 7))
    assert isinstance(found, tuple) and found[1] == 7
