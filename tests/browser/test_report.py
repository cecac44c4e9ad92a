"""The reports in a browser: they draw, keep to themselves, and serve phones, paper, night and keyboards."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from windtunnel.analysis.multi_run import several
from windtunnel.report.files import write_multi_run_page

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "device_scale_factor": 2}
MOST_BYTES = 8_000_000

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def both(imagenet_runs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two runs."""
    file = tmp_path_factory.mktemp("both") / "both.html"
    return write_multi_run_page(several(*imagenet_runs), file)


@pytest.fixture(scope="module")
def both_sequences(sequence_runs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two runs of sequences."""
    file = tmp_path_factory.mktemp("sequences") / "both.html"
    return write_multi_run_page(several(*sequence_runs), file)


@pytest.fixture(scope="module")
def several_tests(
    imagenet_runs: tuple[Path, Path],
    natural_run: Path,
    public_tables: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The page of runs over several tests, among public models."""
    file = tmp_path_factory.mktemp("shifts") / "shifts.html"
    return write_multi_run_page(several(natural_run, *imagenet_runs, public=public_tables), file)


@pytest.fixture(
    params=[
        "one run",
        "demo",
        "several runs",
        "several tests",
        "sequences",
        "several runs of sequences",
        "steps",
    ]
)
def report(request: pytest.FixtureRequest) -> Path:
    """Each kind of page."""
    if request.param == "sequences":
        return Path(request.getfixturevalue("sequence_runs")[1]) / "report.html"
    if request.param == "several runs of sequences":
        return Path(request.getfixturevalue("both_sequences"))
    if request.param == "several tests":
        return Path(request.getfixturevalue("several_tests"))
    if request.param == "several runs":
        return Path(request.getfixturevalue("both"))
    if request.param == "steps":
        return Path(request.getfixturevalue("steps_run")) / "report.html"
    if request.param == "demo":
        return Path(request.getfixturevalue("demo_run")) / "report.html"
    return Path(request.getfixturevalue("imagenet_runs")[0]) / "report.html"


def visible_figures(page: Page) -> list[str]:
    """Ids of the figures that are not folded away."""
    found = page.eval_on_selector_all(
        ".figure", "all => all.filter(one => one.checkVisibility()).map(one => one.id)"
    )
    return [str(one) for one in found]


def marks(page: Page, figure: str) -> int:
    """How many lines, points and cells a figure shows."""
    return page.locator(f"#{figure} .main-svg .trace, #{figure} .main-svg .hm").count()


def test_every_figure_is_drawn_and_nothing_is_asked_for(open_page: Open, report: Path) -> None:
    assert report.stat().st_size < MOST_BYTES
    page = open_page(report)
    figures = visible_figures(page)
    assert figures
    for figure in figures:
        assert marks(page, figure) > 0, figure
        box = page.locator(f"#{figure}").bounding_box()
        assert box is not None and box["width"] > 300 and box["height"] > 100, figure


def test_folded_figures_are_drawn_at_full_width_when_opened(
    open_page: Open, imagenet_runs: tuple[Path, Path]
) -> None:
    page = open_page(imagenet_runs[0] / "report.html")
    folded = page.locator("details:not([open])", has=page.locator("#published_mean_error"))
    folded.locator("> summary").click()
    page.wait_for_function("document.querySelector('#published_mean_error .main-svg').clientWidth > 500")
    assert marks(page, "published_mean_error") > 1


def test_a_phone_needs_no_sideways_scrolling(open_page: Open, report: Path) -> None:
    page = open_page(report, **PHONE)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["viewport"]["width"]
    for figure in visible_figures(page):
        box = page.locator(f"#{figure}").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["viewport"]["width"]


def test_a_phone_shows_what_every_step_costs(open_page: Open, steps_run: Path) -> None:
    page = open_page(steps_run / "report.html", **PHONE)
    figure = page.locator("#deployment")
    edges = figure.locator(".infolayer text, .bars path, .errorbar path").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(one => [one.left, one.right])"
    )
    assert len(edges) > 60 and all(left >= 0 and right <= 390 for left, right in edges)
    plot = figure.locator(".nsewdrag").bounding_box()
    assert plot is not None and plot["width"] > 300, "names leave the bars their width"
    heights = (
        page.locator("table.steps")
        .first.locator("tbody tr")
        .evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
    )
    assert max(heights) < 90
    cells = page.locator("table.steps").first.locator("tbody tr").first.locator("td").all()
    right = cells[4].bounding_box()
    assert right is not None and right["x"] + right["width"] <= 390, "up to how many answers change"


def test_the_legend_stands_right_below_its_figure(open_page: Open, steps_run: Path) -> None:
    page = open_page(steps_run / "report.html")
    title, legend = (page.locator(f"#deployment .{one}").bounding_box() for one in ("xtitle", "legend"))
    assert title is not None and legend is not None
    assert 0 <= legend["y"] - (title["y"] + title["height"]) < 40


def luminance(colour: str) -> float:
    """Relative luminance of `rgb(r, g, b)`, as WCAG 2 defines it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(page: Page, selector: str, paint: str) -> float:
    """Contrast of an element's paint with the page behind it."""
    ink, paper = page.evaluate(
        f"[getComputedStyle(document.querySelector('{selector}')).{paint},"
        " getComputedStyle(document.body).backgroundColor]"
    )
    high, low = sorted((luminance(ink), luminance(paper)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_day_and_night_are_readable_figures_included(open_page: Open, report: Path, scheme: str) -> None:
    page = open_page(report, color_scheme=scheme)
    paper = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert paper > 0.9 if scheme == "light" else paper < 0.02
    # 4.5 is what WCAG asks of text.
    assert contrast(page, "h1", "color") > 4.5
    assert contrast(page, ".lead", "color") > 4.5
    assert contrast(page, ".xtick text", "fill") > 4.5


def test_figures_follow_when_night_falls(open_page: Open, imagenet_runs: tuple[Path, Path]) -> None:
    page = open_page(imagenet_runs[0] / "report.html", color_scheme="light")
    fill = "getComputedStyle(document.querySelector('.xtick text')).fill"
    light = page.evaluate(fill)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => {fill} !== light", arg=light)
    assert contrast(page, ".xtick text", "fill") > 4.5


def test_paper_is_white_and_nothing_stays_folded(open_page: Open, report: Path, tmp_path: Path) -> None:
    page = open_page(report, color_scheme="dark")
    page.pdf(path=tmp_path / "report.pdf")
    assert page.locator("details:not([open]):not(.screen)").count() == 0
    page.emulate_media(media="print", color_scheme="dark")
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    assert contrast(page, "h1", "color") > 7


def test_the_keyboard_reaches_everything(open_page: Open, imagenet_runs: tuple[Path, Path]) -> None:
    page = open_page(imagenet_runs[0] / "report.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName + '.' + document.activeElement.className"))
        if page.evaluate("document.activeElement.matches('details:not([open]) > summary')"):
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.parentElement.open")
    # What unfolds, and what scrolls sideways.
    assert {"SUMMARY.", "DIV.scroll"} <= reached


def test_any_score_is_drawn_against_any_other(open_page: Open, both: Path) -> None:
    page = open_page(both)
    titles = page.locator("#x_score option").all_inner_texts()
    assert titles[:2] == ["clean accuracy, %", "parameters"]
    page.locator("#x_score").select_option(label="parameters")
    page.locator("#y_score").select_option(label="mCE, %")
    axes = page.locator("#score_plane .xtitle, #score_plane .ytitle").all_text_contents()
    assert axes == ["parameters", "mCE, %"]
    assert sorted(page.locator("#score_plane .textpoint").all_text_contents()) == [
        "nearest-in-1",
        "nearest-in-3",
    ]
    # By keyboard too.
    page.locator("#y_score").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#score_plane .ytitle").text_content() != "mCE, %"


def test_hovering_says_what_a_cell_is(open_page: Open, imagenet_runs: tuple[Path, Path]) -> None:
    page = open_page(imagenet_runs[0] / "report.html")
    heat = page.locator("#heat")
    heat.scroll_into_view_if_needed()
    heat.locator(".nsewdrag").hover()
    text = heat.locator(".hovertext").text_content()
    assert text is not None and re.search(r"\w+:3.*top-1 error [\d.]+ %", text)


def test_images_are_there(open_page: Open, imagenet_runs: tuple[Path, Path]) -> None:
    page = open_page(imagenet_runs[1] / "report.html")
    widths = page.eval_on_selector_all(".images img", "all => all.map(one => one.naturalWidth)")
    assert len(widths) >= 2 and min(widths) >= 100


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
def test_maps_stand_beside_what_they_explain(open_page: Open, demo_run: Path, options: dict) -> None:
    page = open_page(demo_run / "report.html", **options)
    figure = page.locator(".images figure").first
    boxes = [one.bounding_box() for one in figure.locator("img").all()]
    assert len(boxes) == 3 and len({round(box["y"]) for box in boxes}) == 1, (
        "clean, corrupted and map in a row"
    )
    assert min(box["width"] for box in boxes) > 80
    assert "The prediction depends on the " in figure.inner_text()
    table = page.locator("table.confusions").first
    pair = table.locator("tbody tr").first.locator("img").all()
    assert len({round(one.bounding_box()["y"]) for one in pair}) == 1 and len(pair) == 2
    assert page.evaluate("document.scrollingElement.scrollWidth") <= page.viewport_size["width"]


@pytest.mark.parametrize("width", [1200, 400])
def test_maps_have_a_legend_that_names_both_ends(open_page: Open, demo_run: Path, width: int) -> None:
    page = open_page(demo_run / "report.html", viewport={"width": width, "height": 800})
    legends = page.locator(".map-legend").all()
    assert len(legends) == 2, "failures and confusions"
    for legend in legends:
        assert legend.locator(".ends").inner_text().split() == ["rises", "falls"]
        marks = legend.locator(".ticks span").all()
        assert [one.inner_text() for one in marks] == ["50+", "20", "5", "0", "5", "20", "50+"]
        bar = legend.locator(".bar").bounding_box()
        assert bar["width"] > 300 and bar["height"] > 8
        boxes = [one.bounding_box() for one in marks]
        assert all(left["x"] + left["width"] < right["x"] for left, right in itertools.pairwise(boxes))
        assert boxes[0]["x"] >= bar["x"] - 1
        assert boxes[-1]["x"] + boxes[-1]["width"] <= bar["x"] + bar["width"] + 1


def test_a_run_of_sequences_has_its_own_parts_and_no_empty_ones(
    open_page: Open, sequence_runs: tuple[Path, Path]
) -> None:
    page = open_page(sequence_runs[1] / "report.html")
    assert visible_figures(page)[:3] == ["flip_probability", "ut5d", "positions"]
    headings = page.locator("h2").all_inner_texts()
    assert "Flips by frame" in headings
    assert not {"Error by severity", "Error by corruption and severity", "Corruption error"} & set(headings)
    cards = dict(zip(page.locator(".card .name").all_inner_texts(),
                     page.locator(".card .value").all_inner_texts(), strict=True))  # fmt: skip
    assert cards["mFP"].endswith(" %") and cards["mean uT5D"].endswith(" ranks")


def test_timelines_show_every_frame_and_mark_the_flips(
    open_page: Open, sequence_runs: tuple[Path, Path]
) -> None:
    page = open_page(sequence_runs[1] / "report.html")
    first = page.locator(".timeline").first
    caption = first.locator("figcaption").inner_text()
    told = re.search(r"(\d+) flips in (\d+) comparisons", caption)
    assert told is not None
    assert first.locator(".frames li.flips").count() == int(told[1]) > 0
    assert first.locator(".frames li").count() == int(told[2]) + 1
    widths = first.locator("img").evaluate_all("all => all.map(one => one.naturalWidth)")
    assert min(widths) >= 32
    shown = page.locator(".timeline figcaption b").all_inner_texts()
    assert len(shown) > 1 and len(set(shown)) == len(shown), "no sequence twice"


def test_hovering_says_where_flips_happen(open_page: Open, sequence_runs: tuple[Path, Path]) -> None:
    page = open_page(sequence_runs[1] / "report.html")
    strip = page.locator("#positions")
    strip.scroll_into_view_if_needed()
    strip.locator(".nsewdrag").hover()
    text = strip.locator(".hovertext").text_content()
    assert text is not None and re.search(
        r"seq/\w+.*frame \d+ compared with frame \d+.*% of images flip", text
    )
