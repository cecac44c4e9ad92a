"""Every code block of README, CONTRIBUTING and docs/ is run, written to a file, or says why it is not run."""

from __future__ import annotations

import contextlib
import re
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.conformance.doc_snippets import EXECUTED, Page, blocks_of
from tests.overlap_tables import block_accuracies
from tests.video_clips import write_clip
from windtunnel.data.demo import demo_model_path
from windtunnel.report.demo_scene import scene

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / "docs").rglob("*.md")
        if path.parent.name != "generated"
    ),
]
# Blocks that are not code; TOML is parsed.
SHOWN = ("toml", "yaml", "text", "{toctree}", "{eval-rst}", "{include}")
NOT_RUN_AT_MOST = 20
# Pages whose blocks another test runs, with more checks.
RUN_ELSEWHERE = ("docs/howto/training.md", "docs/howto/transforms.md")


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory, digits: tuple[np.ndarray, np.ndarray]) -> Path:
    """What the pages assume: `model.onnx`, images in `val`, `clips`, `scans.csv`, `photo.jpg`, `study`."""
    root = tmp_path_factory.mktemp("docs")
    for name in ("model", "new"):
        shutil.copy(demo_model_path(), root / f"{name}.onnx")
        shutil.copy(f"{demo_model_path()}.toml", root / f"{name}.onnx.toml")
    images, classes = digits
    rows = ["path,label,patient"]
    for row in range(0, 120, 3):
        name = f"{classes[row]}/{row:08d}.png"
        for folder, dimmed in (("val", 1.0), ("day", 1.0), ("night", 0.6)):
            path = root / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((images[row] * dimmed).astype(np.uint8)).save(path)
        rows.append(f"val/{name},{classes[row]},patient-{row // 15}")
    (root / "scans.csv").write_text("\n".join(rows) + "\n")
    (root / "clips").mkdir()
    for row in range(3):  # digits that move by a pixel in every frame
        moving = [np.roll(images[row].repeat(8, 0).repeat(8, 1), step, 1) for step in range(75)]
        write_clip(root / "clips" / f"cam{row}.mkv", [np.atleast_3d(frame)[..., :3] for frame in moving])
    Image.fromarray(scene(224)).save(root / "photo.jpg")
    (root / "study").mkdir()
    (root / "study" / "accuracies.csv").write_text(block_accuracies().to_csv())
    return root


@pytest.mark.parametrize("name", [name for name in PAGES if name not in RUN_ELSEWHERE])
def test_code_blocks_run(name: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = blocks_of(ROOT / name)
    if not any(block.language in EXECUTED and block.mark != "not run" for block in blocks):
        return
    folder = tmp_path / "work"
    shutil.copytree(workspace, folder)
    # Two processes for forty images would only cost their start.
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    page = Page(name, folder)
    with contextlib.chdir(folder):
        for block in blocks:
            page.run(block)


@pytest.mark.parametrize("name", PAGES)
def test_every_block_has_a_language_and_files_parse(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = blocks_of(ROOT / name)
    assert len(blocks) == len(re.findall(r"^```", text, re.M)) / 2
    for block in blocks:
        assert block.language.partition(" ")[0] in (*EXECUTED, *SHOWN), (name, block.line, block.language)
        if block.language == "toml":
            tomllib.loads(block.text)
        if block.mark == "not run":
            assert len(block.value.split()) >= 3, (name, block.line, "say why it is not run")


def test_few_blocks_are_not_run() -> None:
    marks = [block.mark for name in PAGES for block in blocks_of(ROOT / name) if block.language in EXECUTED]
    assert marks.count("not run") <= NOT_RUN_AT_MOST
    assert marks.count("not run") < len(marks) / 2
