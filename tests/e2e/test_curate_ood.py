"""Selection of out-of-distribution candidates: hierarchies of classes, confidence, and their audit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.e2e.test_curate_filter import CLASSES, TOML, audit
from tests.onnx_models import write_colour_model
from windtunnel import UserError, api
from windtunnel.curate import ood
from windtunnel.curate.project import Project

# An extract of WordNet's nouns: parent and child. A dog is a canine and a domestic animal.
IS_A = """
n02075296 n02083346
n02075296 n02120997
n02083346 n02084071
n01317541 n02084071
n02084071 n02103406
n02103406 n02109811
n02109811 n02110185
n02083346 n02114100
n02120997 n02121620
n02121620 n02121808
n01317541 n02121808
n02121808 n02124075
n04161981 n03001627
"""
NAMES = {
    "n02075296": "carnivore",
    "n02083346": "canine",
    "n02120997": "feline",
    "n02084071": "dog",
    "n01317541": "domestic animal",
    "n02103406": "working dog",
    "n02109811": "sled dog",
    "n02110185": "Siberian husky",
    "n02114100": "wolf",
    "n02121620": "cat",
    "n02121808": "domestic cat",
    "n02124075": "Egyptian cat",
    "n04161981": "seat",
    "n03001627": "chair",
}
KNOWN = ["n02110185", "n02121620"]
# What each class of candidates is to the classes that the model knows, husky and cat.
RELATIONS = {
    "n02084071": ("above", "n02110185"),
    "n01317541": ("above", "n02110185"),
    "n02124075": ("below", "n02121620"),
}
UNRELATED = ["n02114100", "n03001627"]


def hierarchy_file(folder: Path, form: str) -> tuple[Path, dict[str, str]]:
    """A hierarchy in one of its two forms, and the name that each class has in it."""
    if form == "wordnet":
        (folder / "is_a.txt").write_text(IS_A)
        return folder / "is_a.txt", {wnid: wnid for wnid in NAMES}
    pairs = [line.split() for line in IS_A.split("\n") if line]
    rows = "".join(f"{NAMES[child]},{NAMES[parent]}\n" for parent, child in pairs)
    (folder / "classes.csv").write_text(f"child,parent\n{rows}")
    return folder / "classes.csv", NAMES


def made_project(folder: Path, labels: list[str], known: list[str], each: int = 4) -> tuple[Path, Path]:
    """A project with random images of each class, and a model of the known classes."""
    rng = np.random.default_rng(1)
    for label in labels:
        for number in range(each):
            path = folder / "images" / label / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            small = rng.integers(0, 256, (3, 4, 3), dtype=np.uint8)
            Image.fromarray(small).resize((40, 40), Image.Resampling.BICUBIC).save(path)
    file = write_colour_model(folder / "filter.onnx", classes=len(known))
    file.with_name("filter.onnx.toml").write_text(TOML.replace(json.dumps(CLASSES), json.dumps(known)))
    api.collect_candidates(folder / "images", folder / "project")
    return folder / "project", file


@pytest.mark.parametrize("form", ["wordnet", "csv"])
def test_classes_above_and_below_are_dropped_by_name(
    tmp_path: Path, windtunnel_command: Command, form: str
) -> None:
    hierarchy, names = hierarchy_file(tmp_path, form)
    labels = [names[wnid] for wnid in (*RELATIONS, *UNRELATED, KNOWN[0])]
    project, file = made_project(tmp_path, labels, [names[wnid] for wnid in KNOWN])
    step = api.select_ood(project, [file], hierarchy=hierarchy, min_confidence=0)
    expected = {(names[wnid], place, names[other], 4) for wnid, (place, other) in RELATIONS.items()}
    related = step.summary.related_classes
    assert {(row.name, row.relation, row.known, row.candidates) for row in related} == expected
    stages = {(row["label"], row["stage"]) for row in audit(project, "ood").values()}
    assert stages == {
        *((names[wnid], "related") for wnid in RELATIONS),
        *((names[wnid], "shortlisted") for wnid in UNRELATED),
        (names[KNOWN[0]], "in_distribution"),
    }
    assert step.summary.unrelated == step.summary.shortlist == 8
    reasons = {row["reason"] for row in audit(project, "ood").values() if row["stage"] == "related"}
    assert f"'{names['n02124075']}' is below the class '{names['n02121620']}'" in reasons
    printed = windtunnel_command(
        "curate", "ood", str(project), "--filter", str(file), "--hierarchy", str(hierarchy), "--workers", "1"
    )
    assert f"{names['n02084071']} (above {names['n02110185']})" in printed.stdout
    # Without a hierarchy nothing is known to be related.
    assert api.select_ood(project, [file], min_confidence=0).summary.shortlist == 20


def test_classes_without_a_place_in_the_hierarchy_are_named(tmp_path: Path) -> None:
    project, file = made_project(tmp_path, ["wolf", "cup"], ["cat", "dog", "mug"])
    (tmp_path / "classes.csv").write_text("child,parent\nwolf,canine\ndog,canine\ncat,feline\n")
    with pytest.warns(windtunnel.ImplausibleScores):
        step = api.select_ood(project, [file], hierarchy=tmp_path / "classes.csv")
    texts = "\n".join(step.summary.warnings)
    assert "1 class of candidates ('cup')" in texts and "1 class of the filter models ('mug')" in texts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("parent,child\nanimal,dog\n", "first line must be child,parent"),
        ("child,parent\ndog\n", "row 2 is 'dog'"),
        ("child,parent\n", "has no rows"),
        ("child,parent\ndog,animal\nanimal,dog\n", "has a circle"),
        ("child,parent\nrose,plant\n", "none of the 2 classes of the filter models, such as 'cat'"),
        ("", "first line must be child,parent"),
    ],
)
def test_a_hierarchy_that_cannot_be_used_is_refused(tmp_path: Path, content: str, message: str) -> None:
    project, file = made_project(tmp_path, ["wolf"], ["cat", "dog"], each=1)
    (tmp_path / "classes.csv").write_text(content)
    with pytest.raises(UserError, match=message):
        api.select_ood(project, [file], hierarchy=tmp_path / "classes.csv")
    assert not (project / "predictions").exists()


def test_ood_keeps_confident_predictions(tmp_path: Path) -> None:
    project, file = made_project(tmp_path, ["wolf"], ["cat", "dog"], each=8)
    api.select_ood(project, [file], min_confidence=0)
    least = sorted(row["model1_confidence"][4] for row in audit(project, "ood").values())[3]
    api.select_ood(project, [file], min_confidence=least)
    rows = audit(project, "ood").values()
    assert {row["stage"] for row in rows} == {"shortlisted", "low_confidence"}
    for row in rows:
        assert (row["stage"] == "shortlisted") == (row["model1_confidence"][4] >= least)


def stages_of(project: Path) -> dict[str, str]:
    return {row["label"]: row["stage"] for row in audit(project, "ood").values()}


@pytest.mark.parametrize(
    ("labels", "known", "expected"),
    [
        (["goldfish", "Tench", "mug"], ["n01443537", "n01440764"], {"goldfish", "Tench"}),
        (["n01443537", "n01440764", "mug"], ["goldfish", "cup"], {"n01443537"}),
        (["Cat", "wild_dog", "mug"], ["cat", "Wild dog"], {"Cat", "wild_dog"}),
        # Two classes of ImageNet are called crane: the ids differ, and the name may be either.
        (["n03126707", "crane"], ["n02012849", "cup"], {"crane"}),
    ],
)
def test_the_same_class_under_another_name_is_in_distribution(
    tmp_path: Path, labels: list[str], known: list[str], expected: set[str]
) -> None:
    project, file = made_project(tmp_path, labels, known, each=1)
    api.select_ood(project, [file], min_confidence=0)
    assert stages_of(project) == {
        label: "in_distribution" if label in expected else "shortlisted" for label in labels
    }


def test_names_of_another_kind_are_refused_or_named(tmp_path: Path) -> None:
    for folder in "abc":
        (tmp_path / folder).mkdir()
    project, file = made_project(tmp_path / "a", ["3", "7"], ["cat", "dog"], each=1)
    with pytest.raises(UserError, match="labels are class indices, such as '3'"):
        api.select_ood(project, [file])
    project, file = made_project(tmp_path / "b", ["wolf", "fox"], ["0", "1"], each=1)
    with pytest.raises(UserError, match="does not declare its classes"):
        api.select_ood(project, [file])
    project, file = made_project(tmp_path / "c", ["n02084071", "n02083346"], ["cat", "dog"], each=1)
    with pytest.warns(windtunnel.ImplausibleScores):
        warnings = "\n".join(api.select_ood(project, [file]).summary.warnings)
    assert "2 classes of candidates ('n02083346', 'n02084071')" in warnings
    assert "No candidate has a class of the filter models" in warnings


def test_a_hierarchy_may_have_the_names_of_wordnet_ids(tmp_path: Path) -> None:
    project, file = made_project(tmp_path, ["fish", "mug"], ["n01443537", "n01440764"], each=1)
    (tmp_path / "classes.csv").write_text("child,parent\ngoldfish,fish\n")
    related = api.select_ood(project, [file], hierarchy=tmp_path / "classes.csv").summary.related_classes
    assert [(row.name, row.relation, row.known) for row in related] == [("fish", "above", "n01443537")]


def test_filter_models_know_classes_by_the_names_of_wordnet_ids(tmp_path: Path) -> None:
    project, file = made_project(tmp_path, ["Goldfish", "tench"], ["n01443537", "n01440764"], each=2)
    api.filter_hard(project, [file])
    assert {
        row["id"] for row in Project(project).audit_table("hard").to_pylist() if row["model1_predicted"]
    } == {row.id for row in Project(project).stored_candidates()}
    project, file = made_project(tmp_path / "other", ["Goldfish", "mug"], ["n01443537", "n01440764"], each=2)
    with pytest.raises(UserError, match="2 of the data's 2 classes"):
        api.filter_hard(project, [file])


def test_names_are_found_in_the_hierarchy_in_other_letters(tmp_path: Path) -> None:
    project, file = made_project(tmp_path, ["Animal", "mug"], ["cat", "Dog"], each=1)
    (tmp_path / "classes.csv").write_text("child,parent\ncat,feline\ndog,animal\nmug,cup\n")
    related = api.select_ood(project, [file], hierarchy=tmp_path / "classes.csv").summary.related_classes
    assert [(row.name, row.relation, row.known) for row in related] == [("Animal", "above", "Dog")]


def test_masked_classes_stay_in_distribution(tmp_path: Path) -> None:
    project, file = made_project(tmp_path, ["dog", "puppy", "mug"], ["cat", "dog", "fox"], each=1)
    (tmp_path / "kept.txt").write_text("cat\nfox\n")
    (tmp_path / "classes.csv").write_text("child,parent\npuppy,dog\nmug,cup\ncat,feline\nfox,canine\n")
    api.select_ood(
        project,
        [file],
        classes=tmp_path / "kept.txt",
        hierarchy=tmp_path / "classes.csv",
        min_confidence=0,
    )
    assert stages_of(project) == {"dog": "in_distribution", "puppy": "related", "mug": "shortlisted"}
    predicted = {name for row in audit(project, "ood").values() for name in row["model1_predicted"] or ()}
    assert predicted <= {"cat", "fox"}


def unlabelled_project(tmp_path: Path) -> tuple[Path, Path]:
    """A project with a mug, a cat and an image without a label, and a model of cats and dogs."""
    _, file = made_project(tmp_path, ["mug", "cat", "other"], ["cat", "dog"], each=1)
    rows = "images/mug/0.png,mug\nimages/cat/0.png,cat\nimages/other/0.png,\n"
    (tmp_path / "table.csv").write_text(f"file,tag\n{rows}")
    api.collect_candidates(tmp_path / "table.csv", tmp_path / "second")
    return tmp_path / "second", file


def test_candidates_without_a_label_are_not_shortlisted(tmp_path: Path) -> None:
    project, file = unlabelled_project(tmp_path)
    summary = api.select_ood(project, [file], min_confidence=0).summary
    assert stages_of(project) == {"mug": "shortlisted", "cat": "in_distribution", "": "unlabelled"}
    assert (summary.stored, summary.outside_label_space, summary.shortlist) == (3, 1, 1)


def test_candidates_that_arrive_while_models_load_are_selected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, file = made_project(tmp_path, ["mug", "wolf"], ["cat", "dog"], each=1)
    load = ood.load_source

    def collecting(spec: Path) -> object:
        Image.new("RGB", (40, 40), (9, 60, 200)).save(tmp_path / "images" / "mug" / "new.png")
        api.collect_candidates(tmp_path / "images", project)
        return load(spec)

    monkeypatch.setattr(ood, "load_source", collecting)
    assert api.select_ood(project, [file], min_confidence=0).summary.stored == 3
    assert len(audit(project, "ood")) == 3


@pytest.mark.parametrize("least", [0.0, 0.01])
def test_failed_predictions_are_tried_again(tmp_path: Path, least: float) -> None:
    """By the same command, and with another threshold."""
    project, file = made_project(tmp_path, ["mug", "wolf"], ["cat", "dog"], each=2)
    row = pq.read_table(project / "candidates").to_pylist()[0]
    kept = (project / row["file"]).read_bytes()
    (project / row["file"]).unlink()
    api.select_ood(project, [file], min_confidence=0)
    assert audit(project, "ood")[row["id"]]["stage"] == "failed"
    (project / row["file"]).write_bytes(kept)
    api.select_ood(project, [file], min_confidence=least)
    assert {found["stage"] for found in audit(project, "ood").values()} == {"shortlisted"}
