"""Sets on disk: what `make` writes is what a run sees, whatever interrupts it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.onnx_models import write_colour_model
from windtunnel.imaging.codecs import round_trip
from windtunnel.suites.golden_digests import golden_image
from windtunnel.suites.suite_files import load_suite

FIFTEEN = load_suite("imagenet-c").units
NINETEEN = (*FIFTEEN, *load_suite("imagenet-c-extra").units)


def photographs(
    root: Path, count: int, sizes: tuple[tuple[int, int], ...] = ((300, 260), (256, 320))
) -> Path:
    """Images of two classes, as PNG and JPEG files."""
    for number in range(count):
        width, height = sizes[number % len(sizes)]
        image = Image.fromarray(golden_image(max(sizes[0]))).rotate(37 * number).resize((width, height))
        folder = root / ("n01440764", "n01443537")[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        image.save(folder / f"photo{number}.{('png', 'jpg')[number % 2]}")
    return root


def tree_checksum(root: Path) -> dict[str, str]:
    """Every file of a tree, hidden ones too, but no lock."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def predictions(run: windtunnel.Run) -> dict[tuple[str, str], tuple[object, object]]:
    """By image and condition id, the five best classes and their scores."""
    ids = {condition.name: condition.id for condition in run.conditions}
    table = run.predictions(["condition", "top", "top_score"]).to_pylist()
    return {
        (row["sample_id"], ids[row["condition"]]): (tuple(row["top"]), tuple(row["top_score"]))
        for row in table
    }


def test_files_and_memory_give_the_same_predictions(tmp_path: Path) -> None:
    data = photographs(tmp_path / "val", 4)
    model = write_colour_model(tmp_path / "model.onnx", classes=1000, side=224)
    made = windtunnel.make_set("imagenet-c", data, tmp_path / "made")
    for suite in ("imagenet-c", "imagenet-c-extra"):
        memory = predictions(windtunnel.run(model, data, suite, out=tmp_path / f"{suite}-memory"))
        files = predictions(windtunnel.run(model, made, suite, out=tmp_path / f"{suite}-files"))
        assert len(files) == 4 * (1 + 5 * len(load_suite(suite).units))
        # A precomputed set has no native images and no clean ones with a codec.
        assert files.keys() < memory.keys()
        assert {key: memory[key] for key in files} == files


def test_files_and_memory_have_the_same_pixels(tmp_path: Path) -> None:
    data = photographs(tmp_path / "val", 2)
    made = windtunnel.make_set("imagenet-c", data, tmp_path / "made")
    files = windtunnel.open_dataset(made)
    source = windtunnel.open_dataset(data)
    for sample in files.samples():
        original = next(one for one in source.samples() if one.id == sample.id)
        canvas = np.array(Image.open(made / "clean" / sample.meta["name"].replace(".JPEG", ".png")))
        assert original.labels == sample.labels
        for condition in files.stored:
            spoilt = windtunnel.corrupt(
                canvas, condition.unit, condition.level, seed=0, sample_id=sample.id, edition=224
            )
            stored = np.asarray(
                Image.open(io.BytesIO(files.read_under(sample, condition.unit, condition.level)))
            )
            assert np.array_equal(stored, round_trip(spoilt, "jpeg:85")), condition.name
    assert len(files.stored) == 95


def test_folders_are_laid_out_as_imagenet_c_is_published(tmp_path: Path) -> None:
    data = photographs(tmp_path / "val", 4)
    made = windtunnel.make_set("imagenet-c", data, tmp_path / "made", only=["fog", "contrast"])
    for corruption in ("fog", "contrast"):
        for severity in "12345":
            leaf = made / corruption / severity
            assert sorted(entry.name for entry in leaf.iterdir()) == ["n01440764", "n01443537"]
            assert sorted(path.name for path in leaf.rglob("*.*")) == [f"photo{n}.JPEG" for n in range(4)]
            with Image.open(leaf / "n01440764" / "photo0.JPEG") as image:
                assert (image.format, image.size, image.mode) == ("JPEG", (224, 224), "RGB")
    clean = made / "clean" / "n01440764" / "photo0.png"
    with Image.open(data / "n01440764" / "photo0.png") as source, Image.open(clean) as image:
        short = source.convert("RGB").resize((int(256 * 300 / 260), 256), Image.Resampling.BILINEAR)
        left, top = round((short.width - 224) / 2), 16
        assert image.format == "PNG"
        assert np.array_equal(np.asarray(image), np.asarray(short.crop((left, top, left + 224, top + 224))))
    # Beside the corruptions and the clean set there is one file to see.
    visible = {entry.name for entry in made.iterdir() if not entry.name.startswith(".")}
    assert visible == {"fog", "contrast", "clean", "manifest.json"}


def cifar_like(tmp_path: Path, count: int = 30) -> tuple[Path, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
    labels = (np.arange(count) * 7 % 10).astype(np.uint8)
    np.savez(tmp_path / "cifar.npz", images=images, labels=labels)
    return tmp_path / "cifar.npz", images, labels


def test_arrays_are_laid_out_as_cifar_10_c_is_published(tmp_path: Path) -> None:
    file, images, labels = cifar_like(tmp_path)
    made = windtunnel.make_set("imagenet-c", file, tmp_path / "CIFAR-10-C")
    assert {path.stem for path in made.glob("*.npy")} == {*NINETEEN, "labels", "clean"}
    stored_labels = np.load(made / "labels.npy")
    assert (stored_labels.dtype, stored_labels.shape) == (np.uint8, (150,))
    n = 30
    for corruption in ("contrast", "fog", "saturate"):
        array = np.load(made / f"{corruption}.npy")
        assert (array.dtype, array.shape) == (np.uint8, (150, 32, 32, 3))
        for severity in (1, 3, 5):
            # As loaders of the published set slice it.
            part = array[(severity - 1) * n : severity * n]
            assert np.array_equal(stored_labels[:n], labels)
            expected = windtunnel.corrupt(
                images[4], corruption, severity, seed=0, sample_id="00000004", edition=32
            )
            assert np.array_equal(part[4], expected)
    assert np.array_equal(np.load(made / "clean.npy"), images)


def test_a_model_scores_arrays_as_it_scores_memory(tmp_path: Path) -> None:
    file, _, _ = cifar_like(tmp_path)
    model = write_colour_model(tmp_path / "model.onnx", classes=10, side=32)
    made = windtunnel.make_set("imagenet-c", file, tmp_path / "made", only=["fog", "snow"])
    memory = windtunnel.run(model, file, "imagenet-c", only=["fog", "snow"], out=tmp_path / "memory")
    files = windtunnel.run(model, made, "imagenet-c", only=["fog", "snow"], out=tmp_path / "files")
    expected = predictions(memory)
    assert {key: expected[key] for key in predictions(files)} == predictions(files)


@pytest.mark.parametrize("layout", ["folders", "arrays"])
def test_a_kill_costs_nothing_and_leaves_the_same_tree(tmp_path: Path, layout: str) -> None:
    file, _, _ = cifar_like(tmp_path, 200)
    only = ["--only", "gaussian_noise", "--only", "glass_blur", "--only", "fog"]
    arguments = ["make", "imagenet-c", file, tmp_path / "killed", "--layout", layout, *only, "--workers", 2]
    command = [sys.executable, "-m", "windtunnel", *map(str, arguments)]
    chunks = tmp_path / "killed" / ".windtunnel" / "chunks"
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and not any(chunks.glob("*.parquet")):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = len(list(chunks.glob("*.parquet")))
    assert 0 < done < 16
    assert subprocess.run([*command], capture_output=True, timeout=120).returncode == 0
    windtunnel.make_set("imagenet-c", file, tmp_path / "whole", layout=layout, only=only[1::2])
    assert tree_checksum(tmp_path / "killed") == tree_checksum(tmp_path / "whole")


def test_killing_only_the_parent_leaves_one_line_at_most(tmp_path: Path) -> None:
    file, _, _ = cifar_like(tmp_path, 200)
    command = [
        sys.executable,
        "-m",
        "windtunnel",
        "make",
        "imagenet-c",
        file,
        tmp_path / "made",
        "--workers",
        "2",
    ]
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)
    chunks = tmp_path / "made" / ".windtunnel" / "chunks"
    while process.poll() is None and not any(chunks.glob("*.parquet")):
        time.sleep(0.01)
    process.kill()
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said


def test_rows_that_are_not_made_are_failures_not_black_images(tmp_path: Path) -> None:
    file, _, _ = cifar_like(tmp_path, 60)
    model = write_colour_model(tmp_path / "model.onnx", classes=10, side=32)
    made = windtunnel.make_set("imagenet-c", file, tmp_path / "made", only=["contrast"])
    windtunnel.make_set("imagenet-c", file, made, only=["saturate"])
    tables = sorted((made / ".windtunnel" / "chunks").glob("*.parquet"))
    for path in tables[4:]:  # as if the second make had been stopped after four chunks
        table = pq.read_table(path)
        kept = [row for row in table.to_pylist() if not row["condition"].startswith("saturate")]
        pq.write_table(pa.Table.from_pylist(kept, table.schema), path)
    dataset = windtunnel.open_dataset(made)
    assert "unfinished" in dataset.notes[0]
    run = windtunnel.run(model, made, "as-stored", out=tmp_path / "run")
    statuses = run.predictions(["condition", "status"]).to_pylist()
    failed = [row for row in statuses if row["status"] != "ok"]
    assert len(failed) == 5 * (60 - 16)
    assert {row["condition"].partition(":")[0] for row in failed} == {"saturate"}
    from windtunnel.make.verification import verify

    assert verify(made).missing == 5 * (len(tables) - 4)


def test_a_set_is_run_under_the_seed_it_was_made_with(tmp_path: Path) -> None:
    file, _, _ = cifar_like(tmp_path, 20)
    model = write_colour_model(tmp_path / "model.onnx", classes=10, side=32)
    recipes = {}
    for seed in (0, 5):
        made = windtunnel.make_set("imagenet-c", file, tmp_path / str(seed) / "made", only=["fog"], seed=seed)
        recipes[seed] = windtunnel.plan(model, made).recipe
        assert recipes[seed].seed == seed
    assert recipes[0].data.finished != recipes[5].data.finished


def test_arrays_of_named_classes_keep_their_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("airplane", "bird", "cat"):
        (tmp_path / "png" / name).mkdir(parents=True)
        for number in range(3):
            image = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
            Image.fromarray(image).save(tmp_path / "png" / name / f"{number}.png")
    made = windtunnel.make_set("imagenet-c", tmp_path / "png", tmp_path / "made", only=["contrast"])
    dataset = windtunnel.open_dataset(made)
    assert dataset.label_space.classes == ("airplane", "bird", "cat")
    assert [sample.id for sample in dataset.samples()][:4] == [
        "airplane/0.png", "airplane/1.png", "airplane/2.png", "bird/0.png",
    ]  # fmt: skip
    assert np.load(made / "labels.npy")[:9].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("label", ["../../escaped", "a/b", ".hidden", ""])
def test_nothing_is_written_outside_the_set(tmp_path: Path, label: str) -> None:
    photographs(tmp_path / "val", 2)
    table = tmp_path / "table.csv"
    table.write_text(f"path,label\nval/n01440764/photo0.png,{label}\nval/n01443537/photo1.jpg,good\n")
    with pytest.raises(windtunnel.UserError):
        windtunnel.make_set("imagenet-c", table, tmp_path / "out" / "made", only=["contrast:1"])
    assert not (tmp_path / "out").exists()


def test_a_set_may_not_lie_inside_its_images(tmp_path: Path) -> None:
    data = photographs(tmp_path / "val", 2)
    with pytest.raises(windtunnel.UserError, match="is inside"):
        windtunnel.make_set("imagenet-c", data, data / "made", only=["contrast:1"])


def test_other_textures_are_another_recipe(tmp_path: Path) -> None:
    data = photographs(tmp_path / "val", 2)
    textures = tmp_path / "ice"
    textures.mkdir()
    for number in range(1, 6):
        Image.new("RGB", (400, 400), (200, 210, 220 + number)).save(textures / f"frost{number}.png")
    out = windtunnel.make_set(
        "imagenet-c", data, tmp_path / "made", only=["frost:1"], settings=[f"frost.textures={textures}"]
    )
    with pytest.raises(windtunnel.UserError, match="frost with other settings"):
        windtunnel.make_set("imagenet-c", data, out, only=["frost:2"])
    model = write_colour_model(tmp_path / "model.onnx", classes=1000, side=224)
    assert windtunnel.plan(model, out).info.settings == (f"frost.textures={textures}",)


@pytest.mark.parametrize("victim", ["head", "samples", "recipe", "table", "stray"])
def test_verify_sees_more_than_pixels(tmp_path: Path, victim: str) -> None:
    from windtunnel.make.verification import verify

    file, _, _ = cifar_like(tmp_path, 20)
    layout = "folders" if victim == "stray" else "arrays"
    made = windtunnel.make_set("imagenet-c", file, tmp_path / "made", only=["contrast"], layout=layout)
    assert verify(made).sound
    if victim == "head":
        content = (made / "contrast.npy").read_bytes()
        (made / "contrast.npy").write_bytes(content.replace(b"(100,", b"(101,", 1))
    elif victim == "samples":
        (made / ".windtunnel" / "samples.parquet").unlink()
    elif victim == "recipe":
        text = (made / "manifest.json").read_text().replace('"seed": 0', '"seed": 1')
        (made / "manifest.json").write_text(text)
    elif victim == "table":
        next((made / ".windtunnel" / "chunks").iterdir()).write_bytes(b"nothing")
    else:
        (made / "contrast" / "1" / "7" / "mine.png").write_bytes(b"")
    assert not verify(made).sound
    if victim in ("head", "samples", "table"):
        windtunnel.make_set("imagenet-c", file, made, only=["contrast"], layout=layout)
        assert verify(made).sound


@pytest.mark.parametrize(
    ("layout", "victim"),
    [("folders", "fog/3/7/00000001.png"), ("arrays", "fog.npy"), ("arrays", "labels.npy")],
)
def test_damage_is_found_by_verify_and_repaired_by_making_again(
    tmp_path: Path, windtunnel_command: Command, layout: str, victim: str
) -> None:
    file, _, _ = cifar_like(tmp_path, 20)
    arguments = [
        "make",
        "imagenet-c",
        file,
        "made",
        "--layout",
        layout,
        "--only",
        "fog",
        "--only",
        "contrast",
    ]
    assert windtunnel_command(*arguments).returncode == 0
    before = tree_checksum(tmp_path / "made")
    sound = windtunnel_command("data", "verify", "made")
    assert (sound.returncode, sound.stdout.split()[-1]) == (0, "sound")
    path = tmp_path / "made" / victim
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)
    found = windtunnel_command("data", "verify", "made", "--json")
    assert found.returncode == 1
    assert list(json.loads(found.stdout)["damaged"]) == [victim]
    assert windtunnel_command(*arguments).returncode == 0
    assert tree_checksum(tmp_path / "made") == before
    path.unlink()
    assert windtunnel_command("data", "verify", "made").returncode == 1
    assert windtunnel_command(*arguments).returncode == 0
    assert tree_checksum(tmp_path / "made") == before


def test_more_corruptions_may_follow_into_the_same_folder(tmp_path: Path) -> None:
    file, _, _ = cifar_like(tmp_path, 20)
    windtunnel.make_set("imagenet-c", file, tmp_path / "parts", only=["fog"])
    windtunnel.make_set("imagenet-c", file, tmp_path / "parts", only=["snow", "contrast"])
    windtunnel.make_set("imagenet-c", file, tmp_path / "whole", only=["fog", "snow", "contrast"])
    parts, whole = tree_checksum(tmp_path / "parts"), tree_checksum(tmp_path / "whole")
    images = [name for name in whole if name.endswith(".npy")]
    assert [parts[name] for name in images] == [whole[name] for name in images]
    assert len(windtunnel.open_dataset(tmp_path / "parts").stored) == 15


def test_two_recipes_are_never_mixed(tmp_path: Path) -> None:
    file, images, labels = cifar_like(tmp_path, 20)
    out = windtunnel.make_set("imagenet-c", file, tmp_path / "made", only=["contrast"])
    np.savez(tmp_path / "other.npz", images=images[::-1], labels=labels)
    before = tree_checksum(out)
    for arguments, difference in (
        ({"seed": 1}, "seed"),
        ({"codec": "jpeg:85"}, "codec"),
        ({"layout": "folders"}, "layout"),
        ({"subset": 10}, "data"),
    ):
        with pytest.raises(windtunnel.UserError, match=f"another .*{difference}"):
            windtunnel.make_set("imagenet-c", file, out, only=["contrast"], **arguments)
    with pytest.raises(windtunnel.UserError, match="another data"):
        windtunnel.make_set("imagenet-c", tmp_path / "other.npz", out, only=["contrast"])
    with pytest.raises(windtunnel.UserError, match="contains other files"):
        windtunnel.make_set("imagenet-c", file, tmp_path, only=["contrast"])
    assert tree_checksum(out) == before


def test_images_that_cannot_be_read_are_left_out_and_told(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    data = photographs(tmp_path / "val", 4)
    (data / "n01440764" / "broken.jpg").write_bytes(b"\xff\xd8\xff no image")
    done = windtunnel_command("make", "imagenet-c", data, "made", "--only", "contrast:3", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert list(told["left_out"]) == ["n01440764/broken.jpg"]
    assert (told["images"], told["conditions"]) == (4, ["clean", "contrast:3+jpeg:85"])
    assert len(list((tmp_path / "made" / "contrast" / "3").rglob("*.JPEG"))) == 4


def test_images_of_one_name_get_names_of_their_own(tmp_path: Path) -> None:
    data = photographs(tmp_path / "val", 2)
    photographs(data / "n01440764" / "more", 1)
    (data / "n01440764" / "more" / "n01440764" / "photo0.png").rename(data / "n01440764" / "photo0.jpeg")
    made = windtunnel.make_set("imagenet-c", data, tmp_path / "made", only=["contrast:1"])
    names = sorted(path.name for path in (made / "contrast" / "1" / "n01440764").iterdir())
    assert names == ["n01440764_photo0.jpeg.JPEG", "n01440764_photo0.png.JPEG"]
    assert [sample.id for sample in windtunnel.open_dataset(made).samples()] == [
        "n01440764/photo0.jpeg", "n01440764/photo0.png", "n01443537/photo1.jpg",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("imagenet-x", "{data}", "out"), "Unknown suite 'imagenet-x'"),
        (("imagenet-c-native", "{data}", "out"), "a set on disk has no model"),
        (("as-stored", "{data}", "out"), "has no corruptions"),
        (("imagenet-c", "nowhere", "out"), "No such data"),
        (("imagenet-c", "{data}", "out", "--only", "fog:6"), "no such level"),
        (
            ("imagenet-c", "{data}", "out", "--only", "fog:3+jpeg:85"),
            "leave out the codec, which is the same",
        ),
        (("imagenet-c", "{data}", "out", "--only", "frog"), "Did you mean fog?"),
        (("imagenet-c", "{data}", "out", "--layout", "arrays", "--only", "fog:1"), "all five severities"),
        (("imagenet-c", "{data}", "out", "--codec", "gif"), "Unknown codec 'gif'"),
        (("imagenet-c", "{data}", "file"), "is a file"),
    ],
)
def test_mistakes_are_told_in_one_line_before_any_work(
    tmp_path: Path, windtunnel_command: Command, arguments: tuple[str, ...], message: str
) -> None:
    data = photographs(tmp_path / "val", 2)
    (tmp_path / "file").write_text("")
    done = windtunnel_command("make", *(item.format(data=data) for item in arguments))
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("error:")
    assert not (tmp_path / "out").exists()


def test_what_was_not_made_cannot_be_verified_or_made_twice(tmp_path: Path) -> None:
    file, _, _ = cifar_like(tmp_path, 20)
    from windtunnel.make.verification import verify

    with pytest.raises(windtunnel.UserError, match="no manifest"):
        verify(tmp_path)
    made = windtunnel.make_set("imagenet-c", file, tmp_path / "made", only=["contrast"])
    with pytest.raises(windtunnel.UserError, match="corrupted already"):
        windtunnel.make_set("imagenet-c", made, tmp_path / "again")


def numbered(root: Path, classes: tuple[str, ...]) -> Path:
    """One image a class, each of its own colour."""
    for number, name in enumerate(classes):
        (root / name).mkdir(parents=True)
        image = np.full((256, 256, 3), (number * 37 % 256, 90, 200), np.uint8)
        image[:, :9] = 255 - 3 * number
        Image.fromarray(image).save(root / name / f"photo{number}.png")
    return root


def text_order(folder: Path) -> list[str]:
    """Class folders as torchvision's ImageFolder finds them: sorted as text; the place is the label."""
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir())


TWELVE = tuple(map(str, range(12)))


@pytest.mark.parametrize(("suite", "leaf"), [("imagenet-c", "contrast/1"), ("imagenet-p", "brightness")])
def test_numbered_classes_keep_their_order_when_sorted_as_text(
    tmp_path: Path, suite: str, leaf: str, windtunnel_command: Command
) -> None:
    data = numbered(tmp_path / "val", TWELVE)
    made = tmp_path / "made"
    only = leaf.replace("/", ":")
    done = windtunnel_command("make", suite, data, made, "--only", only, "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert "leading zeros" in done.stderr and "ImageFolder" in done.stderr
    for folder in (made / leaf, made / "clean"):
        names = text_order(folder)
        assert [int(name) for name in names] == list(range(12)) and names[3] == "03"
        for place, name in enumerate(names):
            assert next((folder / name).iterdir()).stem == f"photo{place}", "text order is class order"
    manifest = json.loads((made / "manifest.json").read_text())
    assert any("leading zeros" in remark for remark in manifest["info"]["remarks"])
    dataset = windtunnel.open_dataset(made)
    found = {sample.id: sample.labels for sample in dataset.samples()}
    assert found == {f"{label}/photo{label}.png": (label,) for label in range(12)}
    before = tree_checksum(made)
    next(path for path in made.rglob("*.*") if path.parent.name == "03").unlink()
    assert windtunnel_command("data", "verify", made).returncode == 1
    again = windtunnel_command("make", suite, data, made, "--only", only, "--workers", 1)
    assert again.returncode == 0, again.stderr
    assert tree_checksum(made) == before
    assert windtunnel_command("data", "verify", made).returncode == 0


def test_a_run_over_zero_padded_folders_is_the_run_in_memory(tmp_path: Path) -> None:
    data = numbered(tmp_path / "val", TWELVE)
    made = windtunnel.make_set("imagenet-c", data, tmp_path / "made", only=["contrast:1"])
    model = write_colour_model(tmp_path / "model.onnx", classes=12, side=224)
    on_files = windtunnel.run(model, made, out=tmp_path / "files")
    in_memory = windtunnel.run(model, data, "imagenet-c", only=["contrast:1"], out=tmp_path / "memory")
    shared = set(predictions(on_files)) & set(predictions(in_memory))
    assert len(shared) == 24 and {on_files.scoring.observed.labels[row] for row in range(12)} == {
        (n,) for n in range(12)
    }
    assert all(predictions(on_files)[key] == predictions(in_memory)[key] for key in shared)
    # Without the manifest the folders tell the same labels, beside the given clean images too.
    (made / "manifest.json").unlink()
    bare = windtunnel.plan(model, made, clean=data)
    assert [one.sample.labels for one in bare.surveyed] == [(label,) for label in range(12)]


def test_class_indices_of_imagenet_become_wordnet_ids(tmp_path: Path) -> None:
    data = numbered(tmp_path / "val", ("0", "6", "10"))
    made = windtunnel.make_set(
        "imagenet-c", data, tmp_path / "made", only=["contrast:1"], labels="imagenet-1k"
    )
    # tench, stingray and brambling by ILSVRC2012's own list.
    wnids = ["n01440764", "n01498041", "n01530575"]
    assert text_order(made / "contrast" / "1") == text_order(made / "clean") == wnids
    dataset = windtunnel.open_dataset(made)
    assert dataset.label_space.name == "imagenet-1k"
    assert sorted(sample.labels[0] for sample in dataset.samples()) == [0, 6, 10]
    model = write_colour_model(tmp_path / "model.onnx", classes=1000, side=224)
    assert windtunnel.plan(model, made, clean=data).recipe.data.label_space == "imagenet-1k"
    with pytest.raises(windtunnel.UserError, match="another naming of class folders"):
        windtunnel.make_set("imagenet-c", data, made, only=["contrast:1"])


def test_gaps_between_class_indices_are_reported(tmp_path: Path, windtunnel_command: Command) -> None:
    data = numbered(tmp_path / "val", ("0", "5"))
    done = windtunnel_command("make", "imagenet-c", data, tmp_path / "made", "--only", "contrast:1")
    assert "4 class indices have no image" in done.stderr and "leading zeros" not in done.stderr
    assert text_order(tmp_path / "made" / "clean") == ["0", "5"]
