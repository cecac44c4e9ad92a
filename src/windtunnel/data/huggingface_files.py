"""The files and splits of a Hugging Face dataset on disk.

FILE.parquet                                   one file
[data/]<split>-00000-of-00002.parquet          a repository of the hub
<split>/0000.parquet                           its converted Parquet files
state.json, dataset_info.json, data-*.arrow    `Dataset.save_to_disk`
dataset_dict.json, <split>/state.json ...      `DatasetDict.save_to_disk`
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location, entries, matching
from windtunnel.core.wording import listed
from windtunnel.data import Dataset, is_image_name
from windtunnel.data.layouts import no_such_split

PARQUET, STATE, DICT = ".parquet", "state.json", "dataset_dict.json"
DATA_FOLDER = "data"
_SHARD = re.compile(r"(?P<split>.*?)(?:-(?P<number>\d+)-of-(?P<count>\d+))?(?:-[0-9a-f]{16})?\.parquet")
_NUMBER = re.compile(r"[-_.]?\d+$")


def is_dataset_folder(folder: Location) -> bool:
    """Whether a folder contains a saved dataset, or Parquet files and neither images nor class folders."""
    if (folder / DICT).is_file() or (folder / STATE).is_file():
        return True
    visible = [entry for entry in entries(folder) if not entry.name.startswith(".")]
    folders = [entry.name for entry in visible if entry.is_dir()]
    if any(is_image_name(entry.name) for entry in visible):
        return False
    if _parquet_files(folder) or _parquet_files(folder / DATA_FOLDER):
        return set(folders) <= {DATA_FOLDER}
    return bool(folders) and all(_parquet_files(folder / name) for name in folders)


def open_huggingface(path: Location, part: str) -> Dataset:
    """The dataset of a file or folder; `part` names a split, columns of images and labels, or both."""
    from windtunnel.data.arrow_tables import ArrowTable, ParquetTable, TableFile
    from windtunnel.data.huggingface import TableRows

    location = f"{path}#{part}" if part else str(path)
    wanted = [name.strip() for name in part.split(",") if name.strip()]
    if path.is_file():
        return TableRows(path.stem, location, [ParquetTable(path)], wanted)
    splits = _splits(path)
    chosen = next((name for name in wanted if name in splits), "")
    if not chosen and len(splits) > 1:
        raise no_such_split(path, wanted[0] if wanted else "", splits)
    split = chosen or next(iter(splits))
    files: list[TableFile] = [
        ParquetTable(file) if file.suffix.lower() == PARQUET else ArrowTable(file) for file in splits[split]
    ]
    name = path.resolve().name + (f"-{split}" if chosen else "")
    return TableRows(name, location, files, [name for name in wanted if name != chosen])


def _splits(folder: Location) -> dict[str, list[Location]]:
    """The files of every split; a folder without splits has one of the name ""."""
    if (folder / DICT).is_file():
        content = _read_json(folder / DICT)
        names = content.get("splits")
        if not isinstance(names, list) or not all(map(_is_plain_name, names)) or not names:
            raise UserError(f"{folder / DICT} lists no splits; save the dataset again.")
        return {name: _saved_files(folder / name) for name in names}
    if (folder / STATE).is_file():
        return {"": _saved_files(folder)}
    files = _parquet_files(folder) or _parquet_files(folder / DATA_FOLDER)
    if not files:
        folders = [
            entry.name for entry in entries(folder) if entry.is_dir() and not entry.name.startswith(".")
        ]
        return {name: _parquet_files(folder / name) for name in folders}
    splits: dict[str, list[Location]] = {}
    for file in files:
        match = _SHARD.fullmatch(file.name)
        split = match["split"] if match else file.stem
        splits.setdefault(split if match and match["count"] else _NUMBER.sub("", split), []).append(file)
    for split, members in splits.items():
        _refuse_missing(folder, split, members)
    return splits


def _refuse_missing(folder: Location, split: str, files: Sequence[Location]) -> None:
    """Refuse a split whose names state more files than there are."""
    matches = [match for file in files if (match := _SHARD.fullmatch(file.name)) and match["count"]]
    counts = {int(match["count"]) for match in matches}
    numbers = {int(match["number"]) for match in matches}
    missing = sorted(set(range(max(counts, default=0))) - numbers)
    if missing:
        raise UserError(
            f"{folder} has {len(numbers)} of {max(counts)} files of the split {split}; number "
            f"{missing[0]} is missing. Download it, or give single files."
        )


def _saved_files(folder: Location) -> list[Location]:
    """The Arrow files of a saved dataset, as its state lists them."""
    state = _read_json(folder / STATE)
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise UserError(
            f"{folder} was saved with a selection of rows; call flatten_indices() and save it again."
        )
    listed_files = state.get("_data_files")
    names = (
        [row.get("filename") for row in listed_files if isinstance(row, dict)]
        if isinstance(listed_files, list)
        else []
    )
    if not names or not all(map(_is_plain_name, names)):
        raise UserError(f"{folder / STATE} lists no data files in its folder; save the dataset again.")
    files: list[Location] = [folder / str(name) for name in names]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise UserError(
            f"{folder} lacks {listed(missing, 3)}, which its {STATE} lists; save the dataset again."
        )
    return files


def _read_json(file: Location) -> dict[str, object]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read as JSON: {error}; save the dataset again.") from error
    if not isinstance(content, dict):
        raise UserError(f"{file} is not a JSON object; save the dataset again.")
    return content


def _is_plain_name(name: object) -> bool:
    """Whether a name is that of a file or folder in the same folder."""
    return isinstance(name, str) and bool(name) and not name.startswith(".") and not set(name) & set("/\\\0:")


def _parquet_files(folder: Location) -> list[Location]:
    found = matching(folder, f"*{PARQUET}") if folder.is_dir() else []
    return [file for file in found if not file.name.startswith(".")]
