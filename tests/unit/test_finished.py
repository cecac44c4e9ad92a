"""Precomputed sets: the published layouts, read as they are, whole or in part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.data.precomputed import PrecomputedDataset
from windtunnel.data.precomputed_folders import known_corruptions
from windtunnel.suites.default_suite import default_suite
from windtunnel.suites.golden_digests import golden_image
from windtunnel.suites.suite_files import load_suite, suite_names

UserError = windtunnel.UserError
FIFTEEN = load_suite("imagenet-c").units


def put_folders(
    root: Path, units: tuple[str, ...], names: tuple[str, ...], side: int = 64, levels: str = "12345"
) -> Path:
    """`<corruption>/<severity>/<class>/<image>`, every image of its own colour."""
    number = 0
    for unit in units:
        for level in levels:
            for name in names:
                path = root / unit / level / name
                path.parent.mkdir(parents=True, exist_ok=True)
                number += 1
                Image.new("RGB", (side, side), (number % 256, number // 256, 128)).save(path, quality=100)
    return root


def opened(root: Path) -> PrecomputedDataset:
    dataset = windtunnel.open_dataset(root)
    assert isinstance(dataset, PrecomputedDataset)
    return dataset


def held(dataset: PrecomputedDataset) -> list[str]:
    return [f"{one.unit}:{one.level}" for one in dataset.stored]


NAMES = ("n01440764/a.JPEG", "n01443537/b.JPEG", "n01443537/c.JPEG")


@pytest.mark.parametrize(("side", "edition"), [(224, 224), (299, 299), (64, 64), (32, 32)])
def test_folders_are_found_by_looking(tmp_path: Path, side: int, edition: int) -> None:
    dataset = opened(put_folders(tmp_path, ("fog", "snow"), NAMES, side))
    assert [sample.id for sample in dataset.samples()] == list(NAMES)
    assert [sample.labels for sample in dataset.samples()] == [(0,), (1,), (1,)]
    assert held(dataset) == [f"{unit}:{level}" for unit in ("fog", "snow") for level in range(1, 6)]
    assert dataset.edition == edition
    assert dataset.clean is None
    assert not dataset.notes
    assert default_suite(dataset) == "imagenet-c"


def test_corruptions_in_group_folders_are_found_too(tmp_path: Path) -> None:
    put_folders(tmp_path / "weather", ("fog",), NAMES)
    put_folders(tmp_path / "noise", ("gaussian_noise",), NAMES)
    assert {one.unit for one in opened(tmp_path).stored} == {"fog", "gaussian_noise"}


def test_numbered_class_folders_are_no_severities(tmp_path: Path) -> None:
    for class_ in "12345":
        (tmp_path / "val" / class_).mkdir(parents=True)
        Image.new("RGB", (40, 40)).save(tmp_path / "val" / class_ / "a.png")
    assert not isinstance(windtunnel.open_dataset(tmp_path), PrecomputedDataset)


def test_a_partial_download_tells_what_it_lacks(tmp_path: Path) -> None:
    put_folders(tmp_path, ("fog", "snow"), NAMES)
    put_folders(tmp_path, ("frost",), NAMES, levels="12")
    (tmp_path / "fog" / "3" / NAMES[0]).unlink()
    plan = windtunnel.plan(Seen(1000), tmp_path)
    assert plan.suite.name == "imagenet-c"
    assert len(plan.info.missing) == 75 - 12
    assert {"frost:3", "frost:4", "frost:5", "gaussian_noise:1"} <= set(plan.info.missing)
    assert plan.info.remarks == (
        "1 of 36 files is missing; an image with a missing file is left out of all scores.",
    )


def test_images_that_only_one_corruption_has_are_left_out(tmp_path: Path) -> None:
    # Tiny-ImageNet-C's first upload holds 1,000 classes under frost and 200 everywhere else.
    put_folders(tmp_path, ("fog", "snow"), NAMES)
    put_folders(tmp_path, ("frost",), (*NAMES, "n15075141/x.JPEG"))
    dataset = opened(tmp_path)
    assert [sample.id for sample in dataset.samples()] == list(NAMES)
    assert "n15075141/x.JPEG" in dataset.notes[0]


def test_c_bar_folders_may_be_named_by_strength(tmp_path: Path) -> None:
    for strength in ("4.6", "5.2", "5.8", "7.6", "8.8"):
        put_folders(tmp_path, ("perlin_noise",), NAMES, levels=(strength,))  # type: ignore[arg-type]
    put_folders(tmp_path, ("sparkles",), NAMES)
    dataset = opened(tmp_path)
    assert held(dataset) == [
        f"{unit}:{level}" for unit in ("perlin_noise", "sparkles") for level in range(1, 6)
    ]
    assert dataset.shelf.read(NAMES[0], ("perlin_noise", 4)) == (
        (tmp_path / "perlin_noise" / "7.6" / NAMES[0]).read_bytes()
    )
    assert default_suite(dataset) == "imagenet-c-bar"


def test_c_bar_as_its_script_writes_it_is_read_whole(tmp_path: Path) -> None:
    """The script names severity folders by "{:.2f}" of the strength; strengths as its CSV file has them."""
    strengths = {
        "caustic_refraction": "2.35,3.2,4.9,6.6,9.15",
        "inverse_sparkles": "1.0,2.0,4.0,9.0,10.0",
        "sparkles": "1.0,2.0,3.0,5.0,6.0",
        "perlin_noise": "4.6,5.2,5.8,7.6,8.8",
        "blue_noise_sample": "0.8,1.6,2.4,4.0,5.6",
        "plasma_noise": "4.75,7.0,8.5,9.25,10.0",
        "checkerboard_cutout": "2.0,3.0,4.0,5.0,6.0",
        "cocentric_sine_waves": "3.0,5.0,8.0,9.0,10.0",
        "single_frequency_greyscale": "1.0,1.5,2.0,4.5,5.0",
        "brownish_noise": "1.0,2.0,3.0,4.0,5.0",
    }
    for unit, row in strengths.items():
        levels = tuple(f"{float(one):.2f}" for one in row.split(","))
        put_folders(tmp_path, (unit,), NAMES[:1], side=32, levels=levels)  # type: ignore[arg-type]
    dataset = opened(tmp_path)
    assert held(dataset) == [f"{unit}:{level}" for unit in sorted(strengths) for level in range(1, 6)]
    # 4.00 is the third strength of inverse_sparkles, not severity 4.
    for folder, level in (("4.00", 3), ("10.00", 5)):
        file = tmp_path / "inverse_sparkles" / folder / NAMES[0]
        assert dataset.shelf.read(NAMES[0], ("inverse_sparkles", level)) == file.read_bytes()
    assert not dataset.notes
    plan = windtunnel.plan(Seen(1000), tmp_path)
    assert plan.suite.name == "imagenet-c-bar" and not plan.info.missing


def test_severities_of_c_bar_stay_severities_where_they_are_also_strengths(tmp_path: Path) -> None:
    put_folders(tmp_path, ("inverse_sparkles",), NAMES, levels="45")
    assert held(opened(tmp_path)) == ["inverse_sparkles:4", "inverse_sparkles:5"]


def test_every_folder_that_is_not_understood_is_named(tmp_path: Path, windtunnel_command: Command) -> None:
    strange = ("0.80", "0.8", "0.83", "1.7", "old")
    put_folders(tmp_path, ("blue_noise_sample",), NAMES, levels=strange)  # type: ignore[arg-type]
    put_folders(tmp_path, ("sparkles",), NAMES)
    put_folders(tmp_path, ("plasma_noise", "my_notes"), NAMES, levels=("a", "b"))  # type: ignore[arg-type]
    dataset = opened(tmp_path)
    assert held(dataset) == ["blue_noise_sample:1", *(f"sparkles:{level}" for level in range(1, 6))]
    named = [
        "blue_noise_sample/0.80 is ignored: blue_noise_sample/0.8 is the same severity.",
        "blue_noise_sample/0.83, blue_noise_sample/1.7, blue_noise_sample/old are not severities and are "
        "ignored.",
        "my_notes is ignored: it has no severity folder (it has a, b).",
        "plasma_noise is ignored: it has no severity folder (it has a, b).",
    ]
    assert dataset.notes == named
    assert windtunnel.plan(Seen(1000), tmp_path).info.remarks == tuple(named)
    shown = " ".join(windtunnel_command("data", "inspect", str(tmp_path)).stdout.split())
    assert all(one in shown for one in named)
    with pytest.raises(UserError, match="contains no condition of suite") as error:
        windtunnel.plan(Seen(1000), tmp_path, suite="imagenet-c")
    assert all(one in str(error.value) for one in named)


def test_folders_beside_groups_of_corruptions_are_named(tmp_path: Path) -> None:
    put_folders(tmp_path / "weather", ("fog",), NAMES)
    put_folders(tmp_path / "noise", ("gaussian_noise", "hum"), NAMES, levels="3")
    (tmp_path / "noise" / "papers").mkdir()
    (tmp_path / "papers" / "2019").mkdir(parents=True)
    assert opened(tmp_path).notes == [
        "papers is ignored: it has no severity folder.",
        "papers is ignored: it has no corruption folder.",
    ]


def test_corruptions_of_which_no_severity_is_understood_are_no_classes(tmp_path: Path) -> None:
    put_folders(tmp_path, ("fog", "snow"), NAMES, levels=("s1", "s2"))  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"no severity folder among fog/s1, fog/s2, snow/s1, snow/s2; name"):
        windtunnel.open_dataset(tmp_path)


def put_arrays(root: Path, units: tuple[str, ...], count: int = 6, classes: int = 3) -> np.ndarray:
    rng = np.random.default_rng(1)
    root.mkdir(parents=True, exist_ok=True)
    for unit in units:
        np.save(root / f"{unit}.npy", rng.integers(0, 256, (5 * count, 32, 32, 3), dtype=np.uint8))
    labels = (np.arange(count) % classes).astype(np.uint8)
    np.save(root / "labels.npy", np.tile(labels, 5))
    return labels


def test_cifar_arrays_follow_the_slice_rule(tmp_path: Path) -> None:
    labels = put_arrays(tmp_path / "CIFAR-10-C", ("fog", "snow"))
    dataset = opened(tmp_path / "CIFAR-10-C")
    assert [sample.labels[0] for sample in dataset.samples()] == labels.tolist()
    fog = np.load(tmp_path / "CIFAR-10-C" / "fog.npy")
    for severity in (1, 5):
        found = dataset.read_under(dataset.samples()[4], "fog", severity)
        assert np.array_equal(found, fog[(severity - 1) * 6 + 4])
    assert dataset.edition == 32


def test_a_truncated_array_is_left_out_and_told(tmp_path: Path) -> None:
    put_arrays(tmp_path, ("fog", "snow"))
    content = (tmp_path / "fog.npy").read_bytes()
    (tmp_path / "fog.npy").write_bytes(content[: len(content) // 2])
    dataset = opened(tmp_path)
    assert {one.unit for one in dataset.stored} == {"snow"}
    assert dataset.notes == ["fog.npy is left out: it has 14 of 30 expected images."]


def test_labels_that_are_not_repeated_five_times_are_refused(tmp_path: Path) -> None:
    put_arrays(tmp_path, ("fog",))
    np.save(tmp_path / "labels.npy", np.arange(6))
    with pytest.raises(UserError, match="repeats the classes of its images once for each of 5"):
        windtunnel.open_dataset(tmp_path)


class Seen:
    """A model that remembers what it saw."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.images: list[np.ndarray] = []

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        self.images += list(batch)
        return np.tile(np.linspace(0, 1, self.classes, dtype=np.float32), (len(batch), 1))


def test_images_reach_the_model_as_they_are_stored(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for level in "12345":
        for name in NAMES:
            path = tmp_path / "set" / "fog" / level / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(path, quality=70)
    declared = tmp_path / "plain.toml"
    declared.write_text('geometry = { rule = "exact", crop_px = 64 }')
    model = Seen(1000)
    run = windtunnel.run(model, tmp_path / "set", out=tmp_path / "run", preprocess=declared)
    seen = {image.tobytes() for image in model.images}
    for level in "12345":
        for name in NAMES:
            with Image.open(tmp_path / "set" / "fog" / level / name) as stored:
                assert np.asarray(stored).tobytes() in seen
    assert [condition.codec for condition in run.conditions] == ["stored"] * 5
    formula = run.scores(["mean_error"])[0].formula
    assert formula.endswith("5 of 75 conditions: the others are not in the set")


def test_two_sets_of_the_same_names_are_two_recipes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        put_folders(tmp_path / name / "set", ("brightness", "fog"), NAMES)
    other = tmp_path / "b" / "set" / "fog" / "5" / NAMES[2]
    Image.fromarray(golden_image(64)).save(other)
    recipes = [windtunnel.plan(Seen(1000), tmp_path / name / "set").recipe for name in ("a", "b")]
    assert recipes[0].data.finished != recipes[1].data.finished


def test_normalisers_need_the_published_size_and_format(tmp_path: Path) -> None:
    from windtunnel.metrics.corruption_error import misfit

    def reason(root: Path, name: str, size: tuple[int, int], suffix: str) -> str:
        for level in "12345":
            path = root / "fog" / level / "n01440764" / f"a{suffix}"
            path.parent.mkdir(parents=True)
            Image.fromarray(golden_image(300)).resize(size).save(path)
        found = misfit(windtunnel.run(Seen(1000), root, out=tmp_path / f"run-{name}").scoring)
        return found.reason if found else ""

    assert reason(tmp_path / "published", "published", (224, 224), ".JPEG") == ""
    assert "JPEG 85" in reason(tmp_path / "png", "png", (224, 224), ".png")
    assert "own canvas" in reason(tmp_path / "odd", "odd", (256, 200), ".JPEG")


def test_the_suite_is_the_one_of_which_most_is_there(tmp_path: Path) -> None:
    put_arrays(tmp_path, load_suite("cifar-10-c-bar").units)
    assert default_suite(opened(tmp_path)) == "cifar-10-c-bar"


def test_a_stray_entry_hides_nothing(tmp_path: Path) -> None:
    put_folders(tmp_path, ("fog", "snow"), NAMES)
    (tmp_path / "fog" / "7").mkdir()
    (tmp_path / "fog" / "3" / "extra.JPEG").write_bytes(b"")
    dataset = opened(tmp_path)
    assert len(dataset.stored) == 10
    assert dataset.notes == ["fog/7 is not a severity and is ignored."]


def test_a_download_that_has_hardly_begun_takes_nothing_from_others(tmp_path: Path) -> None:
    names = tuple(f"n01440764/{number}.JPEG" for number in range(8))
    put_folders(tmp_path, ("fog", "snow"), names)
    for name in names[1:]:
        (tmp_path / "fog" / "1" / name).unlink()
    dataset = opened(tmp_path)
    assert len(dataset.samples()) == 8
    assert "fog:1" not in held(dataset)
    assert dataset.notes == ["fog:1 is left out: it has 1 images; 8 are usual."]


def test_one_corruption_alone_is_a_precomputed_set(tmp_path: Path) -> None:
    put_folders(tmp_path, ("zoom_blur",), NAMES)
    assert held(opened(tmp_path / "zoom_blur")) == [f"zoom_blur:{level}" for level in range(1, 6)]


def test_classes_with_numbered_folders_inside_are_classes(tmp_path: Path) -> None:
    for side in ("left", "right"):
        (tmp_path / "cat" / "1" / side).mkdir(parents=True)
        Image.new("RGB", (40, 40)).save(tmp_path / "cat" / "1" / side / "a.png")
    (tmp_path / "dog").mkdir()
    Image.new("RGB", (40, 40)).save(tmp_path / "dog" / "a.png")
    assert windtunnel.open_dataset(tmp_path).label_space.classes == ("cat", "dog")


def test_clean_images_of_the_canvas_size_are_taken_as_they_are(tmp_path: Path) -> None:
    root = put_folders(tmp_path / "set", ("fog",), NAMES, side=224)
    for name in NAMES:
        for folder, side in (("canvases", 224), ("originals", 300)):
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(golden_image(side)).save(path)
    for folder, rule in (("canvases", "none"), ("originals", "short-side")):
        plan = windtunnel.plan(Seen(1000), root, clean=tmp_path / folder)
        assert plan.canvas.geometry.rule == rule


def test_a_clean_set_that_has_few_of_the_images_is_refused(tmp_path: Path) -> None:
    root = put_folders(tmp_path / "set", ("fog",), NAMES)
    (tmp_path / "val" / NAMES[0]).parent.mkdir(parents=True)
    Image.new("RGB", (64, 64)).save(tmp_path / "val" / NAMES[0])
    with pytest.raises(UserError, match="has 1 of the 3 images"):
        windtunnel.plan(Seen(1000), root, clean=tmp_path / "val")


def test_clean_images_are_matched_by_class_and_name(tmp_path: Path) -> None:
    root = put_folders(tmp_path / "set", ("fog",), NAMES, side=224)
    for name in NAMES:
        path = tmp_path / "val" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(golden_image(300)).save(path)
    plan = windtunnel.plan(Seen(1000), root, clean=tmp_path / "val")
    assert [one.name for one in plan.conditions[:3]] == ["native", "clean", "fog:1+stored"]
    assert plan.canvas.geometry.resize_px == 256
    (tmp_path / "other" / "n01440764").mkdir(parents=True)
    Image.new("RGB", (40, 40)).save(tmp_path / "other" / "n01440764" / "z.png")
    with pytest.raises(UserError, match="give the clean images that the set was made from"):
        windtunnel.plan(Seen(1000), root, clean=tmp_path / "other")


def test_clean_arrays_in_another_order_are_refused(tmp_path: Path) -> None:
    labels = put_arrays(tmp_path / "set", ("fog",))
    images = np.zeros((6, 32, 32, 3), np.uint8)
    np.savez(tmp_path / "clean.npz", images=images, labels=labels[::-1])
    with pytest.raises(UserError, match="in the same order"):
        windtunnel.plan(Seen(3), tmp_path / "set", clean=tmp_path / "clean.npz")


def test_corrupted_arrays_are_paired_with_as_many_clean_images_only(tmp_path: Path) -> None:
    labels = put_arrays(tmp_path / "set", ("fog",))
    images = np.zeros((12, 32, 32, 3), np.uint8)
    np.savez(tmp_path / "clean.npz", images=images, labels=np.tile(labels, 2))
    with pytest.raises(UserError, match=r"12 images.* have 6, and rows are paired by their order"):
        windtunnel.plan(Seen(3), tmp_path / "set", clean=tmp_path / "clean.npz")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"codec": "png"}, "already stored"),
        ({"settings": ["frost.textures=x"]}, "contains corrupted images already"),
        ({"edition": 224}, "of edition 64, not 224"),
        ({"suite": "imagenet-c-extra"}, "contains no condition of suite"),
        ({"suite": "imagenet-c-bar"}, "contains no condition of suite"),
        ({"suite": "imagenet-c-native"}, "corrupted already"),
    ],
)
def test_a_precomputed_set_cannot_be_made_again(
    tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    put_folders(tmp_path, ("fog",), NAMES)
    with pytest.raises(UserError, match=message):
        windtunnel.plan(Seen(1000), tmp_path, **arguments)  # type: ignore[arg-type]


def test_a_plain_set_has_no_clean_beside_it_and_no_stored_suite(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (64, 64)).save(tmp_path / name)
    with pytest.raises(UserError, match="clean needs a precomputed set"):
        windtunnel.plan(Seen(1000), tmp_path, clean=tmp_path)
    with pytest.raises(UserError, match="cannot make them"):
        windtunnel.plan(Seen(1000), tmp_path, suite="as-stored")


def test_every_corruption_that_a_suite_names_is_known_to_the_reader() -> None:
    units = {unit for name in suite_names() for unit in load_suite(name).units}
    corruptions = {unit for unit in units if "=" not in unit and "/" not in unit}
    assert corruptions <= known_corruptions()
