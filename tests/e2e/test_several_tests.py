"""Runs of several benchmarks on one page: accuracy drops, drops by tag, and public models."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import statistics
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.analysis.multi_run import several
from windtunnel.analysis.shifts import Share, Shift, drops_by_tag
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import masked_classes
from windtunnel.report.accuracy_drops import drop_rows

CLASSES = 8
PER_CLASS = 5
SIDE = 32
COLOURS = np.random.default_rng(0).integers(40, 216, size=(CLASSES, 3))


class NearestColour:
    """Says which of the first classes of ImageNet has the mean colour nearest to an image's."""

    def __init__(self, name: str, bias: float = 0.0) -> None:
        self.__name__ = name
        self._bias = bias

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        mean = batch.reshape(len(batch), -1, 3).mean(axis=1)
        scores = np.full((len(batch), 1000), -1e3, np.float32)
        scores[:, :CLASSES] = -np.abs(mean[:, None] - COLOURS - self._bias).sum(axis=2)
        return scores


def declared(folder: Path, name: str, *tags: str) -> Path:
    path = folder / f"{name}.toml"
    tagged = ", ".join(f"'{tag}'" for tag in tags)
    path.write_text(
        f"labels = 'imagenet-1k'\noutputs = 'logits'\ntags = [{tagged}]\n"
        f"[geometry]\nrule = 'exact'\ncrop_px = {SIDE}\n"
    )
    return path


def write_images(root: Path, names: list[str], noise: float, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    for label, name in enumerate(names):
        folder = root / name
        folder.mkdir(parents=True)
        for row in range(PER_CLASS):
            tint = COLOURS[label] + rng.normal(0, noise, size=3)
            image = np.clip(rng.normal(tint, 20, size=(SIDE, SIDE, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(image).save(folder / f"{row}.png")
    return root


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two models, each over ImageNet-V2's layout and over corruptions."""
    root = tmp_path_factory.mktemp("several-tests")
    wnids = list(imagenet_1k().classes[:CLASSES])
    clean = write_images(root / "val", wnids, 4, 1)
    shifted = write_images(root / "imagenet-v2", [str(label) for label in range(CLASSES)], 45, 2)
    found = {}
    for name, bias, tags in (("keen", 0.0, ("trained-long", "small")), ("dull", 22.0, ("small",))):
        preprocess = declared(root, name, *tags)
        model = windtunnel.load_model(NearestColour(name, bias), preprocess)
        natural = windtunnel.run(
            model, shifted, suite="imagenet-v2", clean=clean, out=root / f"{name}-v2", workers=1
        )
        spoilt = windtunnel.run(model, clean, suite="smoke", out=root / f"{name}-smoke", workers=1)
        found |= {f"{name}-v2": natural.path, f"{name}-smoke": spoilt.path}
    return found


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Public results on the line logit(shifted) = logit(clean) - 1, all at one size but one."""
    folder = tmp_path_factory.mktemp("public")
    shares = np.linspace(0.4, 0.95, 12)
    odds = shares / (1 - shares) / np.e
    for file, values in (
        ("results-imagenet.csv", shares),
        ("results-imagenetv2-matched-frequency.csv", odds / (1 + odds)),
    ):
        rows = [
            f'net{place},{224 + 32 * (place == 3)},{100 * value:.6f},"1,0{place:02d}.5",0.875,bicubic'
            for place, value in enumerate(values)
        ]
        header = "model,img_size,top1,param_count,crop_pct,interpolation"
        (folder / file).write_text("\n".join([header, *rows]) + "\n")
    return folder


def accuracy(run: Path, part: str) -> float:
    """Share of right answers, counted from the stored predictions."""
    opened = windtunnel.load_run(run)
    table = opened.predictions(["condition", "top"]).to_pylist()
    samples = {row["id"]: row for row in opened.samples.to_pylist()}
    of_part = [row for row in table if json.loads(samples[row["sample_id"]]["meta"])["part"] == part]
    return statistics.mean(row["top"][0] in samples[row["sample_id"]]["labels"] for row in of_part)


def test_shares_are_those_of_the_predictions(runs: dict[str, Path]) -> None:
    found = several(runs["keen-v2"], runs["keen-smoke"])
    natural, spoilt = found.shifts
    assert natural.natural and not spoilt.natural
    assert natural.clean is not None and natural.shifted is not None and natural.drop is not None
    assert natural.clean.value == pytest.approx(accuracy(runs["keen-v2"], "clean"))
    assert natural.shifted.value == pytest.approx(accuracy(runs["keen-v2"], "imagenet-v2"))
    assert natural.drop.value == pytest.approx(natural.clean.value - natural.shifted.value)
    assert (natural.clean.n, natural.shifted.n) == (CLASSES * PER_CLASS,) * 2
    scores = {(one.metric, one.condition): one.value for one in windtunnel.load_run(spoilt.run).scores()}
    assert spoilt.clean is not None and spoilt.shifted is not None and spoilt.drop is not None
    assert spoilt.clean.value == pytest.approx(1 - scores["top1_error", "clean"])
    assert spoilt.shifted.value == pytest.approx(1 - scores["mean_error", ""])
    assert spoilt.drop.value == pytest.approx(spoilt.clean.value - spoilt.shifted.value)
    for share in (natural.clean, natural.shifted, natural.drop, spoilt.shifted, spoilt.drop):
        assert share.low <= share.value <= share.high


def test_what_a_run_is_over_is_called_by_its_kind(runs: dict[str, Path], tmp_path: Path) -> None:
    model = windtunnel.load_model(NearestColour("keen"), declared(tmp_path, "keen"))
    images = write_images(tmp_path / "images", imagenet_1k().classes[:CLASSES], 10, 0)
    swapped = windtunnel.run(model, images, "systematic", only=["colour=bgr"], out=tmp_path / "run").path
    shifts = several(runs["keen-v2"], runs["keen-smoke"], swapped).shifts
    assert shifts[0].over == "natural images"
    assert re.fullmatch(r"[0-9]+ corrupted conditions", shifts[1].over)
    assert shifts[2].over == "1 replaced pipeline step"


def test_one_page_of_several_tests(
    runs: dict[str, Path], tmp_path: Path, windtunnel_command: Command
) -> None:
    given = (runs["keen-v2"], runs["keen-smoke"])
    done = windtunnel_command("report", *given, "--out", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "not compared image by image: they are runs of different benchmarks" in page
    assert "Accuracy drops" in page
    assert page.count("<th>benchmark</th>") == 1 and "<th>suite</th>" not in page
    # On a narrow page only the first columns are seen.
    assert re.search(r"<th>benchmark</th><th[^>]*>drop, points</th>", page)
    assert "Drop by tag" not in page
    as_json = json.loads(windtunnel_command("report", *given, "--json").stdout)
    assert [one["natural"] for one in as_json["shifts"]] == [True, False]
    assert as_json["not_compared"]
    rows = list(csv.DictReader(io.StringIO(windtunnel_command("report", *given, "--csv").stdout)))
    assert [row["quantity"] for row in rows] == ["clean", "shifted", "drop"] * 2
    assert float(rows[0]["value"]) == as_json["shifts"][0]["clean"]["value"]
    text = windtunnel_command("report", *given, "--markdown").stdout
    assert text.startswith("# keen: imagenet-v2, smoke")


def test_runs_of_one_test_are_still_compared(runs: dict[str, Path]) -> None:
    found = several(runs["keen-v2"], runs["dull-v2"])
    assert found.comparison is not None
    assert found.not_compared == ""
    assert [one.model for one in found.shifts] == ["keen", "dull"]


def test_seeds_do_not_unpair_what_nobody_corrupted(runs: dict[str, Path], tmp_path: Path) -> None:
    root = runs["keen-v2"].parent
    model = windtunnel.load_model(NearestColour("keen"), root / "keen.toml")
    natural = windtunnel.run(
        model,
        root / "imagenet-v2",
        suite="imagenet-v2",
        clean=root / "val",
        seed=7,
        out=tmp_path / "v2",
        workers=1,
    )
    found = windtunnel.compare(runs["dull-v2"], natural)
    assert (found.unpaired_because, found.images) == ("", 2 * CLASSES * PER_CLASS)
    assert found.flips
    spoilt = windtunnel.run(model, root / "val", suite="smoke", seed=7, out=tmp_path / "smoke", workers=1)
    assert "seeds 0 and 7 differ" in windtunnel.compare(runs["dull-smoke"], spoilt).unpaired_because


def test_runs_of_different_tests_are_not_compared(runs: dict[str, Path]) -> None:
    with pytest.raises(windtunnel.UserError, match=r"different benchmarks \(imagenet-v2@1 and smoke@1\)"):
        windtunnel.compare(runs["keen-v2"], runs["keen-smoke"])


def test_clean_errors_apart_are_told_in_the_tests_own_words(runs: dict[str, Path]) -> None:
    for test, words in (
        ("v2", "compare the drops on shifted images;"),
        ("smoke", "compare the drops under corruptions;"),
    ):
        compared = windtunnel.compare(runs[f"keen-{test}"], runs[f"dull-{test}"])
        (line,) = [line for line in compared.warnings if "not comparable" in line]
        assert words in line and re.search(r"keen \d+\.\d %, dull \d+\.\d %", line)


def test_drops_by_tag_worked_by_hand() -> None:
    def run(model: str, drop: float, *tags: str, suite: str = "a@1", caveats: tuple[str, ...] = ()) -> Shift:
        share = Share(drop, drop, drop, 10)
        return Shift("", model, tags, suite, "data", True, "", share, share, share, "", caveats)

    found = drops_by_tag(
        [
            run("one", 0.3, "big", "old"),
            run("two", 0.1, "big"),
            run("three", 0.2, "big"),
            run("four", 0.5),
            run("five", 0.01, "big", caveats=("Accuracy low by construction",)),
            run("one", 0.05, "big", suite="c@1"),
        ]
    )
    told = {(one.tag, one.test): (one.runs, one.median, one.best, one.best_model) for one in found}
    assert told == {
        ("big", "a@1 on data"): (3, 0.2, 0.1, "two"),
        ("old", "a@1 on data"): (1, 0.3, 0.3, "one"),
        ("no tag", "a@1 on data"): (1, 0.5, 0.5, "four"),
        ("big", "c@1 on data"): (1, 0.05, 0.05, "one"),
    }
    assert drops_by_tag([run("one", 0.3, "big")]) == []
    assert drops_by_tag([run("one", 0.3), run("two", 0.3)]) == []


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three models over images as ImageNet-A has them; one says it is the network that chose them."""
    root = tmp_path_factory.mktemp("filtered")
    wnids = [imagenet_1k().classes[index] for index in masked_classes("in_imagenet_a")[:CLASSES]]
    clean, shifted = (
        write_images(root / "val", wnids, 4, 1),
        write_images(root / "imagenet-a", wnids, 45, 2),
    )
    found = {}
    for place, name in enumerate(("keen", "resnet50", "dull")):
        model = windtunnel.load_model(NearestColour(name, 5.0 * place), declared(root, name, "small"))
        found[name] = windtunnel.run(
            model, shifted, suite="imagenet-a", clean=clean, out=root / f"{name}-run", workers=1
        ).path
    return found


def test_the_network_that_chose_the_images_is_marked_among_others(
    filtered: dict[str, Path], runs: dict[str, Path], tmp_path: Path, windtunnel_command: Command
) -> None:
    found = several(*filtered.values())
    words = "Accuracy low by construction: ImageNet-A was filtered by ResNet-50"
    assert [any(words in caveat for caveat in one.caveats) for one in found.shifts] == [False, True, False]
    assert found.comparison is not None
    assert next(line for line in found.comparison.warnings if words in line).startswith("resnet50: ")
    assert [(one.tag, one.runs) for one in found.tags] == [("small", 2)]
    for given in (filtered.values(), [*filtered.values(), runs["keen-smoke"]]):
        assert windtunnel_command("report", *given, "--out", "page.html").returncode == 0
        page = (tmp_path / "page.html").read_text()
        assert words in page and "resnet50 (caveat)" in page and "Runs left out because of caveats: 1" in page
        text = windtunnel_command("report", *given, "--markdown").stdout
        assert (
            words in text
            and "| resnet50 (caveat) |" in text
            and "Runs left out because of caveats: 1" in text
        )
    given = (filtered["resnet50"], runs["keen-smoke"])
    rows = list(csv.DictReader(io.StringIO(windtunnel_command("report", *given, "--csv").stdout)))
    assert [words in row["caveats"] for row in rows] == [True] * 3 + [False] * 3
    assert words in windtunnel_command("compare", *filtered.values()).stdout


def test_tags_and_public_models_on_the_page(
    runs: dict[str, Path], tables: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    done = windtunnel_command("report", *runs.values(), "--public", tables, "--out", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "Drop by tag" in page
    assert "ImageNet-V2: comparison with public models" in page
    assert "net3, 256 px" in page and "1,003.5 million parameters" in page
    as_json = json.loads(windtunnel_command("report", *runs.values(), "--public", tables, "--json").stdout)
    (public,) = as_json["public"]
    assert public["models"] == 12
    assert public["fit"]["correlation"] == pytest.approx(1)
    assert public["fit"]["intercept"] == pytest.approx(-1, abs=1e-4)
    assert [one["name"] for one in public["points"]] == ["keen", "dull"]
    for one in public["points"]:
        odds = (
            one["clean"]["value"] / (1 - one["clean"]["value"]) / np.e if one["clean"]["value"] < 1 else None
        )
        assert one["line"] == (None if odds is None else pytest.approx(odds / (1 + odds), abs=1e-4))
        assert any("public results use 10,000" in line for line in one["differences"])
        above = one["above"]
        assert (above is None) == (odds is None)
        if above:
            assert above["value"] == pytest.approx(one["shifted"]["value"] - one["line"])
            assert above["low"] < above["value"] < above["high"]
    assert any(one["above"] for one in public["points"])
    assert any("use 2 different combinations of image size" in note for note in public["notes"])


def test_a_run_is_placed_among_zero_shot_models_with_a_line_of_their_own(
    runs: dict[str, Path], tables: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    both = shutil.copytree(tables, tmp_path / "both")
    # Their logits are 0.5 below the clean ones; the third model has no result on ImageNet-V2.
    rows = ["name,pretrained,ImageNet 1k,ImageNet v2,Flickr"]
    for number, clean in enumerate((0.3, 0.5, 0.6, 0.8)):
        shifted = 1 / (1 + np.exp(0.5 - np.log(clean / (1 - clean))))
        rows.append(f"ViT-{number},laion,{clean},{'' if number == 2 else shifted},0.5")
    (both / "openclip_results.csv").write_text("\n".join(rows) + "\n")
    done = windtunnel_command("report", runs["dull-v2"], "--public", both, "--json")
    assert done.returncode == 0, done.stderr
    trained, zero_shot = json.loads(done.stdout)["public"]
    assert (trained["models"], zero_shot["models"], zero_shot["missing"]) == (12, 3, 1)
    assert zero_shot["title"] == "ImageNet-V2 (open_clip, zero-shot)"
    assert zero_shot["fit"]["intercept"] == pytest.approx(-0.5, abs=1e-6)
    assert any("not trained on ImageNet's labels" in note for note in zero_shot["notes"])
    (point,) = zero_shot["points"]
    below = sum(
        1 / (1 + np.exp(0.5 - np.log(clean / (1 - clean)))) < point["shifted"]["value"]
        for clean in (0.3, 0.5, 0.8)
    )
    assert point["better_than"] == below
    assert zero_shot["rows"][0][-1] == f"{below} of 3"


def test_one_run_among_public_models(
    runs: dict[str, Path], tables: Path, windtunnel_command: Command
) -> None:
    table = tables / "results-imagenetv2-matched-frequency.csv"
    done = windtunnel_command("report", runs["dull-v2"], "--public", table)
    assert done.returncode == 0, done.stderr
    assert "comparison with public models" in (runs["dull-v2"] / "report.html").read_text()
    assert "comparison with 12 public results" in (runs["dull-v2"] / "report.md").read_text()
    again = windtunnel_command("report", runs["dull-v2"])
    assert again.returncode == 0
    assert "comparison with public models" not in (runs["dull-v2"] / "report.html").read_text()


def test_another_version_of_imagenet_v2_is_not_like_the_public_results(
    runs: dict[str, Path], tables: Path, tmp_path: Path
) -> None:
    names = list(map(str, range(CLASSES)))
    clean = windtunnel.load_run(runs["keen-v2"]).path.parent / "val"
    model = windtunnel.load_model(NearestColour("keen"), declared(tmp_path, "keen"))
    told = {"unknown": several(runs["keen-v2"], runs["keen-v2"], public=tables)}
    for version in ("matched-frequency", "threshold-0.7"):
        folder = write_images(tmp_path / f"imagenetv2-{version}", names, 45, 2)
        out = tmp_path / version
        run = windtunnel.run(model, folder, suite="imagenet-v2", clean=clean, out=out, workers=1)
        told[version] = several(run.scoring, run.scoring, public=tables)
    unlike = {
        version: [
            line for line in found.placed[0].points[0].differences if "while the public results are" in line
        ]
        for version, found in told.items()
    }
    assert unlike["matched-frequency"] == []
    assert len(unlike["unknown"]) == 1 and "a version that its folder does not name" in unlike["unknown"][0]
    assert len(unlike["threshold-0.7"]) == 1
    assert "over imagenet-v2-threshold-0.7, while" in unlike["threshold-0.7"][0]
    assert "over imagenet-v2-matched-frequency" in unlike["threshold-0.7"][0]


def test_one_model_over_several_versions_keeps_every_line_of_its_own(
    runs: dict[str, Path], tables: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    names = list(map(str, range(CLASSES)))
    clean = windtunnel.load_run(runs["keen-v2"]).path.parent / "val"
    model = windtunnel.load_model(NearestColour("keen"), declared(tmp_path, "keen"))
    versions = ("top-images", "threshold-0.7", "matched-frequency")
    for seed, version in enumerate(versions):
        folder = write_images(tmp_path / f"imagenetv2-{version}", names, 45, seed)
        windtunnel.run(model, folder, suite="imagenet-v2", clean=clean, out=tmp_path / version, workers=1)
    given = [tmp_path / version for version in versions]
    done = windtunnel_command("report", *given, "--public", tables, "--out", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    text = windtunnel_command("report", *given, "--public", tables, "--markdown").stdout
    for version in versions:
        label = f"keen, imagenet-v2-{version}"
        assert f'<td class="whole">{label}</td>' in page and f'"name":"{label}"' in page.replace(": ", ":")
        assert f"| {label} |" in text
        assert f"<li>{label}: " in page and f"- {label}: " in text
    for version in versions[:2]:
        words = f"keen, imagenet-v2-{version}: over imagenet-v2-{version}, while the public results are over"
        assert words in page and words in text


def test_versions_of_imagenet_v2_are_different_tests(runs: dict[str, Path], tmp_path: Path) -> None:
    names = list(map(str, range(CLASSES)))
    clean = windtunnel.load_run(runs["keen-v2"]).path.parent / "val"
    model = windtunnel.load_model(NearestColour("keen"), declared(tmp_path, "keen"))
    made = [
        windtunnel.run(
            model,
            write_images(tmp_path / f"imagenetv2-{version}", names, 45, seed),
            suite="imagenet-v2",
            clean=clean,
            out=tmp_path / version,
            workers=1,
        )
        for seed, version in enumerate(("matched-frequency", "top-images"))
    ]
    found = several(*(run.scoring for run in made))
    assert [row[1] for row in drop_rows(found.shifts)] == [
        "imagenetv2-matched-frequency",
        "imagenetv2-top-images",
    ]
    assert found.comparison is None
    assert "imagenet-v2-matched-frequency, imagenet-v2-top-images" in found.not_compared


def test_what_cannot_be_placed_is_told_in_one_line(
    runs: dict[str, Path], tables: Path, windtunnel_command: Command
) -> None:
    of_r = tables.parent / "results-imagenet-r.csv"
    of_r.write_text("model,img_size,top1\n")
    for arguments, words in (
        ((runs["keen-smoke"], "--public", tables), "None of the runs can be compared"),
        ((runs["keen-v2"], "--public", tables / "nothing"), "No such table"),
        ((runs["keen-v2"], "--public", tables.parent), "does not contain results-imagenetv2"),
        (
            (runs["keen-v2"], "--public", of_r),
            "contains results on imagenet-r; give a run over that set with clean images",
        ),
    ):
        done = windtunnel_command("report", *arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
