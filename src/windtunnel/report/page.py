"""The HTML page: one file that makes no network requests."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from windtunnel.core.metrics import headline_titles
from windtunnel.report.saliency_overlay import occlusion_scale
from windtunnel.report.score_format import amount, direction_text, number, unit
from windtunnel.report.sections import Document, ReportInput, Section, by_order, failure_of, guarded


def render(document: Document, inputs: ReportInput) -> str:
    """The HTML page of one run, with every section that applies."""
    figures: dict[str, Any] = {}
    shown = [_section(section, document, inputs, figures) for section in by_order(inputs.run.recipe.task)]
    return render_page("page.html.j2", figures, document=document, sections=[text for text in shown if text])


def _section(section: Section, document: Document, inputs: ReportInput, figures: dict[str, Any]) -> Markup:
    """The HTML of one section. Its figures are added to `figures`."""
    nothing: tuple[Markup, dict[str, Any]] = (Markup(), {})
    html, added = guarded(section, document, lambda: _rendered(section, document, inputs, figures), nothing)
    figures |= added
    failure = "" if html else failure_of(section, document)
    return Markup("<h2>{}</h2>\n<p>{}</p>").format(section.title, failure) if failure else html


def _rendered(
    section: Section, document: Document, inputs: ReportInput, figures: dict[str, Any]
) -> tuple[Markup, dict[str, Any]]:
    """The HTML and figures of a section; both empty if the section does not apply."""
    if not section.applies(document):
        return Markup(), {}
    content = section.content(document, inputs)
    added = dict(content.figures)
    if not section.is_shipped:
        _check_figures(added, figures)
    html = _template(section).render(
        **content.values, document=document, section=section, figures=added, titles=headline_titles()
    )
    return Markup(html), added  # the template has escaped all values


def _template(section: Section) -> jinja2.Template:
    environment = _environment()
    if section.is_shipped and not section.template:
        return environment.get_template(f"sections/{section.template_file.name}")
    text = section.template or section.template_file.read_text(encoding="utf-8")
    return environment.from_string(text)


def _check_figures(added: dict[str, Any], existing: dict[str, Any]) -> None:
    """Raise an error if a figure id is in use already or a figure is not JSON."""
    taken = sorted(set(added) & set(existing))
    if taken:
        raise ValueError(f"another section has the figure '{taken[0]}'; choose another id.")
    json.dumps(added, allow_nan=False)


def render_page(template: str, figures: dict[str, Any], **content: object) -> str:
    """A template rendered with the style, script and figures that every page has."""
    return (
        _environment()
        .get_template(template)
        .render(
            **content,
            titles=headline_titles(),
            figures=figures,
            plotly=_plotly() if figures else "",
            style=_resource("page.css"),
            script=_resource("page.js"),
        )
    )


def _for_script(value: object) -> str:
    """A value as JSON that cannot close the surrounding script element."""
    return json.dumps(value).replace("<", "\\u003c")


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("windtunnel", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["percent"] = lambda value: f"{100 * value:.1f}"
    environment.filters["amount"] = amount
    environment.filters["number"] = number
    environment.filters["unit"] = unit
    environment.filters["direction"] = direction_text
    environment.filters["sentence"] = lambda text: f"{text[:1].upper()}{text[1:]}."
    environment.filters["for_script"] = _for_script
    environment.globals["map_scale"] = occlusion_scale("probability")
    environment.filters["thousands"] = lambda value: f"{value:,}"
    return environment


def _resource(name: str) -> str:
    return (files("windtunnel.report") / name).read_text(encoding="utf-8")


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
