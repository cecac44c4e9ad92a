"""Typed records: strict reading, exact round trips, lasting digests, and folders of one recipe."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import windtunnel
from windtunnel.core.conditions import Condition, digest, digest_of_rows
from windtunnel.core.errors import UserError
from windtunnel.core.records import (
    GeometryRecord,
    NaturalRecipe,
    PartRecord,
    PrecomputedIdentity,
    ProjectionRecipe,
    Recipe,
    RecordError,
    TensorRecord,
    read_conditions,
    read_recipe,
    read_record,
)
from windtunnel.core.run_info import DataInfo, ModelInfo, RunInfo, ScoringInfo
from windtunnel.core.set_records import FixedFile, SetClasses, SetInfo, SetRecipe
from windtunnel.core.training_records import (
    MixRecord,
    ModuleRecord,
    PreprocessRecord,
    SettingsRecord,
    TrainingData,
    TrainingRecipe,
)
from windtunnel.data.manifest import SET, SetFolder, read_manifest
from windtunnel.imaging.geometry import Geometry
from windtunnel.models.preprocess import Preprocess, Tensor
from windtunnel.store.folder import RUN, RunFolder, read_run_json
from windtunnel.store.recipe_folder import FolderKind

# Two recipes and their digests as schema 1 wrote them: the demo, 10 images, fog:3.
CANVAS = {
    "edition": 32,
    "geometry": {
        "decoder": "pillow", "exif": "ignore", "rule": "none", "resizer": "pillow-bilinear",
        "resize_px": 256, "crop_px": 224, "crop_frac": 0.875, "long_side": "floor", "crop_offset": "round",
        "colour": "rgb",
    },
    "note": "images taken as they are",
}  # fmt: skip
RUN_RECIPE: dict[str, Any] = {
    "model": {
        "kind": "onnx",
        "fingerprint": "571c6ac90f392afbc4a106ccbaf8aea6-d1149f4c24b0b390",
        "classes": 10,
        "outputs": "logits",
        "geometry": {**CANVAS["geometry"], "rule": "exact", "crop_px": 32},
        "tensor": {
            "channels": "rgb", "divisor": 255.0, "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5],
            "layout": "nchw", "dtype": "float32",
        },
    },
    "data": {
        "count": 10, "of": 599, "subset_seed": 0, "label_space": "indices",
        "digest": "361d6dd32ba34795ff76e8fd57cacb05", "finished": None,
    },
    "suite": {
        "name": "demo-part", "version": 1, "canvas": "imagenet-c", "edition": 32, "codec": "none",
        "units": ["fog"], "levels": [3], "subset": 0, "mask": False, "stored": False,
    },
    "canvas": CANVAS,
    "conditions": [
        {
            "name": "native", "id": "5a75c0a82791399ec69dfd5ad693ae3e", "kind": "native", "unit": "",
            "level": 0, "edition": 0, "codec": "none", "stage": "canvas", "revision": 0, "geometry": {},
            "assets": {},
        },
        {
            "name": "clean", "id": "b25482b3bf10d34528428bd3f0664974", "kind": "clean", "unit": "",
            "level": 0, "edition": 32, "codec": "none", "stage": "canvas", "revision": 0,
            "geometry": {"rule": "none", "crop_px": 224}, "assets": {},
        },
        {
            "name": "fog:3", "id": "e78a745e60b9e960d9cd854a6886950e", "kind": "corruption", "unit": "fog",
            "level": 3, "edition": 32, "codec": "none", "stage": "canvas", "revision": 1,
            "geometry": {"rule": "none", "crop_px": 224}, "assets": {},
        },
    ],
    "projection": {"kind": "identity", "kept": [], "labels": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]},
    "seed": 0,
    "stream": 1,
    "keep": ["clean", "native"],
    "batch": 16,
    "chunk": 1,
}  # fmt: skip
RUN_DIGEST = "e0eae3c00f153f587b5a21204654cd66"
SET_RECIPE: dict[str, Any] = {
    "suite": "demo@1",
    "layout": "folders",
    "data": {
        "count": 10, "of": 599, "label_space": "indices", "digest": "7053370a762953db03e088a4972b1907",
    },
    "canvas": CANVAS,
    "codec": "none",
    "seed": 0,
    "stream": 1,
    "chunk": 1,
}  # fmt: skip
SET_DIGEST = "3a362663c0083c6c7240051f1a94a4d3"

INFO = RunInfo(
    model=ModelInfo("digits", "from digits.onnx.toml", False, "declared", ("digits",), "cnn", 7, ("small",)),
    data=DataInfo("held-out-digits", "demo", "labels are class indices", ("0", "1"), clean="clean"),
    suite="demo-part@1",
    scoring=ScoringInfo(("top1_error",), {"fog": 2.5}, "writer", group_found=True),
    settings=("frost.textures=own",),
    missing=("fog:4",),
    notes=("one", "two"),
    versions={"windtunnel": "0.1.0"},
    ignored_rows={"images of folders that are not scored": 1},
)
SET_INFO = SetInfo(
    source="held-out-digits",
    classes=SetClasses("indices", "labels are class indices", ("0", "1")),
    left_out={"a.png": "truncated"},
    notes=("one",),
    settings=(),
    versions={"windtunnel": "0.1.0"},
    fixed={"labels.npy": FixedFile(128, "ab", 256)},
    samples="53681fcb179b4eda6d8658288968ef61",
)
GEOMETRY = read_record(CANVAS["geometry"], GeometryRecord)
TENSOR = read_record(RUN_RECIPE["model"]["tensor"], TensorRecord)
TRAINING_RECIPE = TrainingRecipe(
    module=ModuleRecord("Sequential", {"0.weight": (16, 3, 3, 3)}, "ab"),
    data=TrainingData("cd", 20, ("0", "1")),
    preprocess=PreprocessRecord(GEOMETRY, TENSOR),
    settings=SettingsRecord(3, 32, 0.05, 0.9, 0.0005, (0.7, 1.0), False, 0),
    mix=MixRecord(("pillow",), ("pillow-bilinear", "opencv-bilinear"), "image"),
)


def every_field() -> Recipe:
    """A recipe in which no field has its default."""
    recipe = read_recipe(RUN_RECIPE)
    natural = NaturalRecipe("imagenet-a", (PartRecord("imagenet-a", "shifted", 3, 4),), 9, 3, "ef")
    identity = PrecomputedIdentity("ab", 5, "cd")
    replace = msgspec.structs.replace
    return replace(
        recipe,
        model=replace(recipe.model, top_k=5),
        data=replace(recipe.data, finished=identity, natural=natural),
        suite=replace(recipe.suite, unit_levels={"fog": (1, 3)}, natural="imagenet-a", edition="auto"),
        conditions=(
            *recipe.conditions,
            Condition("sequence", "seq/tilt", frames=31, assets={"own.py": "ab"}),
        ),
        projection=ProjectionRecipe("collapse", (0, 2), (0, 1), ((0, 3), (2,))),
    )


def stored_run(path: Path, recipe: object = None, info: object = None, schema: int = 2) -> Path:
    """A run folder whose run.json holds these, with the digest of its recipe."""
    recipe = RUN_RECIPE if recipe is None else recipe
    content = {
        "schema": schema,
        "recipe": recipe,
        "recipe_digest": digest(recipe),
        "info": INFO.to_json() if info is None else info,
    }
    path.mkdir(exist_ok=True)
    (path / "run.json").write_text(json.dumps(content))
    return path


def refused(call: Callable[[], object]) -> str:
    """The one line with which something is refused."""
    with pytest.raises(UserError) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_run_of_schema_1_is_refused_in_one_line(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "run", schema=1)
    before = (run / "run.json").read_bytes()
    told = refused(lambda: windtunnel.load_run(run))
    assert told.startswith(f"{run} was written with run schema 1") and "reads schema 2" in told
    assert "Make the run again in another folder" in told
    assert (run / "run.json").read_bytes() == before
    again = refused(lambda: windtunnel.run("demo", "demo", "demo", subset=10, only=["fog:3"], out=run))
    assert again == told


def test_a_set_of_schema_1_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / ".windtunnel").mkdir()
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": 1, "recipe": SET_RECIPE}))
    assert "was written with set schema 1" in refused(lambda: read_manifest(tmp_path))


def changed(content: dict[str, Any], place: str, value: object) -> dict[str, Any]:
    """A copy with another value at a dotted place; `...` deletes the field."""
    copied = copy.deepcopy(content)
    *parents, name = place.split(".")
    inner: Any = copied
    for parent in parents:
        inner = inner[int(parent) if parent.isdigit() else parent]
    if value is ...:
        del inner[name]
    else:
        inner[name] = value
    return copied


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        ("sed", 0, "unknown field `sed`"),
        ("model.weights", "x", "unknown field `weights` - at `$.model`"),
        ("conditions.2.levl", 3, "unknown field `levl`"),
        ("seed", ..., "missing required field `seed`"),
        ("data.natural", {"set": "imagenet-a"}, "missing required field `parts` - at `$.data.natural`"),
        ("conditions", ..., "conditions"),
        ("conditions.2.kind", ..., "missing required field `kind`"),
        ("seed", "0", "`int`, got `str` - at `$.seed`"),
        ("suite.units", "fog", "got `str` - at `$.suite.units`"),
        ("model.tensor.mean", ["a"], "got `str` - at `$.model.tensor.mean["),
        ("conditions.2.level", "3", "`int`, got `str` - at `$.conditions["),
        ("conditions.2.kind", "noise", "].kind`"),
        ("conditions", 3, "conditions"),
    ],
)
def test_a_wrong_field_of_a_recipe_is_named(tmp_path: Path, place: str, value: object, named: str) -> None:
    run = stored_run(tmp_path / "run", recipe=changed(RUN_RECIPE, place, value))
    told = refused(lambda: windtunnel.load_run(run))
    assert "run.json is damaged (" in told and named in told


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        ("remark", [], "unknown field `remark`"),
        ("remarks", ..., "missing required field `remarks`"),
        ("model.name", ..., "missing required field `name` - at `$.model`"),
        ("remarks", "one", "got `str` - at `$.remarks`"),
        ("versions.numpy", 2, "`str`, got `int` - at `$.versions[...]`"),
        ("scoring.weights.fog", "2", "got `str` - at `$.scoring.weights[...]`"),
    ],
)
def test_a_wrong_field_of_the_info_is_named(tmp_path: Path, place: str, value: object, named: str) -> None:
    run = stored_run(tmp_path / "run", info=changed(INFO.to_json(), place, value))
    told = refused(lambda: windtunnel.load_run(run))
    assert "run.json is damaged (" in told and named in told


@pytest.mark.parametrize("content", [None, [], "recipe", 3])
def test_what_is_no_recipe_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(RecordError):
        read_recipe(content)  # type: ignore[arg-type]
    run = stored_run(tmp_path / "run")
    text = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**text, "recipe": content, "recipe_digest": digest(content)}))
    assert "run.json is damaged (" in refused(lambda: windtunnel.load_run(run))


def through_json(content: object) -> Any:
    return json.loads(json.dumps(content))


@pytest.mark.parametrize("recipe", [read_recipe(RUN_RECIPE), every_field()], ids=["defaults", "every field"])
def test_a_recipe_comes_back_as_it_was_written(recipe: Recipe) -> None:
    again = read_recipe(through_json(recipe.to_json()))
    assert again == recipe and again.digest == recipe.digest
    assert [one.id for one in again.conditions] == [one.id for one in recipe.conditions]


@pytest.mark.parametrize(
    "record",
    [
        INFO,
        msgspec.structs.replace(INFO, ignored_rows={}, scoring=ScoringInfo((), {})),
        read_record(SET_RECIPE, SetRecipe),
        msgspec.structs.replace(read_record(SET_RECIPE, SetRecipe), class_folders="wnid", split="val"),
        SET_INFO,
        msgspec.structs.replace(SET_INFO, fixed={}, samples=""),
        TRAINING_RECIPE,
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_record_comes_back_as_it_was_written(record: Any) -> None:
    assert read_record(through_json(record.to_json()), type(record)) == record


def test_conditions_come_back_without_their_settings() -> None:
    condition = Condition("corruption", "frost", 3, 224, assets={"a.png": "ab"}, settings={"textures": "own"})
    (again,) = read_conditions(through_json([condition.to_json()]))
    assert again == condition and again.id == condition.id
    assert again.settings == {}, "the content of the files counts, not where they are"
    assert again != Condition("corruption", "frost", 3, 224, assets={"a.png": "cd"})


def test_a_stored_recipe_has_the_digest_it_always_had() -> None:
    recipe, set_recipe = read_recipe(RUN_RECIPE), read_record(SET_RECIPE, SetRecipe)
    assert through_json(recipe.to_json()) == RUN_RECIPE and recipe.digest == RUN_DIGEST
    assert list(recipe.to_json()) == list(RUN_RECIPE), "in the order it was written"
    assert through_json(set_recipe.to_json()) == SET_RECIPE and set_recipe.digest == SET_DIGEST


@pytest.mark.parametrize("rows", [[], [["a", (1,), "b"]], [["é", (), ""], ["c", (2, 3), "d"]]], ids=len)
def test_rows_have_the_digest_of_their_list(rows: list[Any]) -> None:
    assert digest_of_rows(iter(rows)) == digest(rows)


def test_whole_numbers_stay_whole(tmp_path: Path) -> None:
    """A model may declare `mean = (0, 0, 0)`; as 0.0 it would have another digest."""
    tensor = {"divisor": 255, "mean": [0, 0, 0], "std": [1, 1, 1]}
    content = changed(RUN_RECIPE, "model.tensor", {**RUN_RECIPE["model"]["tensor"], **tensor})
    assert read_recipe(content).digest == digest(content)
    run = stored_run(tmp_path / "run", recipe=content)
    folder, before = RunFolder(run), read_run_json(run)
    scoring = msgspec.structs.replace(INFO.scoring, metrics=("top5_error",))
    samples = pa.table({"id": pa.array([], pa.string())})
    folder.open_for(before.recipe, msgspec.structs.replace(INFO, scoring=scoring), samples)
    after = read_run_json(run)
    assert after.recipe == before.recipe and after.info.scoring == scoring


def test_a_declared_preprocess_is_recorded_as_it_will_be_read() -> None:
    """Callers may give lists and NumPy's numbers; the record must equal the one that is read again."""
    given: Any = [np.float64(0.5)] * 3
    record = Tensor(mean=given, std=tuple(given)).record()
    assert record == Tensor(mean=(0.5,) * 3, std=(0.5,) * 3).record()
    assert read_record(through_json(record.to_json()), TensorRecord) == record
    assert Geometry.of(GEOMETRY).record() == GEOMETRY


def test_records_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        INFO.remarks = ()  # type: ignore[misc]


def test_every_field_of_a_recipe_has_a_name_for_refusals() -> None:
    from windtunnel.store.training_folder import TRAINING
    from windtunnel.studies.records import STUDY, StudyRecipe

    kinds: list[tuple[FolderKind, type[msgspec.Struct]]] = [
        (RUN, Recipe), (SET, SetRecipe), (TRAINING, TrainingRecipe), (STUDY, StudyRecipe),
    ]  # fmt: skip
    for kind, record in kinds:
        assert sorted(kind.parts) == sorted(record.__struct_fields__), kind.what


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 7}, "another seed"),
        ({"batch": 8, "chunk": 2}, "another batch size, another chunk size"),
        ({"projection": ProjectionRecipe("mask", (1,), (0,))}, "another mask or map"),
    ],
)
def test_a_run_folder_names_the_difference(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    run = stored_run(tmp_path / "run")
    before = (run / "run.json").read_bytes()
    recipe, samples = read_recipe(RUN_RECIPE), pa.table({"id": ["a"], "content": ["b"]})
    RunFolder(run).check_same(recipe, samples)
    other = msgspec.structs.replace(recipe, **changes)
    told = refused(lambda: RunFolder(run).open_for(other, INFO, samples))
    assert told.startswith(f"{run} contains a run with {named}; choose another folder")
    assert (run / "run.json").read_bytes() == before


def test_a_run_with_settings_is_continued(tmp_path: Path) -> None:
    textures = tmp_path / "textures"
    textures.mkdir()

    for number in range(1, 6):
        pixels = np.random.default_rng(number).integers(0, 256, (300, 300, 3), np.uint8)
        Image.fromarray(pixels).save(textures / f"frost{number}.png")

    def run(settings: list[str]) -> windtunnel.Run:
        return windtunnel.run(
            "demo", "demo", "smoke", only=["frost:3"], subset=4, out=tmp_path / "run", settings=settings
        )

    first = run([f"frost.textures={textures}"])
    moved = textures.rename(tmp_path / "moved")
    again = run([f"frost.textures={moved}"])
    assert again.predictions().equals(first.predictions())
    assert "another list of conditions" in refused(lambda: run([]))


def test_a_set_folder_names_the_difference(tmp_path: Path) -> None:
    def make(**options: Any) -> Path:
        given = {"layout": "folders", "subset": 4, "only": ["fog:3"], **options}
        return windtunnel.make_set("demo", "demo", tmp_path / "set", **given)

    manifest = read_manifest(make())
    assert manifest is not None and manifest.digest == manifest.recipe.digest
    before = (tmp_path / "set" / "manifest.json").read_bytes()
    assert "contains a set with another seed;" in refused(lambda: make(seed=1))
    assert "contains a set with another codec;" in refused(lambda: make(codec="jpeg:85"))
    assert (tmp_path / "set" / "manifest.json").read_bytes() == before
    make(only=["fog:4"])
    assert SetFolder(tmp_path / "set").read_recipe_file()["schema"] == 2


def test_a_training_folder_names_the_difference(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from windtunnel.train import Mix, Settings, fit

    data = tmp_path / "data.npz"
    pixels = np.random.default_rng(0).integers(0, 256, (20, 16, 16, 3), np.uint8)
    np.savez(data, images=pixels, labels=np.arange(20) % 2)
    preprocess = Preprocess(Geometry(rule="exact", crop_px=16), Tensor(mean=(0, 0, 0), std=(1, 1, 1)))

    def train(seed: int = 0, mix: Mix | None = None) -> object:
        # Lists and whole numbers, where a file holds tuples and fractions.
        area: Any = [0.7, 1]
        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 2))
        settings = Settings(epochs=1, batch=10, learning_rate=1, area=area, seed=seed)
        return fit(
            module, data, tmp_path / "t", preprocess=preprocess, settings=settings, mix=mix or Mix(),
        )  # fmt: skip

    train()
    before = (tmp_path / "t" / "training.json").read_bytes()
    train()  # the same one is continued
    assert "contains another training (different settings);" in refused(lambda: train(seed=1))
    other = Mix(resizers=("pillow-nearest", "pillow-bilinear"))
    assert "(different settings, mix);" in refused(lambda: train(seed=1, mix=other))
    assert (tmp_path / "t" / "training.json").read_bytes() == before
