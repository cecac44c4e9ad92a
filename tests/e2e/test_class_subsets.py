"""Runs and sets of some classes: every tenth, or those of a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.data.class_subset import of_classes
from windtunnel.published.imagenet import imagenet_1k, imagenet_names


def planned_classes(plan: windtunnel.api.running.Plan) -> set[str]:
    return {
        plan.dataset.label_space.classes[label] for image in plan.surveyed for label in image.sample.labels
    }


@pytest.fixture
def wnid_folder(tmp_path: Path) -> Path:
    """One image in each of the first 25 class folders of ImageNet-1k."""
    for wnid in imagenet_1k().classes[:25]:
        folder = tmp_path / "photos" / wnid
        folder.mkdir(parents=True)
        pixels = np.random.default_rng(int(wnid[1:])).integers(0, 256, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "a.png")
    return tmp_path / "photos"


def plan(data: Path | str, **options: object) -> windtunnel.api.running.Plan:
    return windtunnel.plan("demo", data, "smoke", labels_are_outputs=True, **options)


def test_every_tenth_class_of_the_demo_is_the_first() -> None:
    one = plan("demo", classes="every:10")
    assert planned_classes(one) == {"0"}
    assert any("These images are of one class" in note for note in one.info.notes)
    assert planned_classes(plan("demo", classes="every:3")) == {"0", "3", "6", "9"}
    assert planned_classes(plan("demo", classes="every:1")) == set(map(str, range(10)))


def test_every_tenth_counts_all_classes_in_wordnet_order(tmp_path: Path) -> None:
    names = [f"n{number:08d}" for number in range(99_000_001, 99_000_024)]  # not ImageNet-1k's
    for name in names:
        (tmp_path / name).mkdir()
        Image.new("RGB", (40, 40), "red").save(tmp_path / name / "a.png")
    dataset = windtunnel.open_dataset(tmp_path)
    assert list(dataset.label_space.classes) == names
    selected = of_classes(dataset.samples(), dataset.label_space, "every:10", "x")
    assert [sample.id.split("/")[0] for sample in selected.samples] == [names[0], names[10], names[20]]


def test_of_imagenet_every_tenth_of_the_thousand_is_used(wnid_folder: Path) -> None:
    dataset = windtunnel.open_dataset(wnid_folder)
    selected = of_classes(dataset.samples(), dataset.label_space, "every:10", "x")
    wanted = [imagenet_1k().classes[index] for index in (0, 10, 20)]
    assert [sample.id.split("/")[0] for sample in selected.samples] == wanted


def test_a_file_lists_wordnet_ids_or_names(wnid_folder: Path, tmp_path: Path) -> None:
    dataset = windtunnel.open_dataset(wnid_folder)
    first, second = imagenet_1k().classes[:2]
    file = tmp_path / "classes.txt"
    file.write_text(f"{second}\n\n{imagenet_names()[first]}\n")
    selected = of_classes(dataset.samples(), dataset.label_space, file, "x")
    assert [sample.labels for sample in selected.samples] == [(0,), (1,)]
    file.write_text(f"{first}\n{second}\n")
    assert of_classes(dataset.samples(), dataset.label_space, file, "x").rule == selected.rule


def test_the_rule_is_part_of_the_recipe_and_all_is_not(tmp_path: Path) -> None:
    file = tmp_path / "classes.txt"
    file.write_text("\n".join(map(str, range(10))))
    everything, by_step, by_file = (plan("demo", classes=given) for given in (None, "every:1", file))
    assert "classes" not in everything.recipe.data.to_json()
    assert by_step.recipe.data.classes == "every:1"
    assert by_file.recipe.data.classes.startswith("listed:")
    assert len({one.recipe.digest for one in (everything, by_step, by_file)}) == 3


def test_subsets_are_of_the_selected_classes_and_outputs_are_not_restricted() -> None:
    chosen = plan("demo", classes="every:5", subset=10)
    assert (chosen.recipe.data.count, planned_classes(chosen)) == (10, {"0", "5"})
    assert chosen.recipe.data.of < 599
    assert chosen.recipe.projection.kind == "identity"
    assert plan("demo", classes="every:5", mask=True).recipe.projection.kept == (0, 5)


def test_a_set_contains_the_selected_classes(tmp_path: Path, windtunnel_command: Command) -> None:
    done = windtunnel_command(
        "make", "smoke", "demo", "made", "--classes", "every:5", "--subset", 8, "--layout", "folders",
        "--only", "jpeg_compression:1", "--workers", 1,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "made" / "clean").iterdir()} == {"0", "5"}
    manifest = json.loads((tmp_path / "made" / "manifest.json").read_text())
    assert manifest["recipe"]["data"]["classes"] == "every:5"
    assert "Images of 2 of 10 classes are used" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0\nseven\n", "Unknown class of demo in classes.txt: 'seven'"),
        ("\n", "classes.txt lists no class"),
        (None, "'classes.txt', which cannot be read: No such file or directory. Give every:10"),
        ("every:0", "give a step from 1"),
        ("tenth", "'tenth', which cannot be read"),
    ],
)
def test_mistakes_are_refused_before_any_work(
    content: str | None, message: str, tmp_path: Path, windtunnel_command: Command
) -> None:
    given = "classes.txt"
    if content in ("every:0", "tenth"):
        given = content
    elif content is not None:
        (tmp_path / given).write_text(content)
    done = windtunnel_command("plan", "demo", "demo", "--suite", "smoke", "--classes", given)
    assert done.returncode == 2
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_classes_without_an_image_are_refused(wnid_folder: Path, tmp_path: Path) -> None:
    dataset = windtunnel.open_dataset(wnid_folder)
    file = tmp_path / "classes.txt"
    file.write_text(imagenet_1k().classes[900])
    with pytest.raises(windtunnel.UserError, match="selects 1 of 1,000 classes, and here has no image"):
        of_classes(dataset.samples(), dataset.label_space, file, "here")
