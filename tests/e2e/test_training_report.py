"""Reports of trainings: learning curves from history.csv, without torch, for one or more trainings."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conftest import Command
from windtunnel.train import Geometry, Preprocess, Remedies, Settings, Tensor, fit

PREPROCESS = Preprocess(Geometry(rule="exact", crop_px=16), Tensor())


def train(folder: Path, remedies: Remedies = Remedies()) -> None:  # noqa: B008 (frozen)
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 10))
    settings = Settings(epochs=3, batch=100, learning_rate=0.02, drop_after=(1, 2))
    fit(module, "demo", folder, preprocess=PREPROCESS, settings=settings, remedies=remedies)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trainings")
    train(folder / "plain")
    train(folder / "stable", Remedies(images=("cutout",), loss="stability(sigma=0.1)", ema=0.5))
    return folder


@pytest.fixture
def trainings(stored: Path, tmp_path: Path) -> Path:
    """Copies that a test may change."""
    return shutil.copytree(stored, tmp_path / "trainings")


def history(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "history.csv").read_text())))


def figures(page: Path) -> dict[str, Any]:
    [content] = re.findall(r'<script id="figures" type="application/json">(.*?)</script>', page.read_text())
    figures: dict[str, Any] = json.loads(content)
    return figures


def test_the_page_of_a_training_draws_its_history(trainings: Path, windtunnel_command: Command) -> None:
    done = windtunnel_command("report", trainings / "plain")
    page = trainings / "plain" / "report.html"
    assert (done.returncode, done.stdout.strip()) == (0, str(page)), done.stderr
    rows, drawn = history(trainings / "plain"), figures(page)
    assert len(rows) == 3
    for name, factor in (("loss", 1), ("accuracy", 100), ("learning_rate", 1)):
        [line] = drawn[name]["data"]
        assert line["x"] == [1, 2, 3]
        assert line["y"] == pytest.approx([factor * float(row[name]) for row in rows])
    assert drawn["learning_rate"]["data"][0]["y"] == pytest.approx([0.02, 0.002, 0.0002])
    text = page.read_text()
    assert "divided by 10 after epoch 1, 2" in text and "cross_entropy(smoothing=0)" in text
    assert "Sequential" in text and "continues it" not in text
    for setting in ("0.08 to 1 of the image", "half of the images", "one set"):
        assert setting in text


def test_it_does_not_need_torch(trainings: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from windtunnel import api\n"
        "api.write_training_page(api.open_trainings([sys.argv[1]]), sys.argv[2])"
    )
    page = trainings / "page.html"
    subprocess.run([sys.executable, "-c", code, str(trainings / "plain"), str(page)], check=True)
    assert "learning curves" in page.read_text()


def test_several_trainings_are_drawn_together(trainings: Path, windtunnel_command: Command) -> None:
    done = windtunnel_command("report", trainings / "plain", trainings / "stable", "--out", "both.html",
                              cwd=trainings)  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "both.html"), done.stderr
    page = trainings / "both.html"
    assert [line["name"] for line in figures(page)["loss"]["data"]] == ["plain", "stable"]
    text = page.read_text()
    assert "different losses, whose values cannot be compared" in text
    assert "The trainings differ in image steps: their losses and training accuracies are of" in text
    assert "stability(weight=1, sigma=0.1)" in text and "<td" in text and "cutout" in text
    assert not (trainings / "plain" / "report.html").exists()


def test_trainings_of_the_same_name_are_told_apart(trainings: Path, windtunnel_command: Command) -> None:
    other = trainings / "other" / "plain"
    shutil.copytree(trainings / "plain", other)
    done = windtunnel_command("report", trainings / "plain", other, "--json")
    names = [each["name"] for each in json.loads(done.stdout)["trainings"]]
    assert names == [str(trainings / "plain"), str(other)]


def test_json_and_csv_are_the_history(trainings: Path, windtunnel_command: Command) -> None:
    both = trainings / "plain", trainings / "stable"
    table = list(csv.DictReader(io.StringIO(windtunnel_command("report", *both, "--csv").stdout)))
    assert [row.pop("training") for row in table] == ["plain"] * 3 + ["stable"] * 3
    assert table == history(both[0]) + history(both[1])
    [plain, stable] = json.loads(windtunnel_command("report", *both, "--json").stdout)["trainings"]
    assert plain["finished"] and plain["recipe"]["settings"]["epochs"] == 3
    assert stable["recipe"]["remedies"]["loss"]["name"] == "stability"
    for key in ("loss", "accuracy", "seconds"):
        assert [row[key] for row in plain["epochs"]] == [float(row[key]) for row in history(both[0])]


def test_an_unfinished_training_is_reported_as_such(trainings: Path, windtunnel_command: Command) -> None:
    file = trainings / "plain" / "history.csv"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    windtunnel_command("report", trainings / "plain")
    assert (
        "plain has 1 of 3 epochs; the same call continues it."
        in (trainings / "plain" / "report.html").read_text()
    )
    file.unlink()  # killed before the first epoch was completed
    assert windtunnel_command("report", trainings / "plain").returncode == 0
    assert "No epoch is completed." in (trainings / "plain" / "report.html").read_text()


def test_a_history_of_losses_alone_has_no_other_curves(trainings: Path, windtunnel_command: Command) -> None:
    (trainings / "plain" / "history.csv").write_text("epoch,loss\r\n1,2.5\r\n2,2.25\r\n3,2\r\n")
    windtunnel_command("report", trainings / "plain")
    drawn = figures(trainings / "plain" / "report.html")
    assert list(drawn) == ["loss"] and drawn["loss"]["data"][0]["y"] == [2.5, 2.25, 2]
    done = windtunnel_command("report", trainings / "plain", "--json")
    assert json.loads(done.stdout)["trainings"][0]["epochs"][0]["accuracy"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("plain", "nowhere"), "nowhere is not the folder of a training; give folders of trainings only"),
        (("plain", "--markdown"), "trainings have no scores; leave out --baseline"),
        (("plain", "--baseline", "x"), "trainings have no scores"),
        (("damaged",), "history.csv is not the history of a training"),
        (("unreadable",), "training.json is damaged"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_one_line(
    trainings: Path, windtunnel_command: Command, arguments: tuple[str, ...], words: str
) -> None:
    for name in ("damaged", "unreadable"):
        shutil.copytree(trainings / "plain", trainings / name)
    (trainings / "damaged" / "history.csv").write_text("epoch,loss\n1,much\n")
    (trainings / "unreadable" / "training.json").write_text('{"schema": 2, "recipe": {"module": 3}}')
    done = windtunnel_command("report", *arguments, cwd=trainings)
    assert done.returncode == 2 and words in " ".join(done.stderr.split()), done.stderr
    assert not list(trainings.glob("**/report.html"))
