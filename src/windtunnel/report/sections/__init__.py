"""Report sections: one file each, with the data, figures, HTML and Markdown of one part of a run's report."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from windtunnel.analysis.public_placement import Placed
from windtunnel.core.errors import UserError
from windtunnel.core.registry import Plugin, Registry
from windtunnel.core.scores import Score
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.saliency import Explain, explain_nothing

# Keys of sections that declare no place in scores.json follow those of the shipped ones.
LAST = 1000
# A run's document: the content of scores.json.
Document = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class ReportInput:
    """What a run's report is made from.

    Attributes:
        run: the run, with its predictions.
        scores: the run's scores.
        placed: the run among public models, if tables of those were given.
        explain: makes saliency maps; none where the model is not loaded.
    """

    run: ScoredRun
    scores: Sequence[Score]
    placed: Sequence[Placed] = ()
    explain: Explain = explain_nothing


@dataclass(frozen=True)
class Content:
    """What a section's template is given.

    Attributes:
        values: variables of the template, next to `document`, `section`, `figures` and `titles`.
        figures: Plotly figures (`{"data": ..., "layout": ...}`) by the id of their element on the page.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)


class Section(Plugin):
    """One part of a run's report. A subclass has the facts and overrides what it needs of the methods.

    Attributes:
        name: for listings and messages.
        title: its heading.
        help: what it shows, in one line.
        order: its place on the page and in Markdown; sections of the same order follow by name.
        json_order: the place of its keys in scores.json.
        template: its HTML as a Jinja template; by default the file `<file name>.html.j2` next to its file.
    """

    name: str = ""
    title: str = ""
    help: str = ""
    order: int = 0
    json_order: int = LAST
    template: str = ""

    def __init__(self) -> None:
        lacking = [fact for fact in ("name", "title", "help", "order") if not getattr(self, fact)]
        if not self.template and not self.template_file.is_file():
            lacking.append(f"template (and there is no file {self.template_file.name} next to it)")
        if lacking:
            raise UserError(
                f"The section '{self.name or type(self).__name__}' declares no {', '.join(lacking)}; see "
                "CONTRIBUTING.md."
            )

    @property
    def template_file(self) -> Path:
        """Where its template is if it does not declare one."""
        return Path(str(sys.modules[type(self).__module__].__file__)).with_suffix(".html.j2")

    @property
    def is_shipped(self) -> bool:
        """Whether it comes with windtunnel."""
        return type(self).__module__.startswith("windtunnel.")

    @property
    def shows(self) -> Sequence[str]:
        """Metrics of which it shows every score; the others are listed as "Other scores"."""
        return ()

    def data(self, given: ReportInput) -> Mapping[str, Any]:
        """Its part of scores.json by key, as JSON values; the keys must be its own."""
        return {}

    def applies(self, document: Document) -> bool:
        """Whether the page and Markdown of a run with this document show it."""
        return True

    def content(self, document: Document, given: ReportInput) -> Content:
        """Variables and figures of its template."""
        return Content()

    def markdown(self, document: Document) -> list[str]:
        """Its lines of Markdown; none where Markdown does without it."""
        return []


REGISTRY: Registry[Section] = Registry("section", __name__, Section, separator="-")


def by_order() -> list[Section]:
    """Every section, in the order of the page."""
    return sorted(REGISTRY.all(), key=lambda section: (section.order, section.name))


def add_section_data(document: Document, given: ReportInput) -> None:
    """Add the data of every section to a document.

    A section of the user's own that fails is left out; `failed_sections` of the document says why.
    """
    for section in sorted(by_order(), key=lambda section: section.json_order):
        nothing: dict[str, Any] = {}
        document.update(guarded(section, document, partial(_own_keys, section, given, document), nothing))


def guarded(section: Section, document: Document, call: Callable[[], T], otherwise: T) -> T:
    """What a call into a section returns; `otherwise` if the section is the user's own and fails.

    The failure is recorded in the document under `failed_sections`, and the section is not called again.
    """
    if failure_of(section, document):
        return otherwise
    try:
        return call()
    except Exception as error:
        if section.is_shipped:
            raise
        line = f"The section '{section.name}' failed: {type(error).__name__}: {error}"
        document.setdefault("failed_sections", {})[section.name] = " ".join(line.split()).rstrip(".")
        return otherwise


def failure_of(section: Section, document: Document) -> str:
    """How a section of the user's own failed, in one line; "" where it did not."""
    return str(document.get("failed_sections", {}).get(section.name, ""))


def _own_keys(section: Section, given: ReportInput, document: Document) -> dict[str, Any]:
    """A section's data; that of the user's own is checked."""
    found = dict(section.data(given))
    if not section.is_shipped:
        taken = sorted({"failed_sections", *document} & set(found))
        if taken:
            raise ValueError(f"scores.json already has the key '{taken[0]}'; choose another one.")
        json.dumps(found, allow_nan=False)
    return found
