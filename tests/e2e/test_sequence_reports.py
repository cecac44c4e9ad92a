"""What reports, comparisons, gates and listings say of perturbation sequences."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

import windtunnel
from windtunnel.cli import cli
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import spelled_by
from windtunnel.metrics.flip_rates import THE_TEN
from windtunnel.metrics.published_results import measured_on
from windtunnel.options.command_line import as_option
from windtunnel.report.comparison import changed_columns, changed_rows
from windtunnel.report.figures import flip_changes
from windtunnel.report.markdown import comparison_markdown
from windtunnel.report.sections.flip_timelines import timelines
from windtunnel.report.tables import run_document
from windtunnel.runs import Run
from windtunnel.sequences import REGISTRY

CLASSES = 6


class Flickering:
    """Classes that follow each other as images grow lighter: it flips with the light, as often as told."""

    def __init__(self, steps: int, classes: int = CLASSES) -> None:
        self.name = self.fingerprint = f"flickering-{steps}"
        self.steps, self.classes = steps, classes

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        step = batch.mean(axis=(1, 2, 3)) / 255 * self.steps % CLASSES
        scores = np.full((len(batch), self.classes), -99, np.float32)
        scores[:, :CLASSES] = -np.abs(step[:, None] - np.arange(CLASSES))
        return scores


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty coarse patterns of 32 pixels in six classes."""
    root = tmp_path_factory.mktemp("patterns")
    rng = np.random.default_rng(3)
    for number in range(20):
        folder = root / str(number % CLASSES)
        folder.mkdir(exist_ok=True)
        small = rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)
        Image.fromarray(small).resize((32, 32)).save(folder / f"{number}.png")
    return root


@pytest.fixture(scope="module")
def runs(images: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """A steady model and a flickering one."""
    out = tmp_path_factory.mktemp("runs")
    some = ["gaussian_noise", "brightness", "tilt"]
    calm, wild = (
        windtunnel.run(Flickering(steps), images, "imagenet-p", only=some, out=out / str(steps))
        for steps in (60, 600)
    )
    return calm, wild


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments], catch_exceptions=True)


def document_of(run: Run) -> dict[str, object]:
    return json.loads(json.dumps(run_document(run.scoring, run.scores())))


def answers(run: Run, condition: str) -> dict[str, list[int]]:
    """The best class of every frame, image by image, read from the store row by row."""
    found: dict[str, list[int]] = {}
    for row in run.predictions(["condition", "frame", "top"]).to_pylist():
        if row["condition"] == condition:
            assert len(found.setdefault(row["sample_id"], [])) == row["frame"]
            found[row["sample_id"]].append(row["top"][0])
    return found


@pytest.mark.parametrize("condition", ["seq/gaussian_noise:1", "seq/brightness", "seq/tilt"])
def test_flip_positions_are_those_counted_by_hand(runs: tuple[Run, Run], condition: str) -> None:
    row = next(one for one in document_of(runs[1])["sequences"] if one["condition"] == condition)
    said = answers(runs[1], condition).values()
    noise = condition.endswith(":1")
    for earlier, later, share in zip(row["earlier"], row["later"], row["flip_share"], strict=True):
        assert earlier == (0 if noise else later - 1)
        assert share == pytest.approx(np.mean([one[earlier] != one[later] for one in said]))
    assert len(row["later"]) == row["frames"] - 1
    assert row["peak"] == row["later"][int(np.argmax(row["flip_share"]))]


def test_the_least_steady_images_are_those_that_flip_most(runs: tuple[Run, Run]) -> None:
    counted: dict[str, list[float]] = {}
    for condition in ("seq/gaussian_noise:1", "seq/brightness", "seq/tilt"):
        for image, said in answers(runs[1], condition).items():
            before = [said[0]] * (len(said) - 1) if condition.endswith(":1") else said[:-1]
            flips = [one != two for one, two in zip(before, said[1:], strict=True)]
            counted.setdefault(image, []).append(float(np.mean(flips)))
    found = document_of(runs[1])["most_flipped_images"]
    for row in found:
        assert row["flip_probability"] == pytest.approx(np.mean(counted[row["image"]]))
        assert row["worst_flip_probability"] == pytest.approx(max(counted[row["image"]]))
    assert [row["flip_probability"] for row in found] == sorted(
        (np.mean(shares) for shares in counted.values()), reverse=True
    )[: len(found)]


def test_timelines_hold_what_was_said_of_every_frame(runs: tuple[Run, Run]) -> None:
    found = timelines(runs[1].scoring)
    assert len(found.shown) == 3 and not found.note
    for one in found.shown:
        said = answers(runs[1], one.condition)[one.image]
        assert [frame.predicted for frame in one.frames] == [str(answer) for answer in said]
        assert sum(frame.flips for frame in one.frames) == one.flips
        assert all(frame.image.startswith("data:image/jpeg") for frame in one.frames)


def test_each_timeline_is_of_the_sequence_left_that_its_image_flips_most_under(
    runs: tuple[Run, Run],
) -> None:
    """As the page says of them, counted over the stored answers."""
    conditions = ["seq/gaussian_noise:1", "seq/brightness", "seq/tilt"]
    said = {condition: answers(runs[1], condition) for condition in conditions}
    for one in timelines(runs[1].scoring).shown:
        shares = {
            condition: np.mean([
                before != after
                for before, after in zip(
                    [clip[0]] * (len(clip) - 1) if condition.endswith(":1") else clip[:-1],
                    clip[1:],
                    strict=True,
                )
            ])
            for condition in conditions
            for clip in [said[condition][one.image]]
        }  # fmt: skip
        assert shares[one.condition] == max(shares.values())
        conditions.remove(one.condition)
    assert "under its worst sequence that is not shown yet" in runs[1].report().read_text()


def test_every_table_of_sequences_tells_the_difficulty(
    images: Path, tmp_path: Path, runs: tuple[Run, Run]
) -> None:
    out = tmp_path / "hard"
    hard = windtunnel.run(Flickering(60), images, "imagenet-p", only=["tilt"], difficulty=2, out=out)
    for run, difficulty in ((runs[0], 1), (hard, 2)):
        page = run.report().read_text()
        assert f"Difficulty {difficulty}." in page and f"sequence (difficulty {difficulty})" in page
        assert f"| sequence (difficulty {difficulty}) |" in (run.path / "report.md").read_text()
        assert f"difficulty {difficulty}" in call("score", run.path).output
        assert {row["difficulty"] for row in document_of(run)["sequences"]} == {difficulty}


def test_timelines_say_when_the_images_are_gone(tmp_path: Path, images: Path) -> None:
    import shutil

    shutil.copytree(images, tmp_path / "some")
    run = windtunnel.run(
        Flickering(600), tmp_path / "some", "imagenet-p", only=["tilt"], out=tmp_path / "run"
    )
    shutil.rmtree(tmp_path / "some")
    found = timelines(run.scoring)
    assert not found.shown and "No images are shown" in found.note
    assert run.report().exists()


def test_a_run_of_corruptions_has_no_sequences(tmp_path: Path, images: Path) -> None:
    run = windtunnel.run(Flickering(60), images, "smoke", out=tmp_path / "run")
    document = document_of(run)
    assert document["sequences"] == [] and document["most_flipped_images"] == []
    assert "Flip probability by sequence" not in run.report().read_text()


def test_unlabelled_images_have_a_page_too(images: Path, tmp_path: Path) -> None:
    rows = "\n".join(["path,label", *(f"{path.as_posix()}," for path in sorted(images.rglob("*.png")))])
    (tmp_path / "images.csv").write_text(rows)
    calm, wild = (
        windtunnel.run(
            Flickering(steps),
            tmp_path / "images.csv",
            "imagenet-p",
            only=["tilt"],
            out=tmp_path / str(steps),
        )
        for steps in (60, 600)
    )
    page = wild.report().read_text()
    assert (
        "Flip probability by sequence" in page and "All conditions" in page and "no error rates" not in page
    )
    found = windtunnel.compare(calm, wild)
    assert found.headline == ("mfp", "") and not found.unpaired_because


def test_the_head_says_distances_in_few_words_and_the_scores_in_full(runs: tuple[Run, Run]) -> None:
    run = runs[1]
    assert "sum over i" in run.scores(["mean_ut5d"])[0].formula
    said = call("score", run.path).output
    assert "how far the five best classes move between compared frames" in said and "sum over i" not in said
    cards = run.report().read_text().partition('aria-label="Headline scores"')[2].partition("</section>")[0]
    assert "how far the five best classes move" in cards and "sum over i" not in cards


def test_pitfalls_of_sequences(runs: tuple[Run, Run]) -> None:
    found = {pitfall["heading"]: pitfall["why"] for pitfall in document_of(runs[1])["pitfalls"]}
    assert "not over the 10 of ImageNet-P" in found["10 or 14 sequences?"]
    assert "15 or 19 corruptions?" not in found
    assert "swap" in found["Top-5 distance has a direction"]
    assert "ImageNet-P was lossy video" not in found, "edition 32 is not divided by AlexNet"


def photographs(tmp_path: Path) -> Path:
    """Two images of 256 pixels in two of ImageNet's classes."""
    rng = np.random.default_rng(0)
    for number, name in enumerate(("n01440764", "n01443537")):
        (tmp_path / "val" / name).mkdir(parents=True)
        pixels = rng.integers(0, 256, (40, 40, 3)).astype(np.uint8)
        Image.fromarray(pixels).resize((256, 256)).save(tmp_path / "val" / name / f"{number}.png")
    return tmp_path / "val"


def test_ten_sequences_stand_among_published_models(tmp_path: Path) -> None:
    run = windtunnel.run(Flickering(600, 1000), photographs(tmp_path), "imagenet-p", out=tmp_path / "run")
    measured = measured_on(run.scoring)
    assert (measured.benchmark, measured.codec, measured.difficulty) == ("imagenet-p", "none", 1)
    document = document_of(run)
    assert [one["metric"] for one in document["published"]] == ["mfr", "mt5d"]
    for source in document["published"][0]["sources"]:
        assert "codec none, published h264" in source["why_not_comparable"]
        assert "2 images, published 50,000" in source["why_not_comparable"]
        assert "benchmark" not in source["why_not_comparable"]
    assert "ImageNet-P was lossy video" in {pitfall["heading"] for pitfall in document["pitfalls"]}
    assert "AlexNet" in run.report().read_text()


@pytest.mark.parametrize(
    ("codec", "divided", "warned"),
    [("none", True, True), ("png", True, True), ("h264", True, False), ("jpeg:85", False, False)],
)
def test_alexnets_figures_divide_video_and_lossless_frames_only(
    tmp_path: Path, codec: str, divided: bool, warned: bool
) -> None:
    run = windtunnel.run(
        Flickering(600, 1000), photographs(tmp_path), "imagenet-p", only=["brightness"], codec=codec,
        out=tmp_path / "run",
    )  # fmt: skip
    document = document_of(run)
    assert bool(run.scores(["flip_rate"])) == bool(run.scores(["t5d"])) == divided
    assert (
        "ImageNet-P was lossy video" in {pitfall["heading"] for pitfall in document["pitfalls"]}
    ) == warned
    assert any("different images and lossless frames" in note for note in document["notes"]) == warned
    assert any("this run has jpeg:85" in note for note in document["notes"]) != divided


def test_published_videos_are_not_called_lossless(tmp_path: Path) -> None:
    made = windtunnel.make_set(
        "imagenet-p", photographs(tmp_path), tmp_path / "made", layout="videos", only=["brightness"]
    )
    document = document_of(windtunnel.run(Flickering(600, 1000), made, out=tmp_path / "run"))
    assert "flip_rate" in {score["metric"] for score in document["scores"]}
    assert "ImageNet-P was lossy video" not in {pitfall["heading"] for pitfall in document["pitfalls"]}


def test_markdown_and_csv_hold_every_sequence(runs: tuple[Run, Run]) -> None:
    text = call("report", runs[1].path, "--markdown").output
    table = call("report", runs[1].path, "--csv").output
    for score in runs[1].scores(["flip_probability"]):
        assert f"| {score.condition} | {100 * score.value:.1f} % (" in text
        columns = f"{score.corruption},{score.severity or ''},{score.codec}"
        assert f"flip_probability,{score.condition},{columns},{score.value}" in table
    assert re.search(r"\| mean uT5D \| \d\.\d{3} ranks \|", text)


def test_score_prints_every_sequence(runs: tuple[Run, Run]) -> None:
    said = call("score", runs[1].path).output
    for one in runs[1].scores(["flip_probability"]):
        line = next(line for line in said.splitlines() if line.startswith(f"{one.condition} "))
        assert re.search(rf"FP +{100 * one.value:.1f} %.*uT5D +[0-9.]+ ranks", line)


@pytest.mark.parametrize("metric", ["flip_probability", "ut5d", "mfp", "top1_error"])
def test_a_metric_asked_for_is_printed_wherever_there_is_one(runs: tuple[Run, Run], metric: str) -> None:
    scores = runs[1].scores([metric])
    said = call("score", runs[1].path, "--metric", metric).output.splitlines()
    for one in scores:
        scaled = f"{one.value:.3f} ranks" if metric == "ut5d" else f"{100 * one.value:.1f} %"
        assert any(
            re.match(rf"{metric} +{re.escape(one.condition or 'all')} +{re.escape(scaled)}", line)
            for line in said
        )
        assert any(one.formula in line for line in said)


def test_a_metric_this_run_cannot_have_is_told_with_the_reason(runs: tuple[Run, Run]) -> None:
    said = call("score", runs[1].path, "--metric", "flip_rate").output
    assert "no such score" in said and "this run is edition 32" in said


def test_compare_pairs_sequences_image_by_image(runs: tuple[Run, Run]) -> None:
    found = windtunnel.compare(*runs)
    assert found.headline == ("mfp", "") and not found.unpaired_because
    moved = {one.condition: one for one in found.changes if one.metric == "flip_probability"}
    for condition, one in moved.items():
        calm, wild = (
            next(score.value for score in run.scores(["flip_probability"]) if score.condition == condition)
            for run in runs
        )
        assert one.difference.value == pytest.approx(wild - calm)
    assert "seq/tilt" in {one.condition for one in found.changed()}
    printed = call("compare", runs[0].path, runs[1].path).output
    assert "mean uT5D" in printed and "ranks" in printed
    assert "seq/tilt flip_probability" in printed
    page = runs[0].path.parent / "both.html"
    assert call("report", runs[0].path, runs[1].path, "--out", page).exit_code == 0
    assert "Change of flip probability" in page.read_text()


def test_comparisons_of_sequences_say_what_they_count(runs: tuple[Run, Run], tmp_path: Path) -> None:
    said = call("compare", runs[0].path, runs[1].path).output
    assert re.search(r"predictions broken and .* under native and clean; frames are not counted", said)
    header = next(line for line in said.splitlines() if line.startswith("condition ") and "p (Holm)" in line)
    single = [one for one in windtunnel.compare(*runs).changed() if one.metric == "top1_error"]
    assert ("broken" in header) == bool(single)


def test_broken_images_are_counted_only_for_errors(runs: tuple[Run, Run], tmp_path: Path) -> None:
    found = windtunnel.compare(*runs)
    flips = replace(found, changes=[one for one in found.changes if one.metric != "top1_error"])
    assert changed_columns(flips, 1)[-1] == "p (Holm)"
    assert {len(row) for row in changed_rows(flips, 1)} == {5}
    assert "| images broken |" not in comparison_markdown(flips)


def test_the_page_of_two_models_defines_its_scores_and_colours_its_bars(
    runs: tuple[Run, Run], tmp_path: Path
) -> None:
    page = tmp_path / "both.html"
    assert call("report", runs[0].path, runs[1].path, "--out", page).exit_code == 0
    text = html.unescape(page.read_text())
    for metric in ("mfp", "mean_ut5d"):
        assert runs[0].scores([metric])[0].formula in text
    figure = flip_changes({"seq/tilt": (0.1, 0.05, 0.15, True), "seq/snow": (-0.1, -0.2, 0.0, False)})
    assert isinstance(figure["data"][0]["error_x"]["color"], str), "one colour for all bars"


def test_flips_are_divided_by_the_first_run(runs: tuple[Run, Run]) -> None:
    calm, wild = runs
    found = windtunnel.compare(wild, calm).against_first[1]
    old, new = (
        {one.condition: one.value for one in run.scores(["flip_probability"])} for run in (wild, calm)
    )
    assert found.value == pytest.approx(np.mean([new[name] / old[name] for name in new]))
    assert found.low < found.value < found.high
    assert found.metric == ("mfr_against_first" if len(new) == 10 else "mean_fr_against_first")
    assert "against base" in call("compare", wild.path, calm.path).output


def test_other_difficulties_are_not_compared(images: Path, tmp_path: Path, runs: tuple[Run, Run]) -> None:
    """The frames are the same, and what is compared is not."""
    hard = windtunnel.run(
        Flickering(60), images, "imagenet-p", only=["tilt"], difficulty=2, out=tmp_path / "hard"
    )
    found = windtunnel.compare(runs[0], hard)
    assert not any(metric == "flip_probability" for metric, _ in found.scores)


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("mfp <= +0.5", "worse"),
        ("seq/tilt flip_probability <= +1", "worse"),
        ("tilt flip_probability <= +1", "worse"),
        ("seq/* flip_probability <= +1", "worse"),
        ("mfp <= +100", "not worse"),
        ("mean_ut5d <= +18", "not worse"),
        ("seq/tilt ut5d <= +18", "not worse"),
        ("each seq/tilt flip_probability <= +1", "worse"),
    ],
)
def test_gate_holds_flips_to_rules(runs: tuple[Run, Run], rule: str, outcome: str) -> None:
    found = windtunnel.gate(runs[1], runs[0], [rule])
    assert [check.outcome for check in found.checks] == [outcome]
    assert found.failed == (outcome == "worse")


def test_a_gate_without_rules_looks_at_mfp(runs: tuple[Run, Run]) -> None:
    assert [check.score for check in windtunnel.gate(*runs).checks] == ["mfp", "clean top1_error"]
    each = windtunnel.gate(runs[0], runs[1], ["each seq/* flip_probability <= +1"])
    names = [condition.name for condition in runs[0].conditions[2:]]
    assert [check.score for check in each.checks] == [f"{name} flip_probability" for name in names]


def test_a_default_rule_that_cannot_be_compared_cannot_be_told(
    images: Path, tmp_path: Path, runs: tuple[Run, Run]
) -> None:
    """The same images stored as video are other conditions: flips were never looked at."""
    some = ["gaussian_noise", "brightness", "tilt"]
    new = windtunnel.run(Flickering(600), images, "imagenet-p", only=some, codec="h264", out=tmp_path / "new")
    found = windtunnel.gate(new, new.path.parent / "new")
    assert not found.unchecked
    found = windtunnel.gate(new, runs[1])
    assert [check.score for check in found.checks] == ["clean top1_error"]
    assert [one.rule for one in found.unchecked] == ["mfp <= +1"] and found.count("unsure") == 1
    files = ("--markdown", tmp_path / "gate.md", "--junit", tmp_path / "gate.xml", "--github")
    for unsure, code, kind in (("pass", 0, "skipped"), ("fail", 1, "failure")):
        done = call("gate", new.path, "--against", runs[1].path, "--unsure", unsure, *files)
        said = (
            "The default rule mfp <= +1 is undecided: the runs' mfp cannot be compared: over different "
            f"conditions: codec none in {runs[1].path} and h264 in {new.path}"
        )
        assert done.exit_code == code and said in done.output and "1 cannot tell" in done.output
        assert said in (tmp_path / "gate.md").read_text()
        assert f'<{kind} message="The default rule mfp &lt;= +1' in (tmp_path / "gate.xml").read_text()
        assert f"::{'error' if code else 'warning'} title=windtunnel gate::{said}" in done.output
    document = json.loads(call("gate", new.path, "--against", runs[1].path, "--json").output)
    assert document["unchecked"][0]["rule"] == "mfp <= +1"


def test_metrics_and_sequences_are_taken_by_their_short_names(runs: tuple[Run, Run]) -> None:
    for short, metric in {
        "FP": "flip_probability",
        "mfp": "mfp",
        "uT5D": "ut5d",
        "mean uT5D": "mean_ut5d",
    }.items():
        assert {score.metric for score in runs[0].scores([short])} == {metric}
        done = call("score", runs[0].path, "--metric", short)
        assert done.exit_code == 0 and metric in done.output and "no such score" not in done.output
    whole = windtunnel.slices(runs[1], "class", "flip_probability", "seq/tilt", minimum=3)
    assert whole and windtunnel.slices(runs[1], "class", "FP", "tilt", minimum=3) == whole
    with pytest.raises(UserError, match=r"Unknown metric 'flipp'.*windtunnel list metrics"):
        runs[0].scores(["flipp"])


def test_slices_of_flips(runs: tuple[Run, Run]) -> None:
    found = windtunnel.slices(runs[1], "class", "mfp", minimum=3)
    assert len(found) == CLASSES
    assert np.average([one.value for one in found], weights=[one.n for one in found]) == pytest.approx(
        next(score.value for score in runs[1].scores(["mfp"]))
    )


def test_show_writes_a_strip_and_an_animation(tmp_path: Path) -> None:
    target = tmp_path / "drift.png"
    done = call("show", "seq/translate", "--out", target)
    assert done.exit_code == 0 and done.output.split() == [str(target), str(tmp_path / "drift.webp")]
    with Image.open(tmp_path / "drift.webp") as moving:
        assert (moving.n_frames, moving.size) == (41, (224, 224))
        assert moving.info["loop"] == 0
    with Image.open(target) as strip:
        assert strip.width > 6 * strip.height


@pytest.mark.parametrize(("mode", "size"), [("L", (32, 32)), ("L", (300, 40)), ("RGB", (33, 90))])
def test_show_takes_grey_images_and_any_size(tmp_path: Path, mode: str, size: tuple[int, int]) -> None:
    Image.effect_noise(size, 60).convert(mode).save(tmp_path / "mine.png")
    done = call(
        "show", "tilt", "--image", tmp_path / "mine.png", "--edition", "32", "--out", tmp_path / "out.png"
    )
    assert done.exit_code == 0, done.exception
    assert (tmp_path / "out.webp").stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("seq/tlit",), "Unknown sequence 'tlit'. Did you mean tilt?"),
        (("tlit",), "Unknown unit 'tlit'. Did you mean tilt?"),
        (("seq/tilt", "--difficulty", "2"), "stride"),
        (("seq/gaussian_noise", "--difficulty", "0"), "The difficulty is 0; give 1, 2 or 3"),
        (("seq/gaussian_noise", "--difficulty", "4"), "give 1, 2 or 3"),
        (("fog", "--difficulty", "2"), "--difficulty applies to sequences"),
        (("seq/tilt", "--image", "nothing.png"), "No such image"),
        (("seq/tilt", "--out", "tilt.gif"), "ending in .png"),
    ],
)
def test_mistakes_in_show_are_one_line(arguments: tuple[str, ...], words: str) -> None:
    done = call("show", *arguments)
    assert isinstance(done.exception, UserError)
    with spelled_by(as_option):
        said = str(done.exception)
    assert words in said and "\n" not in said


def test_list_names_every_sequence() -> None:
    rows = json.loads(call("list", "sequences", "--json").output)
    assert {row["name"] for row in rows} >= {f"seq/{name}" for name in (*THE_TEN, *REGISTRY.shipped())}
    tilt = next(row for row in rows if row["name"] == "seq/tilt")
    assert tilt["type"] == "temporal" and tilt["frames"]["224"] == 31
    assert "seq/tilt" in call("list", "sequences").output


DUSK = """
import numpy as np
from windtunnel.sequences import Table, sequence

@sequence(
    type="temporal", params=("step",), tables={32: Table(((%s,),), frames=5, clean=0)},
    imitates="Nightfall.", source="own", random=False,
)
def own_dusk(image, rng, frames, *, step):
    for number in range(frames):
        yield (image * (1 - step * number)).astype(np.uint8)
"""


def test_a_sequence_from_a_file_runs_and_its_file_is_its_identity(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_added", "_loaded"):
        monkeypatch.setattr(REGISTRY, name, {})
    ids = []
    for step in ("0.1", "0.15"):
        (tmp_path / "dusk.py").write_text(DUSK % step)
        run = windtunnel.run(
            Flickering(600),
            images,
            "imagenet-p",
            only=["seq/own_dusk"],
            include=[tmp_path / "dusk.py"],
            out=tmp_path / step,
        )
        found = run.conditions[-1]
        assert found.name == "seq/own_dusk" and list(found.assets) == ["dusk.py"]
        ids.append(found.id)
    assert ids[0] != ids[1], "other code, other frames"
    for name in ("_added", "_loaded"):
        monkeypatch.setattr(REGISTRY, name, {})
    # Scores need the predictions alone, and a report goes without the frames.
    again = windtunnel.load_run(tmp_path / "0.15")
    assert any(score.metric == "flip_probability" and score.value > 0 for score in again.scores())
    assert not timelines(again.scoring).shown and again.report().exists()


def test_a_sequence_that_alexnet_never_saw_has_no_flip_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_added", "_loaded"):
        monkeypatch.setattr(REGISTRY, name, {})
    (tmp_path / "dusk.py").write_text((DUSK % "0.1").replace("{32:", "{224:"))
    folder = tmp_path / "val" / "n01440764"
    folder.mkdir(parents=True)
    for number in range(2):
        Image.new("RGB", (256, 256), (90 + number,) * 3).save(folder / f"{number}.png")
    run = windtunnel.run(
        Flickering(600, 1000),
        tmp_path / "val",
        "imagenet-p",
        only=["seq/own_dusk"],
        include=[tmp_path / "dusk.py"],
        out=tmp_path / "run",
    )
    assert "flip_rate" not in {score.metric for score in run.scores()}
    assert any("ImageNet-P's 14 sequences" in note for note in document_of(run)["notes"])


def test_a_file_without_units_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("x = 1\n")
    done = call("list", "--include", tmp_path / "empty.py")
    assert isinstance(done.exception, UserError) and "empty.py declares no plug-in" in str(done.exception)
