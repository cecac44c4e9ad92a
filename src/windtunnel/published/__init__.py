"""Facts as data: label tables, preprocess presets, and later normalisers and published results.

imagenet_1k.csv   the 1,000 classes in the order of their sorted WordNet ids (ILSVRC2012), and which of
                  them ImageNet-A, -O and -R use
c_bar_strengths.csv  by which strengths ImageNet-C-bar's script names its severity folders
presets.toml      the common preprocesses of published classifiers
"""

from __future__ import annotations

from importlib.resources import files


def read_text(name: str) -> str:
    """The text of one of this folder's tables."""
    return (files("windtunnel.published") / name).read_text(encoding="utf-8")
