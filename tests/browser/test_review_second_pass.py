"""The second pass of the owner."""

from __future__ import annotations

import csv

from tests.browser.review_server import HOSTILE, Join, ReviewServer


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
    owner.ready()
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


def test_a_decision_is_changed_in_another_browser(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(2), overlap=2)
    for name, key in (("Ada", "s"), ("Ben", "m")):
        person = join(name)
        person.work_on(task)
        person.press(key, key)
        person.page.wait_for_selector("#end:not([hidden])")
        person.saved()
    olga = join("Olga", "owner")
    olga.page.goto(f"{server.address}/owner/{task}/second-pass")
    olga.press("s", "s")
    olga.expect("#end", "Every conflict has a decision")
    olga.saved()
    progress = f"/api/owner/tasks/{task}/progress"
    assert olga.json(progress)["accepted"] == 2

    # The history for undo is that of a browser; a new decision is possible everywhere.
    there = join(link=olga.link)
    there.page.click(f"#task-{task} a:has-text('Change decisions')")
    there.expect("#end", "Every conflict has a decision")
    assert there.page.is_disabled("#undo")
    there.page.click("#end-back")
    there.page.wait_for_selector("[data-key=s][aria-pressed=true]")
    there.press("w")
    there.expect("#end", "Every conflict has a decision")
    there.saved()
    counts = there.json(progress)
    assert (counts["accepted"], counts["rejected"], counts["resolved"]) == (1, 1, 2)
    there.press("z")
    there.page.wait_for_selector("[data-key=s][aria-pressed=true]")
    there.saved()
    assert there.json(progress)["accepted"] == 2


def test_undo_in_the_second_pass_goes_to_its_item_in_whatever_order(server: ReviewServer, join: Join) -> None:
    task = server.add_task("pairs", server.pairs(3), overlap=2)
    for name, key in (("Ada", "s"), ("Ben", "m")):
        person = join(name)
        person.work_on(task)
        person.press(key, key, key)
        person.page.wait_for_selector("#end:not([hidden])")
        person.saved()
    olga = join("Olga", "owner")
    olga.page.goto(f"{server.address}/owner/{task}/second-pass")
    olga.ready()
    image = olga.page.get_attribute("#stage img", "src")
    olga.press("s")
    olga.saved()
    olga.reload()  # the items that are still to be decided come first now
    assert olga.page.get_attribute("#stage img", "src") != image
    olga.press("z")
    olga.page.wait_for_selector(f"#stage img[src='{image}']")
    olga.page.wait_for_selector("[data-key=s][aria-pressed=false]")
    olga.saved()
    assert olga.json(f"/api/owner/tasks/{task}/progress")["resolved"] == 0
