"""A review in a process of its own, and people who open its pages."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page

from windtunnel.review.records import ClassName, MediaFile, NewItem, TaskRecipe
from windtunnel.review.review import open_review

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
HOSTILE = "<img src=x onerror=alert(1)> </script><script>alert(2)</script>"
# Time limit for one step of a page, on a busy machine.
PATIENCE_MS = 90_000
READY = "() => document.querySelector('#desk:not([aria-busy])')"
LOADED = "() => [...document.querySelectorAll('#stage img')].every((image) => image.complete)"

# Controls with less than 44 pixels; a check box has the size of its label.
SMALL_TARGETS = """() => [...document.querySelectorAll('button, a, input, select, textarea, summary')]
  .filter((control) => control.checkVisibility() && !control.closest('.skip, svg'))
  .map((control) => [control, control.type === 'checkbox' ? control.closest('label') : control])
  .map(([control, target]) => [control, target.getBoundingClientRect()])
  .filter(([, box]) => box.width < 43.5 || box.height < 43.5)
  .map(([control, box]) => `${control.outerHTML.slice(0, 200)}: ${box.width} x ${box.height}`)"""

SERVE = """
import sys
from pathlib import Path
from windtunnel.review.review import open_review
from windtunnel.web.review_app import review_app
from windtunnel.web.server import listen, serve

with open_review(Path(sys.argv[1])) as review:
    serve(review_app(review, ("127.0.0.1",)), listen("127.0.0.1", int(sys.argv[2])))
"""


class ReviewServer:
    """A project with tasks, and the process that serves it; it can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "media").mkdir(parents=True)
        self.review = open_review(folder, create=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self._cookies = CookieJar()
        self._client = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies))

    def start(self) -> None:
        """Start the process and wait until it answers."""
        self._process = subprocess.Popen([sys.executable, "-c", SERVE, str(self.folder), str(self.port)])
        self._wait_for(f"{self.address}/join")

    def _wait_for(self, url: str) -> None:
        """Wait until the server has a page."""
        for _ in range(600):
            try:
                self._client.open(url, timeout=30).close()
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise AssertionError(f"the review server does not serve {url}")

    def kill(self) -> None:
        """End the process at once, as a power cut would."""
        assert self._process
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End everything."""
        self.kill()
        self.review.close()

    def add_task(self, kind: str, items: Sequence[NewItem], **settings: Any) -> str:
        """Create a task; returns its name once the server knows it too."""
        name = f"{kind}-{secrets.token_hex(4)}"
        recipe = TaskRecipe(**{"title": f"Task {name}", "source": "tests", "check_every": 0, **settings})
        self.review.create_task(name, kind, recipe, items)
        self._sign_in()
        self._wait_for(f"{self.address}/api/tasks/{name}")
        return name

    def _sign_in(self) -> None:
        """Sign in as somebody who only asks for tasks."""
        if not self._cookies:
            _, token = self.review.add_person(f"Nobody {secrets.token_hex(4)}", "reviewer")
            headers = {"Content-Type": "application/json", "Origin": self.address}
            body = json.dumps({"token": token}).encode()
            asked = urllib.request.Request(f"{self.address}/api/session", body, headers)
            self._client.open(asked, timeout=30).close()

    def add_person(self, name: str, role: str = "reviewer") -> str:
        """Add a person with this name and a number; returns the link."""
        _, token = self.review.add_person(f"{name} {secrets.token_hex(4)}", role)
        return f"{self.address}/join#{token}"

    def image(self, role: str, seed: int, shift: int = 0) -> MediaFile:
        """An image of a random texture, which may be shifted to the right."""
        file = self.folder / "media" / f"{role}-{seed}-{shift}.png"
        if not file.exists():
            small = np.random.default_rng(seed).integers(0, 256, (6, 9, 3), np.uint8)
            large = Image.fromarray(small).resize((180, 120), Image.Resampling.BICUBIC)
            Image.fromarray(np.roll(np.asarray(large), shift, axis=1)).save(file)
        return MediaFile(role=role, file=f"media/{file.name}", width=180, height=120)

    def pairs(self, count: int, label: str = "dog") -> list[NewItem]:
        """Pairs of an anchor and a frame that is shifted by ten pixels."""
        return [
            NewItem(
                f"pair {n}",
                (self.image("anchor", n), self.image("frame", n, 10)),
                (label,),
                {"set": f"set-{n}", "frame": 7, "anchor": 5},
            )
            for n in range(count)
        ]

    def images(self, count: int, labels: Sequence[str] = ("dog",)) -> list[NewItem]:
        """Single images, with labels in turn."""
        return [
            NewItem(f"image {n}", (self.image("image", n),), (labels[n % len(labels)],), {"id": f"image-{n}"})
            for n in range(count)
        ]


def practice_items(server: ReviewServer) -> list[NewItem]:
    """A pair that is similar and one that is not."""
    right = {"label": "right", "similar": "yes"}
    moved = {"label": "right", "similar": "no", "reason": "motion"}
    return [
        NewItem("same", (server.image("anchor", 900), server.image("frame", 900)), ("dog",),
                role="practice", answer=right, explanation="Nothing moves."),
        NewItem("moved", (server.image("anchor", 901), server.image("frame", 901, 90)), ("dog",),
                role="practice", answer=moved, explanation="It moves by half of the image."),
    ]  # fmt: skip


def many_classes(count: int) -> tuple[ClassName, ...]:
    """Classes with names like WordNet ids, and words."""
    words = ("terrier", "beetle", "lizard", "vase", "truck")
    return tuple(ClassName(f"n{n:08d}", f"{words[n % 5]} {n}") for n in range(count))


class Person:
    """Somebody with a browser of their own at a review."""

    def __init__(self, browser: Browser, server: ReviewServer, link: str, **options: Any) -> None:
        self.server, self.link = server, link
        self.context: BrowserContext = browser.new_context(**options)
        self.context.set_default_timeout(PATIENCE_MS)
        self.wrong: list[str] = []
        self.page = self.open_page()
        self.page.goto(link)
        self.page.wait_for_url(lambda url: "/join" not in url)
        self.page.wait_for_selector("#tasks:not([aria-busy])")

    def open_page(self) -> Page:
        """Another page of this browser; what goes wrong in it is collected."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda line: self._console(line.type, line.text))
        page.on("request", lambda asked: self._request(asked.url))
        return page

    def _console(self, kind: str, text: str) -> None:
        # A browser logs every request that fails; tests take the network away on purpose.
        if kind in ("error", "warning") and not text.startswith("Failed to load resource"):
            self.wrong.append(text)

    def _request(self, url: str) -> None:
        if not url.startswith((self.server.address, "data:", "blob:")):
            self.wrong.append(url)

    def work_on(self, task: str, *, instructions: bool = True) -> None:
        """Open the work page of a task, and close its instructions."""
        self.page.goto(f"{self.server.address}/tasks/{task}")
        if instructions:
            self.page.click("#close-instructions")
        self.ready()

    def ready(self) -> None:
        """Wait until the page shows an item or the end; images may still be loading."""
        self.page.wait_for_function(READY)

    def reload(self) -> None:
        """Load the page again."""
        self.page.reload()
        self.ready()

    def press(self, *keys: str) -> None:
        """Press keys one after another, each when the item and its images are on the screen."""
        for key in keys:
            self.ready()
            self.page.wait_for_function(LOADED)
            self.page.keyboard.press(key)
        self.ready()

    def preloaded(self, images: int) -> None:
        """Wait until this many images are loaded; those of later items are loaded ahead."""
        self.page.wait_for_function(
            """(images) => performance.getEntriesByType('resource')
              .filter((entry) => entry.name.includes('/media/')).length >= images""",
            arg=images,
        )

    def text(self, selector: str) -> str:
        """The text of an element."""
        return self.page.inner_text(selector)

    def expect(self, selector: str, text: str) -> None:
        """Wait until an element contains a text."""
        self.page.wait_for_function(
            "([selector, text]) => document.querySelector(selector)?.innerText.includes(text)",
            arg=[selector, text],
        )

    def saved(self) -> None:
        """Wait until everything is saved."""
        self.expect("#save-state", "All saved")

    def verdicts(self, task: str) -> list[Mapping[str, Any] | None]:
        """The verdicts of this person in the order of their queue, from the server."""
        items = self.json(f"/api/tasks/{task}/items?count=100")["items"]
        return [item["verdict"] for item in items]

    def json(self, path: str) -> Any:
        """What the server answers to this person."""
        answer = self.context.request.get(f"{self.server.address}{path}")
        assert answer.ok, answer.text()
        return json.loads(answer.text())


Join = Callable[..., Person]


def serious_findings(page: Page) -> list[str]:
    """What axe-core finds on a page that is serious or critical."""
    axe = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
    page.evaluate(f"{axe}; 0")
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def small_targets(page: Page) -> list[str]:
    """Controls of a page that are too small for a finger."""
    found: list[str] = page.evaluate(SMALL_TARGETS)
    return found
