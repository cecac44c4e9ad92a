"""Runs: the same bytes whatever happens on the way, and a clear word where something does not fit."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import kills

import windtunnel
from tests.conftest import Command
from windtunnel.data.arrays import ArrayDataset

UserError, RunOptions = windtunnel.UserError, windtunnel.RunOptions


def shard_digests(run: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((run / "shards").iterdir())
    }


@pytest.fixture
def folder_run(tmp_path: Path, digit_folder: Path) -> windtunnel.Run:
    return windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "run", chunk=7)


def test_a_run_holds_every_prediction_in_order(folder_run: windtunnel.Run) -> None:
    table = folder_run.predictions()
    assert len(table) == 40 * 11
    pairs = list(zip(table["sample_id"].to_pylist(), table["condition"].to_pylist(), strict=True))
    names = [condition.name for condition in folder_run.conditions]
    assert pairs == [(id_, name) for id_ in sorted(dict.fromkeys(id_ for id_, _ in pairs)) for name in names]
    assert set(table["status"].to_pylist()) == {"ok"}
    assert folder_run.samples.column_names == ["id", "labels", "content", "width", "height", "format", "meta"]


def test_the_models_view_is_what_an_independent_script_sees(
    folder_run: windtunnel.Run, digit_folder: Path
) -> None:
    import onnxruntime
    from PIL import Image

    from windtunnel.data.demo import demo_model_path

    session = onnxruntime.InferenceSession(str(demo_model_path()))
    table = folder_run.predictions(["condition", "top", "label_rank", "logits"])
    for row in table.to_pylist():
        if row["condition"] in ("native", "clean"):
            pixels = np.asarray(Image.open(digit_folder / row["sample_id"]), np.float32)
            tensor = ((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None]
            logits = session.run(None, {"pictures": tensor})[0][0]
            assert row["logits"] == pytest.approx(logits.tolist(), abs=1e-4)
            assert row["top"][0] == int(np.argmax(logits))
            label = int(row["sample_id"].split("/")[0])
            assert row["label_rank"] == int((logits > logits[label]).sum())


def test_logits_are_kept_where_later_scores_need_them(tmp_path: Path, digit_folder: Path) -> None:
    kept = {}
    for keep in ("auto", "logits", "summary"):
        only = ["jpeg_compression:1"]
        run = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / keep, keep=keep, only=only)
        table = run.predictions()
        has = "logits" in table.column_names
        kept[keep] = (
            {row["condition"] for row in table.to_pylist() if row["logits"] is not None} if has else set()
        )
    assert kept["auto"] == {"native", "clean"}
    assert kept["logits"] == {"native", "clean", "jpeg_compression:1"}
    assert kept["summary"] == set()


def test_workers_and_file_order_change_nothing(tmp_path: Path, digit_folder: Path) -> None:
    plain = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "one", chunk=7)
    two = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "two", chunk=7, workers=2)
    assert shard_digests(two.path) == shard_digests(plain.path)
    shuffled = tmp_path / "shuffled"
    files = list(digit_folder.rglob("*.png"))
    random.Random(0).shuffle(files)
    for file in files:
        target = shuffled / file.relative_to(digit_folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    again = windtunnel.run("demo", shuffled, "smoke", out=tmp_path / "three", chunk=7)
    assert shard_digests(again.path) == shard_digests(plain.path)


# Between its recipe and its first shard, while it stores shards, and again after it has resumed.
KILLS = ((kills.recipe_stored, 0.0), (kills.more_shards(2), 0.005), (kills.more_shards(1), 0.0))


@pytest.mark.parametrize("workers", [1, 2])
def test_kills_lose_nothing(tmp_path: Path, workers: int) -> None:
    """At the moments that differ in what is stored; benchmarks/kills.py kills ten times at random."""
    rough, calm = kills.killed_and_finished(tmp_path, workers, KILLS, images=240)
    assert kills.stored_bytes(rough) == kills.stored_bytes(calm)
    assert len(kills.shards(calm)) == 20


def test_finished_chunks_are_not_computed_again_and_damaged_ones_are(
    tmp_path: Path, digit_folder: Path, folder_run: windtunnel.Run
) -> None:
    before = shard_digests(folder_run.path)
    shards = sorted((folder_run.path / "shards").iterdir())
    times = {path.name: path.stat().st_mtime_ns for path in shards}
    shards[0].write_bytes(shards[0].read_bytes()[:100])
    shards[1].unlink()
    windtunnel.run("demo", digit_folder, "smoke", out=folder_run.path, chunk=7)
    assert shard_digests(folder_run.path) == before
    unchanged = [p.name for p in shards[2:] if p.stat().st_mtime_ns == times[p.name]]
    assert len(unchanged) == len(shards) - 2


def test_another_recipe_in_the_same_folder_is_refused_and_named(
    tmp_path: Path, digit_folder: Path, folder_run: windtunnel.Run
) -> None:
    before = shard_digests(folder_run.path)

    def again(model: object = "demo", data: object = digit_folder, **options: object) -> None:
        windtunnel.run(model, data, out=folder_run.path, **{"suite": "smoke", "chunk": 7, **options})  # type: ignore[arg-type]

    again()
    with pytest.raises(UserError, match="another seed"):
        again(seed=1)
    with pytest.raises(UserError, match="another suite"):
        again(suite="demo")
    with pytest.raises(UserError, match="another chunk size"):
        again(chunk=8)
    with pytest.raises(UserError, match="another model"):
        again(model=lambda batch: np.zeros((len(batch), 10)) + np.arange(10))
    first = next(digit_folder.rglob("*.png"))
    first.write_bytes(first.read_bytes() + b"\0")
    with pytest.raises(UserError, match=r"with other images \(1 changed since, such as"):
        again()
    first.unlink()
    with pytest.raises(UserError, match=r"with other images \(1 only in it, such as"):
        again()
    assert shard_digests(folder_run.path) == before


def test_another_subset_in_the_same_folder_is_called_other_images(tmp_path: Path, digit_folder: Path) -> None:
    """The chunk size, which follows from the number of images, is not named as a second difference."""
    windtunnel.run("demo", digit_folder, "smoke", subset=20, only="fog:3", out=tmp_path / "run")
    with pytest.raises(UserError, match=r"run with other images \(10 only in it, such as [^;)]*\); choose"):
        windtunnel.run("demo", digit_folder, "smoke", subset=10, only="fog:3", out=tmp_path / "run")


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, digit_folder: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="mine contains other files; give a separate folder for the run"):
        windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_two_processes_never_write_one_folder(tmp_path: Path, digit_folder: Path) -> None:
    from windtunnel.store.folder import RunFolder

    with RunFolder(tmp_path / "run").locked(), pytest.raises(UserError, match="another windtunnel"):
        windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "run")


def test_a_newer_or_damaged_run_is_refused(folder_run: windtunnel.Run) -> None:
    file = folder_run.path / "run.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "schema": 99}))
    with pytest.raises(UserError, match="schema 99"):
        windtunnel.load_run(folder_run.path)
    file.write_text("{")
    with pytest.raises(UserError, match="damaged"):
        windtunnel.load_run(folder_run.path)
    file.unlink()
    with pytest.raises(UserError, match="not a run folder"):
        windtunnel.load_run(folder_run.path)


def test_an_unfinished_run_gives_no_scores(folder_run: windtunnel.Run) -> None:
    next((folder_run.path / "shards").iterdir()).unlink()
    with pytest.raises(UserError, match="not finished"):
        windtunnel.load_run(folder_run.path).scores()


def test_the_same_image_in_a_folder_a_zip_and_an_array_gives_the_same_predictions(
    tmp_path: Path, digit_folder: Path
) -> None:
    from PIL import Image

    files = sorted(digit_folder.rglob("*.png"))
    ids = [file.relative_to(digit_folder).as_posix() for file in files]
    archive = Path(shutil.make_archive(str(tmp_path / "set"), "zip", digit_folder))
    images = np.stack([np.asarray(Image.open(file)) for file in files])
    array = ArrayDataset(images, np.array([int(id_.split("/")[0]) for id_ in ids]), ids)
    tables = []
    for data in (digit_folder, archive, array):
        run = windtunnel.run("demo", data, "smoke", out=tmp_path / f"r{len(tables)}", labels_are_outputs=True)
        tables.append(run.predictions())
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_scores_are_shares_of_wrong_predictions(folder_run: windtunnel.Run) -> None:
    table = folder_run.predictions(["condition", "top", "label_rank"]).to_pylist()
    scores = {(score.metric, score.condition): score for score in folder_run.scores()}
    for condition in folder_run.conditions:
        name = condition.name
        rows = [row for row in table if row["condition"] == name]
        wrong = np.mean([row["top"][0] != int(row["sample_id"].split("/")[0]) for row in rows])
        missed = np.mean([int(row["sample_id"].split("/")[0]) not in row["top"] for row in rows])
        assert scores["top1_error", name].value == pytest.approx(wrong)
        assert scores["top5_error", name].value == pytest.approx(missed)
        assert scores["top1_error", name].low <= wrong <= scores["top1_error", name].high
        assert scores["top1_error", name].n == 40
    corrupted = [
        score.value for (metric, name), score in scores.items() if metric == "top1_error" and ":" in name
    ]
    assert scores["mean_error", ""].value == pytest.approx(np.mean(corrupted))
    assert len(scores["mean_error", ""].parts) == 9


def test_a_subset_is_drawn_by_class(tmp_path: Path) -> None:
    run = windtunnel.run("demo", "demo", "smoke", out=tmp_path / "run", subset=100)
    labels = np.array(run.samples["labels"].to_pylist())[:, 0]
    assert len(labels) == 100
    assert np.bincount(labels).min() >= 8
    assert run.recipe.data.of == 599


def test_a_mask_lets_only_the_datas_classes_compete(tmp_path: Path, digit_folder: Path) -> None:
    for folder in digit_folder.iterdir():
        if folder.name not in ("3", "9"):
            shutil.rmtree(folder)
    run = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "run", mask=True)
    tops = {best for row in run.predictions(["top"])["top"].to_pylist() for best in row}
    assert tops == {3, 9, -1}
    assert run.recipe.projection.kept == (3, 9)


def test_class_counts_that_do_not_fit_are_refused_before_any_work(tmp_path: Path, digit_folder: Path) -> None:
    def hundred(batch: np.ndarray) -> np.ndarray:
        return np.tile(np.arange(100.0), (len(batch), 1))

    with pytest.raises(UserError, match="100 outputs, the data 10 classes"):
        windtunnel.run(hundred, digit_folder, "smoke", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert windtunnel.run(hundred, digit_folder, "smoke", out=tmp_path / "run", labels_are_outputs=True)
    imagenet = tmp_path / "imagenet" / "n01440764"
    imagenet.mkdir(parents=True)
    shutil.copy(next(digit_folder.rglob("*.png")), imagenet / "a.png")
    with pytest.raises(UserError, match="ImageNet-1k, 1000 classes"):
        windtunnel.run(hundred, imagenet.parent, "smoke", out=tmp_path / "other")


def test_named_outputs_are_matched_by_name(tmp_path: Path, digit_folder: Path) -> None:
    names = tmp_path / "named"
    words = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibex", "jay"]
    for number, word in enumerate(words):
        shutil.copytree(digit_folder / str(number), names / word)
    declared = (Path(str(windtunnel.load_model("demo")._path)).parent / "digits.onnx.toml").read_text()  # type: ignore[attr-defined]
    line = next(line for line in declared.splitlines() if line.startswith("labels"))
    file = tmp_path / "p.toml"
    file.write_text(declared.replace(line, f"labels = {words!r}"))
    plain = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "a")
    by_name = windtunnel.run("demo", names, "smoke", out=tmp_path / "b", preprocess=file)
    errors = [next(s.value for s in run.scores() if s.condition == "clean") for run in (plain, by_name)]
    assert errors[0] == errors[1]
    (names / "yak").mkdir()
    shutil.copy(next(digit_folder.rglob("*.png")), names / "yak" / "a.png")
    with pytest.raises(UserError, match="'yak'"):
        windtunnel.run("demo", names, "smoke", out=tmp_path / "c", preprocess=file)


def test_a_model_that_fails_on_some_images_loses_only_those(tmp_path: Path, digit_folder: Path) -> None:
    # Bytes of one digit's first ink pixel mark the image the model chokes on.
    from PIL import Image

    victim = sorted(digit_folder.rglob("*.png"))[0]
    Image.new("RGB", (32, 32), "white").save(victim)
    declaration = tmp_path / "p.toml"
    declaration.write_text('[geometry]\nrule = "exact"\ncrop_px = 32\n')

    def picky(batch: np.ndarray) -> np.ndarray:
        if (batch.mean(axis=(1, 2, 3)) > 200).any():
            raise RuntimeError("too bright")
        return np.tile(np.arange(10.0), (len(batch), 1))

    run = windtunnel.run(picky, digit_folder, "smoke", out=tmp_path / "run", preprocess=declaration)
    failed = [row for row in run.predictions().to_pylist() if row["status"] != "ok"]
    assert {row["sample_id"] for row in failed} == {victim.relative_to(digit_folder).as_posix()}
    assert {row["status"] for row in failed} == {"model_error"}
    assert failed[0]["reason"] == "RuntimeError: too bright"
    assert run.scores()[0].n == 39


def test_a_worker_that_dies_is_replaced_once(tmp_path: Path, digit_folder: Path) -> None:
    (tmp_path / "mortal.py").write_text(
        "import os, pathlib\n"
        "import numpy as np\n"
        f"MARK = pathlib.Path({str(tmp_path / 'died')!r})\n"
        "def once():\n"
        "    def predict(batch):\n"
        "        if len(batch) > 2 and not MARK.exists():\n"
        "            MARK.touch()\n"
        "            os._exit(9)\n"
        "        return np.tile(np.arange(10.0), (len(batch), 1))\n"
        "    return predict\n"
        "def always():\n"
        "    def predict(batch):\n"
        "        if len(batch) > 2:\n"
        "            os._exit(9)\n"
        "        return np.tile(np.arange(10.0), (len(batch), 1))\n"
        "    return predict\n"
    )
    spec = f"{tmp_path}/mortal.py"
    run = windtunnel.run(f"{spec}:once", digit_folder, "smoke", out=tmp_path / "run", chunk=10, workers=2)
    assert (tmp_path / "died").exists()
    assert len(run.predictions()) == run.scoring.expected_rows
    from windtunnel.core.errors import RunFailed

    with pytest.raises(RunFailed, match="died 2 times"):
        windtunnel.run(f"{spec}:always", digit_folder, "smoke", out=tmp_path / "other", chunk=10, workers=2)


def test_units_of_the_users_own_run_in_workers_too(tmp_path: Path, digit_folder: Path) -> None:
    unit = tmp_path / "my_units.py"
    unit.write_text(
        "from windtunnel.corruptions import corruption\n"
        "@corruption(params=('by',), severities={32: ((10,), (20,), (30,), (40,), (50,))},\n"
        "            imitates='A darker room.', source='mine', random=False)\n"
        "def my_darkness(image, rng, *, by):\n"
        "    '''Take light away.'''\n"
        "    return image - image.clip(max=by).astype(image.dtype)\n"
    )
    suite = tmp_path / "mine.toml"
    suite.write_text('name = "mine"\nversion = 1\nunits = ["my_darkness"]\n')
    code = (
        "import windtunnel\n"
        "if __name__ == '__main__':\n"
        f"    windtunnel.run('demo', {str(digit_folder)!r}, {str(suite)!r}, out='run', chunk=10, workers=2,\n"
        f"                   include=[{str(unit)!r}])\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    run = windtunnel.load_run(tmp_path / "run")
    condition = next(c for c in run.conditions if c.unit == "my_darkness")
    content = hashlib.blake2b(b"my_units.py\0" + unit.read_bytes(), digest_size=16).hexdigest()
    assert condition.assets == {"my_units.py": content}
    assert len(run.predictions()) == 40 * 7


def test_a_model_that_gives_no_numbers_is_refused(tmp_path: Path, digit_folder: Path) -> None:
    with pytest.raises(UserError, match="returns non-finite numbers"):
        windtunnel.run(lambda batch: np.full((len(batch), 10), np.nan), digit_folder, out=tmp_path / "run")


def test_outputs_that_are_not_finite_are_rows_unless_strict(tmp_path: Path, digit_folder: Path) -> None:
    from PIL import Image

    Image.new("RGB", (32, 32), "white").save(sorted(digit_folder.rglob("*.png"))[0])

    def sometimes(batch: np.ndarray) -> np.ndarray:
        scores = np.tile(np.arange(10.0), (len(batch), 1))
        scores[batch.mean(axis=(1, 2, 3)) > 200, 3] = np.inf
        return scores

    declaration = tmp_path / "p.toml"
    declaration.write_text('[geometry]\nrule = "exact"\ncrop_px = 32\n')
    options = {"preprocess": declaration, "chunk": 1}
    run = windtunnel.run(sometimes, digit_folder, "smoke", out=tmp_path / "run", **options)  # type: ignore[arg-type]
    lost = [row for row in run.predictions().to_pylist() if row["status"] == "not_finite"]
    assert len(lost) == 11
    assert {row["reason"] for row in lost} == {"the model's output is not finite"}
    assert run.scoring.observed.left_out == 0
    for out in ("run", "fresh"):
        with pytest.raises(UserError, match="strict=True stops"):
            windtunnel.run(sometimes, digit_folder, "smoke", out=tmp_path / out, strict=True, **options)  # type: ignore[arg-type]


def test_an_image_that_changes_during_the_run_stops_it(tmp_path: Path, digit_folder: Path) -> None:
    from windtunnel.api import prepare
    from windtunnel.core.errors import RunFailed

    prepared = prepare(["demo"], digit_folder, "smoke", RunOptions(chunk=1, out=tmp_path / "run"))
    files = sorted(digit_folder.rglob("*.png"))
    files[-1].unlink()
    with pytest.raises(RunFailed, match="could be read when the run began"):
        prepared.execute(1)
    shutil.copy(files[0], files[-1])
    with pytest.raises(RunFailed, match="has changed since"):
        prepared.execute(1)
    assert len(list((tmp_path / "run" / "shards").iterdir())) == 39


def test_a_damaged_page_is_found_and_made_again(folder_run: windtunnel.Run, digit_folder: Path) -> None:
    before = shard_digests(folder_run.path)
    shard = sorted((folder_run.path / "shards").iterdir())[0]
    content = bytearray(shard.read_bytes())
    content[200:260] = bytes(60)
    shard.write_bytes(bytes(content))
    samples = (folder_run.path / "samples.parquet").read_bytes()
    (folder_run.path / "samples.parquet").write_bytes(samples[:50])
    windtunnel.run("demo", digit_folder, "smoke", out=folder_run.path, chunk=7)
    assert shard_digests(folder_run.path) == before
    assert (folder_run.path / "samples.parquet").read_bytes() == samples


def test_other_library_versions_do_not_continue_a_run(folder_run: windtunnel.Run, digit_folder: Path) -> None:
    file = folder_run.path / "run.json"
    file.write_text(file.read_text().replace('"onnxruntime": "', '"onnxruntime": "0.'))
    windtunnel.run("demo", digit_folder, "smoke", out=folder_run.path, chunk=7)  # nothing is missing
    next((folder_run.path / "shards").iterdir()).unlink()
    with pytest.raises(UserError, match=r"started with onnxruntime 0\."):
        windtunnel.run("demo", digit_folder, "smoke", out=folder_run.path, chunk=7)


class Constant:
    """A callable whose answer is not in its source."""

    def __init__(self, scores: list[float]) -> None:
        self.scores = scores

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        return np.tile(self.scores, (len(batch), 1))


def test_a_callable_with_other_weights_is_another_model(tmp_path: Path, digit_folder: Path) -> None:
    windtunnel.run(Constant(list(range(10))), digit_folder, "smoke", out=tmp_path / "run")
    with pytest.raises(UserError, match="another model"):
        windtunnel.run(Constant(list(range(10, 0, -1))), digit_folder, "smoke", out=tmp_path / "run")


def test_weights_drawn_anew_in_every_process_are_noticed(tmp_path: Path, digit_folder: Path) -> None:
    (tmp_path / "unseeded.py").write_text(
        "import numpy as np\n"
        "def make():\n"
        "    scores = np.random.default_rng().normal(size=10)\n"
        "    return lambda batch: np.tile(scores, (len(batch), 1))\n"
    )
    spec = f"{tmp_path}/unseeded.py:make"
    with pytest.raises(UserError, match="differs between processes"):
        windtunnel.run(spec, digit_folder, "smoke", out=tmp_path / "run", workers=2, chunk=10)


def test_only_classes_with_images_need_an_output(tmp_path: Path, digit_folder: Path) -> None:
    data = tmp_path / "imagenette"
    wnids = ["n01440764", "n02102040", "n03888257"]
    for number, wnid in enumerate(wnids):
        shutil.copytree(digit_folder / str(number), data / wnid)
    file = tmp_path / "p.toml"
    file.write_text(f'labels = {wnids[::-1]!r}\n[geometry]\nrule = "exact"\ncrop_px = 32\n')
    run = windtunnel.run(Constant([0.0, 1.0, 2.0]), data, "smoke", out=tmp_path / "run", preprocess=file)
    ranks = {row["sample_id"][:9]: row["label_rank"] for row in run.predictions().to_pylist()}
    assert ranks == {"n01440764": 0, "n02102040": 1, "n03888257": 2}


UNIT = """
from windtunnel.corruptions import corruption
@corruption(params=('px',), severities={{224: ((1,),) * 5}}, imitates='A frame.', source='test',
            random=False, stage={stage!r})
def {name}(image, rng, *, px):
    "Test unit."
    {body}
"""


def run_with_unit(tmp_path: Path, name: str, body: str, stage: str = "canvas") -> windtunnel.Run:
    """Run one unit of the user's on one black image of 320x300; the score is what was brightest."""
    from PIL import Image

    data = tmp_path / "black"
    (data / "0").mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (320, 300), "black").save(data / "0" / "a.png")
    unit = tmp_path / f"{name}.py"
    unit.write_text(UNIT.format(name=name, body=body, stage=stage))

    def brightest(batch: np.ndarray) -> np.ndarray:
        peak = batch.reshape(len(batch), -1).max(axis=1).astype(float)
        return np.stack([peak, -peak], axis=1)

    return windtunnel.run(
        brightest,
        data,
        "smoke",
        out=tmp_path / f"run-{name}",
        include=[unit],
        only=[f"{name}:1"],
        labels_are_outputs=True,
    )


def test_units_act_at_the_stage_they_declare(tmp_path: Path) -> None:
    """A white frame painted before the crop is cut away; a white spot in the middle never is."""
    frame = "image[0], image[-1], image[:, 0], image[:, -1] = 255, 255, 255, 255; return image"
    spot = "image[image.shape[0] // 2, image.shape[1] // 2] = 255; return image"
    seen = {}
    for stage in ("source", "resized", "canvas"):
        for what, body in (("frame", frame), ("spot", spot)):
            run = run_with_unit(tmp_path, f"{what}_{stage}", body, stage)
            rows = {row["condition"]: row["top_score"][0] for row in run.predictions().to_pylist()}
            assert rows["native"] == rows["clean"] == 0  # a unit that writes into its input spoils no other
            seen[what, stage] = rows[f"{what}_{stage}:1"]
    assert seen["frame", "source"] == seen["frame", "resized"] == 0
    assert seen["frame", "canvas"] == 255
    assert seen["spot", "resized"] == seen["spot", "canvas"] == 255
    assert 0 < seen["spot", "source"] < 255  # the resize spreads it


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ("return None", "returned NoneType"),
        ("return image[:-1]", "returned uint8"),
        ("return image.astype(float)", "returned float64"),
        ("raise ValueError('oh')", "failed: ValueError: oh"),
    ],
)
def test_a_unit_that_breaks_the_law_stops_the_run(tmp_path: Path, body: str, match: str) -> None:
    with pytest.raises(UserError, match=match):
        run_with_unit(tmp_path, "lawless", body)


def test_custom_data_sets_are_sorted_and_checked(
    tmp_path: Path, digits: tuple[np.ndarray, np.ndarray]
) -> None:
    from windtunnel.core.labels import index_space
    from windtunnel.core.samples import Sample

    class Mine:
        name = location = "mine"
        label_space = index_space(10)
        portable = False

        def __init__(self, ids: list[str]) -> None:
            self.ids = ids

        def samples(self) -> list[Sample]:
            return [Sample(id_, (0,)) for id_ in self.ids]

        def read(self, sample: Sample) -> np.ndarray:
            return digits[0][0]

    run = windtunnel.run("demo", Mine(["b", "a"]), "smoke", out=tmp_path / "run")
    assert run.samples["id"].to_pylist() == ["a", "b"]
    with pytest.raises(UserError, match="'b' twice"):
        windtunnel.run("demo", Mine(["b", "a", "b"]), "smoke", out=tmp_path / "other")
    with pytest.raises(UserError, match="The data is a int"):
        windtunnel.run("demo", 3, "smoke", out=tmp_path / "other")  # type: ignore[arg-type]


def test_frost_textures_of_the_users_are_part_of_the_recipe(
    windtunnel_command: Command, tmp_path: Path, digit_folder: Path
) -> None:
    from PIL import Image

    for shade in (100, 200):
        (tmp_path / str(shade)).mkdir()
        for number in range(1, 6):
            Image.new("RGB", (300, 300), (shade,) * 3).save(tmp_path / str(shade) / f"frost{number}.png")

    def call(setting: str) -> subprocess.CompletedProcess[str]:
        options = ("--only", "frost:3", "--workers", 1, "--out", "run", "--json", "--set", setting)
        return windtunnel_command("run", "demo", digit_folder, *options)

    first = call(f"frost.textures={tmp_path / '100'}")
    assert any("frost.textures" in note for note in json.loads(first.stdout)["notes"])
    again = call(f"frost.textures={tmp_path / '200'}")
    assert again.returncode == 2
    assert "another list of conditions" in again.stderr
    for wrong, part in (
        ("frost.textures=/nowhere", "frost1"),
        ("frost.texture=x", "textures"),
        ("x", "UNIT."),
    ):
        out = call(wrong)
        assert out.returncode == 2
        assert part in out.stderr
    own = windtunnel.run("demo", digit_folder, "imagenet-c", only=["frost:3"], out=tmp_path / "own")
    from windtunnel.report.sections.notes import run_notes

    assert any("grown for windtunnel" in note for note in run_notes(own.scoring))


def test_an_edition_by_hand_is_another_suite(tmp_path: Path, digit_folder: Path) -> None:
    only = ["defocus_blur:3"]
    run = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "run", edition=64, only=only)
    assert (run.recipe.suite.name, run.recipe.canvas.edition) == ("smoke-part-64", 64)
    with pytest.raises(UserError, match="edition is 100"):
        windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "run", edition=100)


def test_plan_counts_the_work(windtunnel_command: Command, tmp_path: Path, digit_folder: Path) -> None:
    arguments = ("demo", digit_folder, "--suite", "smoke", "--chunk", 7, "--out", tmp_path / "run")
    planned = json.loads(windtunnel_command("plan", *arguments, "--json").stdout)
    assert (planned["images"], planned["predictions"], planned["shards"], planned["done"]) == (
        40,
        440,
        6,
        0,
    )
    assert not (tmp_path / "run").exists()
    windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "run", chunk=7)
    next((tmp_path / "run" / "shards").iterdir()).unlink()
    planned = json.loads(windtunnel_command("plan", *arguments, "--json").stdout)
    assert planned["done"] in (440 - 77, 440 - 55)
