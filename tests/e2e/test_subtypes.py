"""Studies of subtypes on coloured squares, whose accuracies are known beforehand."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.forked_commands import forked_command
from windtunnel import api

# The colour of each subtype. Warm ones are red and cool ones blue, except the impostor.
COLOURS = {
    "brick": (200, 30, 30), "cherry": (230, 60, 60), "rose": (215, 40, 50),
    "navy": (30, 30, 200), "sky": (60, 60, 230), "sea": (40, 50, 215), "impostor": (215, 45, 45),
}  # fmt: skip
TABLE = """class,type,part
brick,warm,seen
cherry,warm,seen
rose,warm,unseen
navy,cool,seen
sky,cool,seen
sea,cool,unseen
impostor,cool,unseen
"""
NETWORKS = """
import torch

def mean_colour(classes, side_px):
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 1), torch.nn.AvgPool2d(side_px), torch.nn.Flatten(), torch.nn.Linear(6, classes)
    )

def pretrained(classes, side_px):
    print('weights are loaded')
    module = mean_colour(classes, side_px)
    with torch.no_grad():
        module[0].weight[:] = torch.eye(3).repeat(2, 1)[:, :, None, None]
        module[0].bias[:] = 0
    return module

def not_exportable(classes, side_px):
    return torch.nn.Sequential(
        torch.nn.AdaptiveAvgPool2d(13), torch.nn.Flatten(), torch.nn.Linear(3 * 13 * 13, classes)
    )

def without_last_layer(classes, side_px):
    return torch.nn.Sequential(torch.nn.AvgPool2d(side_px), torch.nn.Flatten(), torch.nn.Softmax(1))
"""
PROTOCOL = """
network = "small"
geometry = { rule = "exact", crop_px = 16 }
tensor = { mean = [0.5, 0.5, 0.5], std = [0.25, 0.25, 0.25] }

[settings]
epochs = 4
batch = 8
learning_rate = 0.1
"""
PER_CLASS = 10
FILES = ("accuracies.csv", "split.csv", "subtypes.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Coloured squares, one folder per subtype, with a table of types, networks and a protocol."""
    root = tmp_path_factory.mktemp("subtypes")
    rng = np.random.default_rng(0)
    for name, colour in COLOURS.items():
        (root / "colours" / name).mkdir(parents=True)
        for number in range(PER_CLASS):
            noise = rng.integers(-20, 21, (16, 16, 3))
            pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(root / "colours" / name / f"{number}.png")
    (root / "types.csv").write_text(TABLE)
    (root / "nets.py").write_text(NETWORKS)
    (root / "quick.toml").write_text(PROTOCOL)
    return root


def arguments(out: str, *more: str, hierarchy: str = "types.csv", seeds: int = 1) -> list[str]:
    return [
        "subtypes", "colours", "--out", out, "--hierarchy", hierarchy, "--protocol", "quick.toml", "--seeds",
        str(seeds), "--last-epochs", "12", "--last-rate", "0.1", "--network", "nets.py:mean_colour",
        "--module", "nets.py:pretrained", *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def study(folder: Path) -> Path:
    """A study that was made in one process without a stop."""
    done = forked_command(*arguments("study", "--workers", "1"), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "4 seen, 3 unseen" in done.stderr and "30 of 30 (100 %)" in done.stderr
    assert "50.0 % by a random guess" in done.stdout
    assert "nets.py:pretrained was trained on is not known" in done.stdout
    return folder / "study"


def content(study: Path) -> dict[str, bytes]:
    return {name: (study / name).read_bytes() for name in FILES}


def test_unseen_subtypes_with_the_colour_of_their_type_are_recognised(study: Path) -> None:
    result = json.loads((study / "subtypes.json").read_text())
    assert [(one["model"], one["kind"]) for one in result["models"]] == [
        ("nets.py:mean_colour", "network"), ("nets.py:pretrained", "module"),
    ]  # fmt: skip
    for model in result["models"]:
        # A fifth of the 10 images of each of four seen subtypes; all images of three unseen ones, one wrong.
        assert (model["seen"]["value"], model["seen"]["images"], model["seen"]["subtypes"]) == (1.0, 8, 4)
        assert model["unseen"]["value"] == pytest.approx(20 / 30)
        assert (model["unseen"]["images"], model["unseen"]["subtypes"]) == (30, 3)
        assert model["drop"]["value"] == pytest.approx(1 / 3)
        by_type = {row["type"]: row["unseen"]["value"] for row in model["types"]}
        assert by_type == {"warm": 1.0, "cool": 0.5}
    with (study / "accuracies.csv").open() as file:
        rows = {(row["model"], row["subtype"]): row for row in csv.DictReader(file)}
    assert rows["nets.py:pretrained", "impostor"]["accuracy"] == "0.0"
    assert rows["nets.py:pretrained", "impostor"]["part"] == "unseen"
    assert rows["nets.py:pretrained", "sea"]["accuracy"] == "1.0"
    page = (study / "report.html").read_text()
    assert "Unseen against seen subtypes" in page and "accuracy on unseen subtypes, %" in page


def test_only_the_last_layer_of_a_module_is_trained_and_no_unseen_image_is_used(study: Path) -> None:
    (last,) = study.glob("models/module-*/last-layer")
    weights = torch.load(last / "checkpoint.pt", weights_only=True)["module"]
    assert torch.equal(weights["0.weight"], torch.eye(3).repeat(2, 1)[:, :, None, None])
    assert weights["3.weight"].shape == (2, 6)
    assert not list(study.glob("models/module-*/subtypes"))
    # 4 seen subtypes with 8 of 10 images.
    for training in study.glob("models/*/*/training.json"):
        data = json.loads(training.read_text())["recipe"]["data"]
        assert data["count"] == 32
        expected = (
            ["brick", "cherry", "navy", "sky"] if training.parent.name == "subtypes" else ["cool", "warm"]
        )
        assert data["classes"] == expected
    (first,) = study.glob("models/network-*/subtypes")
    (second,) = study.glob("models/network-*/last-layer")
    before, after = (
        torch.load(part / "checkpoint.pt", weights_only=True)["module"] for part in (first, second)
    )
    assert torch.equal(before["0.weight"], after["0.weight"])


def test_a_stopped_study_continues_with_the_same_result(study: Path, folder: Path, tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"
    shutil.copytree(study, stopped)
    (network,) = stopped.glob("models/network-*")
    (module,) = stopped.glob("predictions/module-*")
    kept = module.stat().st_mtime_ns
    shutil.rmtree(network / "last-layer")
    (stopped / "predictions" / f"{network.name}.json").unlink()
    for name in FILES:
        (stopped / name).unlink()
    done = forked_command(*arguments(str(stopped), "--workers", "1"), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert content(stopped) == content(study)
    assert module.stat().st_mtime_ns == kept


def test_a_killed_study_continues_with_the_same_result(study: Path, folder: Path) -> None:
    killed = folder / "killed"
    command = [sys.executable, "-m", "windtunnel", *arguments("killed", "--workers", "1")]
    process = subprocess.Popen(command, cwd=folder, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(killed.glob("models/network-*/last-layer/checkpoint.pt")):
        assert process.poll() is None and time.monotonic() < deadline, "it ended before it could be killed"
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (killed / "subtypes.json").exists()
    done = forked_command(*arguments("killed", "--workers", "1"), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert content(killed) == content(study)


def test_processes_python_and_the_written_split_give_the_same_files(
    study: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = forked_command(*arguments(str(tmp_path / "two"), "--workers", "2", "--json"), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["types"] == ["cool", "warm"]  # the factory prints, but not into the result
    assert content(tmp_path / "two") == content(study)
    monkeypatch.chdir(folder)
    result = windtunnel.subtypes(
        "colours", "study", hierarchy="study/split.csv", protocol="quick.toml", last_epochs=12, last_rate=0.1,
        network="nets.py:mean_colour", module="nets.py:pretrained",
    )  # fmt: skip
    assert result.to_json_text() == (study / "subtypes.json").read_text()
    done = forked_command(*arguments("study", "--json"), cwd=folder)
    assert json.loads(done.stdout) == json.loads(result.to_json_text())
    done = forked_command(*arguments("study", "--csv"), cwd=folder)
    assert done.stdout == (study / "accuracies.csv").read_text()


def test_seeds_and_models_are_added_to_a_study(study: Path, folder: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    shutil.copytree(study, more)
    before = {path.name: path.stat().st_mtime_ns for path in more.glob("predictions/*")}
    done = forked_command(*arguments(str(more), "--workers", "1", seeds=2), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert len(list(more.glob("predictions/*"))) == 4
    assert all((more / "predictions" / name).stat().st_mtime_ns == when for name, when in before.items())
    assert {one["seeds"] for one in json.loads((more / "subtypes.json").read_text())["models"]} == {2}


def test_random_splits_are_seeded_and_halve_every_type(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "plain.csv"
    table.write_text("".join(f"{line.rpartition(',')[0]}\n" for line in TABLE.splitlines()))
    splits = []
    for seed in range(4):
        prepared = api.prepare_subtypes(
            folder / "colours",
            tmp_path / "study",
            windtunnel.SubtypeOptions(
                hierarchy=table, split_seed=seed, protocol=str(folder / "quick.toml"),
                network=[f"{folder / 'nets.py'}:mean_colour"],
            ),
        )  # fmt: skip
        split = prepared.study.split
        assert len(split.of_part("seen")) == 4 and len(split.of_part("unseen")) == 3  # 2 of 3 and 2 of 4
        splits.append(split.to_csv())
    assert len(set(splits)) > 1


def planned(folder: Path, tmp_path: Path, **options: object) -> dict[str, tuple[str, str]]:
    """Type and part of every subtype."""
    prepared = api.prepare_subtypes(
        tmp_path / "images",
        tmp_path / "study",
        windtunnel.SubtypeOptions(
            protocol=str(folder / "quick.toml"), network=[f"{folder / 'nets.py'}:mean_colour"], **options
        ),  # type: ignore[arg-type]
    )
    return {one.name: (one.type, one.part) for one in prepared.study.split.subtypes}


def test_wordnet_with_the_published_types(folder: Path, tmp_path: Path) -> None:
    # Golden retriever and tabby are of ImageNet-1k; the others are not. n00001740 is above everything.
    tree = {
        "n02099601": "n02099267", "n02099267": "n02084071", "n02084071": "n00001740",
        "n02087122": "n02084071", "n02123045": "n02121808", "n02123242": "n02121808",
        "n02121808": "n02121620", "n02121620": "n00001740", "n99999999": "n00001740",
    }  # fmt: skip
    (tmp_path / "is_a.txt").write_text("".join(f"{parent} {child}\n" for child, parent in tree.items()))
    rng = np.random.default_rng(1)
    for name in ("n02099601", "n02087122", "n02123045", "n02123242", "n99999999"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(3):
            Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8)).save(
                tmp_path / "images" / name / f"{number}.png"
            )
    split = planned(
        folder, tmp_path, hierarchy=tmp_path / "is_a.txt", types=["imagenet-types"], seen="imagenet-1k"
    )
    assert split == {
        "n02099601": ("dog", "seen"), "n02087122": ("dog", "unseen"),
        "n02123045": ("cat", "seen"), "n02123242": ("cat", "unseen"),
    }  # fmt: skip
    (tmp_path / "seen.txt").write_text("n02087122\nn02123045\n")
    listed = planned(
        folder,
        tmp_path,
        hierarchy=tmp_path / "is_a.txt",
        types=["imagenet-types"],
        seen=tmp_path / "seen.txt",
    )
    assert listed["n02087122"] == ("dog", "seen") and listed["n02099601"] == ("dog", "unseen")
    with pytest.raises(windtunnel.UserError, match="which is not a file; give imagenet-1k"):
        planned(
            folder, tmp_path, hierarchy=tmp_path / "is_a.txt", types=["imagenet-types"], seen="nothing.txt"
        )
    (tmp_path / "tree.csv").write_text(
        "child,parent\nn02099601,dog\nn02087122,dog\nn02123045,cat\nn02123242,cat\ncat,animal\ndog,animal\n"
    )
    split = planned(folder, tmp_path, hierarchy=tmp_path / "tree.csv", types=["cat", "dog"])
    assert sorted(split.values()) == [("cat", "seen"), ("cat", "unseen"), ("dog", "seen"), ("dog", "unseen")]
    with pytest.raises(windtunnel.UserError, match=r"1 type can be used"):
        planned(folder, tmp_path, hierarchy=tmp_path / "tree.csv")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--held-out", "1"), "--held-out is 1.0; give a number between 0 and 1"),
        (
            ("--out", "study", "--held-out", "0.4"),
            "study contains another study of subtypes (different training",
        ),
        (("--json", "--csv"), "--json and --csv exclude each other"),
    ],
)
def test_wrong_input_ends_the_command_before_any_work(
    folder: Path, study: Path, windtunnel_command: Command, more: tuple[str, ...], said: str
) -> None:
    before = content(study)
    done = windtunnel_command(*arguments("refused"), *more, cwd=folder)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert done.stderr.count("error: ") == 1 and not done.stdout
    assert not (folder / "refused").exists() and content(study) == before


def refused(folder: Path, said: str, **options: object) -> None:
    given = {"hierarchy": folder / "types.csv", "protocol": str(folder / "quick.toml")} | options
    with pytest.raises(windtunnel.UserError) as error:
        windtunnel.subtypes(folder / "colours", folder / "refused", **given)
    assert said in str(error.value)
    assert not (folder / "refused").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hierarchy": None}, "hierarchy is not given; give a .csv file"),
        ({"hierarchy": "nothing.csv"}, "No such file: nothing.csv"),
        ({"hierarchy": "imagenet-types"}, "has a type for none of the 7 classes"),
        ({"types": "warm"}, "types is given, but"),
        ({"seen": "imagenet-1k"}, "seen is given, but the hierarchy has a column part"),
        ({"seen_share": 0.0}, "seen_share is 0.0; give a number between 0 and 1"),
        ({"last_rate": 0.0}, "last_rate is 0.0; give a number above 0"),
        ({"module": "small"}, "module is 'small'; give FILE.py:factory"),
    ],
)
def test_wrong_options_are_refused(folder: Path, options: dict[str, object], said: str) -> None:
    refused(folder, said, **options)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("without_last_layer", "but the data has 2 classes"),
        ("not_exportable", "cannot be exported to ONNX"),
        ("missing", "has no function missing"),
    ],
)
def test_unusable_networks_are_refused(folder: Path, network: str, said: str) -> None:
    refused(folder, said, network=f"{folder / 'nets.py'}:{network}")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("class,type\nbrick\n", "row 2 is 'brick'; it needs class, type"),
        ("class,type\nbrick,warm\nbrick,cool\n", "row 3 repeats the class 'brick'"),
        ("class,type,part\nbrick,warm,new\n", "row 2 has the part 'new'; write seen or unseen"),
        ("class,type,where\nbrick,warm,seen\n", "its first line must be class,type or class,type,part"),
        ("class,type\nbrick,warm\ncherry,warm\nnavy,cool\n", "1 type can be used"),
    ],
)
def test_wrong_tables_are_refused(folder: Path, tmp_path: Path, table: str, said: str) -> None:
    (tmp_path / "table.csv").write_text(table)
    refused(folder, said, hierarchy=tmp_path / "table.csv")
