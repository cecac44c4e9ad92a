"""Undo, redo and reloads."""

from __future__ import annotations

from tests.browser.review_server import Join, ReviewServer


def test_undo_and_redo_go_back_to_the_start_also_after_a_reload(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(8))
    ada = join()
    ada.work_on(task)
    ada.press("s", "m", "w", "u", "s", "ArrowLeft", "x")  # the fifth is judged twice
    ada.saved()
    ada.reload()
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
    ada.reload()
    ada.expect("#progress", "3 of 6 judged")
    assert ada.text("#place") == "4"
    ada.press("ArrowLeft")
    ada.page.wait_for_selector("[data-key=m][aria-pressed=true]")


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
    ada.reload()
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
    ada.reload()
    ada.expect("#progress", "3 of 5 judged")
    for left in (2, 1, 0):
        ada.press("z")
        ada.expect("#progress", f"{left} of 5 judged")
    assert ada.page.is_disabled("#undo")
    ada.saved()
    assert ada.verdicts(task) == [None] * 5


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


def test_undo_goes_to_the_item_and_redo_to_where_the_person_was_after_it(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(6))
    ada = join()
    ada.work_on(task)
    ada.press("s", "ArrowRight", "m")  # on the first and the third
    ada.page.uncheck("#auto-advance")
    ada.press("w")  # on the fourth, without going on
    ada.press("z")
    ada.expect("#place", "4")
    ada.press("z")
    ada.expect("#place", "3")
    ada.press("z")
    ada.expect("#place", "1")
    ada.reload()
    for place in ("2", "4", "4"):
        ada.press("y")
        ada.expect("#place", place)
    ada.expect("#progress", "3 of 6 judged")


def test_redo_of_the_last_verdict_goes_to_the_end(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(2))
    ada = join()
    ada.work_on(task)
    ada.press("s", "m")
    ada.page.wait_for_selector("#end:not([hidden])")
    ada.press("z")
    ada.expect("#place", "2")
    ada.press("y")
    ada.page.wait_for_selector("#end:not([hidden])")
    ada.expect("#progress", "2 of 2 judged")
