"""The pages of windtunnel serve in a browser."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import windtunnel
from tests.browser.review_server import PATIENCE_MS, serious_findings, small_targets

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "color_scheme": "dark"}
SERVE = [sys.executable, "-m", "windtunnel", "serve"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished runs, and one whose recipe is damaged."""
    folder = tmp_path_factory.mktemp("served") / "runs"
    for name in ("first", "other/second"):
        windtunnel.run("demo", "demo", "demo", out=folder / name).report()
    broken = folder / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    return folder


@pytest.fixture(scope="module")
def address(runs: Path) -> Iterator[str]:
    """The address of a server of these runs."""
    server = subprocess.Popen([*SERVE, str(runs), "--port", "0"], stderr=subprocess.PIPE, text=True)
    assert server.stderr
    line = server.stderr.readline()
    yield re.findall(r"http://\S+", line)[0]
    server.terminate()
    server.wait()


@pytest.fixture
def open_at(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Open a page of the server; afterwards nothing may have gone wrong in it."""
    wrong: list[str] = []
    contexts = []

    def call(path: str, **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
        context.on("weberror", lambda error: wrong.append(str(error.error)))
        context.on("request", lambda asked: _outside(asked.url, address) and wrong.append(asked.url))
        page = context.new_page()
        page.goto(f"{address}{path}")
        return page

    yield call
    for context in contexts:
        context.close()
    assert wrong == []


def _outside(url: str, address: str) -> bool:
    return not url.startswith((address, "data:", "blob:"))


def test_runs_are_filtered_sorted_and_linked(open_at: Callable[..., Page]) -> None:
    page = open_at("/")
    page.wait_for_selector("#runs tbody tr")
    assert page.inner_text("#count") == "3 of 3 runs"
    assert "broken" in page.inner_text("#runs")
    page.fill("#query", "digits second")
    page.wait_for_function("() => document.querySelector('#count').innerText === '1 of 3 runs'")
    page.fill("#query", "")
    page.wait_for_function("() => document.querySelector('#count').innerText === '3 of 3 runs'")
    page.click("[data-sort=run]")
    folders = (
        "() => [...document.querySelectorAll('#runs tbody td:nth-child(2)')].map((cell) => cell.innerText)"
    )
    assert page.evaluate(folders) == ["broken", "first", "other/second"]
    page.click("[data-sort=run]")
    assert page.evaluate(folders) == ["other/second", "first", "broken"]
    page.select_option("#score", "top1_error clean")
    shown = page.inner_text("#runs")
    page.goto(page.url)  # the address has everything
    page.wait_for_selector("#runs tbody tr")
    assert page.inner_text("#runs") == shown


def test_chosen_runs_are_compared_and_reports_open(open_at: Callable[..., Page]) -> None:
    page = open_at("/")
    page.wait_for_selector("#runs tbody tr")
    page.check("[aria-label='Select first']")
    assert page.is_disabled("#compare")
    page.check("[aria-label='Select other/second']")
    for selector in ("#compare", "td.links a:has-text('Report') >> nth=0"):
        with page.context.expect_page() as opened:
            page.click(selector)
        shown = opened.value
        shown.wait_for_function("() => document.querySelectorAll('.figure .main-svg').length > 0")
        assert "digits" in shown.inner_text("main")


def test_any_image_is_shown_under_any_condition_with_every_prediction(open_at: Callable[..., Page]) -> None:
    page = open_at("/images?run=first&condition=gaussian_noise%3A5&shown=wrong")
    page.wait_for_selector("#images li")
    total = page.inner_text("#count")
    assert re.fullmatch(r"1 to 48 of \d+ images", total)
    assert page.evaluate("document.querySelectorAll('#images .bad').length") == 48
    page.click("#next")
    page.wait_for_function("() => document.querySelector('#count').innerText.startsWith('49 to')")
    page.click("#images a >> nth=0")
    page.wait_for_selector("#predictions tbody tr")
    assert page.locator("#predictions tbody tr").count() == 2  # both runs are on these images
    predicted = page.inner_text("#predictions tbody tr >> nth=0")
    assert "✗" in predicted
    page.wait_for_function(
        "() => [...document.querySelectorAll('.pane img')].every((i) => i.naturalWidth === 32)"
    )
    assert page.inner_text("#stage").split() == ["clean", "gaussian_noise:5"]
    page.select_option("#condition", "clean")
    page.wait_for_function("() => document.querySelectorAll('.pane').length === 1")
    assert "condition=clean" in page.url


def test_names_of_equal_runs_are_readable_in_the_plot(open_at: Callable[..., Page]) -> None:
    for options in ({}, PHONE):
        page = open_at("/scatter?x=top1_error+clean&y=mean_error", **options)
        page.wait_for_selector("#plot svg")
        names = "[...document.querySelectorAll('#plot .name')]"
        first, second = page.evaluate(f"{names}.map((name) => name.getBoundingClientRect().toJSON())")
        assert first["bottom"] <= second["top"] + 2 and first["height"] >= 12


def test_any_score_is_plotted_against_any_other(open_at: Callable[..., Page]) -> None:
    page = open_at("/scatter?x=top1_error+clean&y=top1_error+gaussian_noise%3A5")
    page.wait_for_selector("#plot svg")
    assert page.locator("#plot circle").count() == 2
    assert "gaussian_noise:5" in (page.text_content("#plot .axis >> nth=1") or "")
    page.select_option("#x", "mean_error")
    assert "x=mean_error" in page.url
    page.fill("#query", "first")
    page.wait_for_function("() => document.querySelectorAll('#plot circle').length === 1")


@pytest.mark.parametrize("options", [{}, PHONE])
def test_pages_are_accessible_and_fit(options: dict[str, Any], open_at: Callable[..., Page]) -> None:
    found: list[str] = []
    for path, ready in (
        ("/", "#runs tbody tr"),
        ("/scatter", "#plot svg"),
        ("/images?run=first", "#images li"),
        ("/image?run=first&row=3&condition=gaussian_noise%3A5", "#predictions tbody tr"),
    ):
        page = open_at(path, **options)
        page.wait_for_selector(ready)
        found += serious_findings(page)
        if options:
            found += small_targets(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    assert found == []


def test_only_runs_of_the_folder_are_shown(address: str, browser: Browser) -> None:
    context = browser.new_context()
    for path in (
        "/report?run=../first",
        "/report?run=%2Fetc",
        "/pixels?run=first&row=99999&condition=clean",
        "/pixels?run=first&row=0&condition=..%2F",
        "/static/..%2Fsafety.py",
        "/api/images?run=nothing",
    ):
        answer = context.request.get(f"{address}{path}")
        assert answer.status == 404, path
    policy = context.request.get(f"{address}/").headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "sandbox" in context.request.get(f"{address}/report?run=first").headers["content-security-policy"]
    assert context.request.post(f"{address}/api/session", data={"token": "x"}).status == 403
    context.close()


def test_other_machines_need_the_link(runs: Path, browser: Browser) -> None:
    refused = subprocess.run([*SERVE, str(runs), "--host", "0.0.0.0"], capture_output=True, text=True)
    assert refused.returncode == 2 and "--expose" in refused.stderr
    server = subprocess.Popen(
        [*SERVE, str(runs), "--host", "0.0.0.0", "--expose", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr
    try:
        link = re.findall(r"http://\S+", server.stderr.readline())[0].replace("0.0.0.0", "127.0.0.1")
        start = link.partition("/join")[0]
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        assert page.request.get(f"{start}/api/runs").status == 401
        assert page.request.get(f"{start}/report?run=first").status == 401
        page.goto(f"{start}/")
        page.wait_for_selector("#failed:not([hidden])")
        page.goto(link)
        page.wait_for_selector("#runs tbody tr")
        page.close()
    finally:
        server.terminate()
        server.wait()


def test_misclassified_images_stand_out(open_at: Callable[..., Page], address: str) -> None:
    page = open_at("/images?run=first")
    page.wait_for_selector("#images:not([aria-busy])")
    frames = page.evaluate(
        """() => [...document.querySelectorAll('.tile')].map((tile) =>
          [tile.querySelector('.verdict').textContent.startsWith('✗'),
            getComputedStyle(tile).boxShadow !== 'none'])"""
    )
    assert frames and all(wrong == framed for wrong, framed in frames)
    assert any(wrong for wrong, _ in frames)


def test_an_unknown_address_shows_a_page(browser: Browser, address: str) -> None:
    page = browser.new_page()
    answer = page.goto(f"{address}/nothing")
    assert answer and answer.status == 404
    assert "Page not found" in page.inner_text("h1")
    assert page.request.get(f"{address}/api/nothing").json()["detail"]
    page.close()
