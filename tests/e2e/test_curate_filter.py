"""Filtration of a project: stages as an independent computation gives them, transfer, continuation."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from tests.conftest import Command
from tests.onnx_models import colour_weights, write_colour_model
from windtunnel import UserError, api
from windtunnel.models import load_model
from windtunnel.train.export import export_onnx

CLASSES = [f"class{number}" for number in range(10)]
TOML = f"""
labels = {json.dumps(CLASSES)}
[geometry]
rule = "short-side"
resizer = "pillow-bilinear"
resize_px = 40
crop_px = 32
[tensor]
divisor = 64.0
mean = [0.0, 0.0, 0.0]
std = [1.0, 1.0, 1.0]
"""


def images(folder: Path, count: int = 60) -> Path:
    """Smooth random images of two sizes in one folder per class."""
    rng = np.random.default_rng(3)
    for number in range(count):
        small = rng.integers(0, 256, (3, 4, 3), dtype=np.uint8)
        size = (66, 50) if number % 2 else (44, 80)
        path = folder / CLASSES[number % 10] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(small).resize(size, Image.Resampling.BICUBIC).save(path)
    return folder


def model(
    folder: Path, name: str = "filter.onnx", classes: int = 10, toml: str = TOML, *, softmax: bool = False
) -> Path:
    folder.mkdir(exist_ok=True)
    path = write_colour_model(folder / name, classes=classes, softmax=softmax)
    path.with_name(f"{name}.toml").write_text(toml)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    api.collect_candidates(images(tmp_path / "images"), folder)
    return folder


def audit(project: Path, step: str = "hard") -> dict[str, dict]:
    return {row["id"]: row for row in pq.read_table(project / "audit" / f"{step}.parquet").to_pylist()}


def probabilities(file: Path, kept: list[int]) -> np.ndarray:
    """Ten crops by Pillow, mean colours and a softmax over the kept classes, without windtunnel."""
    image = Image.open(file).convert("RGB")
    width, height = image.size
    short = min(width, height)
    image = image.resize((int(40 * width / short), int(40 * height / short)), Image.Resampling.BILINEAR)
    right, bottom = image.width - 32, image.height - 32
    corners = [(0, 0), (right, 0), (0, bottom), (right, bottom), (round(right / 2), round(bottom / 2))]
    crops = [np.asarray(image.crop((x, y, x + 32, y + 32)), np.float64) for x, y in corners]
    crops += [crop[:, ::-1] for crop in crops]
    logits = np.array([crop.mean(axis=(0, 1)) / 64 @ colour_weights(10, 3) for crop in crops])[:, kept]
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kept", [list(range(10)), [1, 4, 5, 8]])
def test_audit_equals_an_independent_computation(project: Path, tmp_path: Path, kept: list[int]) -> None:
    changes = {}
    if len(kept) < 10:
        (tmp_path / "classes.txt").write_text("\n".join(CLASSES[number] for number in kept))
        changes["classes"] = tmp_path / "classes.txt"
    step = api.filter_hard(project, [model(tmp_path)], pair_cap=2, **changes)
    rows = audit(project)
    stored = {row["id"]: row for row in pq.read_table(project / "candidates").to_pylist()}
    assert set(rows) == set(stored) and len(rows) == 60
    waiting: dict[tuple[int, int], list[tuple[float, str]]] = {}
    expected = {}
    for id_, row in stored.items():
        number = CLASSES.index(row["label"])
        if number not in kept:
            expected[id_] = "other_class"
            continue
        shares = probabilities(project / row["file"], kept)
        true = kept.index(number)
        predicted = shares.argmax(axis=1)
        assert rows[id_]["model1_predicted"] == [CLASSES[kept[place]] for place in predicted]
        np.testing.assert_allclose(rows[id_]["model1_confidence"], shares.max(axis=1), atol=1e-5)
        np.testing.assert_allclose(rows[id_]["model1_true_confidence"], shares[:, true], atol=1e-5)
        if (predicted == true).any():
            expected[id_] = "correct"
        elif shares[:, true].max() > 0.15:
            expected[id_] = "confident"
        else:
            waiting.setdefault((true, predicted[4]), []).append((shares[:, true].max(), id_))
    for members in waiting.values():
        for place, (_, id_) in enumerate(sorted(members)):
            expected[id_] = "over_cap" if place >= 2 else "shortlisted"
    assert {id_: row["stage"] for id_, row in rows.items()} == expected
    counts = list(expected.values())
    assert step.summary.shortlist == counts.count("shortlisted") > 0
    assert step.summary.never_correct == sum(
        counts.count(name) for name in ("confident", "over_cap", "shortlisted")
    )
    assert all(row["reason"] for row in rows.values())


def test_other_thresholds_and_a_second_command_predict_nothing_again(project: Path, tmp_path: Path) -> None:
    calls = []
    file = model(tmp_path)
    api.filter_hard(project, [file], progress=lambda done, total, failed=0: calls.append((done, total)))
    assert sum(done for done, _ in calls) == 60
    files = sorted((project / "predictions").rglob("*.parquet"))
    times = [path.stat().st_mtime_ns for path in files]
    first = audit(project)
    assert api.filter_hard(project, [file], max_true_confidence=1.0, pair_cap=0).summary.shortlist > 0
    assert audit(project) != first
    api.filter_hard(project, [file])
    assert audit(project) == first
    assert [path.stat().st_mtime_ns for path in files] == times


KILLED = """
import os, signal, sys
from windtunnel import api
total = 0
def count(done, _total, failed=0):
    global total
    total += done
    if total >= 25:
        os.kill(os.getpid(), signal.SIGKILL)
api.filter_hard(sys.argv[1], [sys.argv[2]], progress=count)
"""


def test_a_killed_filtration_continues_with_the_same_files(project: Path, tmp_path: Path) -> None:
    file = model(tmp_path)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(project), str(file)], timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert 0 < len(list((project / "predictions").rglob("*.parquet"))) < 15
    assert not (project / "audit").exists()
    remaining = []
    api.filter_hard(project, [file], progress=lambda done, total, failed=0: remaining.append(done))
    assert remaining[0] > 0  # stored candidates count at once
    whole = tmp_path / "whole"
    api.collect_candidates(tmp_path / "images", whole)
    api.filter_hard(whole, [file])
    assert (project / "audit/hard.parquet").read_bytes() == (whole / "audit/hard.parquet").read_bytes()


def test_a_damaged_shard_is_predicted_again(project: Path, tmp_path: Path) -> None:
    file = model(tmp_path)
    api.filter_hard(project, [file])
    before = audit(project)
    shard = next((project / "predictions").rglob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:100])
    (project / "steps/hard.json").unlink()
    api.filter_hard(project, [file])
    assert audit(project) == before


def test_a_geometry_without_crop_has_the_whole_image_and_its_mirror(project: Path, tmp_path: Path) -> None:
    whole = TOML.replace('rule = "short-side"', 'rule = "exact"').replace("resize_px = 40\n", "")
    api.filter_hard(project, [model(tmp_path, toml=whole)])
    for row in audit(project).values():
        assert len(row["model1_confidence"]) == 10
        assert len(set(row["model1_confidence"][:5])) == 1 == len(set(row["model1_confidence"][5:]))


def test_the_command_line_prints_the_funnel_and_the_audit_of_a_candidate(
    project: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    file = str(model(tmp_path))
    printed = windtunnel_command("curate", "hard", str(project), "--filter", file, "--workers", "1")
    assert printed.returncode == 0, printed.stderr
    assert "never correct" in printed.stdout and "shortlist" in printed.stdout
    id_ = next(id_ for id_, row in audit(project).items() if row["stage"] == "correct")
    shown = windtunnel_command("curate", "show", str(project), id_[:12])
    assert shown.returncode == 0 and "crops are classified correctly" in shown.stdout
    assert shown.stdout.count("true class") == 10 and "bottom right, mirrored" in shown.stdout
    assert windtunnel_command("curate", "show", str(project), "zzz").returncode == 2


def test_steps_print_csv_and_log_json(project: Path, tmp_path: Path, windtunnel_command: Command) -> None:
    file = str(model(tmp_path))
    hard = "curate", "hard", str(project), "--filter", file, "--workers", "1"
    printed = windtunnel_command(*hard, "--csv", "--log-json")
    assert printed.returncode == 0, printed.stderr
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(printed.stdout))}
    stored = audit(project)
    assert {id_: row["stage"] for id_, row in rows.items()} == {
        id_: row["stage"] for id_, row in stored.items()
    }
    id_ = next(iter(rows))
    assert rows[id_]["model1_predicted"].split("; ") == stored[id_]["model1_predicted"]
    events = [json.loads(line)["event"] for line in printed.stderr.splitlines()]
    assert "progress" in events
    transfer = "curate", "transfer", str(project), "--held-out", str(shifted(tmp_path)), "--workers", "1"
    accuracies = list(csv.DictReader(io.StringIO(windtunnel_command(*transfer, "--csv").stdout)))
    assert {(row["model"], row["group"]) for row in accuracies} == {
        (name, group)
        for name in ("held-out", "filter")
        for group in ("shortlist", "random", "plain_errors", "other_errors")
    }
    table = windtunnel_command(*transfer, "--json")
    assert json.loads(table.stdout)["summary"]["accuracies"][0]["n"] == int(accuracies[0]["n"])
    for command in (hard, transfer):
        assert windtunnel_command(*command, "--csv", "--json").returncode == 2


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-true-confidence", "1.5"),
        ("--duplicate-bits", "9"),
        ("--duplicate-cosine", "2"),
        ("--classes", "missing.txt"),
    ],
)
def test_wrong_options_end_with_one_line(
    project: Path, tmp_path: Path, windtunnel_command: Command, option: str, value: str
) -> None:
    file = str(model(tmp_path))
    refused = windtunnel_command("curate", "hard", str(project), "--filter", file, option, value)
    assert refused.returncode == 2
    assert len(refused.stderr.strip().splitlines()) == 1 and option in refused.stderr
    assert not (project / "predictions").exists()


def test_a_model_of_other_classes_is_refused(project: Path, tmp_path: Path) -> None:
    other = model(tmp_path, classes=7, toml=TOML.replace(json.dumps(CLASSES), json.dumps(CLASSES[:7])))
    with pytest.raises(UserError, match="not among the 7 outputs"):
        api.filter_hard(project, [other])
    with pytest.raises(UserError, match="same model"):
        api.filter_hard(project, [model(tmp_path), model(tmp_path)])


def shifted(folder: Path) -> Path:
    """Another model: the same colours, other preprocessing and so other predictions."""
    toml = TOML.replace("mean = [0.0, 0.0, 0.0]", "mean = [3.0, 0.0, -3.0]")
    path = write_colour_model(folder / "held-out.onnx", classes=10, dtype="float32", softmax=True)
    path.with_name("held-out.onnx.toml").write_text(toml)
    return path


def test_transfer_measures_held_out_models_on_the_shortlist_and_others(project: Path, tmp_path: Path) -> None:
    api.filter_hard(project, [model(tmp_path)])
    rows = audit(project)
    with pytest.raises(UserError, match="is a filter model"):
        api.measure_transfer(project, [tmp_path / "filter.onnx"])
    step = api.measure_transfer(project, [shifted(tmp_path)])
    results = {(row.model, row.group): row for row in step.summary.accuracies}
    shortlist = sum(row["stage"] == "shortlisted" for row in rows.values())
    errors = sum(row["model1_predicted"][4] != row["label"] for row in rows.values())
    assert results["held-out", "shortlist"].n == results["held-out", "random"].n == shortlist
    assert results["held-out", "plain_errors"].n == errors
    assert results["held-out", "other_errors"].n == errors - shortlist
    assert results["filter", "shortlist"].correct == results["filter", "plain_errors"].correct == 0
    assert "filter model" in results["filter", "random"].note
    assert not results["held-out", "shortlist"].note
    for row in results.values():
        assert row.low <= row.accuracy <= row.high
    copy = model(tmp_path / "copy", toml=TOML.replace("divisor = 64.0", "divisor = 32.0"), softmax=True)
    marked = api.measure_transfer(project, [copy]).summary.accuracies
    assert "same name as a filter model" in marked[0].note
    again = api.measure_transfer(project, [shifted(tmp_path)], seed=1)
    others = {(row.model, row.group): row for row in again.summary.accuracies}
    assert others["held-out", "shortlist"] == results["held-out", "shortlist"]


def net(folder: Path, failing: str = "warm > 255", first: str = "") -> str:
    """A factory `net` of a model by colours; its scores of failing images are not finite."""
    folder.mkdir()
    (folder / "net.py.toml").write_text(TOML)
    (folder / "net.py").write_text(
        f"""
import numpy as np
from windtunnel import UserError, api

def model(batch):
    scores = batch.mean(axis=(1, 2)) @ np.random.default_rng(1).normal(size=(3, 10))
    warm = batch[..., 0].mean(axis=(1, 2)) - batch[..., 2].mean(axis=(1, 2))
    coloured = np.ptp(batch, axis=3).mean(axis=(1, 2)) > 2
    scores[{failing}] = np.nan
    return scores

def net():
    {first or "pass"}
    return model
"""
    )
    return f"{folder / 'net.py'}:net"


def test_held_out_models_are_measured_on_the_same_candidates(project: Path, tmp_path: Path) -> None:
    """A candidate that one model has no prediction of is left out for all; no candidates have no accuracy."""
    api.filter_hard(project, [model(tmp_path)])
    whole = net(tmp_path / "whole")
    red = net(tmp_path / "red", "(warm > 0) & coloured")
    blue = net(tmp_path / "blue", "(warm <= 0) & coloured")
    step = api.measure_transfer(project, [whole, red], workers=1)
    sizes: dict[str, set[int]] = {}
    for row in step.summary.accuracies:
        sizes.setdefault(row.group, set()).add(row.n)
    assert all(len(found) == 1 for found in sizes.values())
    shortlist = sum(row["stage"] == "shortlisted" for row in audit(project).values())
    assert 0 < min(sizes["shortlist"]) < shortlist
    assert any("left out of all groups" in text for text in step.summary.warnings)
    page = api.write_project_page(project).read_text()
    for each in (whole, red):
        assert f"net ({load_model(each).fingerprint[:16]}), held out" in page
    empty = api.measure_transfer(project, [red, blue], workers=1).summary.accuracies
    assert {(row.n, row.accuracy, row.low, row.high) for row in empty} == {(0, None, None, None)}


def test_the_page_has_no_transfer_of_another_shortlist(
    project: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    api.filter_hard(project, [model(tmp_path)])
    held_out = str(shifted(tmp_path))
    printed = windtunnel_command("curate", "transfer", project, "--held-out", held_out, "--workers", "1")
    assert "contains the shortlist" in " ".join(printed.stdout.split())
    assert "held-out, held out" in api.write_project_page(project).read_text()
    api.filter_hard(project, [model(tmp_path)], max_true_confidence=1.0)
    page = api.write_project_page(project).read_text()
    assert "held-out, held out" not in page and "measured on another shortlist" in page


COLLECT = """
    try:
        api.collect_candidates("more", "project")
    except UserError as error:
        assert "is being written" in str(error)
"""


def test_candidates_do_not_change_while_a_step_reads_them(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The candidates of the audit are those of the recipe, also if others are collected meanwhile."""
    monkeypatch.chdir(tmp_path)
    images(tmp_path / "more", 70)
    api.filter_hard("project", [net(tmp_path / "collecting", first=COLLECT)], workers=1)
    stored = [row["id"] for row in pq.read_table(project / "candidates").to_pylist() if row["status"] == "ok"]
    assert set(audit(project)) == set(stored)


def test_transfer_needs_a_shortlist(project: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no shortlist of windtunnel curate hard"):
        api.measure_transfer(project, [model(tmp_path)])
    api.filter_hard(project, [model(tmp_path)], max_true_confidence=0.0)
    with pytest.raises(UserError, match="is empty"):
        api.measure_transfer(project, [shifted(tmp_path)])


def test_near_duplicates_are_listed_and_kept(tmp_path: Path) -> None:
    folder = images(tmp_path / "images", 20)
    for path in sorted(folder.rglob("*.png")):
        with Image.open(path) as image:
            image.convert("RGB").save(path.with_suffix(".jpg"), quality=80)
    project = tmp_path / "project"
    api.collect_candidates(folder, project)
    step = api.filter_hard(
        project, [model(tmp_path)], max_true_confidence=1.0, pair_cap=0, duplicate_cosine=0
    )
    rows = audit(project)
    source = {row["id"]: Path(row["url"]).stem for row in pq.read_table(project / "candidates").to_pylist()}
    pairs = step.summary.near_duplicates
    assert pairs and all(source[pair.first] == source[pair.other] for pair in pairs)
    assert {pair.found_by for pair in pairs} == {("hash",)} and pairs[0].cosine is None
    first, other = pairs[0].first, pairs[0].other
    assert rows[first]["near_duplicates"] == [other] and rows[first]["stage"] == "shortlisted"


class Mirrored(torch.nn.Module):
    """A network whose features do not change if an image is mirrored: mean colours of four rows."""

    def __init__(self) -> None:
        super().__init__()
        self.pool, self.flatten = torch.nn.AdaptiveAvgPool2d((4, 1)), torch.nn.Flatten()
        self.last = torch.nn.Linear(12, 10)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.last(self.flatten(self.pool(batch)))


@pytest.mark.parametrize("step", ["hard", "ood"])
@pytest.mark.parametrize("exported", [False, True])
def test_mirrored_copies_are_near_duplicates_by_features(tmp_path: Path, exported: bool, step: str) -> None:
    """Their hashes differ, their features do not; of other images they do."""
    folder = images(tmp_path / "images", 40)
    chosen = sorted(folder.rglob("*.png"))[:4]
    for path in chosen:
        with Image.open(path) as image:
            image.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(path.with_name(f"{path.stem}-mirrored.png"))
    project = tmp_path / "project"
    api.collect_candidates(folder, project)
    torch.manual_seed(0)
    declared = tmp_path / "declared.toml"
    declared.write_text(TOML if step == "hard" else TOML.replace("class", "known"))
    filter_model = load_model(Mirrored(), declared)
    if exported:
        preprocess, names = filter_model.preprocess, filter_model.classes
        module = filter_model.gradient_source.module
        filter_model = load_model(export_onnx(module, preprocess, names, tmp_path / "net.onnx"))
    if step == "hard":
        rules = {"max_true_confidence": 1.0, "pair_cap": 0}
        summary = api.filter_hard(project, [filter_model], duplicate_cosine=0.999, **rules).summary
    else:
        summary = api.select_ood(project, [filter_model], duplicate_cosine=0.999, min_confidence=0).summary
    rows = audit(project, step)
    source = {row["id"]: Path(row["url"]).stem for row in pq.read_table(project / "candidates").to_pylist()}
    found = {
        frozenset((source[pair.first], source[pair.other]))
        for pair in summary.near_duplicates
        if "features" in pair.found_by
    }
    stage = {source[id_]: row["stage"] for id_, row in rows.items()}
    expected = {
        frozenset((path.stem, f"{path.stem}-mirrored"))
        for path in chosen
        if stage[path.stem] == stage[f"{path.stem}-mirrored"] == "shortlisted"
    }
    assert found == expected and expected
    assert all(pair.cosine > 0.999 for pair in summary.near_duplicates if "features" in pair.found_by)
    assert sum(bool(row["near_duplicates"]) for row in rows.values()) >= 2 * len(expected)
    assert summary.features.startswith("12 before the last layer of")
