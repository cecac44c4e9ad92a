"""Training: it learns, goes on where it stopped, mixes what it is told, and leaves a model that runs take."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from PIL import Image

import windtunnel
from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.seeding import Draws
from windtunnel.data import open_dataset
from windtunnel.imaging.crops import random_crop
from windtunnel.imaging.geometry import Geometry
from windtunnel.models.preprocess import Preprocess, Tensor
from windtunnel.models.torch import TorchPredictor
from windtunnel.train import Mix, Settings, fit
from windtunnel.train.views import batches, labelled

SIX = (
    "pillow-nearest", "pillow-bilinear", "pillow-bicubic",
    "opencv-nearest", "opencv-bilinear", "opencv-bicubic",
)  # fmt: skip
PREPROCESS = Preprocess(Geometry(rule="exact", crop_px=16), Tensor(mean=(0.5,) * 3, std=(0.25,) * 3))
QUICK = Settings(epochs=3, batch=32, learning_rate=0.05, area=(0.7, 1.0), mirror=False)


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, stride=2, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * 64, 10),
    )


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's digits as an array file."""
    from windtunnel.data.demo import digits

    images, classes = digits()
    file = tmp_path_factory.mktemp("digits") / "digits.npz"
    np.savez(file, images=images, labels=classes)
    return file


def state(folder: Path) -> dict[str, torch.Tensor]:
    return torch.load(folder / "checkpoint.pt", weights_only=True)["module"]


def test_it_learns_and_leaves_a_model_that_runs_take(digits: Path, tmp_path: Path) -> None:
    module = network()
    told: list[int] = []
    done = fit(
        module,
        digits,
        tmp_path / "t",
        preprocess=PREPROCESS,
        settings=QUICK,
        advance=lambda n, _: told.append(n),
    )
    assert told == [1, 2, 3]
    assert done.losses[-1] < done.losses[0]
    run = windtunnel.run(done.model, digits, "smoke", only=["brightness:1"], out=tmp_path / "run")
    native = next(score.value for score in run.scores() if score.condition == "native")
    assert native < 0.5, "ten classes: guessing errs on 90 %"
    batch = np.random.default_rng(0).integers(0, 256, (4, 16, 16, 3)).astype(np.uint8)
    loaded = windtunnel.load_model(done.model)
    assert loaded.preprocess.geometry.crop_px == 16 and not loaded.preprocess.assumed
    np.testing.assert_allclose(
        loaded.predict(batch), TorchPredictor(module, PREPROCESS.tensor)(batch), rtol=1e-3, atol=1e-4
    )


def forgetful() -> torch.nn.Module:
    """The same behind pixels that are dropped by chance, so that training draws random numbers of torch's."""
    return torch.nn.Sequential(torch.nn.Dropout(0.2), network())


def test_a_stopped_training_ends_as_if_it_had_not_stopped(digits: Path, tmp_path: Path) -> None:
    whole = fit(forgetful(), digits, tmp_path / "whole", preprocess=PREPROCESS, settings=QUICK)

    def stop(epoch: int, _loss: float) -> None:
        if epoch == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(forgetful(), digits, tmp_path / "part", preprocess=PREPROCESS, settings=QUICK, advance=stop)
    told: list[int] = []
    again = fit(
        forgetful(), digits, tmp_path / "part", preprocess=PREPROCESS, settings=QUICK,
        advance=lambda epoch, _: told.append(epoch),
    )  # fmt: skip
    assert told == [2, 3]
    assert again.losses == whole.losses
    for name, value in state(tmp_path / "whole").items():
        assert torch.equal(value, state(tmp_path / "part")[name]), name


def test_another_training_is_not_written_over(digits: Path, tmp_path: Path) -> None:
    one = Settings(epochs=1, batch=256)
    fit(network(), digits, tmp_path, preprocess=PREPROCESS, settings=one)
    before = state(tmp_path)
    with pytest.raises(UserError, match="another training \\(different settings\\)"):
        fit(network(), digits, tmp_path, preprocess=PREPROCESS, settings=Settings(epochs=1, batch=128))
    assert all(torch.equal(value, before[name]) for name, value in state(tmp_path).items())


def test_another_network_of_the_same_shapes_is_noticed(digits: Path, tmp_path: Path) -> None:
    one = Settings(epochs=1, batch=256)
    fit(network(), digits, tmp_path, preprocess=PREPROCESS, settings=one)
    before = (tmp_path / "model.onnx").read_bytes()
    other = network()
    other[2] = torch.nn.Tanh()
    with pytest.raises(UserError, match="another training \\(different module\\)"):
        fit(other, digits, tmp_path, preprocess=PREPROCESS, settings=one)
    assert (tmp_path / "model.onnx").read_bytes() == before


def test_a_module_that_prints_where_it_lies_in_memory_is_the_same_in_another_process(
    digits: Path, tmp_path: Path
) -> None:
    class Printed(torch.nn.Flatten):
        def __init__(self) -> None:
            super().__init__()
            self.helper = object()

        def extra_repr(self) -> str:
            return f"by {self.helper}"

    one, two = (torch.nn.Sequential(Printed(), torch.nn.Linear(3 * 16 * 16, 10)) for _ in range(2))
    assert repr(one) != repr(two)
    settings = Settings(epochs=1, batch=256)
    first = fit(one, digits, tmp_path, preprocess=PREPROCESS, settings=settings)
    assert fit(two, digits, tmp_path, preprocess=PREPROCESS, settings=settings).losses == first.losses


def test_a_history_that_a_kill_left_short_is_made_whole(digits: Path, tmp_path: Path) -> None:
    two = Settings(epochs=2, batch=256)
    done = fit(linear(10), digits, tmp_path, preprocess=PREPROCESS, settings=two)
    whole = (tmp_path / "history.csv").read_text().splitlines()
    assert whole[0] == "epoch,loss,learning_rate,seconds,accuracy"
    assert [line.split(",")[:2] for line in whole[1:]] == [
        [str(epoch), str(loss)] for epoch, loss in enumerate(done.losses, start=1)
    ]
    (tmp_path / "history.csv").write_text("\n".join(whole[:-1]))
    fit(linear(10), digits, tmp_path, preprocess=PREPROCESS, settings=two)
    assert (tmp_path / "history.csv").read_text().splitlines() == whole


@pytest.mark.parametrize("kept", [0, 0.5])
def test_a_damaged_checkpoint_is_told_in_one_line(digits: Path, tmp_path: Path, kept: float) -> None:
    one = Settings(epochs=1, batch=256)
    fit(linear(10), digits, tmp_path, preprocess=PREPROCESS, settings=one)
    file = tmp_path / "checkpoint.pt"
    file.write_bytes(file.read_bytes()[: int(kept * file.stat().st_size)])
    with pytest.raises(UserError, match=r"checkpoint\.pt cannot be loaded \(.+\); delete it") as told:
        fit(linear(10), digits, tmp_path, preprocess=PREPROCESS, settings=one)
    assert "\n" not in str(told.value)
    file.unlink()
    assert len(fit(linear(10), digits, tmp_path, preprocess=PREPROCESS, settings=one).losses) == 1


def drawn(data: Path, mix: Mix, epoch: int = 0, size: int = 32) -> list[tuple[np.ndarray, np.ndarray]]:
    dataset = open_dataset(data)
    return list(
        batches(
            dataset, labelled(dataset)[:96], PREPROCESS.geometry, seed=0, epoch=epoch, size=size, mix=mix,
            area=(0.3, 1.0), mirror=True,
        )
    )  # fmt: skip


def test_the_same_seed_and_epoch_draw_the_same_views(digits: Path) -> None:
    first, again, later = drawn(digits, Mix()), drawn(digits, Mix()), drawn(digits, Mix(), epoch=1)
    for (one, _), (two, _) in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first[0][0], later[0][0])


def test_one_resizer_a_batch_and_nothing_else_differs(digits: Path) -> None:
    """A mixed batch is, pixel for pixel, the batch of one of the resizers it is drawn from."""
    singles = {name: drawn(digits, Mix(resizers=(name,))) for name in SIX}
    used = set()
    for epoch in range(4):
        singles = {name: drawn(digits, Mix(resizers=(name,)), epoch) for name in SIX}
        for number, (images, labels) in enumerate(drawn(digits, Mix(resizers=SIX), epoch)):
            equal = [name for name in SIX if np.array_equal(singles[name][number][0], images)]
            assert equal, "no single resizer made this batch"
            np.testing.assert_array_equal(singles[SIX[0]][number][1], labels)
            used |= set(equal)
    assert len(used) > 3


def test_per_image_mixes_within_a_batch(digits: Path) -> None:
    singles = {name: drawn(digits, Mix(resizers=(name,)))[0][0] for name in SIX}
    mixed = drawn(digits, Mix(resizers=SIX, per="image"))[0][0]
    used = {
        next(name for name in SIX if np.array_equal(singles[name][row], mixed[row]))
        for row in range(len(mixed))
    }
    assert len(used) > 3


@pytest.mark.parametrize("per", ["batch", "image"])
def test_decoders_are_drawn_and_nothing_else_differs(jpegs: Path, per: Literal["batch", "image"]) -> None:
    """A mixed image is, pixel for pixel, that of one decoder; of one for the whole batch if so asked."""
    both = ("pillow", "ffmpeg")
    used = set()
    mixed_batches = 0
    for epoch in range(4):
        singles = {name: drawn(jpegs, Mix(decoders=(name,)), epoch, size=8) for name in both}
        for number, (images, labels) in enumerate(drawn(jpegs, Mix(both, per=per), epoch, size=8)):
            ways = [[np.array_equal(singles[name][number][0][row], images[row]) for name in both]
                    for row in range(8)]  # fmt: skip
            assert all(sum(way) == 1 for way in ways), "no decoder made this image, or both did"
            np.testing.assert_array_equal(singles["pillow"][number][1], labels)
            chosen = {both[way.index(True)] for way in ways}
            used |= chosen
            mixed_batches += len(chosen) > 1
    assert used == set(both)
    assert (mixed_batches > 0) is (per == "image")


def test_crops_lie_inside_and_cover_the_shares_asked_for() -> None:
    shares = []
    for number in range(500):
        crop = random_crop(300, 200, Draws(0, str(number), "test", 0), (0.2, 0.9))
        assert crop.left >= 0 and crop.top >= 0
        assert crop.left + crop.width <= 300 and crop.top + crop.height <= 200
        shares.append(crop.width * crop.height / 60_000)
    assert min(shares) > 0.19 and max(shares) < 0.92
    # Large crops of an odd aspect do not fit and are drawn again, so that small ones are a little commoner.
    assert np.histogram(shares, bins=5, range=(0.2, 0.7))[0].min() > 40


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Settings(epochs=0), "epochs is 0"),
        (lambda: Settings(area=(0.9, 0.1)), "the smaller first"),
        (lambda: Mix(resizers=("pillow-cubic",)), "pillow-cubic"),
        (lambda: Mix(decoders=("magick",)), "magick"),
        (lambda: Mix(per="epoch"), "'batch' or 'image'"),  # type: ignore[arg-type]
        (lambda: Settings(epochs=1.5), "epochs is 1.5; give a whole number of at least 1"),  # type: ignore[arg-type]
        (lambda: Settings(learning_rate=-1), "learning_rate is -1; give a number of at least 0"),
        (lambda: Settings(learning_rate=0), "learns nothing"),
        (lambda: Settings(weight_decay="0.1"), "weight_decay is '0.1'"),  # type: ignore[arg-type]
        (lambda: Settings(area=0.5), "area is 0.5; give two shares"),  # type: ignore[arg-type]
        (lambda: Mix(resizers="pillow-nearest"), r"a tuple of names, such as \('pillow-nearest',\)"),  # type: ignore[arg-type]
        (lambda: Mix(decoders=None), r"decoders is None; give a tuple .*\('opencv',\)"),  # type: ignore[arg-type]
    ],
)
def test_mistakes_get_one_line(make: object, words: str) -> None:
    with pytest.raises(UserError, match=words):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"settings": {"epochs": 1}}, r"settings is \{'epochs': 1\}; give windtunnel\.train\.Settings"),
        ({"mix": None}, r"mix is None; give windtunnel\.train\.Mix"),
        ({"module": "hello"}, "module is 'hello'; give a torch module"),
        ({"module": torch.nn.Flatten}, "module is the class Flatten"),
        ({"preprocess": None}, "preprocess is None; give a preset's name"),
        ({"preprocess": "imagenot"}, "Did you mean imagenet"),
        ({"preprocess": "none.toml"}, r"No such preprocessing file: none\.toml"),
        ({"mix": Mix(decoders=("pillow", "opencv"))}, "arrays, which are not decoded; leave decoders out"),
    ],
)
def test_things_of_another_kind_get_one_line(
    digits: Path, tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    given = {"module": linear(10), "preprocess": PREPROCESS, "settings": QUICK, **changed}
    with pytest.raises(UserError, match=words) as told:
        fit(given.pop("module"), digits, tmp_path / "t", **given)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "t").exists()


def test_a_module_without_an_onnx_graph_is_refused_before_training(
    digits: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Torch can pool 7x7 to 2x2, and ONNX cannot."""
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, stride=2), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(16, 10),
    )  # fmt: skip
    told: list[int] = []
    with pytest.raises(UserError, match=r"cannot be exported to ONNX.*adaptive_avg_pool2d") as error:
        fit(
            module, digits, tmp_path / "t", preprocess=PREPROCESS, settings=QUICK,
            advance=lambda epoch, _: told.append(epoch),
        )  # fmt: skip
    assert "\n" not in str(error.value) and capfd.readouterr().out == ""
    assert not told and not (tmp_path / "t").exists() and module.training


def test_a_folder_that_is_not_the_trainings_own_is_refused(digits: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for out, words in ((tmp_path, "contains other files"), (tmp_path / "notes.txt", "is a file")):
        with pytest.raises(UserError, match=f"{words}; give a (separate )?folder .*for the training"):
            fit(linear(10), digits, out, preprocess=PREPROCESS, settings=QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_damaged_recipe_is_told_in_one_line(digits: Path, tmp_path: Path) -> None:
    (tmp_path / "training.json").write_text("{")
    with pytest.raises(UserError, match=r"training\.json is damaged \(.+\); .*give another folder"):
        fit(linear(10), digits, tmp_path, preprocess=PREPROCESS, settings=QUICK)


@pytest.mark.parametrize("kind", ["preset", "file"])
def test_the_preprocess_is_given_as_on_the_command_line(digits: Path, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'preset = "caffe"\n[geometry]\nrule = "exact"\ncrop_px = 16\n[tensor]\nmean = [0.5, 0.5, 0.5]'
    )
    side = 224 if kind == "preset" else 16
    module = torch.nn.Sequential(
        torch.nn.AvgPool2d(side // 2), torch.nn.Flatten(), torch.nn.Linear(12, 10)
    )  # fmt: skip
    done = fit(
        module, digits, tmp_path / "t", preprocess="imagenet" if kind == "preset" else file,
        settings=Settings(epochs=1, batch=256, mirror=False),
    )  # fmt: skip
    found = windtunnel.load_model(done.model).preprocess
    assert found.geometry.output_px == side
    assert found.tensor.mean == ((0.485, 0.456, 0.406) if kind == "preset" else (0.5, 0.5, 0.5))


def test_without_torch_the_cure_is_named() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from windtunnel.core.errors import UserError\n"
        "try:\n    from windtunnel.train import fit\nexcept UserError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ("Training needs torch, which is not installed: pip install 'torch>=2.6'.\n")


def test_without_onnx_the_cure_is_named_before_any_work(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import torch, windtunnel\n"
        "from windtunnel.train import fit\n"
        "for call in (\n"
        "    lambda: fit(torch.nn.Flatten(), 'nowhere', 'out', preprocess='cifar'),\n"
        "    lambda: windtunnel.overlap('nowhere', 'nowhere', 'out'),\n"
        "):\n"
        "    try:\n        call()\n    except windtunnel.UserError as error:\n        print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    cure = "Exporting trained models to ONNX needs onnx, which is not installed: pip install 'onnx>=1.17'."
    assert done.stdout.splitlines() == [cure, cure]
    assert not list(tmp_path.iterdir())


def test_the_how_to_pages_python_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "training.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    (tmp_path / "page.py").write_text(block)
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "epoch 8:" in done.stdout and "top1_error" in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "training.json", "checkpoint.pt", "history.csv", "model.onnx", "model.onnx.toml",
    }  # fmt: skip


def linear(outputs: int) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, outputs))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"module": linear(9)}, r"shape \(2, 9\) for 2 images, but the data has 10 classes"),
        ({"module": linear(11)}, r"shape \(2, 11\)"),
        ({"module": torch.nn.Identity()}, r"shape \(2, 3, 16, 16\)"),
        ({"tensor": Tensor(divisor=1.0, dtype="uint8")}, "uint8 of shape"),
        ({"tensor": Tensor(dtype="float16")}, "float16 of shape"),
        ({"crop_px": 17}, "cannot take what the preprocessing gives"),
        ({"device": "meta-verse"}, "device is 'meta-verse'"),
        ({"device": "cuda:99"}, "device is 'cuda:99'"),
    ],
)
def test_what_does_not_fit_is_refused_before_training(
    digits: Path, tmp_path: Path, changed: dict[str, object], words: str
) -> None:
    preprocess = Preprocess(
        Geometry(rule="exact", crop_px=int(str(changed.get("crop_px", 16)))),
        changed.get("tensor", PREPROCESS.tensor),  # type: ignore[arg-type]
    )
    with pytest.raises(UserError, match=words):
        fit(
            changed.get("module", linear(10)), digits, tmp_path / "t", preprocess=preprocess,
            settings=QUICK, device=str(changed.get("device", "cpu")),
        )  # fmt: skip
    assert not (tmp_path / "t").exists()


@pytest.fixture
def jpegs(tmp_path: Path) -> Path:
    """Ten classes of four noisy JPEGs."""
    rng = np.random.default_rng(0)
    for label in range(10):
        folder = tmp_path / "jpegs" / str(label)
        folder.mkdir(parents=True)
        for row in range(4):
            image = Image.fromarray(rng.integers(0, 256, (24, 24, 3), dtype=np.uint8))
            image.save(folder / f"{row}.jpg")
    return tmp_path / "jpegs"


@pytest.mark.parametrize("own", [True, False])
def test_decoders_that_shrink_are_refused_before_any_work(tmp_path: Path, own: bool) -> None:
    geometry = Geometry(decoder="simplejpeg-scaled" if own else "pillow", rule="exact", crop_px=16)
    mix = Mix() if own else Mix(decoders=("pillow", "simplejpeg-scaled"))
    with pytest.raises(UserError, match="simplejpeg-scaled shrinks an image before its crop"):
        fit(linear(2), tmp_path / "nothing there", tmp_path / "t", preprocess=Preprocess(geometry), mix=mix)
    assert not (tmp_path / "t").exists()


def test_an_image_one_decoder_cannot_read_is_left_out_and_named(jpegs: Path, tmp_path: Path) -> None:
    (jpegs / "3" / "1.jpg").write_bytes(b"no image")
    Image.fromarray(np.zeros((24, 24, 3), np.uint8)).save(jpegs / "5" / "lossless.png")
    mix = Mix(decoders=("pillow", "simplejpeg"))
    settings = Settings(epochs=1, batch=8)
    done = fit(linear(10), jpegs, tmp_path / "t", preprocess=PREPROCESS, settings=settings, mix=mix)
    assert [one.split(":")[0] for one in done.left_out] == ["3/1.jpg", "5/lossless.png"]
    alone = fit(linear(10), jpegs, tmp_path / "u", preprocess=PREPROCESS, settings=settings)
    assert [one.split(":")[0] for one in alone.left_out] == ["3/1.jpg"]


def test_an_image_that_goes_while_training_is_named(jpegs: Path, tmp_path: Path) -> None:
    def spoil(_epoch: int, _loss: float) -> None:
        (jpegs / "7" / "2.jpg").write_bytes(b"no image")

    with pytest.raises(RunFailed, match=r"7/2\.jpg could be read when training began"):
        fit(
            linear(10), jpegs, tmp_path / "t", preprocess=PREPROCESS,
            settings=Settings(epochs=2, batch=8), advance=spoil,
        )  # fmt: skip


@pytest.mark.parametrize("other", ["pixels", "labels"])
def test_other_images_under_the_same_names_are_noticed(jpegs: Path, tmp_path: Path, other: str) -> None:
    settings = Settings(epochs=1, batch=8)
    fit(linear(10), jpegs, tmp_path / "t", preprocess=PREPROCESS, settings=settings)
    table = tmp_path / "table.csv"
    if other == "pixels":
        Image.fromarray(np.zeros((24, 24, 3), np.uint8)).save(jpegs / "4" / "0.jpg")
        data = jpegs
    else:
        names = sorted(path.relative_to(jpegs) for path in jpegs.rglob("*.jpg"))
        table = jpegs / "table.csv"
        table.write_text(
            "path,label\n" + "".join(f"{name},{(int(name.parts[0]) + 1) % 10}\n" for name in names)
        )
        data = table
    with pytest.raises(UserError, match=r"another training \(different data\)"):
        fit(linear(10), data, tmp_path / "t", preprocess=PREPROCESS, settings=settings)


def test_the_callers_random_numbers_are_left_alone(jpegs: Path, tmp_path: Path) -> None:
    module = linear(10)
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    fit(module, jpegs, tmp_path / "t", preprocess=PREPROCESS, settings=Settings(epochs=1, batch=8))
    assert torch.equal(torch.rand(3), wanted)
