"""ImageNet-S as files: the paper's pixels, names and meta files, by the command and by the paper's class."""

from __future__ import annotations

from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.compat.imagenet_s import ImageTransfer
from windtunnel.core.errors import UserError
from windtunnel.imaging.crops import random_crop
from windtunnel.kernels.window import Window
from windtunnel.make.imagenet_s import DECODERS, RESIZES, training_draws
from windtunnel.make.verification import verify

PAIRS = {
    ("pil", "pil-bilinear"), ("opencv", "pil-bilinear"), ("ffmpeg", "pil-bilinear"), ("pil", "pil-nearest"),
    ("pil", "pil-cubic"), ("pil", "opencv-nearest"), ("pil", "opencv-bilinear"), ("pil", "opencv-cubic"),
}  # fmt: skip


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    root = tmp_path / "photos"
    for number in range(6):
        file = root / f"class{number % 2}" / f"{number}.JPEG"
        file.parent.mkdir(parents=True, exist_ok=True)
        coarse = np.random.default_rng(number).integers(0, 256, (12, 16, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((320, 240), Image.Resampling.BICUBIC).save(file, quality=85)
    return root


def test_the_command_writes_the_papers_eight_sets(
    photos: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    out = tmp_path / "s"
    done = windtunnel_command("make", "imagenet-s", photos, out, "--workers", 1)
    assert done.returncode == 0, done.stderr
    found = {tuple(path.relative_to(out).parts[:2]) for path in out.glob("*/*/*/*.npy")}
    assert found == PAIRS
    assert {path.stem for path in out.glob("*.txt")} == {"_".join(pair) for pair in PAIRS}
    lines = (out / "pil_pil-bilinear.txt").read_text().splitlines()
    assert lines[0] == "class0/0.JPEG.npy 0" and len(lines) == 6
    pixels = np.asarray(Image.open(photos / "class1" / "3.JPEG").convert("RGB"))
    whole = cv2.resize(pixels, (256, 256), interpolation=cv2.INTER_CUBIC)
    stored = np.load(out / "pil" / "opencv-cubic" / "class1" / "3.JPEG.npy")
    assert stored.dtype == np.uint8 and np.array_equal(stored, whole[16:240, 16:240])
    assert windtunnel_command("data", "verify", out).returncode == 0


def test_a_damaged_or_missing_file_is_made_again(photos: Path, tmp_path: Path) -> None:
    out = windtunnel.make_set("imagenet-s", photos, tmp_path / "s", only=["decode=opencv"])
    files = sorted(out.glob("opencv/**/*.npy"))
    before = {file: file.read_bytes() for file in files}
    files[0].unlink()
    files[1].write_bytes(b"damaged")
    (out / "opencv_pil-bilinear.txt").unlink()
    windtunnel.make_set("imagenet-s", photos, out, only=["decode=opencv"])
    assert {file: file.read_bytes() for file in files} == before
    assert (out / "opencv_pil-bilinear.txt").is_file()


def test_files_that_were_not_made_are_found(
    photos: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    out = windtunnel.make_set("imagenet-s", photos, tmp_path / "s", only=["decode=opencv"])
    assert verify(out).sound
    np.save(out / "opencv" / "pil-bilinear" / "class0" / "foreign.npy", np.zeros((224, 224, 3), np.uint8))
    assert verify(out).damaged == {"opencv/pil-bilinear": "1 file not made here"}
    done = windtunnel_command("data", "verify", out)
    assert done.returncode == 1 and "opencv/pil-bilinear" in done.stdout + done.stderr


def test_an_image_one_decoder_cannot_read_leaves_every_set(
    photos: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    Image.open(photos / "class0" / "0.JPEG").save(photos / "class0" / "odd.tiff")
    out = tmp_path / "s"
    done = windtunnel_command("make", "imagenet-s", photos, out, "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert "class0/odd.tiff: ffmpeg: reads JPEG, PNG, WEBP, BMP only, this is TIFF" in done.stderr
    assert not list(out.glob("**/odd.tiff.npy"))
    lines = {path.name: len(path.read_text().splitlines()) for path in out.glob("*.txt")}
    assert len(lines) == 8 and set(lines.values()) == {6}
    without = windtunnel.make_set("imagenet-s", photos, tmp_path / "w", only=["decode=opencv"])
    assert len(list(without.glob("**/odd.tiff.npy"))) == 2


def test_steps_without_a_place_of_their_own_are_refused(
    photos: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    for step in ("colour=bgr", "geometry=exact", "numerics=int8"):
        done = windtunnel_command("make", "imagenet-s", photos, tmp_path / "s", "--only", step)
        assert done.returncode == 2 and f"{step} cannot be stored on disk" in done.stderr
        assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "s").exists()
    done = windtunnel_command(
        "make", "imagenet-c", photos, tmp_path / "c", "--only", "fog", "--only", "decode=opencv"
    )
    assert (
        done.returncode == 2
        and "decode=opencv is a pipeline step and the suite also has corruptions" in done.stderr
    )
    assert not (tmp_path / "c").exists()


def test_arrays_have_no_decoders_to_swap(tmp_path: Path, windtunnel_command: Command) -> None:
    done = windtunnel_command("make", "imagenet-s", "demo", tmp_path / "s", "--subset", 4, "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert "arrays, which are not decoded" in done.stderr
    assert {path.name for path in (tmp_path / "s").iterdir() if path.is_dir()} - {".windtunnel"} == {"pil"}


def training_box(width: int, height: int, id_: str, seed: int) -> Window:
    return random_crop(width, height, training_draws(id_, seed))


def test_training_crops_differ_by_the_noise_alone(photos: Path, tmp_path: Path) -> None:
    out = windtunnel.make_set("imagenet-s", photos, tmp_path / "train", split="train")
    names = [line.split()[0] for line in (out / "pil_pil-bilinear.txt").read_text().splitlines()]
    for name in names:
        by_pillow, by_ffmpeg = (
            np.load(out / decoder / "pil-bilinear" / name) for decoder in ("pil", "ffmpeg")
        )
        assert by_pillow.shape == (224, 224, 3)
        assert 0 < np.abs(by_pillow.astype(int) - by_ffmpeg).mean() < 3
        source = np.asarray(Image.open(photos / name.removesuffix(".npy")).convert("RGB"))
        box = training_box(320, 240, name.removesuffix(".npy"), 0)
        part = Image.fromarray(np.ascontiguousarray(box.cut(source)))
        assert np.array_equal(by_pillow, np.asarray(part.resize((224, 224), Image.Resampling.BILINEAR)))
    assert len({training_box(320, 240, name, 0) for name in names}) == len(names)
    assert training_box(320, 240, names[0], 0) != training_box(320, 240, names[0], 1)


def test_decoders_that_shrink_make_no_training_crops(
    photos: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    suite = tmp_path / "scaled.toml"
    suite.write_text(
        'name = "scaled"\nversion = 1\ncanvas = "imagenet-s"\nedition = 224\nunits = ["decode=*"]\n'
    )
    done = windtunnel_command("make", suite, photos, tmp_path / "train", "--split", "train")
    assert done.returncode == 2 and not (tmp_path / "train").exists()
    (line,) = done.stderr.splitlines()
    assert "simplejpeg-scaled shrinks an image before its crop for training is drawn" in line
    made = windtunnel.make_set(suite, photos, tmp_path / "val")
    assert len(list(made.glob("simplejpeg-scaled/**/*.npy"))) == 6


def test_training_boxes_have_the_usual_areas_and_aspects() -> None:
    boxes = [training_box(400, 400, str(number), 0) for number in range(4000)]
    areas = np.array([box.width * box.height / 160_000 for box in boxes])
    aspects = np.array([box.width / box.height for box in boxes])
    assert areas.min() > 0.07 and areas.max() <= 1 and aspects.min() > 0.73 and aspects.max() < 1.37
    assert abs(np.log(aspects).mean()) < 0.02
    assert all(box.left + box.width <= 400 and box.top + box.height <= 400 for box in boxes)
    middle = training_box(2000, 20, "thin", 0)
    assert (middle.height, middle.width) == (20, 27)


def write_meta(photos: Path, file: Path) -> Path:
    names = sorted(path.relative_to(photos).as_posix() for path in photos.glob("*/*"))
    file.write_text("".join(f"{name} {number % 3}\n" for number, name in enumerate(names)))
    return file


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("resize", RESIZES)
def test_image_transfer_gives_the_generators_arrays(
    photos: Path, tmp_path: Path, decoder: str, resize: str
) -> None:
    meta = write_meta(photos, tmp_path / "meta.txt")
    image, label = ImageTransfer(photos, meta, decoder_type=decoder, resize_type=resize).getimage(4)
    assert image.shape == (224, 224, 3) and image.dtype == np.uint8 and label == 1
    file = photos / "class1" / "3.JPEG"
    pixels = np.asarray(Image.open(file).convert("RGB"))
    if decoder == "ffmpeg":
        with av.open(str(file)) as container:
            pixels = next(container.decode(video=0)).to_ndarray(format="rgb24")
    library, _, name = resize.partition("-")
    filters = {"cubic": "bicubic"}
    if library == "pil":
        code = Image.Resampling[filters.get(name, name).upper()]
        whole = np.asarray(Image.fromarray(pixels).resize((256, 256), code))
    else:
        codes = {"bilinear": cv2.INTER_LINEAR, "lanczos": cv2.INTER_LANCZOS4}
        code = codes.get(name, getattr(cv2, f"INTER_{name.upper()}", None))
        whole = cv2.resize(pixels, (256, 256), interpolation=code)
    assert np.array_equal(image, whole[16:240, 16:240])


def test_image_transfer_writes_over_arrays_of_another_recipe(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    meta = write_meta(photos, tmp_path / "meta.txt")
    ImageTransfer(photos, meta, "out").write_to_filesystem()
    other = ImageTransfer(photos, meta, "out", resize=112, transform_type="train")
    other.write_to_filesystem()
    stored = np.load("out/pil/pil-bilinear/class0/0.JPEG.npy")
    assert stored.shape == (112, 112, 3) and np.array_equal(stored, other.getimage(0)[0])


def test_image_transfer_writes_files_sub_folders_and_a_meta_file(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    meta = write_meta(photos, tmp_path / "meta.txt")
    transfer = ImageTransfer(photos, meta, save_dir="out", decoder_type="opencv", resize_type="opencv-area")
    transfer.write_to_filesystem()
    stored = np.load("out/opencv/opencv-area/class0/0.JPEG.npy")
    assert np.array_equal(stored, transfer.getimage(0)[0])
    assert Path("opencv_opencv-area.txt").read_text().splitlines()[1] == "class0/2.JPEG.npy 1"
    made = windtunnel.make_set("imagenet-s", photos, "made", only=["resize=opencv-area"])
    again = ImageTransfer(photos, meta, resize_type="opencv-area").getimage(0)[0]
    assert np.array_equal(np.load(made / "pil" / "opencv-area" / "class0" / "0.JPEG.npy"), again)


def test_mistakes_are_told(photos: Path, tmp_path: Path, windtunnel_command: Command) -> None:
    meta = write_meta(photos, tmp_path / "meta.txt")
    with pytest.raises(UserError, match="Unknown resize_type 'pil-linear'"):
        ImageTransfer(photos, meta, resize_type="pil-linear")
    with pytest.raises(UserError, match="No such meta file"):
        ImageTransfer(photos, tmp_path / "none.txt")
    (tmp_path / "bad.txt").write_text("a.jpg\n")
    with pytest.raises(UserError, match="line 1"):
        ImageTransfer(photos, tmp_path / "bad.txt")
    with pytest.raises(UserError, match="save_root is missing"):
        ImageTransfer(photos, meta).write_to_filesystem()
    (tmp_path / "gone.txt").write_text("class0/none.JPEG 0\n")
    with pytest.raises(
        UserError, match=r"none\.JPEG, an image of .*gone\.txt, cannot be used: .*No such file"
    ):
        ImageTransfer(photos, tmp_path / "gone.txt", tmp_path / "out").write_to_filesystem()
    done = windtunnel_command("make", "imagenet-c", photos, tmp_path / "c", "--split", "train")
    assert done.returncode == 2 and "--split train" in done.stderr
