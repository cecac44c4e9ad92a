"""All pages of a review: signing in and out, foreign text, accessibility."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.review_server import (
    HOSTILE,
    PATIENCE_MS,
    PHONE,
    Join,
    Person,
    ReviewServer,
    many_classes,
    practice_items,
    serious_findings,
    small_targets,
)


def test_a_wrong_link_says_so_and_the_secret_leaves_the_address(
    server: ReviewServer, browser: Browser
) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{server.address}/join#not-a-token")
    page.wait_for_selector("#failed:not([hidden])")
    assert "ask" in page.inner_text("#failed").lower()
    assert "not-a-token" not in page.url
    page.goto(server.address)
    page.wait_for_selector("#notice:not([hidden])")
    assert "Open your personal link" in page.inner_text("#notice")
    for path in ("/", "/owner", "/tasks/any"):
        page.goto(f"{server.address}{path}")
        page.wait_for_selector("#notice:not([hidden])")
        shown = page.inner_text("body")
        assert not [text for text in ("Connecting", "Loading", "Sign out", "Undo") if text in shown]
    page.close()


def test_an_unknown_address_shows_a_page_with_a_way_back(server: ReviewServer, browser: Browser) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    answer = page.goto(f"{server.address}/nothing/here")
    assert answer and answer.status == 404
    assert "Page not found" in page.inner_text("h1")
    assert page.get_attribute("main a", "href") == "/"
    assert serious_findings(page) == []
    for path in ("/api/nothing", "/nothing"):
        asked = page.request.get(f"{server.address}{path}", headers={"Accept": "application/json"})
        assert asked.status == 404 and asked.json()["detail"]
    page.close()


def test_signing_out_ends_the_session_and_the_link_opens_it_again(server: ReviewServer, join: Join) -> None:
    server.add_task("pairs", server.pairs(1))
    ada = join()
    ada.page.click("#sign-out")
    ada.page.wait_for_selector("#failed:not([hidden])")
    assert ada.context.request.get(f"{server.address}/api/tasks").status == 401
    ada.page.goto(ada.link)
    ada.page.wait_for_selector("ul.tasks h2")


def test_labels_and_titles_from_outside_stay_text(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(2, HOSTILE), title=HOSTILE, instructions=HOSTILE)
    ada = join()
    ada.page.wait_for_selector("ul.tasks h2")
    assert HOSTILE in ada.text("#tasks")
    ada.page.goto(f"{server.address}/tasks/{task}")
    ada.page.wait_for_selector("#instructions[open]")
    assert HOSTILE in ada.text("#instructions")
    ada.page.click("#close-instructions")
    ada.ready()
    assert HOSTILE in ada.text("#panel") and HOSTILE in ada.text("header")
    assert ada.page.evaluate("document.querySelectorAll('img[src=x]').length") == 0


@pytest.mark.parametrize(("kind", "key"), [("pairs", "s"), ("select", "a")])
def test_images_that_cannot_be_loaded_are_not_judged(
    kind: str, key: str, server: ReviewServer, join: Join
) -> None:
    task = server.add_task(kind, server.pairs(2) if kind == "pairs" else server.images(2))
    ada = join()
    ada.page.route("**/media/**", lambda route: route.abort())
    ada.work_on(task)
    ada.press(key)
    ada.expect("#failure", "cannot be loaded")
    assert ada.text("#progress") == "0 of 2 judged"
    ada.press("u")
    ada.expect("#progress", "1 of 2 judged")


@pytest.mark.parametrize(
    # The last one is a window of 1280 x 800 pixels at 200 % zoom.
    "options",
    [{}, {**PHONE, "color_scheme": "dark"}, {"viewport": {"width": 640, "height": 400}}],
)
def test_pages_are_accessible_and_fit_the_screen(
    options: dict[str, Any], server: ReviewServer, join: Join
) -> None:
    classes = many_classes(50)
    tasks = [
        server.add_task("pairs", [*server.pairs(4), *practice_items(server)]),
        server.add_task("anchors", server.images(4, [classes[0].name]), classes=classes),
        server.add_task("select", server.images(4)),
        server.add_task("blind", server.images(4), classes=classes),
    ]
    ada = join(**options)
    fits = "document.documentElement.scrollWidth <= innerWidth"
    findings: list[str] = []

    def check(person: Person) -> None:
        findings.extend(serious_findings(person.page))
        if options.get("has_touch"):
            findings.extend(small_targets(person.page))
        assert person.page.evaluate(fits), person.page.url

    ada.page.wait_for_selector("ul.tasks h2")
    check(ada)
    for task in tasks:
        ada.page.goto(f"{server.address}/tasks/{task}")
        ada.page.wait_for_selector("#instructions[open]")
        check(ada)
        ada.page.click("#close-instructions")
        ada.ready()
        check(ada)
    ada.press("?")
    check(ada)
    assert ada.page.evaluate("document.querySelector('#help').scrollTop") == 0
    ada.page.click("#close-help")
    ada.page.click("[data-key=u]")
    ada.expect("#progress", "1 of 4 judged")
    ada.page.click("[data-key=u]")
    ada.page.click("[data-key=u]")
    ada.page.click("[data-key=u]")
    ada.page.wait_for_selector("#end:not([hidden])")
    check(ada)
    olga = join("Olga", "owner", **options)
    olga.page.wait_for_selector("#tasks section")
    check(olga)
    assert findings == []
