"""Verdicts reach the server once, whatever happens on the way."""

from __future__ import annotations

import itertools

from playwright.sync_api import Route

from tests.browser.review_server import Join, ReviewServer


def test_the_count_is_right_when_the_verdicts_of_a_reload_arrive_late(
    server: ReviewServer, join: Join
) -> None:
    task = server.add_task("pairs", server.pairs(6))
    ada = join()
    ada.work_on(task)
    reachable = False

    def count_first(route: Route) -> None:
        nonlocal reachable
        answer = route.fetch()  # without the verdicts, which arrive before the page has this answer
        reachable = True
        for _ in range(600):
            people = server.review.progress(server.review.task(task)).people
            if sum(person.judged for person in people) == 3:
                break
            ada.page.wait_for_timeout(50)
        route.fulfill(response=answer)

    ada.page.route("**/api/events", lambda route: route.continue_() if reachable else route.abort())
    ada.press("s", "s", "m")
    ada.expect("#progress", "3 of 6 judged")
    ada.expect("#save-state", "3 verdicts waiting")
    ada.page.route(f"**/api/tasks/{task}", count_first, times=1)
    ada.page.on("dialog", lambda dialog: dialog.accept())
    ada.reload()
    ada.saved()
    ada.expect("#progress", "3 of 6 judged")
    assert ada.text("#place") == "4"


def test_verdicts_without_a_connection_are_kept_and_sent_once(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(10))
    ada = join()
    ada.work_on(task)
    ada.preloaded(14)
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
    ada.preloaded(12)
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


def test_times_of_events_increase_when_the_clock_is_set_back(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(6))
    ada = join()
    ada.work_on(task)
    ada.press("s", "s")
    ada.saved()
    ada.page.evaluate("() => { const now = Date.now; Date.now = () => now() - 3_600_000; }")
    ada.press("z", "m")
    ada.saved()
    ada.page.add_init_script("const now = Date.now; Date.now = () => now() - 7_200_000;")
    ada.reload()
    ada.press("z", "w")
    ada.saved()
    times = [row["client_time"] for row in server.review.event_rows(server.review.task(task))]
    assert len(times) == 6
    assert all(earlier < later for earlier, later in itertools.pairwise(times))


def test_a_killed_server_loses_nothing(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(10))
    ada = join()
    ada.work_on(task)
    ada.preloaded(14)
    ada.press("s", "s")
    server.kill()
    ada.press("m", "m")
    ada.expect("#save-state", "waiting for the server")
    server.start()
    ada.saved()
    reasons = [row and row["reason"] for row in ada.verdicts(task)]
    assert reasons[:5] == ["", "", "motion", "motion", None]


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
    ada.reload()
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
    ada.expect("#save-state", "1 verdict not saved")
    ada.expect("#lost", "The disk is full.")
    ada.expect("#progress", "1 of 4 judged")
    ada.page.evaluate("IDBObjectStore.prototype.add = window.works; 0")
    ada.press("ArrowRight", "w")  # another verdict does not make it good
    ada.expect("#progress", "2 of 4 judged")
    ada.expect("#save-state", "1 verdict not saved")
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
    ada.expect("#notice", "Another person has signed in")
    ada.expect("#save-state", "1 verdict saved in this browser, not sent")
    ada.expect("#live", "not sent")  # announced after a while; nothing else is from here on
    for key in ("w", "z", "y"):
        ada.page.evaluate("document.querySelector('#live').textContent = ''")
        ada.press(key)
        ada.expect("#live", "Another person has signed in")
        ada.expect("#progress", "2 of 4 judged")
    ada.page.evaluate("document.querySelector('#live').textContent = ''")
    ada.page.click("#undo")
    ada.expect("#live", "Another person has signed in")
    ada.expect("#save-state", "1 verdict saved in this browser, not sent")
    assert ada.page.get_attribute("#notice a", "href") == "/join"
    assert ada.verdicts(task) == [None] * 4  # those of Ben, who is signed in
    other.goto(ada.link)
    other.wait_for_selector("ul.tasks h2")
    other.wait_for_function("() => document.querySelector('#save-state').innerText === 'All saved'")
    assert sorted(row["reason"] for row in ada.verdicts(task) if row) == ["", "motion"]
