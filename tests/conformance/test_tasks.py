"""Every registered task declares its facts and makes rows that fit its schema."""

from __future__ import annotations

import pickle
from typing import get_args

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError, Status, UserError
from windtunnel.core.metrics import REGISTRY as METRICS
from windtunnel.core.metrics import metric
from windtunnel.core.records import DEFAULT_TASK, Recipe
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.task import REGISTRY
from windtunnel.data import open_dataset
from windtunnel.engine.plan import Plan, make_plan
from windtunnel.engine.shard_rows import NOT_FINITE_REASON, NOT_GIVEN, ShardRows
from windtunnel.models import load_model
from windtunnel.options import RunOptions
from windtunnel.store.rows import KEYS, PIXELS, STATUS, schema
from windtunnel.suites.suite_files import load_suite

NAMES = REGISTRY.names()
CONDITIONS = (Condition("clean"), Condition("sequence", "seq/tilt", frames=2))
IMAGES = (Surveyed(Sample("a", (3,))), Surveyed(Sample("b", ())))
VIEWS = 3


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_model("demo"), open_dataset("demo"), load_suite("smoke"), RunOptions(subset=4))


def rows_of(plan: Plan) -> ShardRows:
    return ShardRows(plan.task, plan.postprocessor, IMAGES, CONDITIONS, ("clean",))


@pytest.mark.parametrize("name", NAMES)
def test_a_task_has_help_statuses_and_columns_of_its_own(name: str) -> None:
    task = REGISTRY.get(name)
    assert task.name == name and task.help.endswith(".")
    assert "ok" in task.predicted and set(task.predicted) <= set(get_args(Status))
    shared = {field.name for field in (*KEYS, *STATUS, *PIXELS)}
    outputs = [] if task.outputs is None else [task.outputs]
    own = [field.name for field in (*task.columns, *outputs)]
    assert len(set(own)) == len(own) and not shared & set(own)


def test_the_default_task_is_registered_and_metrics_name_registered_ones() -> None:
    assert DEFAULT_TASK in REGISTRY
    assert {found.task for found in METRICS.all()} <= set(NAMES)
    with pytest.raises(UserError, match=r"Unknown task 'segmentation'.*classification"):
        metric(direction="lower", task="segmentation")(lambda run, seen: [])


def test_the_columns_of_a_classification_shard() -> None:
    task = REGISTRY.get("classification")
    full = schema(task, with_outputs=True, with_pixels=True)
    assert full.names == [
        "sample_id", "condition", "frame", "top", "top_score", "label_score", "label_rank", "logsumexp",
        "entropy", "sum_p2", "status", "reason", "logits", "pixel_change", "pixel_change_max",
    ]  # fmt: skip
    assert schema(task).names == full.names[:12]


def test_rows_fit_the_schema_whether_predicted_failed_or_never_filled(plan: Plan) -> None:
    rows = rows_of(plan)
    outputs = np.tile(np.arange(10, dtype=np.float32), (3, 1))
    outputs[1, 0] = np.nan
    finite = rows.add(np.array([0, 1, 3]), outputs)
    rows.fail(2, ImageError("unreadable", "no such file"))
    table = rows.table()
    assert finite.tolist() == [True, False, True]
    assert table.schema == schema(plan.task, with_outputs=True)
    assert table["sample_id"].to_pylist() == ["a"] * VIEWS + ["b"] * VIEWS
    assert table["frame"].to_pylist() == [0, 0, 1] * 2
    assert table["status"].to_pylist() == ["ok", "not_finite", "unreadable", "ok", *["model_error"] * 2]
    assert table["reason"].to_pylist() == [None, NOT_FINITE_REASON, "no such file", None, *[NOT_GIVEN] * 2]
    # A prediction that is not finite ranks the label behind every class; without a label there is no rank.
    assert table["label_rank"].to_pylist() == [6, 10, None, None, None, None]
    assert table["top"].to_pylist()[:3] == [[9, 8, 7, 6, 5], None, None]
    # Outputs of clean images are kept, of frames not.
    assert [row is not None for row in table["logits"].to_pylist()] == [True, False, False] * 2
    assert table["logits"][0].as_py() == list(range(10))


def test_rows_do_not_depend_on_the_order_or_the_batches(plan: Plan) -> None:
    outputs = np.random.default_rng(0).normal(size=(6, 10)).astype(np.float32)
    whole, parts = rows_of(plan), rows_of(plan)
    whole.add(np.arange(6), outputs)
    for row in (4, 1, 5, 0, 3, 2):
        parts.add(np.array([row]), outputs[row : row + 1])
    assert whole.table().equals(parts.table())
    assert pa.concat_tables([whole.table(0, 1), whole.table(1, 2)]).equals(whole.table())


def test_a_postprocessor_can_be_sent_to_workers(plan: Plan) -> None:
    again = pickle.loads(pickle.dumps((plan.task, plan.postprocessor)))
    assert again[0].name == plan.task.name
    assert again[1] == plan.postprocessor


def test_a_recipe_names_its_task_only_if_it_is_not_the_default(plan: Plan) -> None:
    assert plan.recipe.task == DEFAULT_TASK and "task" not in plan.recipe.to_json()
    other: Recipe = msgspec.structs.replace(plan.recipe, task="detection")
    assert other.to_json()["task"] == "detection" and other.digest != plan.recipe.digest
