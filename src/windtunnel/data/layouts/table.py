"""Tables that list image files and their labels."""

from __future__ import annotations

from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.layouts import DatasetLayout
from windtunnel.data.table import SUFFIXES, TableDataset


class Table(DatasetLayout):
    """A CSV, TSV or JSON Lines file."""

    name = "table"
    help = "a table with a path and a label, or several, per image"
    form = "FILE.csv, FILE.tsv or FILE.jsonl with the columns path and label"
    suffixes = SUFFIXES
    priority = 30

    def open(self, path: Location, part: str) -> Dataset:
        """The images that a table lists; it has no parts."""
        del part
        return TableDataset(path)


table = Table()
