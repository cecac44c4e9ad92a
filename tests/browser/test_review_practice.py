"""The practice round."""

from __future__ import annotations

from tests.browser.review_server import Join, ReviewServer, practice_items


def test_the_practice_round_explains_is_scored_and_comes_first(server: ReviewServer, join: Join) -> None:
    items = [*server.pairs(4), *practice_items(server)]
    task = server.add_task("pairs", items, practice_pass=1.0, instructions="First.\n\nThen <b>look</b>.")
    ada = join()
    ada.page.goto(f"{server.address}/tasks/{task}")
    ada.page.wait_for_selector("#instructions[open]")
    assert "Then <b>look</b>." in ada.text("#instructions")
    ada.page.click("#close-instructions")
    ada.ready()
    for _ in range(2):
        ada.press("s")
        ada.page.wait_for_selector("#feedback")
        explained = ada.text("#feedback")
        assert ("Correct." in explained) == ("Nothing moves." in explained)
        ada.press("Enter")
    ada.expect("#end", "1 of 2 correct, 2 needed")
    refused = ada.context.request.get(f"{server.address}/api/tasks/{task}/items")
    assert refused.status == 403
    ada.page.click("#go-on")
    ada.press("m")
    ada.expect("#feedback", "Correct.")
    ada.press("Enter")
    ada.expect("#end", "You have passed the practice round")
    ada.page.click("#go-on")
    ada.expect("#progress", "0 of 4 judged")
    ada.press("s")
    ada.expect("#progress", "1 of 4 judged")


def test_the_practice_round_goes_on_after_the_server_was_away(server: ReviewServer, join: Join) -> None:
    items = [*server.pairs(2), *practice_items(server)]
    task = server.add_task("pairs", items, practice_pass=1.0)
    ada = join()
    ada.work_on(task)
    ada.page.route("**/practice", lambda route: route.abort())
    ada.press("s")
    ada.expect("#failure", "Trying again")
    ada.page.unroute("**/practice")
    ada.page.wait_for_selector("#feedback")
    assert ada.page.is_hidden("#failure")


def test_practice_images_that_cannot_be_loaded_are_not_judged(server: ReviewServer, join: Join) -> None:
    items = [*server.pairs(2), *practice_items(server)]
    task = server.add_task("pairs", items, practice_pass=1.0)
    ada = join()
    ada.page.route("**/media/**", lambda route: route.abort())
    ada.work_on(task)
    ada.press("s")
    ada.expect("#failure", "Only “Unsure” is possible")
    assert not ada.page.query_selector("#feedback")
    assert ada.json(f"/api/tasks/{task}/practice")["score"]["answered"] == 0
    ada.press("u")
    ada.page.wait_for_selector("#feedback")
    assert ada.json(f"/api/tasks/{task}/practice")["score"]["answered"] == 1


def test_a_practice_note_survives_a_reload(server: ReviewServer, join: Join) -> None:
    items = [*server.pairs(2), *practice_items(server)]
    task = server.add_task("pairs", items, practice_pass=1.0)
    ada = join()
    ada.work_on(task)
    ada.page.fill("#note", "half a thought")
    ada.page.goto(f"{server.address}/tasks/{task}")
    ada.page.click("#close-instructions")
    ada.ready()
    assert ada.page.input_value("#note") == "half a thought"
