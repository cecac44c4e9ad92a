"""What a made set says of itself: recipe, conditions, pictures and checksums.

`manifest.json` stands in the set's root; tables are in the hidden folder `.windtunnel`, so that programs
that walk the published layouts never see them:

    manifest.json                 schema, recipe and its digest, conditions, library versions
    .windtunnel/samples.parquet   id, labels, content hash of the source, name in this set
    .windtunnel/chunks/*.parquet  path, first row, rows, bytes and digest of what a finished chunk wrote
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.conditions import Condition
from windtunnel.errors import UserError
from windtunnel.store.files import read_parquet, write_whole

SCHEMA = 1
MANIFEST_FILE = "manifest.json"
HIDDEN_FOLDER = ".windtunnel"
SAMPLES_FILE = "samples.parquet"
CHUNKS_FOLDER = "chunks"

CHECKSUMS = pa.schema(
    [
        ("path", pa.string()),
        ("condition", pa.string()),
        ("start", pa.int64()),
        ("bytes", pa.int64()),
        ("digest", pa.string()),
    ]
)


@dataclass(frozen=True)
class Manifest:
    """A made set's own account."""

    root: Path
    recipe: dict[str, Any]
    digest: str
    conditions: tuple[Condition, ...]
    info: dict[str, Any]

    @property
    def layout(self) -> str:
        """`folders` or `arrays`."""
        return str(self.recipe["layout"])

    @property
    def chunk_count(self) -> int:
        """How many chunks the finished set has."""
        return -(-int(self.recipe["data"]["count"]) // int(self.recipe["chunk"]))

    def samples(self) -> pa.Table:
        """The pictures: id, labels, class name, name in this set, content hash of the source."""
        return read_table(self.root / HIDDEN_FOLDER / SAMPLES_FILE)

    def chunks(self) -> list[Path]:
        """The checksum tables of finished chunks."""
        return sorted((self.root / HIDDEN_FOLDER / CHUNKS_FOLDER).glob("*.parquet"))


def read_manifest(root: Path) -> Manifest | None:
    """The manifest of a made set, or None where there is none."""
    file = root / MANIFEST_FILE
    if not file.is_file() or not (root / HIDDEN_FOLDER).is_dir():
        return None
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        schema = int(content["schema"])
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} is damaged ({error}); make the set again in another folder.") from error
    if schema > SCHEMA:
        raise UserError(
            f"{file} has schema {schema}, this windtunnel reads up to {SCHEMA}; upgrade windtunnel."
        )
    conditions = tuple(_condition(row) for row in content["conditions"])
    return Manifest(root, content["recipe"], content["recipe_digest"], conditions, content["info"])


def write_manifest(manifest: Manifest) -> None:
    """Write manifest.json, whole or not at all."""
    content = {
        "schema": SCHEMA,
        "recipe_digest": manifest.digest,
        "recipe": manifest.recipe,
        "conditions": [condition.to_json() for condition in manifest.conditions],
        "info": manifest.info,
    }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_whole(manifest.root / MANIFEST_FILE, text.encode())


def read_table(path: Path) -> pa.Table:
    """Read one of a manifest's tables."""
    try:
        return read_parquet(path)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{path} is damaged or missing ({reason}); run the same make command again."
        ) from error


def checksum(content: bytes | bytearray) -> str:
    """128 bits of BLAKE2b, as 32 hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _condition(row: dict[str, Any]) -> Condition:
    names = Condition.__dataclass_fields__
    return Condition(**{key: value for key, value in row.items() if key in names})
