"""How well does clean accuracy tell shifted accuracy, over the public models?

Reads the result tables of huggingface/pytorch-image-models and prints, for every natural set that they have,
the correlation of clean with shifted accuracy on logit axes, the line, and what is missing.

    python benchmarks/public_models.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from windtunnel.analysis.public_models import known_tables, public_field


def main(folder: Path) -> None:
    """Print one line per set and kind of clean results."""
    print(f"{'set':<16} {'clean results':<30} {'rows':>6} {'r':>6} {'slope':>6}  missing")
    for name, facts in known_tables().items():
        for same_classes in (False, True) if facts.same_classes else (False,):
            field = public_field(folder, name, same_classes=same_classes)
            assert field.fit is not None
            print(
                f"{name:<16} {field.clean.name:<30} {len(field.pairs):>6,} {field.fit.correlation:>6.3f} "
                f"{field.fit.slope:>6.3f}  {field.missing_count}"
            )
            for line in field.missing:
                print(f"{'':<18}{line}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
