"""Precomputed sequences: ImageNet-P's videos and CIFAR-10-P's arrays, read as they are, whole or in part."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from windtunnel.data.precomputed import PrecomputedDataset
from windtunnel.imaging.clips import encode_clip
from windtunnel.report.sections.flip_timelines import timelines
from windtunnel.suites.default_suite import default_suite
from windtunnel.suites.golden_digests import golden_image

UserError = windtunnel.UserError
NAMES = ("n01440764/a", "n01443537/b", "n01443537/c")


class Brightest:
    """Classes that follow each other as images grow lighter."""

    name = fingerprint = "brightest"

    def __init__(self, classes: int) -> None:
        self._classes = classes

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        step = batch.mean(axis=(1, 2, 3)) % self._classes
        return -np.abs(step[:, None] - np.arange(self._classes)).astype(np.float32)


def clip_of(number: int, frames: int = 5, side: int = 64) -> list[np.ndarray]:
    """A few frames that grow lighter."""
    return [np.full((side, side, 3), 40 + 9 * number + 3 * frame, np.uint8) for frame in range(frames)]


def put_videos(root: Path, units: tuple[str, ...], side: int = 64) -> Path:
    """`<perturbation>/<wnid>/<name>.mp4`, as published."""
    for unit in units:
        for number, name in enumerate(NAMES):
            path = root / unit / f"{name}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encode_clip(clip_of(number, side=side), "temporal"))
    return root


def put_arrays(root: Path, units: tuple[str, ...], count: int = 6, frames: int = 7) -> Path:
    """`<perturbation>.npy` (n, frames, 32, 32, 3) and no labels, as published."""
    root.mkdir(parents=True, exist_ok=True)
    for unit in units:
        clips = [clip_of(number, frames, 32) for number in range(count)]
        np.save(root / f"{unit}.npy", np.array(clips, np.uint8))
    return root


def opened(root: Path) -> PrecomputedDataset:
    dataset = windtunnel.open_dataset(root)
    assert isinstance(dataset, PrecomputedDataset)
    return dataset


def failures(run: windtunnel.Run) -> dict[tuple[str, str], str]:
    rows = run.predictions(["condition", "status", "reason"]).to_pylist()
    return {(row["sample_id"], row["condition"]): row["reason"] for row in rows if row["status"] != "ok"}


@pytest.mark.parametrize(("side", "edition"), [(224, 224), (64, 64)])
def test_videos_are_found_by_looking(tmp_path: Path, side: int, edition: int) -> None:
    dataset = opened(put_videos(tmp_path, ("tilt", "gaussian_noise", "gaussian_noise_2"), side))
    assert [sample.id for sample in dataset.samples()] == [f"{name}.mp4" for name in NAMES]
    assert [sample.labels for sample in dataset.samples()] == [(0,), (1,), (1,)]
    assert [(one.name, one.kind, one.frames) for one in dataset.stored] == [
        ("seq/gaussian_noise:1+stored", "sequence", 5),
        ("seq/gaussian_noise:2+stored", "sequence", 5),
        ("seq/tilt+stored", "sequence", 5),
    ]
    assert (dataset.edition, dataset.clean, dataset.notes) == (edition, None, [])
    assert default_suite(dataset) == "imagenet-p"


def test_every_sequence_has_its_own_shape(tmp_path: Path) -> None:
    """Published 64-pixel motion blur is not square, and no other sequence is called so for it."""
    alone = {one.unit: one.id for one in opened(put_videos(tmp_path / "square", ("tilt", "rotate"))).stored}
    root = put_videos(tmp_path / "set", ("rotate", "tilt"))
    for number, name in enumerate(NAMES):
        path = root / "motion_blur" / f"{name}.mp4"
        path.parent.mkdir(parents=True, exist_ok=True)
        wide = [np.repeat(frame[:, :1], 86, axis=1) for frame in clip_of(number)]
        path.write_bytes(encode_clip(wide, "temporal"))
    dataset = opened(root)
    found = {one.unit: one for one in dataset.stored}
    assert found["seq/motion_blur"].geometry == {"stored_px": [86, 64]}
    assert {unit: found[unit].id for unit in alone} == alone
    assert (dataset.edition, dataset.size) == (64, (64, 64))
    assert dataset.notes == [
        "seq/motion_blur has another shape than the canvas (its first clip 86x64 pixels, the canvas 64x64): "
        "its frames are resized directly to the model's input."
    ]
    run = windtunnel.run(Brightest(1000), root, out=tmp_path / "run")
    assert not failures(run) and run.info.remarks[:1] == tuple(dataset.notes)
    portrait = [np.repeat(frame[:1], 90, axis=0) for frame in clip_of(0)]
    (root / "motion_blur" / f"{NAMES[0]}.mp4").write_bytes(encode_clip(portrait, "temporal"))
    assert not failures(windtunnel.run(Brightest(1000), root, out=tmp_path / "both"))


def test_every_sequence_of_frames_has_its_own_format(tmp_path: Path) -> None:
    put_frames(tmp_path, "tilt", ("n01440764", "n01443537"), ".png")
    root = put_frames(tmp_path, "rotate", ("n01440764", "n01443537"), ".JPEG")
    assert [one.name for one in opened(root).stored] == ["seq/rotate+stored-jpeg", "seq/tilt+stored-png"]


def test_sequences_in_group_folders_or_alone_are_found_too(tmp_path: Path) -> None:
    put_videos(tmp_path / "digital", ("tilt",))
    put_videos(tmp_path / "validation", ("spatter",))
    assert [one.unit for one in opened(tmp_path).stored] == ["seq/tilt", "seq/spatter"]
    assert [one.unit for one in opened(tmp_path / "validation").stored] == ["seq/spatter"]
    assert [one.unit for one in opened(tmp_path / "digital" / "tilt").stored] == ["seq/tilt"]


def test_corrupted_folders_of_the_same_names_are_no_sequences(tmp_path: Path) -> None:
    for level in "12345":
        path = tmp_path / "gaussian_noise" / level / "n01440764" / "1.png"
        path.parent.mkdir(parents=True)
        Image.new("RGB", (64, 64)).save(path)
    assert {one.kind for one in opened(tmp_path).stored} == {"corruption"}


def test_frames_without_a_manifest_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number, name in enumerate(NAMES):
        folder = tmp_path / "tilt" / name
        folder.mkdir(parents=True)
        for frame, image in enumerate(clip_of(number, frames=11)):
            Image.fromarray(image).save(folder / f"{frame}.png")
    dataset = opened(tmp_path)
    assert [(one.name, one.frames) for one in dataset.stored] == [("seq/tilt+stored-png", 11)]
    run = windtunnel.run(Brightest(1000), tmp_path, out=tmp_path.parent / "run")
    best = [row["top"][0] for row in run.predictions(["top"]).to_pylist()][:11]
    assert best == [40 + 3 * frame for frame in range(11)]


def put_frames(root: Path, unit: str, classes: tuple[str, ...], suffix: str = ".png") -> Path:
    """`<perturbation>/<class>/<name>/<frame>`."""
    for number, class_ in enumerate(classes):
        folder = root / unit / class_ / f"image{number}"
        folder.mkdir(parents=True)
        for place, frame in enumerate(clip_of(number)):
            Image.fromarray(frame).save(folder / f"{place:03d}{suffix}")
    return root


@pytest.mark.parametrize("unit", ["tilt", "brightness"])
def test_frames_of_classes_called_by_number_are_clips(tmp_path: Path, unit: str) -> None:
    """No corruption is called tilt; of brightness the frames' own names tell."""
    dataset = opened(put_frames(tmp_path / "set", unit, ("1", "2", "3")))
    assert [(one.unit, one.frames) for one in dataset.stored] == [(f"seq/{unit}", 5)]
    assert [sample.labels for sample in dataset.samples()] == [(1,), (2,), (3,)]


def test_a_class_of_numbered_images_is_no_clip(tmp_path: Path) -> None:
    """ImageNet-C: brightness, severities, classes, and images that happen to have numbers for names."""
    for level in "12345":
        for number in (3, 7, 8):
            path = tmp_path / "set" / "brightness" / level / "n01440764" / f"{number:08d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(golden_image(300)).resize((64, 64)).save(path)
    assert {one.kind for one in opened(tmp_path / "set").stored} == {"corruption"}


@pytest.mark.parametrize(("suffix", "codec"), [(".png", "stored-png"), (".JPEG", "stored-jpeg")])
def test_frames_are_called_by_their_format(tmp_path: Path, suffix: str, codec: str) -> None:
    """Frames that are JPEG were compressed, and no report may say otherwise."""
    root = put_frames(tmp_path / "set", "tilt", ("n01440764", "n01443537"), suffix)
    assert [one.name for one in opened(root).stored] == [f"seq/tilt+{codec}"]


def test_videos_are_scored_as_they_are(tmp_path: Path) -> None:
    root = put_videos(tmp_path / "set", ("tilt", "brightness"))
    run = windtunnel.run(Brightest(1000), root, out=tmp_path / "run")
    assert [condition.name for condition in run.conditions] == ["seq/brightness+stored", "seq/tilt+stored"]
    assert not failures(run)
    scores = {(score.metric, score.condition): score.value for score in run.scores()}
    assert scores["flip_probability", "seq/tilt+stored"] == 1  # every frame is lighter than the last
    assert len(run.info.missing) == 8
    run.report()


def test_clips_that_cannot_be_used_are_failed_rows(tmp_path: Path) -> None:
    """All frames of them, also those that could be read."""
    root = put_videos(tmp_path / "set", ("tilt", "scale", "rotate", "brightness", "shear"))
    whole = (root / "tilt" / f"{NAMES[0]}.mp4").read_bytes()
    (root / "tilt" / f"{NAMES[0]}.mp4").write_bytes(whole[: len(whole) // 2])
    (root / "scale" / f"{NAMES[1]}.mp4").unlink()
    (root / "rotate" / f"{NAMES[1]}.mp4").write_bytes(encode_clip(clip_of(1, frames=6), "temporal"))
    (root / "brightness" / f"{NAMES[1]}.mp4").write_bytes(encode_clip(clip_of(1, frames=3), "temporal"))
    (root / "shear" / f"{NAMES[0]}.mp4").write_bytes(encode_clip(clip_of(0, side=80), "temporal"))
    only = ["tilt", "scale", "rotate", "brightness", "shear"]
    run = windtunnel.run(Brightest(1000), root, "imagenet-p", only=only, out=tmp_path / "run")
    told = failures(run)
    rows = run.predictions(["condition", "status"]).to_pylist()
    failed = Counter((row["sample_id"], row["condition"]) for row in rows if row["status"] != "ok")
    assert failed == dict.fromkeys(told, 5)
    assert told.pop((f"{NAMES[0]}.mp4", "seq/shear+stored")) == "a clip of 80x80 pixels where 64x64 are usual"
    assert told.keys() == {
        (f"{NAMES[0]}.mp4", "seq/tilt+stored"), (f"{NAMES[1]}.mp4", "seq/scale+stored"),
        (f"{NAMES[1]}.mp4", "seq/rotate+stored"), (f"{NAMES[1]}.mp4", "seq/brightness+stored"),
    }  # fmt: skip
    assert told[f"{NAMES[1]}.mp4", "seq/rotate+stored"] == "a clip of more frames than the usual 5"
    assert told[f"{NAMES[1]}.mp4", "seq/brightness+stored"] == "a clip of 3 frames where 5 are usual"
    assert {score.n for score in run.scores(["flip_probability"])} == {1}
    assert run.info.remarks[:1] == (
        "1 of 15 files is missing; an image with a missing file is left out of all scores.",
    )


def test_a_sequence_without_a_single_good_clip_is_named(tmp_path: Path) -> None:
    root = put_videos(tmp_path, ("tilt", "scale"))
    for name in NAMES:
        (root / "tilt" / f"{name}.mp4").write_bytes(b"no video")
    with pytest.raises(UserError, match=r"tilt contains no readable clip"):
        windtunnel.plan(Brightest(1000), root)


def put_short_frames(folder: Path) -> None:
    """`<class>/<name>/<frame>.png` of two frames."""
    for number, name in enumerate(NAMES):
        (folder / name).mkdir(parents=True)
        for frame, pixels in enumerate(clip_of(number, 2)):
            Image.fromarray(pixels).save(folder / name / f"{frame:03d}.png")


@pytest.mark.parametrize("group", ["", "all"])
def test_what_is_not_read_of_a_folder_is_told(tmp_path: Path, group: str) -> None:
    root = put_videos(tmp_path / "set" / group, ("tilt", "tlit"))
    put_short_frames(root / "rotate")
    put_short_frames(root / "tilt")
    (root / "notes").mkdir()
    if group:
        (tmp_path / "set" / "papers").mkdir()
    told = opened(tmp_path / "set").notes
    assert sorted(told) == sorted(
        [
            "rotate is ignored: unlike the others, it contains no videos.",
            "tlit is ignored: it is not the name of a sequence (did you mean tilt?).",
            "notes is ignored: it is not the name of a sequence.",
            "tilt contains frames in addition to videos; the frames are ignored.",
            *(["papers contains no sequence and is ignored."] if group else []),
        ]
    )


def test_arrays_of_other_names_are_told(tmp_path: Path) -> None:
    put_arrays(tmp_path, ("tilt", "rotat", "labels_old"))
    assert opened(tmp_path).notes == [
        "labels_old.npy is ignored: it is not the name of a sequence.",
        "rotat.npy is ignored: it is not the name of a sequence (did you mean rotate?).",
    ]


def test_clean_images_beside_videos_are_matched_by_class_and_name(tmp_path: Path) -> None:
    root = put_videos(tmp_path / "set", ("tilt",), 224)
    for name in NAMES:
        path = tmp_path / "val" / f"{name}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(golden_image(300)).save(path)
    plan = windtunnel.plan(Brightest(1000), root, clean=tmp_path / "val")
    assert [one.name for one in plan.conditions] == ["native", "clean", "seq/tilt+stored"]


def test_timelines_of_videos_with_clean_images_are_shown(tmp_path: Path) -> None:
    """The survey looked at the clean images, so that they must be there to know the clips again."""
    put_videos(tmp_path / "p", ("tilt",))
    for number, name in enumerate(NAMES):
        path = tmp_path / "val" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(golden_image(300 + number)).save(path)
    run = windtunnel.run(Brightest(1000), tmp_path / "p", clean=tmp_path / "val", out=tmp_path / "run")
    found = timelines(run.scoring)
    assert found.shown and not found.note


def test_arrays_without_labels_have_flips_and_no_errors(tmp_path: Path) -> None:
    root = put_arrays(tmp_path / "CIFAR-10-P", ("tilt", "gaussian_noise", "gaussian_noise_3"))
    dataset = opened(root)
    assert [(one.name, one.frames) for one in dataset.stored] == [
        ("seq/gaussian_noise:1+stored-array", 7),
        ("seq/gaussian_noise:3+stored-array", 7),
        ("seq/tilt+stored-array", 7),
    ]
    assert {sample.labels for sample in dataset.samples()} == {()}
    run = windtunnel.run(Brightest(10), root, out=tmp_path / "run")
    scores = {score.metric: score.value for score in run.scores()}
    assert scores["mfp"] == 1 and "top1_error" not in scores
    run.report()


def test_arrays_take_their_labels_from_the_clean_set(tmp_path: Path) -> None:
    root = put_arrays(tmp_path / "CIFAR-10-P", ("tilt",))
    labels = np.arange(6) % 3
    np.savez(tmp_path / "test.npz", images=np.zeros((6, 32, 32, 3), np.uint8), labels=labels)
    run = windtunnel.run(Brightest(3), root, clean=tmp_path / "test.npz", out=tmp_path / "run")
    assert run.samples["labels"].to_pylist() == [[label] for label in labels]
    errors = {score.condition: score.value for score in run.scores(["top1_error"])}
    assert errors["clean"] == pytest.approx(2 / 3)  # black is class 0


def test_arrays_are_paired_with_as_many_clean_images_only(tmp_path: Path) -> None:
    """Rows have no names: the first 6 of 20 images may be anything."""
    root = put_arrays(tmp_path / "CIFAR-10-P", ("tilt",))
    np.savez(tmp_path / "test.npz", images=np.zeros((20, 32, 32, 3), np.uint8), labels=np.arange(20) % 3)
    with pytest.raises(UserError, match=r"20 images.* have 6, and rows are paired by their order"):
        windtunnel.plan(Brightest(3), root, clean=tmp_path / "test.npz")


@pytest.mark.parametrize("unit", ["gaussian_noise", "rotate"])
def test_clean_images_that_are_not_in_the_clips_are_refused(tmp_path: Path, unit: str) -> None:
    """Of both a frame is the clean image: the first, or the one in the middle."""
    root = put_arrays(tmp_path / "CIFAR-10-P", (unit, "tilt"), frames=31)
    frame = {"gaussian_noise": 0, "rotate": 15}[unit]
    images = np.load(root / f"{unit}.npy")[:, frame]
    for name, given in (("same", images), ("other", images[::-1])):
        np.savez(tmp_path / f"{name}.npz", images=given, labels=np.arange(6) % 3)
    windtunnel.plan(Brightest(3), root, clean=tmp_path / "same.npz")
    with pytest.raises(UserError, match=rf"other.npz contains other images.*frame {frame} of seq/{unit}"):
        windtunnel.plan(Brightest(3), root, clean=tmp_path / "other.npz")


def test_labels_beside_arrays_are_read(tmp_path: Path) -> None:
    root = put_arrays(tmp_path, ("tilt",))
    np.save(root / "labels.npy", np.arange(6) % 3)
    assert [sample.labels for sample in opened(root).samples()] == [(0,), (1,), (2,)] * 2
    np.save(root / "labels.npy", np.arange(5))
    with pytest.raises(UserError, match="give 6 class indices"):
        opened(root)


def test_arrays_of_other_numbers_and_truncated_ones_are_left_out_and_told(tmp_path: Path) -> None:
    put_arrays(tmp_path, ("tilt", "rotate", "scale"))
    put_arrays(tmp_path, ("snow",), count=2)
    content = (tmp_path / "rotate.npy").read_bytes()
    (tmp_path / "rotate.npy").write_bytes(content[: len(content) // 2])
    dataset = opened(tmp_path)
    assert [one.unit for one in dataset.stored] == ["seq/scale", "seq/tilt"]
    assert dataset.notes == [
        "rotate.npy is left out: it has 2 of 6 expected clips.",
        "snow.npy is left out: it has 2 of 6 expected clips.",
    ]


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.zeros((6, 7, 32, 32, 3), np.float32), "float32 .*clips are uint8"),
        (np.zeros((6, 7, 32, 32, 1), np.uint8), "clips are uint8"),
        (np.zeros((30, 32, 32, 3), np.uint8), "clips are uint8"),
    ],
)
def test_arrays_of_another_kind_are_refused_in_one_line(tmp_path: Path, array: np.ndarray, told: str) -> None:
    put_arrays(tmp_path, ("tilt",))
    np.save(tmp_path / "snow.npy", array)
    with pytest.raises(UserError, match=told):
        opened(tmp_path)


def test_a_set_of_stronger_noise_is_scored_at_its_difficulty(tmp_path: Path) -> None:
    root = put_arrays(tmp_path / "set", ("gaussian_noise_2", "tilt"))
    plan = windtunnel.plan(Brightest(10), root)
    assert plan.suite.name == "imagenet-p-difficulty-2"
    assert [one.name for one in plan.conditions] == [
        "seq/gaussian_noise:2+stored-array",
        "seq/tilt+stored-array",
    ]


def test_clips_too_short_for_the_difficulty_are_refused_before_any_work(tmp_path: Path) -> None:
    root = put_arrays(tmp_path / "short", ("tilt",), frames=2)
    with pytest.raises(UserError, match=r"^seq/tilt\S+ has 2 frames; difficulty 2 compares 3 ") as told:
        windtunnel.plan(Brightest(10), root, "imagenet-p", difficulty=2)
    assert "\n" not in str(told.value)
    noise = put_arrays(tmp_path / "noise", ("gaussian_noise_3",), frames=3)
    run = windtunnel.run(Brightest(10), noise, "imagenet-p", difficulty=3, out=tmp_path / "run")
    assert [score.value for score in run.scores(["flip_probability"])] == [1]
    still = put_arrays(tmp_path / "still", ("gaussian_noise",), frames=1)
    with pytest.raises(UserError, match="has 1 frame; difficulty 1 compares 2 or more"):
        windtunnel.plan(Brightest(10), still, "imagenet-p")


@pytest.mark.parametrize("suite", ["imagenet-c", "as-stored", "imagenet-p-extra"])
def test_other_suites_are_refused_and_the_way_out_is_told(tmp_path: Path, suite: str) -> None:
    root = put_arrays(tmp_path, ("tilt",))
    with pytest.raises(UserError, match=r"Leave out suite and only\.$"):
        windtunnel.plan(Brightest(10), root, suite)


@pytest.mark.parametrize("options", [{"codec": "h264"}, {"edition": 224}])
def test_precomputed_clips_cannot_be_made_again(tmp_path: Path, options: dict[str, object]) -> None:
    root = put_arrays(tmp_path, ("tilt",))
    with pytest.raises(UserError, match=r"already stored|of edition 32, not 224"):
        windtunnel.plan(Brightest(10), root, **options)  # type: ignore[arg-type]


def test_workers_read_clips_as_one_process_does(tmp_path: Path) -> None:
    root = put_arrays(tmp_path / "set", ("tilt", "scale"), count=20)
    runs = [windtunnel.run("demo", root, out=tmp_path / f"run{count}", workers=count) for count in (1, 2)]
    assert runs[0].predictions().equals(runs[1].predictions())
