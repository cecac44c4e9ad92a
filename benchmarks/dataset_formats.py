"""The predictions of a model on one dataset in several forms: they must be the same, byte by byte.

    python benchmarks/dataset_formats.py MODEL FOLDER [--work DIR] [--preprocess PRESET] [--only UNIT:LEVEL]

FOLDER has one folder per class. It is written as WebDataset shards and as Parquet in the format of Hugging
Face, and the three are run. Prints a row for each form: seconds to open it, seconds of the run, and the files
of the run folder that differ from those of the folder.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import windtunnel

ROWS_PER_GROUP = 100
IMAGES_PER_SHARD = 50


def images_of(folder: Path) -> list[tuple[str, bytes]]:
    """Id and bytes of every image."""
    dataset = windtunnel.open_dataset(folder)
    return [(sample.id, (folder / sample.id).read_bytes()) for sample in dataset.samples()]


def write_shards(images: list[tuple[str, bytes]], out: Path) -> str:
    """Write WebDataset shards with the class folder as label; returns the pattern that names them."""
    out.mkdir(parents=True)
    starts = range(0, len(images), IMAGES_PER_SHARD)
    for number, start in enumerate(starts):
        with tarfile.open(out / f"val-{number:03d}.tar", "w") as tar:
            for name, content in images[start : start + IMAGES_PER_SHARD]:
                label = f"{name.rpartition('.')[0]}.cls", name.partition("/")[0].encode()
                for member, data in ((name, content), label):
                    entry = tarfile.TarInfo(member)
                    entry.size = len(data)
                    tar.addfile(entry, io.BytesIO(data))
    return str(out / f"val-{{000..{len(starts) - 1:03d}}}.tar")


def write_parquet(images: list[tuple[str, bytes]], out: Path) -> str:
    """Write two Parquet files as the hub stores them; returns the folder and the split."""
    classes = sorted({name.partition("/")[0] for name, _ in images})
    features = {"image": {"_type": "Image"}, "label": {"names": classes, "_type": "ClassLabel"}}
    table = pa.table(
        {
            "image": pa.array(
                [{"bytes": content, "path": name} for name, content in images],
                pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
            ),
            "label": pa.array([classes.index(name.partition("/")[0]) for name, _ in images], pa.int64()),
        }
    ).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    (out / "data").mkdir(parents=True)
    half = len(images) // 2
    for number, part in enumerate((table[:half], table[half:])):
        file = out / "data" / f"validation-{number:05d}-of-00002.parquet"
        pq.write_table(part, file, row_group_size=ROWS_PER_GROUP)
    return f"{out}#validation"


def files_of(run: Path) -> dict[str, bytes]:
    """The stored predictions and images of a run, by path."""
    return {str(file.relative_to(run)): file.read_bytes() for file in sorted(run.rglob("*.parquet"))}


def main() -> None:
    """Write, run and compare the forms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, default=None)
    parser.add_argument("--preprocess", default=None)
    parser.add_argument("--only", action="append", default=["fog:3"])
    arguments = parser.parse_args()
    work = arguments.work or Path(tempfile.mkdtemp(prefix="dataset-formats-"))
    images = images_of(arguments.folder)
    forms = {
        "folder": str(arguments.folder),
        "webdataset": write_shards(images, work / "shards"),
        "parquet": write_parquet(images, work / "parquet"),
    }
    stored: dict[str, dict[str, bytes]] = {}
    for form, data in forms.items():
        started = time.perf_counter()
        windtunnel.open_dataset(data)
        opened = time.perf_counter() - started
        started = time.perf_counter()
        run = windtunnel.run(
            arguments.model,
            data,
            "smoke",
            only=arguments.only,
            out=work / f"run-{form}",
            preprocess=arguments.preprocess,
            workers=1,
        )
        seconds = time.perf_counter() - started
        stored[form] = files_of(work / f"run-{form}")
        first = stored["folder"]
        differing = sorted(name for name in first | stored[form] if first.get(name) != stored[form].get(name))
        print(
            f"{form:<10}  {len(images)} images  open {opened:.2f} s  run {seconds:.1f} s  "
            f"{len(stored[form])} files, {len(differing)} differ {' '.join(differing)}"
        )
    print(run.scores())


if __name__ == "__main__":
    main()
