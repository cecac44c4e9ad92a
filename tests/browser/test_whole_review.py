"""A whole review in the browser: three people who disagree, the second pass, and the exported set."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.review_server import PATIENCE_MS
from tests.review_projects import make_project

COMMAND = [sys.executable, "-m", "windtunnel"]
# The verdicts of the three people on the four pairs, in the order of the pairs' public ids.
VERDICTS = {"Ann": "ssms", "Bob": "ssmm", "Cid": "smsu"}


def output(*arguments: object) -> Any:
    """The JSON output of a command."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments), "--json"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two frame sets of an anchor and two neighbours."""
    return make_project(tmp_path_factory.mktemp("whole") / "cars", per_class=1, sets=2, reach=1).folder


@pytest.fixture(scope="module")
def address(project: Path) -> Iterator[str]:
    """The address of the project's review."""
    output("review", "create", project, "pairs", "--kind", "pairs", "--overlap", 3)
    server = subprocess.Popen(
        [*COMMAND, "review", "serve", str(project), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr
    yield re.findall(r"http://\S+", server.stderr.readline())[0]
    server.terminate()
    server.wait()


def sign_in(browser: Browser, link: str) -> Page:
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(link)
    page.wait_for_url(lambda url: "/join" not in url)
    return page


def judge(page: Page, address: str, verdicts: str) -> None:
    """Give a verdict on every pair of the task `pairs`."""
    items = page.request.get(f"{address}/api/tasks/pairs/items?count=100").json()["items"]
    keys = dict(zip(sorted(item["item"] for item in items), verdicts, strict=True))
    page.goto(f"{address}/tasks/pairs")
    page.click("#close-instructions")
    page.wait_for_selector("#desk:not([aria-busy])")
    for number in range(1, len(keys) + 1):
        page.wait_for_function(
            "() => [...document.querySelectorAll('#stage img')].every((image) => image.complete)"
        )
        item = (page.get_attribute("#stage img", "src") or "").split("/")[3]
        page.keyboard.press(keys[item])
        page.wait_for_function(
            "(text) => document.querySelector('#progress').innerText.startsWith(text)", arg=f"{number} of"
        )
    saved(page)
    page.context.close()


def saved(page: Page) -> None:
    page.wait_for_function("() => document.querySelector('#save-state').innerText === 'All saved'")


def test_three_people_disagree_and_the_set_has_what_they_decide(
    project: Path, address: str, browser: Browser, tmp_path: Path
) -> None:
    links = {
        row["name"]: row["link"]
        for extra in (list(VERDICTS), ["Olga", "--owner"])
        for row in output("review", "people", project, *extra, "--address", address)
    }
    for name, verdicts in VERDICTS.items():
        judge(sign_in(browser, links[name]), address, verdicts)

    owner = sign_in(browser, links["Olga"])
    owner.wait_for_selector("#task-pairs")
    # By hand. Votes on acceptance: AAA, AAR, RRA, ARU. Two votes agree in 1, 1/3, 1/3 and 0 of the cases.
    # Fleiss: shares 7/12, 4/12, 1/12, so by chance 66/144. Krippendorff: 1 - (7/12) / (1 - 54/132).
    (accepted, *_) = owner.request.get(f"{address}/api/owner/tasks/pairs/agreement").json()["questions"]
    assert accepted["question"] == "accepted" and accepted["items"] == 4
    assert accepted["percent"]["value"] == pytest.approx(5 / 12)
    assert accepted["fleiss_kappa"]["value"] == pytest.approx((5 / 12 - 66 / 144) / (1 - 66 / 144))
    assert accepted["krippendorff_alpha"]["value"] == pytest.approx(1 - (7 / 12) / (1 - 54 / 132))
    assert "41.7 %" in owner.inner_text("#task-pairs") and "0.013" in owner.inner_text("#task-pairs")

    owner.click("#task-pairs a:has-text('Second pass: 1 to decide')")
    owner.wait_for_selector("#desk:not([aria-busy])")
    assert [line.split(":")[0] for line in owner.inner_text(".votes ul").splitlines()] == [
        "Ann",
        "Bob",
        "Cid",
    ]
    owner.keyboard.press("w")
    owner.wait_for_selector("#end:not([hidden])")
    saved(owner)
    owner.context.close()

    made = output("review", "export", project, "pairs", "--out", tmp_path / "review")
    assert (made["accepted"], made["rejected"], made["conflicts"], made["votes"]) == (2, 2, 0, 12)
    with (tmp_path / "review" / "verdicts.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["verdict"] for row in rows if row["reviewer"] == "second pass") == ["reject"]
    # The rejected pairs are those of the third and the fourth id; an accepted frame keeps its set's anchor.
    rejected = {(row["set"], row["frame"]) for row in rows if row["reviewer"] == "second pass"}
    votes: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        votes.setdefault((row["set"], row["frame"]), []).append(row["verdict"])
    rejected |= {pair for pair, given in votes.items() if given.count("reject") == 2}
    kept = {(video, frame) for video, frame in votes if (video, frame) not in rejected}
    assert len(rejected) == len(kept) == 2
    for name, options in (("all", []), ("reviewed", ["--reviewed", tmp_path / "review" / "verdicts.csv"])):
        output("curate", "export", project, "--step", "video", "--out", tmp_path / name, *options)
    assert len(list((tmp_path / "all").rglob("*.png"))) == 6
    assert len(list((tmp_path / "reviewed").rglob("*.png"))) == 2 + len({video for video, _ in kept})
