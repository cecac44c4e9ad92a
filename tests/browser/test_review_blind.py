"""Blind classification: one class, without the labels."""

from __future__ import annotations

from tests.browser.review_server import LOADED, Join, ReviewServer, many_classes
from windtunnel.review.records import ClassName


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


ANIMALS = tuple(ClassName(name) for name in ("caterpillar", "cat", "hot dog", "dog"))


def test_enter_takes_a_class_of_the_text_in_the_field_at_once(server: ReviewServer, join: Join) -> None:
    task = server.add_task("blind", server.images(4), classes=ANIMALS)
    ada = join()
    ada.work_on(task)
    # Everything within one moment: no list of an earlier text may be used, and no Enter may be ignored.
    hurried = """(texts) => {
      const field = document.querySelector('#class-search');
      for (const text of texts) {
        field.value = text;
        field.dispatchEvent(new Event('input', {bubbles: true}));
      }
      field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true}));
    }"""
    for judged, texts in enumerate((["ca", "dog"], ["dog", "cat"], ["cater"]), start=1):
        ada.page.wait_for_function(LOADED)
        ada.page.evaluate(hurried, texts)
        ada.expect("#progress", f"{judged} of 4 judged")
        ada.expect("#place", f"{judged + 1}")
        ada.ready()
    ada.page.evaluate(hurried, ["dog", "zebra"])
    ada.expect(".matches", "No class matches “zebra”.")
    ada.saved()
    assert [row and row["label"] for row in ada.verdicts(task)] == ["dog", "cat", "caterpillar", None]


def test_classes_are_searched_without_the_server(server: ReviewServer, join: Join) -> None:
    classes = many_classes(3000)
    task = server.add_task("blind", server.images(3), classes=classes)
    ada = join()
    ada.work_on(task)
    ada.preloaded(3)
    ada.context.set_offline(True)
    for text in ("2998 VASE", "n00000004"):
        ada.press("/")
        ada.page.keyboard.type(text)
        ada.press("Enter")
    ada.expect("#progress", "2 of 3 judged")
    ada.context.set_offline(False)
    ada.saved()
    assert [row and row["label"] for row in ada.verdicts(task)] == ["n00002998", "n00000004", None]
