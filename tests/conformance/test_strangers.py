"""A plug-in of every kind in one file of the user's: listed, run, scored and reported, and missed by name."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.strangers import CONTRIBUTING, EXAMPLES, write_example
from windtunnel import api
from windtunnel.core.registry import _REGISTRIES


def nothing(_folder: Path) -> None:
    """The run needs no further file."""


def photos(folder: Path) -> None:
    """Six JPEG files in three classes."""
    for number in range(6):
        file = folder / "photos" / str(number % 3) / f"{number}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        coarse = np.random.default_rng(number).integers(0, 256, (9, 13, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((130, 90), Image.Resampling.BICUBIC).save(file, quality=80)


def labelled(folder: Path) -> None:
    """Digits of the demo, with their classes in labels.json."""
    digits = windtunnel.open_dataset("demo")
    labels = {}
    (folder / "data").mkdir()
    for sample in list(digits.samples())[:20]:
        Image.fromarray(digits.read(sample)).save(folder / "data" / f"{sample.id}.png")  # type: ignore[arg-type]
        labels[f"{sample.id}.png"] = sample.labels[0]
    (folder / "data" / "labels.json").write_text(json.dumps(labels))


def weights(folder: Path) -> None:
    """A linear classifier of the digits."""
    drawn = np.random.default_rng(0).normal(size=(32 * 32 * 3, 10))
    np.savez(folder / "weights.npz", weights=drawn, bias=np.zeros(10))


def measured(folder: Path) -> None:
    """A suite that is scored by the metric."""
    (folder / "measured.toml").write_text(
        "name = 'measured'\nversion = 1\nextends = 'smoke'\nmetrics = ['top1_error', 'confident_error']\n"
    )


@dataclass(frozen=True)
class Use:
    """How a plug-in is used: its name in listings, the arguments of a run, and what its scores name.

    `missing` is what `report` says without the file; "" if the report does without it.
    """

    name: str
    run: str
    scored: str
    reported: str
    missing: str = ""
    prepare: Callable[[Path], None] = nothing


STEPS = "run demo photos --labels-are-outputs --suite imagenet-s --only"
USES = {
    "corruptions": Use(
        "rain_streaks", "run demo demo --only rain_streaks:3 --subset 20", "rain_streaks:3", "rain_streaks",
        "corruption 'rain_streaks'",
    ),
    "sequences": Use(
        "seq/dusk", "run demo demo --suite imagenet-p --only dusk --subset 10", "seq/dusk", "seq/dusk",
        "sequence 'dusk'",
    ),
    "decoders": Use(
        "pillow-draft", f"{STEPS} decode=pillow-draft", "decode=pillow-draft", "pillow-draft",
        "decoder 'pillow-draft'", photos,
    ),
    "resizers": Use(
        "indexing-centre", f"{STEPS} resize=indexing-centre", "resize=indexing-centre", "indexing-centre",
        "resizer 'indexing-centre'", photos,
    ),
    "codecs": Use(
        "webp:QUALITY", "run demo demo --suite smoke --codec webp:80 --subset 20", "webp:80", "webp:80",
        "codec 'webp'",
    ),
    "suites": Use(
        "my-suite@1", "run demo demo --suite my-suite --subset 20", "defocus_blur:3", "my-suite@1",
    ),
    "metrics": Use(
        "confident_error", "run demo demo --suite measured.toml --subset 20", "confident_error",
        "confident error", "metric 'confident_error'", measured,
    ),
    "model-kinds": Use(
        "linear", "run weights.npz demo --preprocess cifar --suite smoke --subset 20", "top1_error",
        "weights",
        prepare=weights,
    ),
    "wrappers": Use(
        "gamma", "run gamma|demo demo --suite smoke --subset 20", "top1_error", "gamma(power=0.7)",
    ),
    "layouts": Use(
        "labels-json", "run demo data --suite smoke", "top1_error", "data", "dataset layout 'labels-json'",
        labelled,
    ),
    "executors": Use(
        "threads", "run demo demo --suite smoke --subset 20 --executor threads", "top1_error", "smoke",
    ),
    "sections": Use(
        "class-balance", "run demo demo --suite smoke --subset 20", "top1_error", "<h2>Class balance</h2>",
    ),
    "destinations": Use(
        "headline-file", "run demo demo --suite smoke --subset 20", "top1_error", "smoke",
    ),
}  # fmt: skip


# Examples of training remedies, by kind.
REMEDIES = {"image-steps": "vignette", "batch-steps": "shuffle", "losses": "focal"}


def test_every_kind_of_plug_in_has_an_example_and_is_listed() -> None:
    data = {"presets", "published", "natural-sets"}
    assert {*USES, "networks", *REMEDIES} == set(EXAMPLES) == set(api.KINDS) - data
    own = {"task", "review kind", "detection head"}  # not for users yet
    importlib.import_module("windtunnel.train")  # loads torch, so that `api` does not import it
    kinds = {one.plural.replace(" ", "-") for one in _REGISTRIES.values() if one.kind not in own}
    assert kinds == set(EXAMPLES)


def test_an_unknown_kind_is_refused_with_a_suggestion() -> None:
    with pytest.raises(
        windtunnel.UserError, match=r"Unknown kind of plug-in 'metric'\. Did you mean metrics\?"
    ):
        api.list_plugins("metric")


def test_no_shipped_plug_in_has_the_name_of_an_example() -> None:
    """CONTRIBUTING.md reserves these names: a shipped plug-in needs another one."""
    checklist = CONTRIBUTING.read_text(encoding="utf-8").partition("## Checklist")[2].partition("\n## ")[0]
    reserved = {name.replace("_", "-") for name in re.findall(r"`([\w-]+)`", checklist)}
    assert reserved >= {Path(example.file).stem.replace("_", "-") for example in EXAMPLES.values()}
    for registry in _REGISTRIES.values():
        kind = registry.plural.replace(" ", "-")
        if kind in EXAMPLES:
            assert Path(EXAMPLES[kind].file).stem.replace("_", "-") not in {
                name.replace("_", "-") for name in registry.shipped()
            }


@pytest.mark.parametrize("kind", USES)
def test_one_file_is_listed_run_scored_and_reported(
    kind: str, tmp_path: Path, windtunnel_command: Command
) -> None:
    use, file = USES[kind], write_example(kind, tmp_path)
    use.prepare(tmp_path)
    listed = windtunnel_command("list", kind, "--json", "--include", file.name)
    assert listed.returncode == 0, listed.stderr
    row = {row["name"]: row for row in json.loads(listed.stdout)}[use.name]
    assert row.get("help") or row.get("about") or row.get("imitates")
    done = windtunnel_command(*use.run.split(), "--out", "run", "--workers", 1, "--include", file.name)
    assert done.returncode == 0, done.stderr
    scored = windtunnel_command("score", "run", "--json", "--include", file.name)
    assert scored.returncode == 0 and use.scored in scored.stdout, scored.stderr
    reported = windtunnel_command("report", "run", "--include", file.name)
    assert (reported.returncode, reported.stderr) == (0, "")
    page = (tmp_path / "run" / "report.html").read_text()
    assert use.reported in page and "--include FILE" not in page
    without = windtunnel_command("report", "run")
    assert without.returncode == (2 if kind == "metrics" else 0)
    assert use.missing in without.stderr and bool(use.missing) == bool(without.stderr)
    assert not use.missing or "--include FILE" in without.stderr


def test_a_network_is_listed_and_trained_by_a_study(tmp_path: Path, windtunnel_command: Command) -> None:
    file = write_example("networks", tmp_path)
    listed = windtunnel_command("list", "networks", "--json", "--include", file.name)
    assert listed.returncode == 0, listed.stderr
    assert {row["name"] for row in json.loads(listed.stdout)} >= {"pooled", "small", "resnet18"}
    images = np.random.default_rng(0).integers(0, 256, (24, 32, 32, 3), np.uint8)
    np.savez(tmp_path / "noise.npz", train_images=images[:16], train_labels=np.arange(16) % 2,
             test_images=images[16:], test_labels=np.arange(8) % 2)  # fmt: skip
    done = windtunnel_command(
        "overlap", "noise.npz#train", "noise.npz#test", "--out", "study", "--network", "pooled",
        "--epochs", 1, "--seeds", 1, "--candidates", "fog:3", "--candidates", "snow:3",
        "--include", file.name, "--workers", 1,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    recipe = json.loads((tmp_path / "study" / "study.json").read_text())["recipe"]
    assert list(recipe["network"]["assets"]) == [file.name]


@pytest.mark.parametrize(("kind", "name"), REMEDIES.items())
def test_a_training_remedy_is_listed_and_used(
    kind: str, name: str, tmp_path: Path, windtunnel_command: Command
) -> None:
    file = write_example(kind, tmp_path)
    listed = windtunnel_command("list", kind, "--json", "--include", file.name)
    assert listed.returncode == 0, listed.stderr
    row = {row["name"]: row for row in json.loads(listed.stdout)}[name]
    assert row["about"] and row["written"].startswith(name)
    field = {
        "image-steps": f"images=('{name}',)",
        "batch-steps": f"batch='{name}'",
        "losses": f"loss='{name}'",
    }
    code = (
        "import torch, windtunnel\n"
        "from windtunnel.train import Geometry, Preprocess, Remedies, Settings, fit\n"
        f"windtunnel.include('{file.name}')\n"
        "module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 10))\n"
        "fit(module, 'demo', 'out', preprocess=Preprocess(Geometry(rule='exact', crop_px=32)),\n"
        f"    settings=Settings(epochs=1, learning_rate=0.01), remedies=Remedies({field[kind]}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    remedies = json.loads((tmp_path / "out" / "training.json").read_text())["recipe"]["remedies"]
    record = {"image-steps": remedies["images"][:1], "batch-steps": [remedies["batch"]],
              "losses": [remedies["loss"]]}[kind][0]  # fmt: skip
    assert record["name"] == name and len(record["assets"]) == 1


def install(site: Path, package: str, kinds: Iterable[str]) -> None:
    """Put a package with examples of plug-ins and its entry points into a folder of installed packages."""
    (site / package).mkdir(parents=True)
    (site / package / "__init__.py").write_text("")
    lines = []
    for kind in kinds:
        file = write_example(kind, site / package)
        value = package if kind == "suites" else f"{package}.{file.stem}:{file.stem}"
        name = USES[kind].name.partition("@")[0] if kind == "suites" else file.stem
        underscores = ("suites", "corruptions", "sequences", "metrics", *REMEDIES)
        registered = name if kind in underscores else name.replace("_", "-")
        lines += [f"[windtunnel.{kind.replace('-', '_')}]", f"{registered} = {value}"]
    meta = site / f"{package}-1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (meta / "entry_points.txt").write_text("\n".join(lines) + "\n")


def with_installed(site: Path, code: str) -> str:
    """What Python code prints in a new interpreter that has the packages of a folder."""
    path = os.pathsep.join([str(site), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_another_package_publishes_plug_ins_of_every_kind_by_entry_points(tmp_path: Path) -> None:
    install(tmp_path, "stranger", EXAMPLES)
    code = (
        "import json, windtunnel\n"
        "from windtunnel import api\n"
        "plan = windtunnel.plan('demo', 'demo', 'my-suite@1', subset=10)\n"
        "rows = {kind: api.list_plugins(kind) for kind in sorted(api.KINDS)}\n"
        "print(json.dumps([plan.suite.citation, rows]))\n"
    )
    planned, rows = json.loads(with_installed(tmp_path, code))
    assert planned == "my-suite@1"
    for kind, use in USES.items():
        assert use.name in {row["name"] for row in rows[kind]}, kind
    assert {row["name"]: row["source"] for row in rows["suites"]}["my-suite@1"] == "stranger"


def test_a_plug_in_of_another_name_than_its_file_or_entry_point_is_refused(tmp_path: Path) -> None:
    kinds = [kind for kind in EXAMPLES if kind != "suites"]
    install(tmp_path, "stranger", kinds)
    meta = tmp_path / "stranger-1.0.dist-info" / "entry_points.txt"
    lines = [line.partition(" = ")[1:] for line in meta.read_text().splitlines()]
    groups = [line for line in meta.read_text().splitlines() if line.startswith("[")]
    values = ["other" + "".join(parts) for parts in lines if parts[0]]
    meta.write_text("".join(f"{group}\n{value}\n" for group, value in zip(groups, values, strict=True)))
    code = (
        "from windtunnel import UserError, api\n"
        "from windtunnel.core.registry import _REGISTRIES\n"
        "import windtunnel.train\n"
        "assert api.KINDS\n"  # imports every other kind
        "for registry in _REGISTRIES.values():\n"
        "    if 'other' in registry:\n"
        "        try:\n"
        "            registry.get('other')\n"
        "        except UserError as error:\n"
        "            print(error)\n"
    )
    said = with_installed(tmp_path, code).splitlines()
    assert len(said) == len(kinds)
    assert all("give it the name of its file or entry point, 'other'" in line for line in said)


def test_a_name_that_two_packages_have_is_refused(tmp_path: Path) -> None:
    install(tmp_path, "stranger", ["suites"])
    install(tmp_path, "other", ["suites"])
    code = (
        "import windtunnel\n"
        "try:\n"
        "    windtunnel.plan('demo', 'demo', 'my-suite')\n"
        "except windtunnel.UserError as error:\n"
        "    print(error)\n"
    )
    said = with_installed(tmp_path, code)
    assert "The suite 'my-suite' is declared by " in said and "other" in said and "stranger" in said
    assert len(said.splitlines()) == 1 and "uninstall the package that you do not need" in said
