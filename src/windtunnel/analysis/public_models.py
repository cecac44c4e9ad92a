"""Public models: tables of published results, joined by (model, image size), and a line fitted to them.

A table is a CSV file with the columns model, img_size and top1 (per cent), and perhaps param_count
(millions), crop_pct and interpolation. A model may be listed at several sizes: its name alone is no key.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from windtunnel import published
from windtunnel.core.errors import UserError
from windtunnel.stats.accuracy_fits import Fit, fit_accuracies

NEEDED = ("model", "img_size", "top1")
# The file of clean results next to an unknown table.
CLEAN_FILE = "results-imagenet.csv"
# Missing rows that are listed by name.
NAMED = 3

Key = tuple[str, int]


@dataclass(frozen=True)
class PublicResult:
    """One row: a model at an image size, its accuracy as a fraction, its parameters (0 for unknown)."""

    model: str
    img_size: int
    top1: float
    parameters: int = 0
    crop_pct: str = ""
    interpolation: str = ""


@dataclass(frozen=True)
class PublicTable:
    """A file of results, by model and image size."""

    path: Path
    rows: Mapping[Key, PublicResult]


@dataclass(frozen=True)
class Facts:
    """Known tables of a natural set; see `public_tables.toml`."""

    shifted: str
    clean: str
    same_classes: str
    part: str
    images: int
    clean_images: int
    absent: Mapping[str, str]


@dataclass(frozen=True)
class PublicField:
    """Public models on a clean and on a shifted set.

    Attributes:
        clean, shifted: the tables' files.
        pairs: clean and shifted result of every model and size in both tables.
        missing: models and sizes missing from one table, a sentence each; those without a known reason share
            the last sentence.
        missing_count: number of missing models and sizes.
        fit: the fitted line; None for fewer than three models.
        preprocess: number of distinct kinds of preprocessing.
        facts: known facts of the tables, or None.
        source: who published the results, if not timm.
        notes: what limits comparisons with these models, a sentence each.
    """

    clean: Path
    shifted: Path
    pairs: tuple[tuple[PublicResult, PublicResult], ...]
    missing: tuple[str, ...]
    missing_count: int
    fit: Fit | None
    preprocess: int
    facts: Facts | None
    source: str = ""
    notes: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def known_tables() -> dict[str, Facts]:
    """Known public tables, by natural set."""
    content = tomllib.loads(published.read_text("public_tables.toml"))
    return {name: Facts(**table) for name, table in content.items()}


def read_table(path: str | Path) -> PublicTable:
    """Read a table of results; a model listed twice at one image size is refused."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"No such table: {path}. Give a CSV file with the columns {', '.join(NEEDED)}.")
    rows: dict[Key, PublicResult] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream)
            lacking = [name for name in NEEDED if name not in (reader.fieldnames or ())]
            if lacking:
                raise UserError(
                    f"{path} lacks the column{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}; a table "
                    f"of results has {', '.join(NEEDED)}, and perhaps param_count, crop_pct, interpolation."
                )
            for row in reader:
                result = _result(row, f"{path}, line {reader.line_num}")
                key = (result.model, result.img_size)
                if key in rows:
                    raise UserError(
                        f"{path}, line {reader.line_num}: {result.model} is listed twice at "
                        f"{result.img_size} pixels; keep one of the rows."
                    )
                rows[key] = result
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"{path} is not a CSV file, or not in UTF-8; give a table of text separated by commas."
        ) from error
    if not rows:
        raise UserError(f"{path} has no results; give a table with a row for each model.")
    if max(result.top1 for result in rows.values()) <= 0.01:
        raise UserError(f"{path}: no top1 is above 1; give percentages, such as 76.1, not fractions.")
    return PublicTable(path, rows)


def join_tables(clean: PublicTable, shifted: PublicTable, facts: Facts | None = None) -> PublicField:
    """Join two tables by (model, image size), in the clean table's order, and fit a line to them."""
    pairs = tuple((row, shifted.rows[key]) for key, row in clean.rows.items() if key in shifted.rows)
    if not pairs:
        raise UserError(
            f"{clean.path} and {shifted.path} share no model at the same image size; give tables of the same "
            "models."
        )
    missing = _missing(clean, shifted, facts.absent if facts else {})
    apart = len(clean.rows.keys() ^ shifted.rows.keys())
    ways = {(result.img_size, result.crop_pct, result.interpolation) for _, result in pairs}
    fit = fit_accuracies([result.top1 for result, _ in pairs], [result.top1 for _, result in pairs])
    return PublicField(clean.path, shifted.path, pairs, missing, apart, fit, len(ways), facts)


def public_field(source: str | Path, natural: str = "", *, same_classes: bool = True) -> PublicField:
    """The public models on one natural set.

    Args:
        source: a folder of tables with their usual names, or the shifted set's table next to the clean one.
        natural: the set, such as imagenet-a; needed for a folder.
        same_classes: use clean results on the same classes if there are any; otherwise on all of ImageNet.
    """
    path = Path(source)
    if not path.exists():
        raise UserError(f"No such table: {path}. Give a folder of result tables, or a CSV file.")
    if path.is_dir():
        facts = known_tables().get(natural)
        if facts is None:
            raise UserError(
                f"No public table of {natural or 'this set'} is known; give the CSV file of the shifted set. "
                f"Known: {', '.join(known_tables())}."
            )
        shifted = path / facts.shifted
        if not shifted.is_file():
            raise UserError(f"{path} does not contain {facts.shifted}, the public results on {natural}.")
    else:
        refuse_clean_table(path)
        shifted = path
        facts = next((table for table in known_tables().values() if table.shifted == path.name), None)
    return join_tables(read_table(_clean_table(shifted, facts, same_classes)), read_table(shifted), facts)


def refuse_clean_table(path: Path) -> None:
    """Refuse a table of clean results given as the table of a shifted set."""
    clean = {name for facts in known_tables().values() for name in (facts.clean, facts.same_classes)} | {
        CLEAN_FILE
    }
    if path.name in clean:
        others = ", ".join(facts.shifted for facts in known_tables().values())
        raise UserError(
            f"{path} contains results on clean images; give the table of the shifted set next to it "
            f"({others}), or their folder."
        )


def _clean_table(shifted: Path, facts: Facts | None, same_classes: bool) -> Path:
    own = facts.same_classes if facts else f"{shifted.stem}-clean.csv"
    names = [*([own] if same_classes and own else []), facts.clean if facts else CLEAN_FILE]
    for name in names:
        if (shifted.parent / name).is_file() and name != shifted.name:
            return shifted.parent / name
    raise UserError(f"{shifted} needs its clean results in the same folder: {' or '.join(names)}.")


def _result(row: Mapping[str, str | None], where: str) -> PublicResult:
    model = (row["model"] or "").strip()
    if not model:
        raise UserError(f"{where}: the model has no name.")
    size, top1 = (_number(row, name, where) for name in ("img_size", "top1"))
    if not 0 <= top1 <= 100:
        raise UserError(f"{where}: top1 is {top1:g}; give a percentage from 0 to 100.")
    millions = _number(row, "param_count", where) if (row.get("param_count") or "").strip() else 0.0
    return PublicResult(
        model,
        round(size),
        top1 / 100,
        round(1e6 * millions),
        (row.get("crop_pct") or "").strip(),
        (row.get("interpolation") or "").strip(),
    )


def _number(row: Mapping[str, str | None], name: str, where: str) -> float:
    """A number, possibly with commas as thousands separators."""
    text = (row[name] or "").strip()
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{where}: {name} is '{text}'; give a number.")
    return value


def _missing(clean: PublicTable, shifted: PublicTable, absent: Mapping[str, str]) -> tuple[str, ...]:
    """Sentences on rows missing from one table: one for each known reason, and one for the rest."""
    known, others = [], []
    for table, other in ((clean, shifted), (shifted, clean)):
        for key in table.rows:
            if key in other.rows:
                continue
            text = f"{key[0]} at {key[1]} pixels is not in {other.path.name}"
            if key[0] in absent:
                known.append(f"{text}: {absent[key[0]]}.")
            else:
                others.append(text)
    more = f", and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
    return (*known, *([f"{'; '.join(others[:NAMED])}{more}."] if others else []))
