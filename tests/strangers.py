"""Plug-ins from outside the package: examples of CONTRIBUTING.md, and the command line to include them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
IMAGING = "A decoder, a resizer, a codec"


@dataclass(frozen=True)
class Example:
    """A plug-in that CONTRIBUTING.md shows.

    Attributes:
        section: its heading.
        file: the name of its file.
        folder: the folder of its kind in the package.
        position: which code block of the section it is.
    """

    section: str
    file: str
    folder: str
    position: int = 0

    @property
    def text(self) -> str:
        """The file as a contributor copies it."""
        language = "toml" if self.file.endswith(".toml") else "python"
        page = CONTRIBUTING.read_text(encoding="utf-8")
        section = page.partition(f"\n## {self.section}\n")[2].partition("\n## ")[0]
        blocks = re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        return str(blocks[self.position])


# By kind, as `windtunnel list` names it.
EXAMPLES = {
    "corruptions": Example("A new corruption is one file", "rain_streaks.py", "corruptions"),
    "sequences": Example("A new sequence is one Python file", "dusk.py", "sequences"),
    "decoders": Example(IMAGING, "pillow_draft.py", "imaging/decoders", 0),
    "resizers": Example(IMAGING, "indexing.py", "imaging/resizers", 1),
    "codecs": Example(IMAGING, "webp.py", "imaging/codecs", 2),
    "suites": Example("A new suite is one TOML file", "my-suite.toml", "suites"),
    "metrics": Example("A metric", "confident_error.py", "metrics/plugins"),
    "model-kinds": Example("A model kind", "linear.py", "models/kinds"),
    "wrappers": Example("A wrapper", "gamma.py", "models/wrappers"),
    "layouts": Example("A dataset layout", "labels_json.py", "data/layouts"),
    "executors": Example("An executor", "threads.py", "engine/executors"),
    "networks": Example("A network", "pooled.py", "train/networks"),
    "image-steps": Example("A training remedy", "vignette.py", "train/image_steps", 0),
    "batch-steps": Example("A training remedy", "shuffle.py", "train/batch_steps", 1),
    "losses": Example("A training remedy", "focal.py", "train/losses", 2),
    "sections": Example("A report section", "class_balance.py", "report/sections"),
    "destinations": Example("A destination of results", "headline_file.py", "integrations/destinations"),
}


def write_example(kind: str, folder: Path) -> Path:
    """Write the example of a kind of plug-in to its file in a folder; returns the file."""
    file = folder / EXAMPLES[kind].file
    file.write_text(EXAMPLES[kind].text, encoding="utf-8")
    return file


def windtunnel(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "windtunnel", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
