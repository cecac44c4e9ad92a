"""Run folders that are damaged, unfinished, or no run at all: one line, and nothing is overwritten."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image

import windtunnel
from windtunnel.cli import main
from windtunnel.report.sections.misclassified_images import worst_failures
from windtunnel.store.atomic_files import LOCK_FILE

Damage = Callable[[Path], object]


def first_shard(run: Path) -> Path:
    return min((run / "shards").iterdir())


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_byte(path: Path) -> None:
    """Spoil the last byte of the ranks, which scores read."""
    chunks = pq.read_metadata(path).row_group(0)
    ranks = next(
        chunk
        for place in range(chunks.num_columns)
        if (chunk := chunks.column(place)).path_in_schema == "label_rank"
    )
    content = bytearray(path.read_bytes())
    content[ranks.data_page_offset + ranks.total_compressed_size - 40] ^= 0xFF
    path.write_bytes(content)


def fewer_rows(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(1), path)


def other_columns(path: Path) -> None:
    pq.write_table(
        pq.read_table(path).rename_columns([f"x{name}" for name in pq.read_schema(path).names]), path
    )


def edit(run: Path, **parts: object) -> None:
    file = run / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **parts}))


def other_seed(run: Path) -> None:
    recipe = json.loads((run / "run.json").read_text())["recipe"]
    edit(run, recipe={**recipe, "seed": 7})


def only_a_file(run: Path) -> None:
    shutil.rmtree(run)
    run.write_text("no run")


def other_files(run: Path) -> None:
    shutil.rmtree(run)
    run.mkdir()
    (run / "notes.txt").write_text("mine")


# What happens to the folder, and what the one line says.
DAMAGES: dict[str, tuple[Damage, str]] = {
    "shard cut": (lambda run: cut(first_shard(run)), "run the same command to make it again"),
    "shard empty": (lambda run: first_shard(run).write_bytes(b""), "is damaged"),
    "shard garbage": (lambda run: first_shard(run).write_bytes(b"garbage" * 99), "is damaged"),
    "shard with a wrong byte": (lambda run: flip_a_byte(first_shard(run)), "is damaged"),
    "shard of other columns": (lambda run: other_columns(first_shard(run)), "is damaged (no column"),
    "shard of fewer rows": (lambda run: fewer_rows(first_shard(run)), "rows instead of"),
    "shard missing": (lambda run: first_shard(run).unlink(), "is not finished"),
    "no shards": (lambda run: shutil.rmtree(run / "shards"), "is not finished (0 of"),
    "recipe cut": (lambda run: cut(run / "run.json"), "run.json is damaged"),
    "recipe empty": (lambda run: (run / "run.json").write_bytes(b""), "run.json is damaged"),
    "recipe garbage": (lambda run: (run / "run.json").write_bytes(b"\xff\xfe{"), "run.json is damaged"),
    "recipe no object": (lambda run: (run / "run.json").write_text("[1]"), "run.json is damaged"),
    "recipe missing": (lambda run: (run / "run.json").unlink(), "it has no run.json"),
    "recipe changed by hand": (other_seed, "the recipe differs from its digest"),
    "no info": (lambda run: edit(run, info={}), "run.json is damaged"),
    "newer schema": (lambda run: edit(run, schema=99), "schema 99; this windtunnel reads schema 2: upgrade"),
    "samples cut": (lambda run: cut(run / "samples.parquet"), "samples.parquet is damaged"),
    "samples garbage": (lambda run: (run / "samples.parquet").write_bytes(b"PAR1"), "samples.parquet is"),
    "samples of fewer rows": (lambda run: fewer_rows(run / "samples.parquet"), "rows instead of"),
    "samples missing": (lambda run: (run / "samples.parquet").unlink(), "samples.parquet is missing"),
    "a file": (only_a_file, "hurt is not a run folder: it is a file"),
    "other files": (other_files, "hurt is not a run folder: it has no run.json"),
    "gone": (shutil.rmtree, "hurt is not a run folder: it does not exist"),
}
COMMANDS = {
    "compare": ("compare", "good", "hurt"),
    "compare first": ("compare", "hurt", "good"),
    "gate": ("gate", "hurt", "--against", "good"),
    "gate base": ("gate", "good", "--against", "hurt"),
    "report": ("report", "hurt"),
    "baseline": ("report", "good", "--baseline", "hurt"),
    "slices": ("slices", "hurt", "--by", "class"),
    "score": ("score", "hurt"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, its data and its report."""
    root = tmp_path_factory.mktemp("whole")
    windtunnel.run("demo", "demo", "demo", out=root / "good", subset=40).report()
    return root


@pytest.fixture
def place(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two copies of the run, `good` and `hurt`, in the working folder."""
    for name in ("good", "hurt"):
        shutil.copytree(whole / "good", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bytes_below(root: Path) -> dict[str, str]:
    """Every file and folder with its content, but no lock."""
    return {
        path.relative_to(root).as_posix(): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        )
        for path in sorted(root.rglob("*"))
        if path.name != LOCK_FILE
    }


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code of a command, and what it said of a mistake."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(stopped.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_told_in_one_line_and_nothing_is_overwritten(
    damage: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hurt, words = DAMAGES[damage]
    hurt(place / "hurt")
    before = bytes_below(place)
    for name, command in COMMANDS.items():
        code, said = call(capsys, *command)
        assert code == 2, (name, said)
        assert words in said, name
        assert said.startswith("error: ") and said.count("\n") == 1, (name, said)
        assert bytes_below(place) == before, name
    with pytest.raises(windtunnel.UserError, match="hurt") as told:
        windtunnel.load_run("hurt").scores()
    assert "\n" not in str(told.value)
    with pytest.raises(windtunnel.UserError):
        windtunnel.load_run("good", baseline="hurt")
    assert bytes_below(place) == before


@pytest.mark.parametrize("damage", [name for name in DAMAGES if "shard" in name or "samples" in name])
def test_the_same_command_mends_what_it_promises_to(damage: str, place: Path) -> None:
    DAMAGES[damage][0](place / "hurt")
    windtunnel.run("demo", "demo", "demo", out="hurt", subset=40, strict=True)
    found = bytes_below(place)
    assert {name: one for name, one in found.items() if name.startswith("good/")} == {
        name.replace("hurt/", "good/", 1): one for name, one in found.items() if name.startswith("hurt/")
    }


@pytest.mark.parametrize("damage", ["recipe cut", "newer schema", "other files", "recipe changed by hand"])
def test_what_cannot_be_mended_is_not_run_over(
    damage: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    DAMAGES[damage][0](place / "hurt")
    before = bytes_below(place)
    code, said = call(capsys, "run", "demo", "demo", "--suite", "demo", "--subset", "40", "--out", "hurt")
    assert code == 2 and "hurt" in said
    assert bytes_below(place) == before


def test_a_folder_that_goes_while_it_is_open(place: Path) -> None:
    run = windtunnel.load_run("hurt")
    shutil.rmtree("hurt")
    with pytest.raises(windtunnel.UserError, match=r"hurt was removed after it was opened|is missing"):
        run.scores()
    run = windtunnel.load_run("good")
    scores = run.scores()
    shutil.rmtree("good")
    assert scores == run.scores()  # what was read is kept
    with pytest.raises(windtunnel.UserError, match=r"good/.* cannot be written"):
        run.report()
    assert not Path("good").exists()


def test_a_folder_that_may_not_be_written(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bytes_below(place)

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    # The tests may run as root, whom no permission stops.
    for name in ("write_text", "write_bytes", "open"):
        monkeypatch.setattr(Path, name, refuse)
    code, said = call(capsys, "report", "hurt")
    assert code == 2, said
    assert "Read-only file system" in said and said.count("\n") == 1
    with pytest.raises(windtunnel.UserError, match="Read-only file system"):
        windtunnel.load_run("hurt").report()
    monkeypatch.undo()
    assert bytes_below(place) == before


def emptied(data: Path) -> None:
    shutil.rmtree(data)
    data.mkdir()


def replaced_by_a_file(data: Path) -> None:
    shutil.rmtree(data)
    data.write_text("no images")


def repainted(data: Path) -> None:
    for path in data.rglob("*.png"):
        Image.new("RGB", (32, 32), "red").save(path)


def spoilt(data: Path) -> None:
    for path in data.rglob("*.png"):
        path.write_bytes(b"no image")


def renamed(data: Path) -> None:
    for path in list(data.rglob("*.png")):
        path.rename(path.with_name(f"x{path.name}"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (shutil.rmtree, "No images are shown"),
        (lambda data: data.rename(data.with_name("elsewhere")), "No images are shown"),
        (emptied, "No images are shown"),
        (replaced_by_a_file, "No images are shown"),
        (repainted, "missing or changed since the run"),
        (spoilt, "missing or changed since the run"),
        (renamed, "missing or changed since the run"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_images_that_moved_or_changed_leave_a_note(
    change: Damage, words: str, tmp_path: Path, digit_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = windtunnel.run("demo", digit_folder, "demo", out=tmp_path / "run")
    shown = worst_failures(run.scoring)
    assert shown.failures and not shown.note
    before = bytes_below(run.path)
    change(digit_folder)
    code, said = call(capsys, "report", str(run.path))
    assert code == 0, said
    after = bytes_below(run.path)
    assert {name: after[name] for name in before} == before
    assert words in worst_failures(windtunnel.load_run(run.path).scoring).note
    assert words in (run.path / "report.html").read_text()
    assert windtunnel.compare(run, run).images == 40


@pytest.mark.parametrize("kind", ["table", "archive", "arrays"])
def test_tables_archives_and_arrays_that_changed_leave_a_note(
    kind: str, tmp_path: Path, digit_folder: Path, digits: tuple[object, object]
) -> None:
    if kind == "table":
        data = tmp_path / "data.csv"
        paths = sorted(digit_folder.rglob("*.png"))
        rows = [f"{path.relative_to(tmp_path)},{path.parent.name}" for path in paths]
        data.write_text("\n".join(["path,label", *rows]))
    elif kind == "archive":
        data = Path(shutil.make_archive(str(tmp_path / "data"), "zip", digit_folder))
    else:
        import numpy as np

        data = tmp_path / "data.npz"
        np.savez(data, images=digits[0][:40], labels=digits[1][:40])  # type: ignore[index]
    run = windtunnel.run("demo", data, "demo", out=tmp_path / "run")
    assert not worst_failures(run.scoring).note
    content = data.read_bytes()
    for less in (content[: len(content) // 2], b"garbage", b""):
        data.write_bytes(less)
        run.report()
        assert worst_failures(run.scoring).note
