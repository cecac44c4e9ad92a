"""Plug-ins from outside the package: examples of CONTRIBUTING.md, and the command line to include them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"


def write_example(section: str, file: Path) -> Path:
    """Write the first Python example of a section of CONTRIBUTING.md to a file."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(section)}\n.*?^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found is not None, section
    file.write_text(found[1], encoding="utf-8")
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
