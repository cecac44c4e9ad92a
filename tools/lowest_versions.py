"""Prints constraints that install the lowest version of every dependency that pyproject.toml allows.

    python tools/lowest_versions.py > build/lowest.txt

Extras for development are left out, and so is torch: older torch on PyPI needs CUDA's libraries.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("test", "docs", "torch")


def lowest_versions(project: dict[str, object]) -> list[str]:
    """`name==version` for every requirement `name>=version`; refuses a requirement without a lower bound."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    chosen = [extras[name] for name in extras if name not in LEFT_OUT]
    lines = []
    for requirement in dict.fromkeys(one for group in (project["dependencies"], *chosen) for one in group):
        parsed = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
        if parsed is None:
            sys.exit(f"error: '{requirement}' in pyproject.toml has no lower bound; write NAME>=VERSION.")
        lines.append(f"{parsed[1]}=={parsed[2]}")
    return lines


if __name__ == "__main__":
    print("\n".join(lowest_versions(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])))
