"""Runs over perturbation sequences: frames, scores, difficulty, codecs, unlabelled images, resuming."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from windtunnel.core.errors import UserError
from windtunnel.metrics.flip_rates import THE_TEN
from windtunnel.report.tables import run_document
from windtunnel.runs import Run

# How often the classes of the model below follow each other from black to white.
STEPS = 600
FRAMES_32 = {"motion_blur": 21, "translate": 16}


class Brightest:
    """Six classes that follow each other as images grow lighter, ten times: it flips with the light."""

    name = fingerprint = "brightest"

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        step = batch.mean(axis=(1, 2, 3)) / 255 * STEPS % 6
        return -np.abs(step[:, None] - np.arange(6)).astype(np.float32)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve coarse patterns of 32 pixels in six classes."""
    root = tmp_path_factory.mktemp("patterns")
    rng = np.random.default_rng(3)
    for number in range(12):
        folder = root / str(number % 6)
        folder.mkdir(exist_ok=True)
        small = rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)
        Image.fromarray(small).resize((32, 32)).save(folder / f"{number}.png")
    return root


@pytest.fixture(scope="module")
def run(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("run") / "p"
    return windtunnel.run(Brightest(), images, "imagenet-p", out=out)


def by_name(run: Run, metric: str, **options: object) -> dict[str, float]:
    return {score.condition: score.value for score in run.scores([metric], **options)}


def frames_of(images: Path, name: str, difficulty: int = 1) -> dict[str, list[np.ndarray]]:
    """Every image's frames by the public function, which knows nothing of runs."""
    return {
        path.relative_to(images).as_posix(): list(
            windtunnel.perturb(
                np.asarray(Image.open(path)),
                name,
                seed=0,
                sample_id=path.relative_to(images).as_posix(),
                difficulty=difficulty,
            )
        )
        for path in sorted(images.rglob("*.png"))
    }


def test_every_frame_is_a_row_with_its_number(run: Run) -> None:
    rows = run.predictions(["condition", "frame", "status"])
    assert len(rows) == 12 * (2 + sum(FRAMES_32.get(name, 31) for name in THE_TEN))
    tilt = [row["frame"] for row in rows.to_pylist() if row["condition"] == "seq/tilt"]
    assert tilt == [*range(31)] * 12
    assert set(rows["status"].to_pylist()) == {"ok"}


@pytest.mark.parametrize("name", ["gaussian_noise", "brightness", "tilt", "translate"])
def test_scores_are_those_of_the_frames_anyone_can_make(run: Run, images: Path, name: str) -> None:
    """Flips counted by hand over windtunnel.perturb and the model, without a run."""
    model, changed, total = Brightest(), 0, 0
    for clip in frames_of(images, name).values():
        best = model(np.stack(clip)).argmax(axis=1)
        before = best[:-1] if name != "gaussian_noise" else np.full(len(best) - 1, best[0])
        changed, total = changed + int((best[1:] != before).sum()), total + len(best) - 1
    condition = f"seq/{name}:1" if name == "gaussian_noise" else f"seq/{name}"
    assert by_name(run, "flip_probability")[condition] == pytest.approx(changed / total)


def test_means_count_every_sequence_alike(run: Run) -> None:
    for each, mean in (("flip_probability", "mfp"), ("ut5d", "mean_ut5d")):
        values = by_name(run, each)
        assert len(values) == 10
        assert by_name(run, mean)[""] == pytest.approx(np.mean(list(values.values())))


def test_intervals_rest_on_images_not_on_frames(run: Run) -> None:
    score = next(one for one in run.scores(["flip_probability"]) if one.condition == "seq/brightness")
    assert score.n == 12
    assert score.low <= score.value <= score.high
    # Thirty pairs of frames of twelve images are not 360 images.
    assert score.high - score.low > 2 * 1.96 * np.sqrt(score.value * (1 - score.value) / 360)


def test_difficulty_is_strength_of_noise_and_stride_of_the_rest(
    images: Path, tmp_path: Path, run: Run
) -> None:
    hard = windtunnel.run(
        Brightest(),
        images,
        "imagenet-p",
        only=["gaussian_noise", "brightness"],
        difficulty=3,
        out=tmp_path / "r",
    )
    names = [condition.name for condition in hard.conditions]
    assert names == ["native", "clean", "seq/gaussian_noise:3", "seq/brightness"]
    ids = {condition.name: condition.id for condition in run.conditions}
    assert ids["seq/brightness"] == hard.conditions[3].id, "the same frames, compared further apart"
    model, moved, noisy = Brightest(), [], []
    for clip in frames_of(images, "brightness").values():
        best = model(np.stack(clip)).argmax(axis=1)
        moved += (best[3:] != best[:-3]).tolist()
    for clip in frames_of(images, "gaussian_noise", 3).values():
        best = model(np.stack(clip)).argmax(axis=1)
        noisy += (best[1:] != best[0]).tolist()
    assert (len(moved), len(noisy)) == (12 * 28, 12 * 30)
    found = by_name(hard, "flip_probability")
    assert found["seq/brightness"] == pytest.approx(np.mean(moved))
    assert found["seq/gaussian_noise:3"] == pytest.approx(np.mean(noisy))


def test_small_images_have_no_flip_rate(run: Run) -> None:
    """AlexNet's figures hold for 224 pixels."""
    assert not run.scores(["flip_rate"]) and not run.scores(["mfr"]) and not run.scores(["mt5d"])


def test_a_stored_run_divides(run: Run) -> None:
    """A model against itself is 1 wherever it flips, and nothing is divided by nothing."""
    rates, flips = by_name(run, "flip_rate", baseline=run), by_name(run, "flip_probability")
    assert set(rates) == set(flips) and set(rates.values()) == {1.0}
    assert by_name(run, "mfr", baseline=run) == {"": pytest.approx(1)}
    assert by_name(run, "mt5d", baseline=run) == {"": pytest.approx(1)}


def test_nothing_is_divided_by_nothing(images: Path, tmp_path: Path) -> None:
    def steady(batch: np.ndarray) -> np.ndarray:
        return np.tile(np.arange(6, dtype=np.float32), (len(batch), 1))

    found = windtunnel.run(steady, images, "imagenet-p", only=["tilt"], out=tmp_path / "run")
    assert by_name(found, "flip_probability") == {"seq/tilt": 0}
    assert by_name(found, "flip_rate", baseline=found) == {}
    notes = run_document(found.against(found).scoring, [])["notes"]
    assert sum("under seq/tilt is not clearly above 0" in note for note in notes) == 2
    assert not any("normalised by" in note for note in notes), "nothing is"


@pytest.mark.parametrize("metric", ["flip_probability", "ut5d", "mean_ut5d", "zipf_distance", "log_distance"])
def test_no_change_in_a_few_images_is_no_proof_of_none(images: Path, tmp_path: Path, metric: str) -> None:
    def steady(batch: np.ndarray) -> np.ndarray:
        return np.tile(np.arange(6, dtype=np.float32), (len(batch), 1))

    found = windtunnel.run(steady, images, "imagenet-p", only=["tilt"], keep="logits", out=tmp_path / "run")
    (score,) = found.scores([metric])
    assert score.value == score.low == 0
    # Of twelve images Wilson's with Student's quantile is 0 to 29 % of the most there is.
    most = {"flip_probability": 1, "ut5d": 15, "mean_ut5d": 15}.get(metric, 5)
    assert 0.1 < score.high < 0.3 * most


def test_ties_below_the_best_are_counted_in_frames(images: Path, tmp_path: Path) -> None:
    """The top-5 distance hangs on all five ranks, an error of a single image on the best two."""

    def tied(batch: np.ndarray) -> np.ndarray:
        return np.tile(np.array([5, 4, 3, 3, 2, 1], np.float32), (len(batch), 1))

    found = windtunnel.run(tied, images, "imagenet-p", only=["tilt"], out=tmp_path / "run")
    assert found.scoring.observed.tie_share == pytest.approx(31 / 33), "all but clean and native"
    reasons = [pitfall["why"] for pitfall in run_document(found.scoring, found.scores())["pitfalls"]]
    assert any("93.9 % of predictions have equal scores among the top 5" in why for why in reasons)


def test_notes_tell_flips_from_distances_and_why_there_is_no_mean(images: Path, tmp_path: Path) -> None:
    """The best class never changes, the others do: T5D can be divided and FR cannot."""

    def firm(batch: np.ndarray) -> np.ndarray:
        scores = Brightest()(batch)
        scores[:, 0] = 9
        return scores

    found = windtunnel.run(firm, images, "imagenet-p", only=["tilt"], out=tmp_path / "run")
    notes = run_document(found.against(found).scoring, [])["notes"]
    assert [note for note in notes if note.startswith("T5D are normalised by")]
    assert not any(note.startswith("No T5D") for note in notes)
    assert (
        sum(note.startswith("No FR: the baseline's flip_probability under seq/tilt") for note in notes) == 1
    )
    assert "No mFR, no mT5D: they are defined over ImageNet-P's 10 sequences, and the run has 1." in notes


def test_unlabelled_images_have_flips_and_no_errors(images: Path, tmp_path: Path) -> None:
    rows = "\n".join(["path,label", *(f"{path.as_posix()}," for path in sorted(images.rglob("*.png")))])
    (tmp_path / "images.csv").write_text(rows)
    found = windtunnel.run(
        Brightest(), tmp_path / "images.csv", "imagenet-p", only=["seq/tilt"], out=tmp_path / "run"
    )
    metrics = {score.metric for score in found.scores()}
    assert "flip_probability" in metrics and "top1_error" not in metrics


def test_whole_rankings_need_whole_outputs(run: Run, images: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match='keep="logits"'):
        run.scores(["zipf_distance"])
    kept = windtunnel.run(
        Brightest(), images, "imagenet-p", only=["tilt"], keep="logits", out=tmp_path / "kept"
    )
    zipf, logs = (by_name(kept, metric)["seq/tilt"] for metric in ("zipf_distance", "log_distance"))
    assert 0 < zipf < 2 and logs > 0


def test_a_damaged_image_leaves_every_sequence(images: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "some"
    shutil.copytree(images, folder)
    (folder / "0" / "0.png").write_bytes(b"no image")
    found = windtunnel.run(Brightest(), folder, "imagenet-p", only=["tilt", "scale"], out=tmp_path / "run")
    assert {score.n for score in found.scores()} == {11}
    assert found.scoring.observed.left_out == 1


def test_frames_stored_as_video_differ_a_little(images: Path, tmp_path: Path) -> None:
    """Every frame's mean red is near the lossless one's; clean and native images are no video."""

    def red(batch: np.ndarray) -> np.ndarray:
        levels = batch[..., 0].mean(axis=(1, 2))
        return np.stack([levels, *[np.full(len(batch), -place) for place in range(1, 6)]], axis=1)

    levels = {}
    for codec in ("none", "h264"):
        found = windtunnel.run(
            red, images, "imagenet-p", only=["brightness"], codec=codec, out=tmp_path / codec
        )
        rows = found.predictions(["condition", "top_score"]).to_pylist()
        names = np.array([row["condition"] for row in rows]).reshape(12, 33)
        levels[codec] = np.array([row["top_score"][0] for row in rows]).reshape(12, 33)
        suffix = "" if codec == "none" else f"+{codec}"
        assert names[0].tolist() == ["native", "clean", *[f"seq/brightness{suffix}"] * 31]
    away = np.abs(levels["h264"] - levels["none"])
    assert (away[:, :2] == 0).all()
    assert (away[:, 2:].max(axis=1) > 0).all(), "no clip is the lossless one"
    assert away[:, 2:].max() < 3, "of 255 levels"
    # Frames are in their order: brightness changes by more from each to the next.
    assert np.diff(levels["h264"][:, 2:], axis=1).mean() > 2


def test_the_same_command_goes_on_where_it_stopped(
    windtunnel_command: Callable[..., object], digit_folder: Path, tmp_path: Path
) -> None:
    command = ("run", "demo", digit_folder, "--suite", "imagenet-p", "--only", "tilt", "--chunk", "10")
    done = windtunnel_command(*command, "--out", "run", "--workers", "1")
    assert done.returncode == 0, done.stderr
    shards = sorted((tmp_path / "run" / "shards").iterdir())
    before = {path.name: path.read_bytes() for path in shards}
    shards[1].unlink()
    kept = {path: path.stat().st_mtime_ns for path in shards if path.exists()}
    again = windtunnel_command(*command, "--out", "run", "--workers", "2")
    assert again.returncode == 0 and "already done" in again.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "run" / "shards").iterdir()} == before
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())


HANDS_OUT = """
import sys
from numba.core.dispatcher import Dispatcher
import windtunnel

if __name__ == "__main__":
    windtunnel.run("demo", sys.argv[1], "imagenet-p", only=["tilt"], chunk=10, workers=2, out=sys.argv[2])
    modules = [module for name, module in sys.modules.items() if name.startswith("windtunnel.")]
    kernels = {one for module in modules for one in vars(module).values() if isinstance(one, Dispatcher)}
    print(len(kernels), sum(len(one.signatures) for one in kernels))
"""


def test_a_process_that_hands_out_work_compiles_nothing(tmp_path: Path, digit_folder: Path) -> None:
    """Compiled code and the compiler would stay in its memory."""
    (tmp_path / "hand_out.py").write_text(HANDS_OUT)
    done = subprocess.run(
        [sys.executable, tmp_path / "hand_out.py", digit_folder, tmp_path / "run"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    kernels, compiled = map(int, done.stdout.split())
    assert kernels > 0 and compiled == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"suite": "imagenet-p", "difficulty": 4}, "give 1, 2, 3"),
        ({"suite": "imagenet-c", "difficulty": 2}, "contains no sequences"),
        ({"suite": "imagenet-c", "codec": "h264"}, "stores sequences"),
        ({"suite": "imagenet-p", "only": ["tilted"]}, "tilted"),
        ({"suite": "imagenet-p", "only": ["tilt:7"]}, "no such level"),
        ({"suite": "imagenet-p", "codec": "h265"}, "none, png, h264, or jpeg"),
        ({"suite": "imagenet-c", "codec": "h265"}, "none, png, or jpeg"),
        ({"suite": "imagenet-p", "only": ["fog", "tilt"]}, r'only=\["fog"\] is not a sequence'),
        ({"suite": "imagenet-c", "only": ["seq/tilt"]}, 'give suite="imagenet-p"'),
    ],
)
def test_mistakes_are_refused_before_any_work(
    images: Path, tmp_path: Path, options: dict[str, object], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        windtunnel.run(Brightest(), images, out=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_foreign_classes_are_told_that_flips_need_no_labels(images: Path, tmp_path: Path) -> None:
    for path in images.rglob("*.png"):
        target = tmp_path / "own" / f"{'cat' if path.stem < '5' else 'dog'}" / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    with pytest.raises(UserError, match=r"flips need no labels.*one folder without classes") as told:
        windtunnel.run(Brightest(), tmp_path / "own", "imagenet-p", out=tmp_path / "run")
    assert "\n" not in str(told.value)
    with pytest.raises(UserError) as told:
        windtunnel.run(Brightest(), tmp_path / "own", "imagenet-c", out=tmp_path / "run")
    assert "flips" not in str(told.value)
    for path in (tmp_path / "own").rglob("*.png"):
        path.rename(tmp_path / "own" / path.name)
    for folder in ("cat", "dog"):
        (tmp_path / "own" / folder).rmdir()
    flat = windtunnel.run(Brightest(), tmp_path / "own", "imagenet-p", only=["tilt"], out=tmp_path / "run")
    assert by_name(flat, "mfp")


def test_names_that_corruptions_share_are_sequences_there(images: Path, tmp_path: Path) -> None:
    found = windtunnel.run(Brightest(), images, "imagenet-p", only=["spatter"], out=tmp_path / "run")
    assert list(by_name(found, "flip_probability")) == ["seq/spatter"]


def test_json_holds_the_sequences(run: Run) -> None:
    run.report()
    document = json.loads((run.path / "scores.json").read_text())
    found = {(one["metric"], one["condition"]) for one in document["scores"]}
    assert {("flip_probability", "seq/tilt"), ("mfp", ""), ("ut5d", "seq/scale")} <= found
