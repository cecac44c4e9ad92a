"""The review app in a browser: what people do with it, and what must never happen to their work."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Route

from tests.browser.review_server import Person, ReviewServer, many_classes, serious_findings
from windtunnel.review.records import NewItem

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
HOSTILE = "<img src=x onerror=alert(1)> </script><script>alert(2)</script>"

Join = Callable[..., Person]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReviewServer]:
    """A review that is served."""
    served = ReviewServer(tmp_path_factory.mktemp("review") / "project")
    served.start()
    yield served
    served.close()


@pytest.fixture
def join(browser: Browser, server: ReviewServer) -> Iterator[Join]:
    """Open the link of a new person; afterwards nothing may have gone wrong in their pages."""
    people: list[Person] = []

    def call(name: str = "Ada", role: str = "reviewer", **options: Any) -> Person:
        people.append(Person(browser, server, server.add_person(name, role), **options))
        return people[-1]

    yield call
    for person in people:
        person.context.close()
    assert [wrong for person in people for wrong in person.wrong] == []


def test_every_verdict_is_one_key_and_arrows_decide_nothing(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(12))
    ada = join()
    ada.work_on(task)
    ada.press("ArrowRight", "ArrowRight", "ArrowLeft", "Home")
    assert ada.text("#progress") == "0 of 12 judged"
    ada.press("s", "m", "b", "l", "o", "d", "x", "w", "a", "u")
    ada.expect("#progress", "10 of 12 judged")
    ada.saved()
    verdicts = [row for row in ada.verdicts(task) if row]
    assert [row["reason"] for row in verdicts] == [
        "", "motion", "background", "blur", "occlusion", "deformation", "other", "", "", "",
    ]  # fmt: skip
    assert [row["label"] for row in verdicts] == [*["right"] * 7, "wrong", "", "unsure"]
    assert [row["bad_anchor"] for row in verdicts] == [*[False] * 8, True, False]


def test_the_help_lists_every_key_and_single_keys_can_be_switched_off(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(3))
    ada = join()
    ada.work_on(task)
    ada.press("?")
    listed = ada.text("#help")
    for words in ("Similar, label right", "Bad anchor", "Undo", "Flip", "Next, without deciding", "note"):
        assert words in listed
    ada.page.uncheck("#single-keys")
    ada.press("Escape", "s")
    assert ada.text("#progress") == "0 of 3 judged"
    ada.press("ArrowRight", "Control+z")
    ada.page.click("[data-key=s]")
    ada.expect("#progress", "1 of 3 judged")


def test_a_note_is_typed_without_giving_verdicts_and_belongs_to_the_verdict(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(3))
    ada = join()
    ada.work_on(task)
    ada.press("n")
    ada.page.keyboard.type(f"sums {HOSTILE}")
    ada.press("Enter")
    assert ada.text("#progress") == "0 of 3 judged"
    ada.press("s", "ArrowLeft")
    assert ada.page.input_value("#note") == f"sums {HOSTILE}"
    ada.page.fill("#note", "another note")
    ada.press("Enter")
    ada.saved()
    first = ada.verdicts(task)[0]
    assert first and first["note"] == "another note" and first["similar"] == "yes"
    assert ada.text("#progress") == "1 of 3 judged"


def test_undo_and_redo_go_back_to_the_start_also_after_a_reload(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(8))
    ada = join()
    ada.work_on(task)
    ada.press("s", "m", "w", "u", "s", "ArrowLeft", "x")  # the fifth is judged twice
    ada.saved()
    ada.page.reload()
    ada.page.wait_for_selector("#desk:not([aria-busy])")
    ada.press(*["z"] * 6, "z", "z")
    ada.expect("#progress", "0 of 8 judged")
    assert ada.text("#place") == "1"
    ada.saved()
    assert ada.verdicts(task) == [None] * 8
    ada.press("y", "y", "y", "y", "y")
    ada.saved()
    assert [row and (row["similar"], row["reason"]) for row in ada.verdicts(task)][:6] == [
        ("yes", ""), ("no", "motion"), ("", ""), ("unsure", ""), ("yes", ""), None,
    ]  # fmt: skip
    ada.press("Control+y")
    ada.saved()
    fifth = ada.verdicts(task)[4]
    assert fifth and fifth["reason"] == "other"
    ada.press("z", "b")  # a new verdict ends what could be redone
    ada.expect("#progress", "5 of 8 judged")
    assert ada.page.is_disabled("#redo")


def test_a_reload_in_the_middle_goes_on_where_it_was(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(6))
    ada = join()
    ada.work_on(task)
    for key, judged in (("s", 1), ("s", 2), ("m", 3)):
        ada.press(key)
        ada.expect("#progress", f"{judged} of 6 judged")
    ada.page.reload()
    ada.page.wait_for_selector("#desk:not([aria-busy])")
    ada.expect("#progress", "3 of 6 judged")
    assert ada.text("#place") == "4"
    ada.press("ArrowLeft")
    ada.page.wait_for_selector("[data-key=m][aria-pressed=true]")


def test_the_count_is_right_when_the_verdicts_of_a_reload_arrive_late(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(6))
    ada = join()
    ada.work_on(task)

    held: list[Route] = []
    counted: list[bool] = []

    def hold(route: Route) -> None:
        if counted:
            route.continue_()
        else:
            held.append(route)

    def count_first(route: Route) -> None:
        answer = route.fetch()  # without the verdicts that arrive right after it
        counted.append(True)
        held[-1].continue_()
        time.sleep(1)
        route.fulfill(response=answer)

    ada.page.route("**/api/events", lambda route: route.abort())
    ada.press("s", "s", "m")
    ada.expect("#progress", "3 of 6 judged")
    ada.page.unroute("**/api/events")
    ada.page.route("**/api/events", hold)
    ada.page.route(f"**/api/tasks/{task}", count_first, times=1)
    ada.page.on("dialog", lambda dialog: dialog.accept())
    ada.page.reload()
    ada.saved()
    ada.expect("#progress", "3 of 6 judged")
    assert ada.text("#place") == "4"


def test_verdicts_without_a_connection_are_kept_and_sent_once(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(10))
    ada = join()
    ada.work_on(task)
    ada.press("s")
    ada.saved()
    ada.context.set_offline(True)
    ada.press("m", "w", "z", "u")
    ada.expect("#save-state", "4 verdicts waiting for the server")
    ada.expect("#progress", "3 of 10 judged")
    ada.context.set_offline(False)
    ada.saved()
    given = [row and (row["label"], row["similar"]) for row in ada.verdicts(task)]
    assert given[:4] == [("right", "yes"), ("right", "no"), ("unsure", "unsure"), None]


def test_a_page_that_was_closed_without_a_connection_sends_its_verdicts_later(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(6))
    ada = join()
    ada.work_on(task)
    ada.context.set_offline(True)
    ada.press("s", "m")
    ada.expect("#save-state", "2 verdicts waiting")
    ada.page.close()
    ada.context.set_offline(False)
    ada.page = ada.open_page()
    ada.page.goto(server.address)
    ada.page.wait_for_selector("ul.tasks h2")
    ada.saved()
    assert sum(row is not None for row in ada.verdicts(task)) == 2


def test_a_killed_server_loses_nothing(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(10))
    ada = join()
    ada.work_on(task)
    ada.press("s", "s")
    server.kill()
    ada.press("m", "m")
    ada.expect("#save-state", "waiting for the server")
    server.start()
    ada.saved()
    reasons = [row and row["reason"] for row in ada.verdicts(task)]
    assert reasons[:5] == ["", "", "motion", "motion", None]


def test_one_key_shows_the_other_frame_in_place_and_zoom_is_the_same_in_both(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(3))
    ada = join()
    ada.work_on(task)
    boxes = "[...document.querySelectorAll('.pane .frame')].map((f) => f.getBoundingClientRect().x)"
    beside = ada.page.evaluate(boxes)
    assert beside[0] < beside[1]
    ada.press("f")
    in_place = ada.page.evaluate(boxes)
    assert in_place[0] == in_place[1]
    visible = "[...document.querySelectorAll('.pane')].map((p) => getComputedStyle(p).visibility)"
    assert ada.page.evaluate(visible) == ["hidden", "visible"]
    ada.press("f")
    assert ada.page.evaluate(visible) == ["visible", "hidden"]
    ada.press("+", "+", "Shift+ArrowRight")
    moved = ada.page.evaluate("[...document.querySelectorAll('.pane img')].map((i) => i.style.transform)")
    assert moved[0] == moved[1] and "scale(1.5625)" in moved[0]
    ada.press("g", "0")
    assert ada.page.evaluate(visible) == ["visible", "visible"]
    reset = ada.page.evaluate("document.querySelector('.pane img').style.transform")
    assert reset == "translate(0%, 0%) scale(1)"


def test_the_next_images_are_loaded_before_they_are_needed(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(12))
    ada = join()
    ada.work_on(task)
    ada.page.wait_for_function(
        "() => performance.getEntriesByType('resource').filter((e) => /.media./.test(e.name)).length >= 14"
    )
    ada.context.set_offline(True)
    ada.press("s", "s", "s")
    ada.page.wait_for_function(
        "() => [...document.querySelectorAll('.pane img')].every((i) => i.naturalWidth > 0)"
    )
    assert ada.text("#place") == "4"
    ada.context.set_offline(False)
    ada.saved()


def test_anchors_take_any_of_thousands_of_classes_by_keyboard_alone(server: ReviewServer, join: Join) -> None:
    classes = many_classes(5000)
    task = server.add_task("anchors", server.images(3, [classes[7].name]), classes=classes)
    ada = join()
    ada.work_on(task)
    ada.expect("#panel", "lizard 7")
    ada.press("/")
    ada.page.keyboard.type("truck 49")
    ada.page.wait_for_selector("[role=option][aria-selected=true]")
    ada.press("ArrowDown", "ArrowUp")
    chosen = ada.text("[role=option][aria-selected=true]").split(" n0")[0]
    ada.press("Enter")
    ada.expect("#panel .chips", chosen)
    ada.press("Escape", "g")
    ada.expect("#progress", "1 of 3 judged")
    ada.press("b")
    ada.saved()
    first, second, _ = ada.verdicts(task)
    titles = {row.name: row.title for row in classes}
    assert first and [titles[name] for name in first["labels"]] == ["lizard 7", chosen]
    assert second and second["status"] == "bad"


def test_blind_classification_hides_labels_and_takes_one_class(server: ReviewServer, join: Join) -> None:
    classes = many_classes(3000)
    task = server.add_task("blind", server.images(3, [classes[0].name]), classes=classes)
    ada = join()
    ada.work_on(task)
    assert "terrier 0" not in ada.text("body")
    ada.press("/")
    ada.page.keyboard.type("vase 2998")
    ada.page.wait_for_selector("[role=option][aria-selected=true]")
    ada.press("Enter")
    ada.expect("#progress", "1 of 3 judged")
    ada.press("u")
    ada.saved()
    given = [row and row["label"] for row in ada.verdicts(task)]
    assert given == ["n00002998", "", None]


def test_a_grid_of_images_is_selected_by_keys_and_by_pointer(server: ReviewServer, join: Join) -> None:
    task = server.add_task("select", server.images(30, ["dog", "cat"]))
    ada = join()
    ada.work_on(task)
    ada.press("a", "v", "m", "q", "u")
    ada.expect("#progress", "5 of 30 judged")
    ada.page.click(".tile >> nth=9")
    ada.press("ArrowDown", "ArrowUp", "a")
    ada.expect("#progress", "6 of 30 judged")
    ada.press("e")
    ada.page.wait_for_selector("dialog.large[open]")
    ada.press("Escape")
    ada.saved()
    given = [row and row["choice"] for row in ada.verdicts(task)]
    assert given[:6] == ["accept", "reject", "reject", "reject", "unsure", None] and given[9] == "accept"
    assert ada.page.get_attribute(".tile >> nth=9", "data-verdict") == "accept"


def practice_items(server: ReviewServer) -> list[NewItem]:
    """A pair that is similar and one that is not."""
    right = {"label": "right", "similar": "yes"}
    moved = {"label": "right", "similar": "no", "reason": "motion"}
    return [
        NewItem("same", (server.image("anchor", 900), server.image("frame", 900)), ("dog",),
                role="practice", answer=right, explanation="Nothing moves."),
        NewItem("moved", (server.image("anchor", 901), server.image("frame", 901, 90)), ("dog",),
                role="practice", answer=moved, explanation="It moves by half of the image."),
    ]  # fmt: skip


def test_the_practice_round_explains_is_scored_and_comes_first(server: ReviewServer, join: Join) -> None:
    items = [*server.pairs(4), *practice_items(server)]
    task = server.add_task("pairs", items, practice_pass=1.0, instructions="First.\n\nThen <b>look</b>.")
    ada = join()
    ada.page.goto(f"{server.address}/tasks/{task}")
    ada.page.wait_for_selector("#instructions[open]")
    assert "Then <b>look</b>." in ada.text("#instructions")
    ada.page.click("#close-instructions")
    ada.page.wait_for_selector("#desk:not([aria-busy])")
    for _ in range(2):
        ada.press("s")
        ada.page.wait_for_selector("#feedback")
        explained = ada.text("#feedback")
        assert ("Right." in explained) == ("Nothing moves." in explained)
        ada.press("Enter")
    ada.expect("#end", "1 of 2 right, 2 needed")
    refused = ada.context.request.get(f"{server.address}/api/tasks/{task}/items")
    assert refused.status == 403
    ada.page.click("#go-on")
    ada.press("m")
    ada.expect("#feedback", "Right.")
    ada.press("Enter")
    ada.expect("#end", "You have passed the practice round")
    ada.page.click("#go-on")
    ada.expect("#progress", "0 of 4 judged")
    ada.press("s")
    ada.expect("#progress", "1 of 4 judged")


def test_two_people_at_once_have_orders_of_their_own_and_do_no_work_twice(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(30), overlap=1)
    ada, ben = join("Ada"), join("Ben")
    ada.work_on(task)
    ben.work_on(task)
    for judged in range(1, 9):
        for person in (ada, ben):
            person.press("s")
            person.expect("#progress", f"{judged} of 30 judged")
    offered = []
    for person in (ada, ben):
        person.saved()
        items = person.json(f"/api/tasks/{task}/items?count=12")["items"]
        offered.append([item["item"] for item in items])
    assert not set(offered[0]) & set(offered[1])
    assert offered[0] != sorted(offered[0])


def test_conflicts_go_to_the_second_pass_and_its_decisions_count(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(3), overlap=2)
    for name, key in (("Ada", "s"), (HOSTILE[:40], "m")):
        person = join(name)
        person.work_on(task)
        person.press("n")
        person.page.keyboard.type(HOSTILE)
        person.press("Enter", *[key] * 3)
        person.page.wait_for_selector("#end:not([hidden])")
        person.saved()
    owner = join("Olga", "owner")
    owner.page.wait_for_selector(f"#task-{task}")
    section = owner.text(f"#task-{task}")
    assert "Second pass: 3 to decide" in section and "Agreement" in section
    owner.page.click(f"#task-{task} a.main")
    owner.page.wait_for_selector("#desk:not([aria-busy])")
    votes = owner.text(".votes")
    assert "Similar, label right" in votes and "Not similar: motion" in votes
    owner.press("s", "z", "s", "w")
    owner.saved()
    progress = owner.json(f"/api/owner/tasks/{task}/progress")
    assert (progress["accepted"], progress["rejected"], progress["conflicts"]) == (1, 1, 1)
    assert progress["resolved"] == 2
    owner.press("ArrowRight")
    owner.expect("#end", "1 conflict without a decision")
    owner.page.click("#end-back")
    owner.page.wait_for_selector("#desk:not([hidden])")
    owner.press("s")
    owner.expect("#end", "Every conflict has a decision")
    owner.press("z")
    owner.saved()
    owner.page.goto(f"{server.address}/owner")
    owner.page.wait_for_selector(f"#task-{task}")
    with owner.page.expect_download() as download:
        owner.page.click(f"#task-{task} a:has-text('verdicts.csv')")
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert [row["verdict"] for row in rows].count("accept") == 1
    assert {(row["verdict"], row["reviewer"]) for row in rows} == {
        ("accept", "second pass"), ("reject", "second pass"), ("unsure", "undecided"),
    }  # fmt: skip


def test_a_wrong_link_says_so_and_the_secret_leaves_the_address(
    server: ReviewServer, browser: Browser
) -> None:
    page = browser.new_page()
    page.goto(f"{server.address}/join#not-a-token")
    page.wait_for_selector("#failed:not([hidden])")
    assert "ask" in page.inner_text("#failed").lower()
    assert "not-a-token" not in page.url
    page.goto(server.address)
    page.wait_for_selector("#notice:not([hidden])")
    assert "Open your personal link" in page.inner_text("#notice")
    page.close()


def test_a_verdict_that_the_server_refuses_is_shown_and_taken_back(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(3))
    ada = join()
    ada.work_on(task)
    half = "() => { const note = document.querySelector('#note'); note.value = '\\ud800';"
    ada.page.evaluate(f"{half} note.dispatchEvent(new Event('input')); }}")
    ada.press("s")
    ada.expect("#notice", "surrogate")
    ada.expect("#progress", "0 of 3 judged")
    ada.expect("#save-state", "1 verdict refused")
    ada.page.click("#notice button")
    ada.saved()
    assert ada.verdicts(task) == [None] * 3
    assert ada.page.is_disabled("#undo")  # there is no step to undo
    ada.page.reload()
    ada.page.wait_for_selector("#desk:not([aria-busy])")
    assert ada.page.is_disabled("#undo")


def test_a_verdict_that_the_browser_cannot_store_is_taken_back_and_named(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(4))
    ada = join()
    ada.work_on(task)
    ada.press("s")
    ada.saved()
    ada.page.evaluate(
        """() => {
          window.works = IDBObjectStore.prototype.add;
          IDBObjectStore.prototype.add = () => {
            throw new DOMException("The disk is full.", "QuotaExceededError");
          };
        }"""
    )
    ada.press("m")
    ada.expect("#save-state", "1 verdict not stored")
    ada.expect("#lost", "The disk is full.")
    ada.expect("#progress", "1 of 4 judged")
    ada.page.evaluate("IDBObjectStore.prototype.add = window.works; 0")
    ada.press("ArrowRight", "w")  # another verdict does not make it good
    ada.expect("#progress", "2 of 4 judged")
    ada.expect("#save-state", "1 verdict not stored")
    ada.page.click("#lost button")
    ada.press("b")
    ada.saved()
    assert ada.page.is_hidden("#lost")
    assert [row and (row["label"], row["reason"]) for row in ada.verdicts(task)].count(
        ("right", "motion")
    ) == 0
    assert sum(row is not None for row in ada.verdicts(task)) == 3
    ada.press("z", "z", "z")
    ada.expect("#progress", "0 of 4 judged")
    assert ada.page.is_disabled("#undo")


def test_steps_that_a_new_verdict_ended_cannot_be_redone_after_a_reload(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(4))
    ada = join()
    ada.work_on(task)
    ada.press("s", "m", "z", "z")
    ada.expect("#progress", "0 of 4 judged")
    ada.press("w")
    ada.expect("#progress", "1 of 4 judged")
    ada.saved()
    ada.page.reload()
    ada.page.wait_for_selector("#desk:not([aria-busy])")
    assert ada.page.is_disabled("#redo") and ada.page.is_enabled("#undo")
    ada.press("y")
    ada.expect("#progress", "1 of 4 judged")
    ada.saved()
    assert [row and row["label"] for row in ada.verdicts(task)] == ["wrong", None, None, None]


def test_two_tabs_keep_the_steps_of_each_other(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(5))
    ada = join()
    ada.work_on(task)
    first = ada.page
    ada.page = ada.open_page()
    ada.work_on(task, instructions=False)
    second = ada.page
    ada.page = first
    ada.press("s")
    ada.expect("#progress", "1 of 5 judged")
    ada.page = second
    ada.press("ArrowRight", "m", "w")
    ada.expect("#progress", "2 of 5 judged")
    ada.saved()
    ada.page.reload()
    ada.page.wait_for_selector("#desk:not([aria-busy])")
    ada.expect("#progress", "3 of 5 judged")
    for left in (2, 1, 0):
        ada.press("z")
        ada.expect("#progress", f"{left} of 5 judged")
    assert ada.page.is_disabled("#undo")
    ada.saved()
    assert ada.verdicts(task) == [None] * 5


def test_a_page_sends_nothing_after_somebody_else_signed_in(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(4))
    ada = join()
    ada.work_on(task)
    ada.press("s")
    ada.saved()
    other = ada.open_page()
    other.goto(server.add_person("Ben"))
    other.wait_for_selector("ul.tasks h2")
    ada.press("m")
    ada.expect("#notice", "Somebody else signed in")
    ada.expect("#save-state", "1 verdict kept, not sent")
    ada.press("w")
    ada.expect("#live", "Somebody else signed in")
    assert ada.page.get_attribute("#notice a", "href") == "/join"
    assert ada.verdicts(task) == [None] * 4  # those of Ben, who is signed in
    other.goto(ada.link)
    other.wait_for_selector("ul.tasks h2")
    other.wait_for_function("() => document.querySelector('#save-state').innerText === 'All saved'")
    assert sorted(row["reason"] for row in ada.verdicts(task) if row) == ["", "motion"]


def test_a_page_takes_over_the_verdicts_that_the_server_has(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(4))
    ada = join()
    ada.work_on(task)
    first = ada.page
    ada.page = ada.open_page()
    ada.work_on(task, instructions=False)
    second = ada.page
    ada.page = first
    ada.press("s")
    ada.saved()
    ada.page = second
    ada.press("m")
    ada.saved()
    ada.page = first
    ada.press("z")  # the verdict of the other tab is in force now
    ada.page.wait_for_selector("[data-key=m][aria-pressed=true]")
    ada.expect("#progress", "1 of 4 judged")


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


def test_a_verdict_on_an_image_that_is_left_before_it_is_loaded_is_named(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(3))
    ada = join()
    held: list[Route] = []
    counted: list[bool] = []

    def hold(route: Route) -> None:
        if counted:
            route.continue_()
        else:
            held.append(route)

    ada.page.route("**/media/**", lambda route: held.append(route))
    ada.work_on(task)
    ada.page.keyboard.press("s")
    ada.expect("#live", "still loading")
    ada.page.keyboard.press("ArrowRight")
    ada.expect("#place", "2")
    for route in list(held):
        route.continue_()
    ada.expect("#failure", "the image of 1")
    ada.expect("#progress", "0 of 3 judged")


def test_verdict_keys_at_the_end_do_nothing_and_the_focus_stays_on_the_page(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(1))
    ada = join()
    ada.work_on(task)
    ada.page.click("[data-key=s]")
    ada.page.wait_for_selector("#end:not([hidden])")
    assert ada.page.evaluate("document.activeElement.id") == "end-back"
    ada.press("m", "n")
    ada.expect("#progress", "1 of 1 judged")
    assert ada.page.get_attribute(".tools", "role") == "group"


def test_a_note_and_classes_that_are_not_decided_yet_stay_with_their_item(
    server: ReviewServer, join: Join
) -> None:
    classes = many_classes(50)
    task = server.add_task("anchors", server.images(3, [classes[7].name]), classes=classes)
    ada = join()
    ada.work_on(task)
    ada.press("n")
    ada.page.keyboard.type("half a thought")
    ada.press("Enter")
    ada.page.click(".chips button")
    ada.expect("#panel", "No label yet")
    ada.page.evaluate("document.activeElement.blur()")
    ada.press("ArrowRight")
    ada.expect("#place", "2")
    assert ada.page.input_value("#note") == "" and "No label yet" not in ada.text("#panel")
    ada.press("ArrowLeft")
    ada.expect("#place", "1")
    assert ada.page.input_value("#note") == "half a thought" and "No label yet" in ada.text("#panel")


def test_the_practice_round_goes_on_after_the_server_was_away(server: ReviewServer, join: Join) -> None:
    items = [*server.pairs(2), *practice_items(server)]
    task = server.add_task("pairs", items, practice_pass=1.0)
    ada = join()
    ada.work_on(task)
    ada.page.route("**/practice", lambda route: route.abort())
    ada.press("s")
    ada.expect("#failure", "trying again")
    ada.page.unroute("**/practice")
    ada.page.wait_for_selector("#feedback")
    assert ada.page.is_hidden("#failure")


def test_signing_out_ends_the_session_and_the_link_opens_it_again(server: ReviewServer, join: Join) -> None:
    ada = join()
    ada.page.wait_for_selector("ul.tasks")
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
    ada.page.wait_for_selector("#desk:not([aria-busy])")
    assert HOSTILE in ada.text("#panel") and HOSTILE in ada.text("header")
    assert ada.page.evaluate("document.querySelectorAll('img[src=x]').length") == 0


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
        assert person.page.evaluate(fits), person.page.url

    ada.page.wait_for_selector("ul.tasks h2")
    check(ada)
    for task in tasks:
        ada.page.goto(f"{server.address}/tasks/{task}")
        ada.page.wait_for_selector("#instructions[open]")
        check(ada)
        ada.page.click("#close-instructions")
        ada.page.wait_for_selector("#desk:not([aria-busy])")
        check(ada)
    ada.press("?")
    check(ada)
    olga = join("Olga", "owner", **options)
    olga.page.wait_for_selector("#tasks section")
    check(olga)
    assert findings == []
