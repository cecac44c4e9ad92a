"""The embedded demo: scanned digits."""

from __future__ import annotations

from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.layouts import DatasetLayout


class Demo(DatasetLayout):
    """The word `demo`."""

    name = "demo"
    help = "599 scanned digits that come with the package"
    form = "the word demo"
    word = "demo"
    priority = 100

    def open(self, path: Location, part: str) -> Dataset:
        """The digits; a word has neither path nor part."""
        from windtunnel.data.demo import DigitsDataset

        del path, part
        return DigitsDataset()


demo = Demo()
