"""Selecting in a grid of images."""

from __future__ import annotations

from tests.browser.review_server import PHONE, Join, ReviewServer


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


def test_the_verdicts_do_not_cover_the_current_image_on_a_phone(server: ReviewServer, join: Join) -> None:
    task = server.add_task("select", server.images(30))
    ada = join(**PHONE)
    ada.work_on(task)
    for judged in range(1, 8):
        ada.page.click("[data-key=a]")
        ada.expect("#progress", f"{judged} of 30 judged")
    ada.ready()
    gap = """document.querySelector('#panel').getBoundingClientRect().top
      - document.querySelector('[aria-current=true]').getBoundingClientRect().bottom"""
    assert ada.page.evaluate(gap) >= 0
    seen = """() => ['previous', 'next', 'undo', 'redo', 'enlarge'].filter((id) => {
      const box = document.getElementById(id).getBoundingClientRect();
      const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      return top?.closest('button')?.id === id;
    })"""
    assert len(ada.page.evaluate(seen)) == 5
    covered = """document.querySelector('.tools').getBoundingClientRect().bottom
      - document.querySelector('[aria-current=true]').getBoundingClientRect().top"""
    assert ada.page.evaluate(covered) <= 0
    for _ in range(6):
        ada.page.click("#previous")
    ada.expect("#place", "2")
    ada.ready()
    assert ada.page.evaluate(covered) <= 0
    ada.page.click("#enlarge")
    ada.page.wait_for_selector("dialog.large[open]")
