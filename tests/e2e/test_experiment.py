"""Experiments on demo digits: the same tables however they are run, stopped and continued."""

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
from scipy import stats

import windtunnel
from tests.forked_commands import forked_command
from windtunnel import api
from windtunnel.core.registry import import_file
from windtunnel.options import ExperimentOptions
from windtunnel.studies.model_predictions import read_predictions
from windtunnel.suites.suite_files import load_suite

NETWORK = """
import torch

def tiny(classes, side_px):
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 4, stride=4), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(8 * (side_px // 4) ** 2, classes),
    )
"""
PREPROCESS = """
[geometry]
rule = "exact"
crop_px = 32
[tensor]
mean = [0.5, 0.5, 0.5]
std = [0.25, 0.25, 0.25]
"""
# NaN after seven steps, which is in the second epoch.
LATE = """
from windtunnel.train.losses import Loss

class Late(Loss):
    '''Cross-entropy that is not a number after some steps.'''

    name = "late"
    help = "Cross-entropy that is not a number after some steps."
    source = "a test"

    def value(self, step, settings):
        step.module.steps_seen = getattr(step.module, "steps_seen", 0) + 1
        logits = step.module(step.inputs)
        loss = step.cross_entropy(logits).mean()
        return (loss * float("nan") if step.module.steps_seen > 7 else loss), logits

late = Late()
"""
HEAD = """\
name = "digits"
network = "tiny.py:tiny"
preprocess = "plain.toml"
baseline = "standard"
seeds = 2
suites = ["smoke"]
severities = [3]

[data]
train = "digits.npz#train"
test = "digits.npz#test"

[settings]
epochs = 2
batch = 20
learning_rate = 0.05
area = [0.8, 1.0]
mirror = false

[variants.standard]
"""
VARIANTS = """
[variants.noise]
images = ["gaussian_noise(sigma=0.3)"]

[variants.flipped]
from = "standard"
wrappers = ["flip"]
"""
CONDITIONS = ("clean", "gaussian_noise:3", "defocus_blur:3", "jpeg_compression:3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, digits: tuple[np.ndarray, np.ndarray]) -> Path:
    """Digits to train and test on, a tiny network and an experiment."""
    root = tmp_path_factory.mktemp("experiment")
    images, classes = digits
    np.savez(
        root / "digits.npz",
        train_images=images[:100], train_labels=classes[:100],
        test_images=images[100:160], test_labels=classes[100:160],
        more_images=images[160:200], more_labels=classes[160:200],
        twelve_images=images[100:120], twelve_labels=classes[100:120] + 2,
    )  # fmt: skip
    (root / "tiny.py").write_text(NETWORK)
    (root / "late.py").write_text(LATE)
    (root / "plain.toml").write_text(PREPROCESS)
    (root / "experiment.toml").write_text(HEAD + VARIANTS)
    return root


@pytest.fixture(scope="module")
def finished(folder: Path) -> Path:
    """An experiment that was made in one process without a stop."""
    done = forked_command("experiment", "experiment.toml", "--out", "done", "--workers", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "training epochs" in done.stderr and "14 of 14 (100 %)" in done.stderr
    assert "3 variants, 2 seeds, 60 test images, smoke-part@1" in done.stdout
    assert "†: trained on corruptions of this score" in done.stdout
    return folder / "done"


def results(experiment: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((experiment / "results.json").read_text())
    return content


def scores(experiment: Path, variant: str) -> dict[str, dict[str, object]]:
    (found,) = (one for one in results(experiment)["variants"] if one["facts"]["name"] == variant)
    return {one["score"]: one for one in found["scores"]}


def predictions(experiment: Path, variant: str) -> dict[str, np.ndarray]:
    """By condition, the wrong predictions (seeds, images) of a variant."""
    stored = [read_predictions(experiment / "predictions" / f"{variant}-seed{seed}.json") for seed in (0, 1)]
    return {name: np.stack([~one.unpacked(name) for one in stored if one]) for name in CONDITIONS}


def test_errors_are_those_of_the_trained_models(finished: Path, folder: Path) -> None:
    with np.load(folder / "digits.npz") as data:
        images, labels = data["test_images"], data["test_labels"]
    for seed in (0, 1):
        model = windtunnel.load_model(finished / "models" / f"standard-seed{seed}" / "model.onnx")
        plain, mirrored = (model.predict(np.ascontiguousarray(view)) for view in (images, images[:, :, ::-1]))
        error = (plain.argmax(1) != labels).mean()
        assert scores(finished, "standard")["clean"]["by_seed"][seed] == pytest.approx(error)
        both = sum(np.exp(one - one.max(1, keepdims=True)) / np.exp(one - one.max(1, keepdims=True)).sum(
            1, keepdims=True) for one in (plain, mirrored))  # fmt: skip
        error = (both.argmax(1) != labels).mean()
        assert scores(finished, "flipped")["clean"]["by_seed"][seed] == pytest.approx(error)
    assert not (finished / "test-images").exists()
    assert not (finished / "models" / "flipped-seed0").exists()


def test_the_mean_is_over_conditions_and_families_are_those_of_the_corruptions(finished: Path) -> None:
    wrong, found = predictions(finished, "noise"), scores(finished, "noise")
    assert list(found) == ["clean", "mean", "noise", "blur", "digital"]
    assert found["mean"]["error"] == pytest.approx(np.mean([wrong[name].mean() for name in CONDITIONS[1:]]))
    assert found["noise"]["error"] == pytest.approx(wrong["gaussian_noise:3"].mean())
    assert found["noise"]["seen"] == ["gaussian_noise"] and "seen" not in found["blur"]


def test_differences_have_the_interval_of_an_independent_calculation(finished: Path) -> None:
    """Two trained variants and two seeds: everything can be written down."""
    new, old = (predictions(finished, name)["defocus_blur:3"].astype(float) for name in ("noise", "standard"))
    change = new - old  # (2, 60)
    # The residual mean square of a 2x2 table of means has one degree of freedom.
    a, b = change.mean(axis=1)
    s2 = ((a - b) / 2) ** 2
    of_seeds = 2 * s2 / 2
    of_images = np.var(change.mean(axis=0), ddof=1) / 60
    # Between two seeds, the residual of an image is half the difference from the mean difference.
    halves = (change[0] - change[1] - (a - b)) / 2
    shared = 2 * (halves**2).sum() / 59 / (2 * 60)

    def reach_at(level: float) -> float:
        of_one, of_many = (stats.t.isf(level / 2, freedom) ** 2 for freedom in (1, 59))
        alone = of_many * of_images
        return float(np.sqrt(max(of_one * of_seeds + of_many * max(0, of_images - shared), alone)))

    reach = reach_at(0.05)
    found = scores(finished, "noise")["blur"]["difference"]
    assert found["value"] == pytest.approx(change.mean())
    assert (found["low"], found["high"]) == pytest.approx((change.mean() - reach, change.mean() + reach))
    # The interval at the level p ends at 0.
    assert (
        found["p"] == 1.0 if change.mean() == 0 else reach_at(found["p"]) == pytest.approx(abs(change.mean()))
    )


def test_verdicts_are_corrected_for_all_comparisons(finished: Path) -> None:
    content = results(finished)
    found = [
        score["difference"]
        for variant in content["variants"]
        for score in variant["scores"]
        if "difference" in score and score["difference"] is not None
    ]
    assert content["comparisons"] == len(found) == 10
    p = sorted(one["p"] for one in found)
    smallest = min(found, key=lambda one: one["p"])
    assert smallest["adjusted_p"] == pytest.approx(min(1, 10 * p[0]))
    for one in found:
        clear = one["adjusted_p"] <= 0.05
        assert one["verdict"] == (
            ("helps" if one["value"] < 0 else "hurts") if clear else "no clear difference"
        )


def test_seeds_are_paired_if_weights_and_order_are_shared(finished: Path) -> None:
    pairing = {one["facts"]["name"]: one.get("pairing", "") for one in results(finished)["variants"]}
    assert pairing == {"standard": "", "noise": "paired", "flipped": "same weights"}


def test_two_workers_give_the_same_table(finished: Path, folder: Path) -> None:
    done = forked_command("experiment", "experiment.toml", "--out", "two", "--workers", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "two" / "results.json").read_bytes() == (finished / "results.json").read_bytes()


def test_a_killed_experiment_continues_with_the_same_table(finished: Path, folder: Path) -> None:
    killed = folder / "killed"
    command = [sys.executable, "-m", "windtunnel", "experiment", "experiment.toml", "--out", "killed",
               "--workers", "1"]  # fmt: skip
    process = subprocess.Popen(command, cwd=folder, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 100
    # One model is finished, and another has finished an epoch.
    while not (
        any((killed / "predictions").glob("*.json"))
        and len(list((killed / "models").glob("*/checkpoint.pt"))) > 1
    ):
        assert process.poll() is None and time.monotonic() < deadline, "it ended before it could be killed"
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (killed / "results.json").exists()
    unfinished = forked_command("report", "killed", cwd=folder)
    assert unfinished.returncode == 2 and "is not finished" in unfinished.stderr
    done = forked_command("experiment", "experiment.toml", "--out", "killed", "--workers", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (killed / "results.json").read_bytes() == (finished / "results.json").read_bytes()


def test_a_finished_experiment_keeps_its_times_and_takes_more_seeds(finished: Path, folder: Path) -> None:
    again = folder / "again"
    shutil.copytree(finished, again)
    costs = (again / "costs.json").read_bytes()
    (again / "results.json").write_text("{")
    refused = forked_command("report", "again", cwd=folder)
    assert refused.returncode == 2 and "repeat the command" in refused.stderr
    done = forked_command("experiment", "experiment.toml", "--out", "again", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (again / "costs.json").read_bytes() == costs
    assert (again / "results.json").read_bytes() == (finished / "results.json").read_bytes()
    spent = json.loads(done.stdout)["costs"]["variants"]
    assert spent["flipped"]["passes"] == 2 and spent["standard"]["latency_ratio"] == 1.0
    assert spent["noise"]["train_seconds"] > 0 and "train_seconds" not in spent["flipped"]
    (folder / "three.toml").write_text((HEAD + VARIANTS).replace("seeds = 2", "seeds = 3"))
    more = forked_command("experiment", "three.toml", "--out", "again", cwd=folder)
    assert more.returncode == 0, more.stderr
    assert len(scores(again, "noise")["clean"]["by_seed"]) == 3
    assert scores(again, "noise")["clean"]["by_seed"][:2] == scores(finished, "noise")["clean"]["by_seed"]
    fewer = forked_command("experiment", "experiment.toml", "--out", "again", cwd=folder)
    assert fewer.returncode == 2 and "seeds is 2, but again is finished with 3 seeds" in fewer.stderr


def test_the_page_and_the_table(finished: Path, folder: Path) -> None:
    done = forked_command("report", "done", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (finished / "report.html").read_text()
    for text in ("Which variants help?", "Differences to standard", "Learning curves", "Holm", "unpaired"):
        assert text in page
    table = forked_command("report", "done", "--csv", cwd=folder)
    rows = list(csv.DictReader(table.stdout.splitlines()))
    assert len(rows) == 15
    (row,) = (one for one in rows if (one["variant"], one["score"]) == ("noise", "noise"))
    expected = scores(finished, "noise")["noise"]
    assert float(row["difference"]) == expected["difference"]["value"]
    assert row["trained_on"] == "gaussian_noise" and row["verdict"] == expected["difference"]["verdict"]
    document = json.loads(forked_command("report", "done", "--json", cwd=folder).stdout)
    assert document["baseline"] == "standard" and set(document["costs"]["variants"]) == {
        "standard", "noise", "flipped"}  # fmt: skip
    refused = forked_command("report", "done", "--markdown", cwd=folder)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1


def test_a_grid_is_chosen_on_another_suite_and_drawn(folder: Path) -> None:
    text = HEAD.replace("seeds = 2", 'seeds = 1\nselect_on = "imagenet-c-extra"').replace(
        "epochs = 2", "epochs = 1"
    )
    text += """
[variants.adversarial]
loss = "adversarial(epsilon={epsilon}, steps=1)"
settings = { batch = 25, epochs = 2 }
ema = 0.5
grid = { epsilon = [0.01, "26/255"] }

[variants.sharp]
from = "adversarial(epsilon=26/255)"
wrappers = ["clahe(clip={clip})"]
grid = { clip = [2, 4] }
"""
    (folder / "grid.toml").write_text(text)
    done = forked_command("experiment", "grid.toml", "--out", "grid", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    names = [one["facts"]["name"] for one in content["variants"]]
    assert names == ["standard", "adversarial(epsilon=0.01)", "adversarial(epsilon=26/255)", "sharp(clip=2)",
                     "sharp(clip=4)"]  # fmt: skip
    facts = content["variants"][1]["facts"]
    assert facts["parameters"] == {"epsilon": 0.01}
    assert facts["remedies"][:2] == ["epochs=2", "batch=25"] and facts["remedies"][-1] == "ema=0.5"
    assert len(facts["remedies"]) == 4
    assert {one.get("pairing") for one in content["variants"][1:]} == {"unpaired"}
    choice = content["choice"]
    assert choice["suite"] == "imagenet-c-extra-part@1"
    assert choice["errors"][choice["best"]] == min(choice["errors"].values())
    # No reported score contains an image that the variant is chosen on.
    planned = api.prepare_experiment(folder / "grid.toml", folder / "grid", ExperimentOptions())
    chosen_on = planned.experiment.chosen_on
    assert (content["images"], choice["images"]) == ((~chosen_on).sum(), chosen_on.sum()) == (45, 15)
    stored = read_predictions(folder / "grid" / "predictions" / "standard-seed0.json")
    assert stored is not None
    clean = content["variants"][0]["scores"][0]
    assert clean["error"] == pytest.approx(1 - stored.unpacked("clean")[~chosen_on].mean())
    extra = [name for name in stored.correct if name.split(":")[0] in load_suite(
        "imagenet-c-extra").corruptions]  # fmt: skip
    accuracies = [stored.unpacked(name)[chosen_on].mean() for name in extra]
    assert choice["errors"]["standard"] == pytest.approx(1 - np.mean(accuracies))
    # Another training of one of them could be the best.
    assert set(choice["near"]) == set(names) - {choice["best"]}
    assert {score["suite"] for score in content["variants"][0]["scores"]} == {"", "smoke-part@1"}
    # One seed says nothing about other trainings.
    assert content.get("comparisons", 0) == 0
    assert any(note.startswith("One seed") for note in content["notes"])
    longer = "adversarial(epsilon=26/255) uses each training image 2 times, and standard 1 times"
    assert any(note.startswith(longer) for note in content["notes"])
    page = forked_command("report", "grid", cwd=folder)
    assert page.returncode == 0, page.stderr
    html = (folder / "grid" / "report.html").read_text()
    assert "adversarial by parameter" in html and "ean accuracy under smoke-part@1" in html


def test_training_continues_from_given_weights_on_several_sets(folder: Path) -> None:
    module = import_file(folder / "tiny.py").tiny(10, 32)
    torch.save(module.state_dict(), folder / "weights.pt")
    text = HEAD.replace("seeds = 2", 'seeds = 1\nsubset = 30\nweights = "weights.pt"')
    text = text.replace('"digits.npz#train"', '[["digits.npz#train", 0.5], ["digits.npz#more", 0.5]]')
    text = text.replace("learning_rate = 0.05", "learning_rate = 1e-30").replace("epochs = 2", "epochs = 1")
    (folder / "weights.toml").write_text(text)
    done = forked_command("experiment", "weights.toml", "--out", "weights", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["images"] == 30
    trained = folder / "weights" / "models" / "standard-seed0"
    assert json.loads((trained / "training.json").read_text())["recipe"]["data"]["shares"] == [0.5, 0.5]
    weights = torch.load(trained / "checkpoint.pt", weights_only=True)["module"]
    for name, value in module.state_dict().items():
        if "running" not in name and "tracked" not in name:
            torch.testing.assert_close(weights[name], value)


def test_a_loss_that_is_not_finite_is_a_result(folder: Path) -> None:
    text = (
        HEAD.replace("seeds = 2", "seeds = 1")
        + """
[variants.late]
loss = "late"

[variants.late-flipped]
from = "late"
wrappers = ["flip"]

[variants.smooth]
loss = "cross_entropy(smoothing=0.1)"
"""
    )
    (folder / "late.toml").write_text(text)
    given = ["experiment", "late.toml", "--out", "late", "--include", "late.py", "--workers", "1"]
    done = forked_command(*given, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "late          failed: seed 0: The loss is no longer finite in epoch 2, step 3" in done.stdout
    content = {one["facts"]["name"]: one for one in results(folder / "late")["variants"]}
    assert "the checkpoint of epoch 1 is kept" in content["late"]["failed"]
    assert content["late-flipped"]["failed"].startswith("late, seed 0: The loss")
    assert "failed" not in content["smooth"] and content["smooth"]["scores"]
    assert (folder / "late" / "models" / "late-seed0" / "checkpoint.pt").exists()
    before = (folder / "late" / "results.json").read_bytes()
    assert forked_command(*given, cwd=folder).returncode == 0
    assert (folder / "late" / "results.json").read_bytes() == before
    assert forked_command("report", "late", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "digits"', 'nam = "digits"', "Did you mean name?"),
        ("epochs = 2", "epoch = 2", "Did you mean epochs?"),
        ("epochs = 2", "epochs = 0", "epochs is 0"),
        ("epochs = 2", "seed = 2", "settings has a seed"),
        ("seeds = 2", "seeds = 0", "seeds is 0"),
        ("seeds = 2", "subset = 1", "gives one test image"),
        ('suites = ["smoke"]', 'suites = ["smok"]', "Did you mean smoke?"),
        ('suites = ["smoke"]', 'suites = ["imagenet-p"]', "suites of corruptions"),
        ('suites = ["smoke"]', 'suites = ["systematic"]', "suites of corruptions"),
        ("severities = [3]", "severities = [9]", "severities is [9]"),
        ("severities = [3]", "severities = []", "severities is []"),
        ("seeds = 2", "subset = 0", "subset is 0"),
        ("seeds = 2", 'select_on = "imagenet-c"', "which is a test suite"),
        ("seeds = 2", 'select_on = "imagenet-c-extra"\nsubset = 7', "select_on needs 8 or more"),
        ("seeds = 2", 'select_on = "own-extra.toml"', "shares gaussian_noise with the reported suite"),
        ('baseline = "standard"', 'baseline = "standart"', "Did you mean standard?"),
        ('network = "tiny.py:tiny"', 'network = "smal"', "Did you mean small?"),
        ('network = "tiny.py:tiny"', 'network = "tiny.py:tiny"\nweights = "plain.toml"', "are no weights of"),
        ('network = "tiny.py:tiny"', 'network = "tiny.py:tiny"\nweights = "no.pt"', "There is no file"),
        ('preprocess = "plain.toml"', 'preprocess = "cifr"', "Did you mean cifar?"),
        ("digits.npz#test", "digits.npz#train", "100 of 100 test images"),
        ("digits.npz#test", "missing.npz", "missing.npz"),
        ("digits.npz#test", "digits.npz#twelve", "which digits.npz#train does not have"),
        ("gaussian_noise(sigma=0.3)", "gausian_noise", "Did you mean gaussian_noise?"),
        ("gaussian_noise(sigma=0.3)", "gaussian_noise(sigma=-1)", "variants.noise: gaussian_noise: sigma is"),
        ("gaussian_noise(sigma=0.3)", "gaussian_noise(sigma={s})", "which the grid does not have"),
        ('images = ["gaussian_noise(sigma=0.3)"]', 'loss = "advers"', "Unknown loss 'advers'"),
        ('images = ["gaussian_noise(sigma=0.3)"]', 'loss = "adversarial(epsilon=-1)"', "epsilon is '-1'"),
        ('images = ["gaussian_noise(sigma=0.3)"]', 'loss = "adversarial(epsilon=8)"', "is epsilon=8/255"),
        ('images = ["gaussian_noise(sigma=0.3)"]', 'loss = "jensen_shannon"', "no random step"),
        ('images = ["gaussian_noise(sigma=0.3)"]', 'batch = "moex(layer=none)"', "Variant noise: "),
        (
            'images = ["gaussian_noise(sigma=0.3)"]', 'corruptions = ["fogg:3"]\ncorrupted_copies = 1',
            "Did you mean fog?",
        ),
        ('images = ["gaussian_noise(sigma=0.3)"]', "grid = { a = [1, 2] }", "which no text contains"),
        ('images = ["gaussian_noise(sigma=0.3)"]', "learning_rate = 1", "settings = { learning_rate"),
        ('from = "standard"', 'from = "standrd"', "Did you mean standard?"),
        ('from = "standard"', 'from = "flipped"', "Unknown variant"),
        ('wrappers = ["flip"]', 'wrappers = ["flop"]', "Did you mean flip?"),
        ('wrappers = ["flip"]', 'wrappers = ["flip"]\nema = 0.9', "or is trained itself"),
        ("[variants.standard]", "[variants.standard", "not valid TOML"),
    ],
)  # fmt: skip
def test_mistakes_get_one_line_before_any_work(old: str, new: str, said: str, folder: Path) -> None:
    (folder / "own-extra.toml").write_text(
        'name = "own-extra"\nversion = 1\nunits = ["gaussian_noise", "fog"]\ncodec = "none"\n'
    )
    text = HEAD + VARIANTS
    assert old in text
    (folder / "wrong.toml").write_text(text.replace(old, new, 1))
    done = forked_command("experiment", "wrong.toml", "--out", "wrong", cwd=folder)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (folder / "wrong").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["experiment.toml"], "--out is not given"),
        (["missing.toml", "--out", "x"], "There is no file missing.toml"),
        (["experiment.toml", "--out", "x", "--json", "--csv"], "exclude each other"),
        (["experiment.toml", "--out", "."], "contains other files"),
        (["other.toml", "--out", "done"], "contains another experiment (different variants)"),
        (["experiment.toml", "--out", "x", "--executor", "proceses"], "Did you mean processes?"),
    ],
)
def test_mistakes_of_the_command_get_one_line(
    given: list[str], said: str, finished: Path, folder: Path
) -> None:
    (folder / "other.toml").write_text((HEAD + VARIANTS).replace("sigma=0.3", "sigma=0.2"))
    done = forked_command("experiment", *given, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (folder / "x").exists() and finished.exists()


def test_python_gives_the_same_results(finished: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    counted: list[int] = []
    found = windtunnel.experiment(
        "experiment.toml", "done", progress=lambda done, total, failed=0: counted.append(done)
    )
    assert json.loads(json.dumps({"schema": 2, **found.to_json()})) == results(finished)
    assert sum(counted) == 14
