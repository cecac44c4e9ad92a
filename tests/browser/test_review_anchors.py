"""Anchors: any number of thousands of classes."""

from __future__ import annotations

from tests.browser.review_server import Join, ReviewServer, many_classes


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
    ada.expect("#panel", "No class chosen yet")
    ada.page.evaluate("document.activeElement.blur()")
    ada.press("ArrowRight")
    ada.expect("#place", "2")
    assert ada.page.input_value("#note") == "" and "No class chosen yet" not in ada.text("#panel")
    ada.press("ArrowLeft")
    ada.expect("#place", "1")
    assert ada.page.input_value("#note") == "half a thought" and "No class chosen yet" in ada.text("#panel")


def test_a_note_and_classes_survive_a_reload_until_the_verdict(server: ReviewServer, join: Join) -> None:
    classes = many_classes(50)
    task = server.add_task("anchors", server.images(3, [classes[7].name]), classes=classes)
    ada = join()
    ada.work_on(task)
    ada.press("n")
    ada.page.keyboard.type("half a thought")
    ada.press("Escape", "/")
    ada.page.keyboard.type("truck 49")
    ada.page.wait_for_selector("[role=option][aria-selected=true]")
    ada.press("Enter")
    ada.expect("#panel .chips", "truck 49")
    ada.reload()
    assert ada.page.input_value("#note") == "half a thought"
    ada.expect("#panel .chips", "truck 49")
    ada.expect("#panel .chips", "lizard 7")
    ada.expect("#progress", "0 of 3 judged")
    ada.press("g")
    ada.expect("#place", "2")
    assert ada.page.input_value("#note") == ""
    ada.saved()
    first = ada.verdicts(task)[0]
    assert first and (first["note"], first["labels"]) == ("half a thought", ["n00000007", "n00000049"])
    # The draft ends with the verdict; undo brings it back, also after a reload.
    ada.reload()
    ada.press("ArrowLeft")
    ada.expect("#place", "1")
    ada.page.fill("#note", "changed")
    ada.expect("#not-saved", "Not saved yet")
    ada.press("Enter")
    ada.page.wait_for_function("() => !document.querySelector('#not-saved').textContent")
    ada.press("z", "z")
    ada.expect("#progress", "0 of 3 judged")
    ada.reload()
    assert ada.page.input_value("#note") == "half a thought"
    ada.expect("#panel .chips", "truck 49")


def test_a_changed_note_survives_a_reload_and_is_saved_by_enter(server: ReviewServer, join: Join) -> None:
    classes = many_classes(50)
    task = server.add_task("anchors", server.images(2, [classes[7].name]), classes=classes)
    ada = join()
    ada.work_on(task)
    ada.press("g", "ArrowLeft")
    ada.expect("#place", "1")
    ada.page.fill("#note", "a later thought")
    ada.expect("#not-saved", "Not saved yet")
    ada.reload()
    ada.press("ArrowLeft")
    ada.expect("#place", "1")
    assert ada.page.input_value("#note") == "a later thought"
    ada.expect("#not-saved", "Not saved yet")
    ada.press("n", "Enter")
    ada.page.wait_for_function("() => !document.querySelector('#not-saved').textContent")
    ada.saved()
    first = ada.verdicts(task)[0]
    assert first and first["note"] == "a later thought" and first["status"] == "good"
