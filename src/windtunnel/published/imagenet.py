"""The classes of ILSVRC2012: WordNet ids and names."""

from __future__ import annotations

import csv
import io
from functools import lru_cache

from windtunnel import published
from windtunnel.core.labels import IMAGENET_1K, LabelSpace


@lru_cache(maxsize=1)
def imagenet_1k() -> LabelSpace:
    """The 1,000 classes of ILSVRC2012, named by WordNet id."""
    rows = csv.DictReader(io.StringIO(published.read_text("imagenet_1k.csv")))
    return LabelSpace(IMAGENET_1K, tuple(row["wnid"] for row in rows), "sorted WordNet ids of ImageNet-1k")


@lru_cache(maxsize=1)
def imagenet_names() -> dict[str, str]:
    """Display names of the classes of ILSVRC2012, by WordNet id: the first name of each class."""
    return {wnid: names[0] for wnid, names in imagenet_synonyms().items()}


@lru_cache(maxsize=1)
def imagenet_synonyms() -> dict[str, tuple[str, ...]]:
    """All names of the classes of ILSVRC2012, by WordNet id."""
    rows = csv.DictReader(io.StringIO(published.read_text("imagenet_1k.csv")))
    return {row["wnid"]: tuple(name.strip() for name in row["names"].split(",")) for row in rows}
