"""Files of an exported set: safe names, the declaration, cells of manifests, checksums."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from windtunnel.core.csv_cells import csv_cell
from windtunnel.core.records import OwnSet
from windtunnel.core.wording import listed
from windtunnel.data.own_sets import TABLE

UNLABELLED_FOLDER = "images"
# Folder names that mean something else: files and the clean images of a set, device names of Windows.
_RESERVED = re.compile(
    r"clean|images|manifest\.(csv|parquet)|datasheet\.html|windtunnel\.toml|sha256sums|set\.json"
    r"|(con|prn|aux|nul|com\d|lpt\d)(\..*)?",
    re.IGNORECASE,
)
# File systems allow 255 bytes for a name.
MAX_FOLDER_BYTES = 200
_SAFE = re.compile(r"\w(?:[\w .,'()&+-]{0,98}[\w)'])?")
MAX_NAME = 80
# Sources that a declaration names.
SOURCES_NAMED = 5


def folder_names(labels: Iterable[str]) -> dict[str, str]:
    """A folder for each label: the label itself if it is a safe name, else its letters and a digest.

    Labels that differ in case only get a digest too: some file systems take them for one.
    """
    distinct = sorted(set(labels))
    spellings: dict[str, int] = {}
    for label in distinct:
        spellings[label.casefold()] = spellings.get(label.casefold(), 0) + 1
    names = {}
    for label in distinct:
        safe = (
            _SAFE.fullmatch(label)
            and not _RESERVED.fullmatch(label)
            and len(label.encode()) <= MAX_FOLDER_BYTES
        )
        if safe and spellings[label.casefold()] == 1:
            names[label] = label
        elif not label:
            names[label] = UNLABELLED_FOLDER
        else:
            letters = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:40] or "class"
            names[label] = f"{letters}-{hashlib.blake2b(label.encode(), digest_size=4).hexdigest()}"
    return names


def set_name(project: str, *parts: str) -> str:
    """The default name of a set: the letters and digits of its project's name, and further words."""
    words = re.findall(r"[a-z0-9]+", project.lower()) or ["set"]
    return "-".join([*words, *filter(None, parts)])[:MAX_NAME]


def sources_text(sources: Iterable[str]) -> str:
    """The sources that a declaration names; "" if none is stated."""
    stated = sorted(set(filter(None, sources)))
    return listed(stated, SOURCES_NAMED) if stated else ""


def votes_text(by_reviewer: Mapping[str, str]) -> str:
    """What each reviewer gave, as one cell of a manifest."""
    return "; ".join(f"{name}: {text}" for name, text in sorted(by_reviewer.items()) if text)


def declaration_text(own: OwnSet) -> str:
    """The `windtunnel.toml` of a set."""
    content = own.to_json()
    models = content.pop("filter_models", [])
    lines = [
        "# Declares this folder to windtunnel: `windtunnel run MODEL FOLDER` reads it.",
        f"[{TABLE}]",
        *(f"{key} = {_toml(value)}" for key, value in content.items()),
    ]
    for model in models:
        lines += [
            "",
            f"[[{TABLE}.filter_models]]",
            *(f"{key} = {_toml(value)}" for key, value in model.items()),
        ]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A text, truth value or list of texts in TOML, whose basic strings are JSON's without DEL."""
    if isinstance(value, list | tuple):
        return f"[\n{''.join(f'  {_toml(item)},{chr(10)}' for item in value)}]" if value else "[]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def csv_text(table: pa.Table) -> str:
    """A table as CSV for spreadsheets, with empty cells for missing values."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        writer.writerow([csv_cell(value) for value in row.values()])
    return stream.getvalue()


def checksums_text(digests: Mapping[str, str]) -> str:
    """SHA-256 digests of files as `sha256sum -c` reads them."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
