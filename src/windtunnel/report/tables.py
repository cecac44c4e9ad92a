"""A run's scores as data: one JSON document, one CSV table."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any

from windtunnel.metrics.score import Score
from windtunnel.store.run import Run

FAILURES_KEPT = 1000


def failures(run: Run) -> list[dict[str, Any]]:
    """Pictures that could not be scored: id, how many conditions, status and reason of the first."""
    table = run.predictions(["condition", "status", "reason"])
    failed = table.filter(_not_ok(table))
    found: dict[str, dict[str, Any]] = {}
    for row in failed.to_pylist():
        entry = found.setdefault(
            row["sample_id"],
            {"picture": row["sample_id"], "conditions": 0, "status": row["status"], "reason": row["reason"]},
        )
        entry["conditions"] += 1
    return list(found.values())


def _not_ok(table: Any) -> Any:
    import pyarrow.compute as pc

    return pc.not_equal(table["status"], "ok")


def notes(run: Run) -> list[str]:
    """What a reader must know before comparing this run's numbers with others."""
    found = []
    ranks = run.ranks
    canvas, suite = run.recipe["canvas"], run.recipe["suite"]
    if ranks.left_out:
        found.append(
            f"{ranks.left_out} pictures could not be scored under some condition and are left out of all of "
            "them, so that every number rests on the same pictures."
        )
    if ranks.unlabelled:
        found.append(f"{ranks.unlabelled} pictures have no label and count in no error rate.")
    if run.recipe["data"]["count"] != run.recipe["data"]["of"]:
        found.append(
            f"A subset: {run.recipe['data']['count']:,} of {run.recipe['data']['of']:,} pictures, "
            f"each class in proportion, seed {run.recipe['seed']}."
        )
    if run.info["model"]["preprocess_assumed"]:
        found.append(
            "The model's preprocess was not declared: the default was used. "
            "A wrong preprocess is the commonest cause of a wrong number."
        )
    if run.recipe["projection"]["kind"] == "mask":
        found.append(
            f"Only {len(run.recipe['projection']['kept'])} of the model's "
            f"{run.recipe['model']['classes']} outputs count (mask before softmax): "
            "errors are lower than without it."
        )
    if canvas["note"]:
        found.append(f"Canvas: {canvas['note']}.")
    seen = set(run.info["model"]["trained_on"]) & {suite["name"], *suite["units"]}
    if seen:
        found.append(
            f"The model was trained on {', '.join(sorted(seen))}: errors there say little of robustness."
        )
    return found


def run_document(run: Run, scores: list[Score]) -> dict[str, Any]:
    """Everything a reader of the HTML page sees, as one JSON document."""
    failed = failures(run)
    return {
        "schema": 1,
        "run": str(run.path),
        "recipe_digest": run.digest,
        "info": run.info,
        "recipe": run.recipe,
        "notes": notes(run),
        "scores": [score.to_json() for score in scores],
        "tie_share": tie_share(run),
        "failed_pictures": len(failed),
        "failed_by_status": dict(Counter(entry["status"] for entry in failed)),
        "failures": failed[:FAILURES_KEPT],
    }


def tie_share(run: Run) -> float:
    """Share of predictions whose two best scores are equal, so that class order decided."""
    import pyarrow.compute as pc

    best = run.predictions(["top_score", "status"])
    best = best.filter(pc.equal(best["status"], "ok"))
    if not len(best):
        return 0.0
    first, second = (pc.list_element(best["top_score"], place) for place in (0, 1))
    return float(pc.mean(pc.equal(first, second).cast("float64")).as_py() or 0.0)


CSV_COLUMNS = ("metric", "condition", "value", "low", "high", "n", "recipe", "formula")


def scores_csv(scores: list[Score]) -> str:
    """The scores as CSV, fractions, one line each."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for score in scores:
        writer.writerow([getattr(score, column) for column in CSV_COLUMNS])
    return out.getvalue()
