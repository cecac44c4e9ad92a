"""How far one set of images is from another: by the command and in Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.analysis.distance import FID_FAMILY
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import masked_classes

SIDE = 16
AS_IT_IS = """
[geometry]
rule = 'exact'
crop_px = 16
[tensor]
mean = [0.0, 0.0, 0.0]
std = [1.0, 1.0, 1.0]
"""


def write_network(path: Path, pool: int = 4, batch: int | str = "n", declared: str = AS_IT_IS) -> Path:
    """Mean colours of quarters: a map (3, h, w), itself flattened, and the map halved as an inner tensor."""
    nodes = [
        helper.make_node("AveragePool", ["images"], ["map"], kernel_shape=[pool, pool], strides=[pool, pool]),
        helper.make_node("Flatten", ["map"], ["flat"]),
        helper.make_node("Add", ["map", "map"], ["inner"]),
        helper.make_node("Cast", ["inner"], ["whole"], to=TensorProto.INT64),
    ]
    cells = SIDE // pool
    outputs = {"flat": [batch, 3 * cells * cells], "map": [batch, 3, cells, cells]}
    graph = helper.make_graph(
        nodes,
        "means",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [batch, 3, SIDE, SIDE])],
        [
            *(
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in outputs.items()
            ),
            helper.make_tensor_value_info("whole", TensorProto.INT64, outputs["map"]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    path.with_name(f"{path.name}.toml").write_text(declared)
    return path


def make_images(seed: int, count: int, bright: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    base = rng.normal(110 + bright, 30, size=(count, 4, 4, 3)).repeat(4, axis=1).repeat(4, axis=2)
    return np.clip(base + rng.normal(0, 8, size=base.shape), 0, 255).astype(np.uint8)


def write_images(root: Path, images: np.ndarray, ending: str = "png") -> Path:
    for row, image in enumerate(images):
        folder = root / f"class{row % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"{row:04d}.{ending}")
    return root


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return write_network(tmp_path / "means.onnx")


def test_the_excess_is_the_shift(network: Path, tmp_path: Path) -> None:
    """Brighter by 12 of 255 in all of 48 features: ||m1 - m2||^2 is 48 (12/255)^2, covariances alike."""
    a = write_images(tmp_path / "a", make_images(1, 400))
    b = write_images(tmp_path / "b", make_images(2, 400, bright=12))
    found = windtunnel.distance(a, b, network, splits=5, seed=5)
    assert (found.title, found.n, found.features) == ("Fréchet distance in means:flat", 200, 48)
    assert found.grid is None
    assert found.excess.median == pytest.approx(48 * (12 / 255) ** 2, rel=0.15)
    assert windtunnel.distance(a, b, network, splits=5, seed=5).to_json() == found.to_json()


def test_every_group_is_what_the_split_says(network: Path, tmp_path: Path) -> None:
    """With two images a group and one split, all ways to draw are tried: ours is one of them."""
    images = [make_images(3, 4), make_images(4, 4)]
    a, b = (write_images(tmp_path / name, one) for name, one in zip("ab", images, strict=True))
    found = windtunnel.distance(a, b, network, output="map", splits=1)
    assert found.grid == (4, 4)
    assert found.features == 3
    features = [(one / 255.0).mean(axis=(1, 2)) for one in images]
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]

    def between(one: np.ndarray, other: np.ndarray) -> float:
        """Two points a group have covariances vv'/2: the root's trace is |v.w|/2."""
        v, w = one[0] - one[1], other[0] - other[1]
        return float(np.square(one.mean(0) - other.mean(0)).sum() + (v @ v + w @ w) / 2 - abs(float(v @ w)))

    drawn = [
        (left, right)
        for left in pairs
        for right in pairs
        if between(features[0][list(left)], features[1][list(right)])
        == pytest.approx(found.between.median, rel=1e-5)
    ]
    assert len(drawn) == 1
    for rows, chosen, measured in zip(features, drawn[0], (found.within_a, found.within_b), strict=True):
        others = [row for row in range(4) if row not in chosen]
        assert between(rows[list(chosen)], rows[others]) == pytest.approx(measured.median, rel=1e-5)


def test_no_shift_no_excess(network: Path, tmp_path: Path) -> None:
    halves = (
        write_images(tmp_path / "a", make_images(5, 200)),
        write_images(tmp_path / "b", make_images(6, 200)),
    )
    found = windtunnel.distance(*halves, network)
    assert found.excess.low < 0 < found.excess.high
    assert abs(found.excess.median) < 0.1 * found.within_a.median
    assert found.warnings == ()


def test_the_same_images_are_never_compared_with_themselves(network: Path, tmp_path: Path) -> None:
    """A set and its copy in another format are as far apart as its halves are, not nearer."""
    images = make_images(7, 60)
    a, b = write_images(tmp_path / "a", images), write_images(tmp_path / "b", images, "bmp")
    found = windtunnel.distance(a, b, network)
    assert found.excess.values == pytest.approx([0.0] * 20, abs=1e-9)
    renamed = tmp_path / "renamed"
    for path in b.rglob("*.bmp"):
        other = renamed / path.parent.name / f"copy-of-{path.name}"
        other.parent.mkdir(parents=True, exist_ok=True)
        path.rename(other)
    warned = windtunnel.distance(a, renamed, network)
    assert any("same images" in line for line in warned.warnings)


def write_videos(root: Path, seed: int, videos: int, frames: int = 21) -> Path:
    """Frames as ImageNet-Vid-Robust has them, nearly alike within a video."""
    rng = np.random.default_rng(seed)
    pmsets: dict[str, list[str]] = {}
    for video, image in enumerate(make_images(seed, videos)):
        keys = [f"val/video{video:02d}/{number:06d}.JPEG" for number in range(frames)]
        pmsets[keys[frames // 2]] = [key for key in keys if key != keys[frames // 2]]
        (root / keys[0]).parent.mkdir(parents=True)
        for key in keys:
            shown = np.clip(image + rng.normal(0, 4, size=image.shape), 0, 255).astype(np.uint8)
            Image.fromarray(shown).save(root / key, quality=100, subsampling=0)
    (root / "metadata").mkdir()
    (root / "metadata" / "pmsets.json").write_text(json.dumps(pmsets))
    labels = {key: [0] for anchor, near in pmsets.items() for key in (anchor, *near)}
    (root / "metadata" / "labels.json").write_text(json.dumps(labels))
    return root


def test_frames_of_few_videos_are_no_shift(
    network: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    """Independent images against frames of 20 videos, all from one generator."""
    a = write_images(tmp_path / "a", make_images(17, 420))
    b = write_videos(tmp_path / "vid-robust", 18, 20)
    found = windtunnel.distance(a, b, network)
    assert (found.n, found.a.drawn, found.b.images, found.b.drawn) == (10, 420, 420, 20)
    assert found.excess.low < 0 < found.excess.high
    assert abs(found.excess.median) < 0.1 * found.within_b.median
    assert any("10 images per group for 48 features" in line for line in found.warnings)
    said = windtunnel_command("distance", a, b, "--features", network, "--splits", 2).stdout
    assert "420 images, 20 in a split: one frame of every video" in said
    wrong = windtunnel_command("distance", a, b, "--features", network, "--size", 11)
    assert wrong.returncode == 2 and "size is 11; give 2 to 10: " in wrong.stderr


def test_frames_of_one_video_are_never_compared_with_each_other(network: Path, tmp_path: Path) -> None:
    """A frame set and its copy are as far apart as its halves, also where the copy names no videos."""
    a = write_videos(tmp_path / "vid-robust", 19, 12, 3)
    plain = tmp_path / "copy"
    shutil.copytree(a / "val", plain / "val")
    for b in (a, plain):
        found = windtunnel.distance(a, b, network, splits=4)
        assert (found.n, found.b.drawn) == (6, 12)
        assert found.excess.values == pytest.approx([0.0] * 4, abs=1e-9)
    few = write_videos(tmp_path / "few" / "vid-robust", 20, 3)
    with pytest.raises(windtunnel.UserError, match="3 readable videos; give at least 4, for two groups of 2"):
        windtunnel.distance(a, few, network)


def test_it_grows_with_severity(network: Path, tmp_path: Path) -> None:
    images = make_images(8, 60).repeat(2, axis=1).repeat(2, axis=2)
    clean = write_images(tmp_path / "clean", images)
    excesses = []
    for severity in (1, 3, 5):
        spoilt = [windtunnel.corrupt(one, "brightness", severity=severity, seed=0) for one in images]
        folder = write_images(tmp_path / f"bright{severity}", np.stack(spoilt))
        excesses.append(windtunnel.distance(clean, folder, network, splits=5).excess)
    assert excesses[0].low > 0
    assert excesses[0].high < excesses[1].low
    assert excesses[1].high < excesses[2].low


def test_any_kind_of_data_and_fixed_batches(tmp_path: Path) -> None:
    network = write_network(tmp_path / "fixed.onnx", batch=7)
    dynamic = write_network(tmp_path / "dynamic.onnx")
    images = make_images(9, 30), make_images(10, 30, bright=20)
    np.savez(tmp_path / "a.npz", images=images[0], labels=np.zeros(30, np.int64))
    b = write_images(tmp_path / "b", images[1])
    by_seven = windtunnel.distance(tmp_path / "a.npz", b, network, splits=2)
    by_any = windtunnel.distance(tmp_path / "a.npz", b, dynamic, splits=2)
    assert by_seven.between.values == pytest.approx(by_any.between.values, rel=1e-5)


@pytest.mark.parametrize("layout", ["folders", "arrays"])
def test_one_condition_of_a_precomputed_set(
    network: Path, digit_folder: Path, layout: str, windtunnel_command: Command
) -> None:
    made = windtunnel_command("make", "imagenet-c", digit_folder, "made", "--only", "fog", "--layout", layout)
    assert made.returncode == 0, made.stderr
    said = {}
    for condition in ("clean", "fog:1", "fog:5"):
        done = windtunnel_command(
            "distance", "made#clean", f"made#{condition}", "--features", network, "--json", "--splits", 5
        )
        assert done.returncode == 0, done.stderr
        said[condition] = json.loads(done.stdout)["excess"]["median"]
    assert said["clean"] == pytest.approx(0, abs=1e-9)
    assert said["fog:1"] < said["fog:5"]
    mistakes = {
        "made": "give one of them, such as",
        "made#snow:1": "Unknown condition",
        f"{digit_folder}#fog:3": "has no part 'fog:3'",
    }
    for wrong, words in mistakes.items():
        done = windtunnel_command("distance", wrong, "made#clean", "--features", network)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    with pytest.raises(windtunnel.UserError, match="one condition, which only `distance` takes"):
        windtunnel.run("demo", digit_folder.parent / "made#fog:1", "smoke")


def test_the_command_says_what_was_compared(
    network: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    a = write_images(tmp_path / "a", make_images(11, 40))
    b = write_images(tmp_path / "b", make_images(12, 30))
    (b / "class0" / "broken.png").write_bytes(b"no image")
    done = windtunnel_command("distance", a, b, "--features", network, "--output", "inner")
    assert done.returncode == 0, done.stderr
    assert "Fréchet distance in means:inner" in done.stdout
    assert "3 features, averaged over 4x4 positions" in done.stdout
    assert "20 of 15 against 15 images, seed 0" in done.stdout
    assert "1 unreadable" in done.stdout
    few = windtunnel_command("distance", a, b, "--features", network)
    assert "15 images per group for 48 features: covariances are singular" in few.stdout


def test_called_fid_only_where_the_network_is_fids(tmp_path: Path) -> None:
    """The family alone is not enough: FID is over 2,048 features."""
    a, b = write_images(tmp_path / "a", make_images(13, 8)), write_images(tmp_path / "b", make_images(14, 8))
    network = write_network(tmp_path / "means.onnx", declared=f"family = '{FID_FAMILY}'\n{AS_IT_IS}")
    found = windtunnel.distance(a, b, network, splits=1)
    assert found.title == "Fréchet distance in means:flat"
    assert any("Not FID: " in line for line in found.warnings)
    proto = onnx.load(str(network))
    proto.graph.node.append(helper.make_node("Tile", ["flat", "times"], ["tiled"]))
    proto.graph.node.append(helper.make_node("Slice", ["tiled", "zero", "end", "axis"], ["pool3"]))
    for name, values in {"times": [1, 43], "zero": [0], "end": [2048], "axis": [1]}.items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(values), name))
    network.write_bytes(proto.SerializeToString())
    assert windtunnel.distance(a, b, network, output="pool3", splits=1).title == "FID"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--output", "maps"], "Did you mean map? Known: flat, map, whole."),
        (["--output", "whole"], "int64"),
        (["--size", "40"], "give 2 to 10"),
        (["--preprocess", "nothing"], "Unknown preprocessing preset"),
    ],
)
def test_mistakes_take_one_line(
    network: Path, tmp_path: Path, windtunnel_command: Command, arguments: list[str], words: str
) -> None:
    a = write_images(tmp_path / "a", make_images(15, 20))
    done = windtunnel_command("distance", a, a, "--features", network, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_set_and_itself_are_said_to_be_the_same(network: Path, tmp_path: Path) -> None:
    a, b = (write_images(tmp_path / name, make_images(seed, 20)) for seed, name in enumerate("ab"))
    same = windtunnel.distance(a, a.parent / "b" / ".." / "a", network, splits=2)
    other = windtunnel.distance(a, b, network, splits=2)
    told = ["the same images: there is no shift" in " ".join(one.warnings) for one in (same, other)]
    assert told == [True, False]


def test_too_few_images_and_no_network(network: Path, tmp_path: Path, windtunnel_command: Command) -> None:
    a = write_images(tmp_path / "a", make_images(16, 3))
    few = windtunnel_command("distance", a, a, "--features", network)
    assert few.returncode == 2
    assert "3 readable images" in few.stderr
    none = windtunnel_command("distance", a, a, "--features", tmp_path / "no.onnx")
    assert none.returncode == 2
    assert "No such model" in none.stderr


def test_a_natural_set_is_read_as_a_run_reads_it(
    network: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    """ObjectNet without its red border and without folders that ImageNet lacks is the plain images."""
    plain, framed = tmp_path / "plain" / "alarm_clock", tmp_path / "objectnet" / "alarm_clock"
    plain.mkdir(parents=True)
    framed.mkdir(parents=True)
    for row, image in enumerate(make_images(11, 40)):
        Image.fromarray(image).save(plain / f"{row:02d}.png")
        bordered = np.full((SIDE + 4, SIDE + 4, 3), (255, 0, 0), np.uint8)
        bordered[2:-2, 2:-2] = image
        Image.fromarray(bordered).save(framed / f"{row:02d}.png")
    write_images(tmp_path / "objectnet", make_images(12, 30, bright=90))
    a = write_images(tmp_path / "a", make_images(13, 40))
    found = windtunnel.distance(a, tmp_path / "objectnet", network, splits=3)
    same = windtunnel.distance(a, tmp_path / "plain", network, splits=3)
    assert (found.b.images, found.between) == (40, same.between)
    assert found.a.remarks == same.b.remarks == ()
    said = windtunnel_command("distance", a, tmp_path / "objectnet", "--features", network).stdout
    assert "Read as ObjectNet" in said and "30 images in 3 other folders are left out" in said
    # A name alone makes no natural set: a run would refuse, a distance needs no classes.
    (tmp_path / "a").rename(tmp_path / "sketch")
    named = windtunnel.distance(tmp_path / "sketch", tmp_path / "plain", network, splits=3)
    assert named.between == same.between
    assert "A run would refuse them as ImageNet-Sketch" in named.a.remarks[0]


def test_images_that_are_out_need_no_clean_ones_here(network: Path, tmp_path: Path) -> None:
    out = tmp_path / "imagenet-o"
    (out / imagenet_1k().classes[masked_classes("in_imagenet_o")[0]]).mkdir(parents=True)
    for row, image in enumerate(make_images(14, 10)):
        Image.fromarray(image).save(next(out.iterdir()) / f"{row:02d}.png")
    Image.fromarray(image).save(out / "cover.png")
    found = windtunnel.distance(out, write_images(tmp_path / "a", make_images(15, 10)), network, splits=2)
    assert found.a.images == 10 and found.a.remarks[0].startswith("Read as ImageNet-O")
