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
from windtunnel.core.records import DEFAULT_TASK
from windtunnel.core.registry import Plugin, Registry
from windtunnel.core.scores import Score
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.saliency import Explain, explain_nothing

# The default position of a section's keys in scores.json: after those of the shipped sections.
LAST = 1000
# A run's document: the content of scores.json.
Document = dict[str, Any]
# The tasks of sections that do not depend on what a model predicts.
ANY_TASK = ("classification", "detection")
T = TypeVar("T")


@dataclass(frozen=True)
class ReportInput:
    """The inputs of a run's report.

    Attributes:
        run: the run, with its predictions.
        scores: the run's scores.
        placed: the run among public models, if tables of their results were given.
        explain: makes saliency maps; makes none if the model is not loaded.
    """

    run: ScoredRun
    scores: Sequence[Score]
    placed: Sequence[Placed] = ()
    explain: Explain = explain_nothing


@dataclass(frozen=True)
class Content:
    """The variables and figures of a section's template.

    Attributes:
        values: variables of the template, in addition to `document`, `section`, `figures` and `titles`.
        figures: Plotly figures (`{"data": ..., "layout": ...}`) by the id of their element on the page.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)


class Section(Plugin):
    """One part of a run's report. A subclass declares the attributes and overrides the methods that it needs.

    Attributes:
        name: its name in listings and messages.
        title: its heading.
        help: what it shows, in one line.
        order: its position on the page and in Markdown; sections of equal order are sorted by name.
        json_order: the position of its keys in scores.json.
        tasks: the tasks of the runs whose reports may contain it.
        template: its HTML as a Jinja template; by default the file `<file name>.html.j2` next to its file.
    """

    name: str = ""
    title: str = ""
    help: str = ""
    order: int = 0
    json_order: int = LAST
    tasks: tuple[str, ...] = (DEFAULT_TASK,)
    template: str = ""

    def __init__(self) -> None:
        missing = []
        if not self.template and not self.template_file.is_file():
            missing.append(f"template (and there is no file {self.template_file.name} next to it)")
        self.refuse_incomplete(("name", "title", "help", "order"), missing)

    @property
    def template_file(self) -> Path:
        """The file of its template if `template` is empty."""
        return Path(str(sys.modules[type(self).__module__].__file__)).with_suffix(".html.j2")

    @property
    def shows(self) -> Sequence[str]:
        """Metrics whose scores it shows completely; "Other scores" lists the remaining metrics."""
        return ()

    def data(self, inputs: ReportInput) -> Mapping[str, Any]:
        """Its keys of scores.json with JSON values; no other section may use the same keys."""
        return {}

    def applies(self, document: Document) -> bool:
        """Whether the report of a run with this document contains the section."""
        return True

    def content(self, document: Document, inputs: ReportInput) -> Content:
        """The variables and figures of its template."""
        return Content()

    def markdown(self, document: Document) -> list[str]:
        """Its lines of Markdown; none if it appears only in HTML."""
        return []


REGISTRY: Registry[Section] = Registry("section", __name__, Section, separator="-")


def by_order(task: str = "") -> list[Section]:
    """All sections in the order of the page, or those for runs of a task."""
    every = [section for section in REGISTRY.all() if not task or task in section.tasks]
    return sorted(every, key=lambda section: (section.order, section.name))


def add_section_data(document: Document, inputs: ReportInput) -> None:
    """Add the data of every section to a document.

    A third-party section that fails is left out; `failed_sections` of the document contains the reason.
    """
    for section in sorted(by_order(inputs.run.recipe.task), key=lambda section: section.json_order):
        no_data: dict[str, Any] = {}
        document.update(
            guarded(section, document, partial(_section_data, section, inputs, document), no_data)
        )


def guarded(section: Section, document: Document, call: Callable[[], T], default: T) -> T:
    """The result of a call into a section, or `default` if a third-party section fails.

    The failure is recorded in the document under `failed_sections`, and the section is not called again.
    """
    if failure_of(section, document):
        return default
    try:
        return call()
    except Exception as error:
        if section.is_shipped:
            raise
        line = f"The section '{section.name}' failed: {type(error).__name__}: {error}"
        document.setdefault("failed_sections", {})[section.name] = " ".join(line.split()).rstrip(".")
        return default


def failure_of(section: Section, document: Document) -> str:
    """The failure of a third-party section in one line; "" if it did not fail."""
    return str(document.get("failed_sections", {}).get(section.name, ""))


def _section_data(section: Section, inputs: ReportInput, document: Document) -> dict[str, Any]:
    """A section's data; the keys and values of third-party sections are checked."""
    data = dict(section.data(inputs))
    if not section.is_shipped:
        taken = sorted({"failed_sections", *document} & set(data))
        if taken:
            raise ValueError(f"scores.json already has the key '{taken[0]}'; choose another key.")
        json.dumps(data, allow_nan=False)
    return data
