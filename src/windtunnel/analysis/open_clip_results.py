"""Public zero-shot models: open_clip's table of results on ImageNet and natural sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from windtunnel.analysis.model_tables.csv_rows import csv_rows
from windtunnel.analysis.model_tables.table import ModelTable, Setting
from windtunnel.analysis.model_tables.wide_csv import declared_format, read_wide_csv
from windtunnel.analysis.public_models import Facts, PublicField, PublicResult
from windtunnel.core.errors import UserError
from windtunnel.published.natural_sets import natural_set
from windtunnel.stats.accuracy_fits import fit_accuracies

OPEN_CLIP_FILE = "openclip_results.csv"
OPEN_CLIP = "open_clip, zero-shot"
# The images of the results, where a set has several versions.
PARTS = {"imagenet-v2": "imagenet-v2-matched-frequency"}


def open_clip_field(path: Path, natural: str) -> PublicField | None:
    """open_clip's models on one natural set; None if the table has no results on it."""
    rows = csv_rows(path)
    if not declared_format(rows[0]):
        raise UserError(
            f"{path} has not the columns of open_clip's table; give docs/{OPEN_CLIP_FILE} of "
            "mlfoundations/open_clip."
        )
    table = read_wide_csv(path, rows, (), (), {})
    shifted = next((setting for setting in table.settings if setting.natural_set == natural), None)
    clean = next((setting for setting in table.settings if setting.role == "clean"), None)
    if shifted is None or clean is None:
        return None
    pairs = [
        (PublicResult(model, 0, float(before)), PublicResult(model, 0, float(after)))
        for model, before, after in zip(
            table.models, table.column(clean.name), table.column(shifted.name), strict=True
        )
        if np.isfinite(before) and np.isfinite(after)
    ]
    lacking = len(table.models) - len(pairs)
    return PublicField(
        path,
        path,
        tuple(pairs),
        (f"{lacking:,} models have no result on both sets.",) if lacking else (),
        lacking,
        fit_accuracies([result.top1 for result, _ in pairs], [result.top1 for _, result in pairs]),
        1,
        Facts(path.name, path.name, "", PARTS.get(natural, natural), shifted.images, clean.images, {}),
        OPEN_CLIP,
        tuple(_notes(table, natural, clean)),
    )


def _notes(table: ModelTable, natural: str, clean: Setting) -> list[str]:
    """What limits a comparison of classifiers with zero-shot models."""
    facts = natural_set(natural)
    lines = [
        f"The {len(table.models):,} models of open_clip classify by text prompts and were not trained on "
        "ImageNet's labels: their line is not that of ImageNet classifiers. Their training data may contain "
        f"images of {facts.title}."
    ]
    if facts.output_rule == "mask":
        lines.append(
            f"Their clean accuracies ({clean.name}) are over all 1,000 classes of ImageNet; clean accuracies "
            f"of runs are over the classes of {facts.title}."
        )
    return lines
