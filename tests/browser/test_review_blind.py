"""Blind classification: one class, without the labels."""

from __future__ import annotations

from tests.browser.review_server import Join, ReviewServer, many_classes


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
