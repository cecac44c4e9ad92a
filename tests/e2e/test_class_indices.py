"""Class indices of ImageNet-1k in folders, tables and arrays: mCE, class names, and no silent guess."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

import windtunnel
from windtunnel.cli import cli
from windtunnel.core.errors import UserError
from windtunnel.core.labels import IMAGENET_1K
from windtunnel.corruptions import REGISTRY
from windtunnel.data.arrays import ArrayDataset
from windtunnel.published.imagenet import imagenet_1k

PUBLISHED = Path(windtunnel.__file__).parent / "published"
TENCH, STINGRAY = "n01440764", "n01498041"
DECLARED = 'labels = "imagenet-1k"\n'


class Says:
    """A model of so many outputs that predicts one class whatever it sees."""

    def __init__(self, said: int, outputs: int = 1000) -> None:
        self.name = self.fingerprint = f"says-{said}-of-{outputs}"
        self.said, self.outputs = said, outputs

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        scores = np.zeros((len(batch), self.outputs), np.float32)
        scores[:, self.said] = 1 + batch.mean(axis=(1, 2, 3)) / 255
        return scores


def write_folders(root: Path, classes: list[str], each: int = 1, side: int = 256) -> Path:
    rng = np.random.default_rng(len(classes))
    for name in classes:
        (root / name).mkdir(parents=True)
        for number in range(each):
            pixels = rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)
            Image.fromarray(pixels).resize((side, side)).save(root / name / f"{number}.png")
    return root


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folders(
        tmp_path_factory.mktemp("thousand") / "val", [str(one) for one in range(1000)], side=8
    )


def test_all_thousand_indices_are_imagenet_and_it_is_reported(thousand: Path) -> None:
    plan = windtunnel.plan(Says(0), thousand, "smoke")
    assert plan.recipe.data.label_space == IMAGENET_1K
    assert tuple(plan.info.data.classes) == imagenet_1k().classes
    assert plan.recipe.projection.labels == tuple(range(1000)) and plan.recipe.projection.kind == "identity"
    (remark,) = (one for one in plan.info.remarks if "ImageNet-1k" in one)
    assert "0 is n01440764, tench" in remark and 'pass labels="indices"' in remark
    plain = windtunnel.plan(Says(0), thousand, "smoke", labels="indices")
    assert plain.recipe.data.label_space == "indices" and not plain.info.remarks


def test_inspection_agrees_with_the_run_on_a_thousand_indices(tmp_path: Path) -> None:
    thousand = tmp_path / "products.npz"
    np.savez(thousand, images=np.zeros((1000, 8, 8, 3), np.uint8), labels=np.arange(1000))
    (note,) = windtunnel.inspect_dataset(thousand).remarks
    assert "run, plan, doctor and score read them as ImageNet-1k's (0 is n01440764, tench)" in note
    assert 'pass labels="indices" to these commands' in note
    assert "pass --labels indices to these commands" in call("data", "inspect", thousand).output


def test_stored_notes_spell_options_for_their_reader(tmp_path: Path) -> None:
    data = write_folders(tmp_path / "val", ["0", "6"], side=32)
    (tmp_path / "net.toml").write_text(DECLARED)
    run = windtunnel.run(
        Says(0), data, "smoke", only=["contrast:1"], preprocess=tmp_path / "net.toml", out=tmp_path / "run"
    )
    (note,) = windtunnel.load_run(run.path).info.remarks
    assert note.endswith('if they are not, pass labels="indices".')
    assert "if they are not, pass --labels indices." in call("report", run.path, "--markdown").output
    assert (
        "pass --labels indices" in json.loads(call("score", run.path, "--json").output)["info"]["remarks"][0]
    )


def test_clean_images_of_an_array_file_are_not_called_folders(tmp_path: Path) -> None:
    np.savez(tmp_path / "val.npz", images=np.zeros((3, 32, 32, 3), np.uint8), labels=np.arange(3))
    with pytest.raises(UserError, match="is neither") as refused:
        windtunnel.plan(Says(0), tmp_path / "val.npz", clean=tmp_path / "val.npz")
    assert "its classes may be those of" in str(refused.value) and "folders" not in str(refused.value)


def test_a_model_that_declares_other_classes_is_not_imagenet(thousand: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(f"labels = {[f'person {one}' for one in range(1000)]}\n")
    plan = windtunnel.plan(Says(0), thousand, "smoke", preprocess=other)
    assert plan.recipe.data.label_space == "indices"


def test_indices_are_matched_by_name_where_the_model_declares_another_order(
    thousand: Path, tmp_path: Path
) -> None:
    """A background class first, as TensorFlow's networks have it: class i is output i + 1."""
    file = tmp_path / "background.toml"
    file.write_text(f"labels = {['background', *imagenet_1k().classes]}\n")
    plan = windtunnel.plan(Says(0, 1001), thousand, "smoke", preprocess=file)
    assert plan.recipe.data.label_space == IMAGENET_1K
    assert plan.recipe.projection.labels == tuple(range(1, 1001))


def test_make_writes_wordnet_ids_only_when_they_are_declared(thousand: Path, tmp_path: Path) -> None:
    """A thousand products are no ImageNet; without a model nothing tells the two apart."""

    def make(name: str, *options: str) -> tuple[str, list[str], dict[str, Any]]:
        done = call("make", "imagenet-c", thousand, tmp_path / name, "--only", "contrast:1", *options)
        assert done.exit_code == 0, done.output
        folders = sorted(entry.name for entry in (tmp_path / name / "contrast" / "1").iterdir())
        return done.output, folders, json.loads((tmp_path / name / "manifest.json").read_text())

    layout = ("--layout", "folders", "--subset", "12", "--workers", "1")
    said, folders, manifest = make("plain", *layout)
    assert all(len(name) == 3 and name.isdigit() for name in folders)
    assert manifest["recipe"]["data"]["label_space"] == "indices"
    assert "--labels imagenet-1k" in said and "0 is n01440764, tench" in said
    said, folders, manifest = make("declared", *layout, "--labels", "imagenet-1k")
    assert set(folders) <= set(imagenet_1k().classes)
    assert manifest["recipe"]["data"]["label_space"] == IMAGENET_1K


def test_some_numbers_are_not_taken_for_imagenet_and_the_message_says_how_to(tmp_path: Path) -> None:
    data = write_folders(tmp_path / "val", ["0", "6"])
    with pytest.raises(UserError, match=r'labels="imagenet-1k".*labels_are_outputs=True'):
        windtunnel.plan(Says(0), data, "smoke")
    trusted = windtunnel.plan(Says(0), data, "smoke", labels_are_outputs=True)
    assert trusted.recipe.data.label_space == "indices"


def test_labels_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has the class index 1000; ImageNet-1k has 0 to 999"):
        windtunnel.plan(Says(0, 1001), write_folders(tmp_path / "a", ["0", "1000"]), labels="imagenet-1k")
    with pytest.raises(UserError, match="labels are not class indices"):
        windtunnel.plan(Says(0, 2), write_folders(tmp_path / "b", ["cat", "dog"]), labels="imagenet-1k")
    with pytest.raises(UserError, match="Unknown labels 'imagenet'"):
        windtunnel.plan(Says(0), write_folders(tmp_path / "c", ["0"]), labels="imagenet")
    with pytest.raises(UserError, match="the labels count from 1"):
        windtunnel.plan(Says(0, 2), write_folders(tmp_path / "d", ["1", "2"]))


def test_declared_plain_indices_are_not_advised_to_be_declared(tmp_path: Path) -> None:
    data = write_folders(tmp_path / "val", ["0", "6"])
    (tmp_path / "net.toml").write_text(DECLARED)
    with pytest.raises(UserError) as refused:
        windtunnel.plan(Says(0), data, "smoke", preprocess=tmp_path / "net.toml", labels="indices")
    said = str(refused.value)
    assert "TOML" not in said and 'instead of labels="indices"' in said and "labels_are_outputs" in said


def test_all_reasons_for_a_missing_mce_are_named_at_once(tmp_path: Path) -> None:
    data = write_folders(tmp_path / "val", ["6"], each=2)
    run = windtunnel.run(
        Says(0), data, "imagenet-c", only=["contrast", "brightness:3"], codec="png", out=tmp_path / "run",
        labels_are_outputs=True,
    )  # fmt: skip
    with pytest.raises(UserError) as refused:
        windtunnel.gate(run, run, ["mce <= +1"])
    said = str(refused.value)
    for words in (
        "unnamed class indices",
        "stored as JPEG 85",
        "it is defined over 15 corruptions at 5 severities, and the run has 1 of them",
        'labels="imagenet-1k"',
        'run with codec="jpeg:85"',
        "run suite imagenet-c",
    ):
        assert said.count(words) == 1, words
    assert "\n" not in said
    shown = call("score", run.path).output
    assert "unnamed class indices; they hold for images stored as JPEG 85" in shown
    assert shown.count("No CE and no mCE") == 1 and shown.count("No mCE") == 0
    assert "Moreover, mCE is defined over 15 corruptions at 5 severities, and this run has 1 such" in shown


def test_a_corruption_of_the_users_own_has_no_published_errors_at_any_severity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_added", "_loaded"):
        monkeypatch.setattr(REGISTRY, name, {})
    (tmp_path / "good.py").write_text(
        "from windtunnel.corruptions import corruption\n"
        "@corruption(params=('by',), severities={224: ((1,), (2,), (3,), (4,), (5,))}, imitates='Noise.',\n"
        "            source='test')\n"
        "def good(image, rng, *, by):\n"
        "    return image // by\n"
    )
    data = write_folders(tmp_path / "val", ["6"], each=2)
    run = windtunnel.run(
        Says(0), data, "imagenet-c", include=[tmp_path / "good.py"], only=["good:3"], labels="imagenet-1k",
        out=tmp_path / "run",
    )  # fmt: skip
    shown = call("score", run.path).output
    assert "do not apply, they have no errors for good. Run suite imagenet-c;" in shown
    assert "five severities" not in shown


@pytest.mark.parametrize("kind", ["folders", "table", "arrays"])
def test_declared_indices_are_imagenet_in_every_kind_of_data(tmp_path: Path, kind: str) -> None:
    data: object = write_folders(tmp_path / "val", ["0", "6"])
    if kind == "table":
        data = tmp_path / "images.csv"
        data.write_text("path,label\nval/0/0.png,0\nval/6/0.png,6\n")
    elif kind == "arrays":
        data = ArrayDataset(np.zeros((2, 256, 256, 3), np.uint8), np.array([0, 6]))
    toml = tmp_path / "net.toml"
    toml.write_text(DECLARED)
    for plan in (
        windtunnel.plan(Says(0), data, "smoke", preprocess=toml),
        windtunnel.plan(Says(0), data, "smoke", labels="imagenet-1k"),
    ):
        assert plan.recipe.data.label_space == IMAGENET_1K
        assert [one.sample.labels for one in plan.surveyed] == [(0,), (6,)]
        assert plan.info.data.classes[6] == STINGRAY


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, windtunnel.Run]:
    """The same images, class 6, read as ImageNet's and as class indices of nothing known."""
    root = tmp_path_factory.mktemp("runs")
    data = write_folders(root / "val", ["6"], each=3)
    return {
        "named": windtunnel.run(Says(0), data, "imagenet-c", labels="imagenet-1k", out=root / "named"),
        "numbers": windtunnel.run(Says(0), data, "imagenet-c", labels_are_outputs=True, out=root / "numbers"),
    }


def test_mce_of_class_indices_is_the_papers_formula(runs: dict[str, windtunnel.Run]) -> None:
    """Always wrong: five severities of error 1 over AlexNet's summed errors, averaged over fifteen."""
    with (PUBLISHED / "alexnet_corruption_errors.csv").open() as file:
        rows = {row["corruption"]: row for row in csv.DictReader(file)}
    fifteen = [row for row in rows.values() if row["corruption"] in runs["named"].recipe.suite.units]
    assert len(fifteen) == 15
    expected = np.mean([5 / sum(float(row[f"s{level}"]) for level in range(1, 6)) for row in fifteen])
    (mce,) = runs["named"].scores(["mce"])
    assert mce.value == pytest.approx(expected)
    assert runs["numbers"].scores(["mce"]) == []


def test_class_names_show_everywhere(runs: dict[str, windtunnel.Run]) -> None:
    run = runs["named"]
    assert "stingray" in call("slices", run.path, "--by", "class", "--minimum", 2).output
    page = run.report().read_text()
    assert "tench" in page and "stingray" in page


def test_runs_over_the_same_data_join_whether_the_indices_are_named_or_not(
    runs: dict[str, windtunnel.Run],
) -> None:
    done = call("gate", runs["named"].path, "--against", runs["numbers"].path)
    assert done.exit_code == 0, done.output


def test_a_missing_mce_is_explained_with_what_to_do(runs: dict[str, windtunnel.Run]) -> None:
    said = call("score", runs["numbers"].path).output
    assert "AlexNet's published errors do not apply" in said and "--labels imagenet-1k" in said
    assert "--baseline" in said
    asked = call("score", runs["numbers"].path, "--metric", "mce").output
    assert "no such score: AlexNet's published errors do not apply" in asked


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "mce <= +1",
            "neither run has mCE: AlexNet's published errors do not apply, they hold for ImageNet's",
        ),
        ("mce <= +1", 'run with labels="imagenet-1k"'),
        ("relative mCE <= +1", "neither run has relative mCE"),
        ("mfp <= +1", "neither run has mFP: it needs a run of sequences (suite imagenet-p)"),
        ("auroc >= -1", "neither run has AUROC: it needs an out-of-distribution run"),
        ("auroc:energy >= -1", "neither run has AUROC: it needs an out-of-distribution run"),
    ],
)
def test_a_rule_on_a_known_metric_that_runs_lack_says_why(
    runs: dict[str, windtunnel.Run], rule: str, words: str
) -> None:
    with pytest.raises(UserError) as refused:
        windtunnel.gate(runs["numbers"], runs["numbers"], [rule])
    assert words in str(refused.value)
    assert "Did you mean" not in str(refused.value)


def test_a_rule_names_the_run_that_lacks_the_score(runs: dict[str, windtunnel.Run]) -> None:
    with pytest.raises(UserError) as refused:
        windtunnel.gate(runs["numbers"], runs["named"], ["mce <= +1"])
    assert f"{runs['numbers'].path} has no mCE" in str(refused.value)


def test_predictions_made_elsewhere_take_the_declaration_too(tmp_path: Path) -> None:
    data = write_folders(tmp_path / "val", ["0", "6"])
    columns = imagenet_1k().classes
    rows = [["id", *columns], ["0/0.png", *np.eye(1000)[0]], ["6/0.png", *np.eye(1000)[0]]]
    (tmp_path / "wnids.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    numbered = [["id", *range(1000)], *rows[1:]]
    (tmp_path / "numbers.csv").write_text("\n".join(",".join(map(str, row)) for row in numbered))
    for name, labels in (("wnids", None), ("numbers", "imagenet-1k")):
        run = windtunnel.score_predictions(
            tmp_path / f"{name}.csv", data, labels=labels, outputs="logits", out=tmp_path / name
        )
        assert run.recipe.data.label_space == IMAGENET_1K
        assert [one.value for one in run.scores(["top1_error"])] == [0.5]
