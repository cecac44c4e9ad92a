"""Pairs of frames: keys, notes, the two images, and images that cannot be loaded."""

from __future__ import annotations

from playwright.sync_api import Route

from tests.browser.review_server import HOSTILE, Join, ReviewServer


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
    for words in (
        "Similar, label right",
        "Bad anchor",
        "Undo",
        "Flip",
        "Next item, without a verdict",
        "note",
    ):
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


def test_a_changed_note_goes_with_the_verdict_that_is_clicked_next(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(3))
    ada = join()
    ada.work_on(task)
    ada.press("s", "ArrowLeft")
    ada.expect("#place", "1")
    ada.page.fill("#note", "the label is another one")
    ada.page.click("[data-key=w]")
    ada.expect("#place", "2")
    ada.saved()
    first = ada.verdicts(task)[0]
    assert first and (first["label"], first["note"]) == ("wrong", "the label is another one")


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
    ada.preloaded(14)
    ada.context.set_offline(True)
    ada.press("s", "s", "s")
    ada.page.wait_for_function(
        "() => [...document.querySelectorAll('.pane img')].every((i) => i.naturalWidth > 0)"
    )
    assert ada.text("#place") == "4"
    ada.context.set_offline(False)
    ada.saved()


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


def test_a_verdict_on_an_image_that_is_left_before_it_is_loaded_is_named(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(3))
    ada = join()
    held: list[Route] = []
    ada.page.route("**/media/**", lambda route: held.append(route))
    ada.work_on(task)
    ada.page.keyboard.press("s")
    ada.expect("#live", "still loading")
    ada.page.keyboard.press("ArrowRight")
    ada.expect("#place", "2")
    for route in list(held):
        route.continue_()
    ada.expect("#failure", "Item 1 has no new verdict")
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
