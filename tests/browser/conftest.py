"""Reports and reviews in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import windtunnel
from tests.browser.review_server import PATIENCE_MS, Join, Person, ReviewServer
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.suites.golden_digests import golden_image


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium; the tests need it and do not go without."""
    found = shutil.which("chromium")
    assert found, "no chromium on this machine; apt-get install chromium (make test does it)"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a file; afterwards nothing may have gone wrong in it, and nothing may have been asked for."""
    opened: list[Page] = []
    wrong: list[str] = []

    def call(path: Path, **options: object) -> Page:
        page = browser.new_page(**options)  # type: ignore[arg-type]
        opened.append(page)
        page.set_default_timeout(PATIENCE_MS)
        page.on(
            "console", lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: None if _inside(asked.url, path) else wrong.append(asked.url))
        page.goto(path.as_uri())
        return page

    yield call
    for page in opened:
        page.close()
    assert wrong == []


def _inside(url: str, path: Path) -> bool:
    return url.startswith(("data:", "blob:")) or url.split("#")[0] == path.as_uri()


CLASSES = 12


class NearestColour:
    """A model of 1,000 outputs that knows twelve classes by their mean colour, in some of the channels."""

    def __init__(self, known: np.ndarray, channels: int) -> None:
        self.name = self.fingerprint = f"nearest-in-{channels}"
        self.known, self.channels = known, channels

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        means = batch.reshape(len(batch), -1, 3).mean(axis=1)
        gaps = (means[:, None] - self.known[None])[:, :, : self.channels]
        logits = np.full((len(batch), 1000), -30, np.float32)
        logits[:, :CLASSES] = -(gaps**2).sum(axis=2) / 50
        return logits


@pytest.fixture(scope="session")
def imagenet_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two models of 1,000 classes on the fifteen corruptions of twelve images: run folders with reports."""
    root = tmp_path_factory.mktemp("imagenet")
    rng = np.random.default_rng(0)
    known = np.empty((CLASSES, 3))
    for number, name in enumerate(imagenet_1k().classes[:CLASSES]):
        (root / "val" / name).mkdir(parents=True)
        grain = rng.integers(-30, 31, (240, 240, 3)) + rng.integers(-60, 61, 3)
        pixels = np.clip(golden_image(240) + grain, 0, 255).astype(np.uint8)
        known[number] = pixels.mean(axis=(0, 1))
        Image.fromarray(pixels).save(root / "val" / name / f"{number}.JPEG", quality=92)
    for name, channels in (("all", 3), ("red", 1)):
        declared = root / f"{name}.toml"
        declared.write_text(f'preset = "imagenet"\nfamily = "colours"\nparameters = {CLASSES * channels}\n')
        model = NearestColour(known, channels)
        windtunnel.run(model, root / "val", "imagenet-c", preprocess=declared, out=root / name).report()
    return root / "all", root / "red"


@pytest.fixture(scope="session")
def natural_run(imagenet_runs: tuple[Path, Path]) -> Path:
    """One of these models on darker images in ImageNet-V2's layout, beside the clean ones: a run folder."""
    root = imagenet_runs[0].parent
    known = np.empty((CLASSES, 3))
    for number, name in enumerate(imagenet_1k().classes[:CLASSES]):
        pixels = np.asarray(Image.open(root / "val" / name / f"{number}.JPEG"))
        known[number] = pixels.mean(axis=(0, 1))
        folder = root / "imagenet-v2" / str(number)
        folder.mkdir(parents=True)
        darker = (pixels * (0.9 if number % 3 else 0.6)).astype(np.uint8)
        Image.fromarray(darker).save(folder / "0.png")
    declared = root / "natural.toml"
    declared.write_text("preset = 'imagenet'\nlabels = 'imagenet-1k'\ntags = ['colours']\n")
    model = windtunnel.load_model(NearestColour(known, 3), declared)
    out = root / "natural"
    windtunnel.run(model, root / "imagenet-v2", "imagenet-v2", clean=root / "val", out=out).report()
    return out


@pytest.fixture(scope="session")
def public_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of fifty models that nobody has made, at two image sizes."""
    folder = tmp_path_factory.mktemp("public")
    for file, lost in (("results-imagenet.csv", 0), ("results-imagenetv2-matched-frequency.csv", 12)):
        rows = [f"net{row},{224 + 64 * (row % 2)},{50 + row * 0.9 - lost},{row + 1}" for row in range(50)]
        (folder / file).write_text("\n".join(["model,img_size,top1,param_count", *rows]) + "\n")
    return folder


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's run folder, with its report and maps in it."""
    out = tmp_path_factory.mktemp("demo") / "run"
    windtunnel.run("demo", "demo", "demo", out=out).report(explain="demo")
    return out


@pytest.fixture(scope="session")
def steps_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every step of a pipeline swapped, on twelve JPEG images: a run folder with its report."""
    root = tmp_path_factory.mktemp("steps")
    rng = np.random.default_rng(5)
    for number in range(12):
        folder = root / "images" / str(number % 6)
        folder.mkdir(parents=True, exist_ok=True)
        small = rng.integers(0, 256, (9, 13, 3)).astype(np.uint8)
        Image.fromarray(small).resize((131, 90)).save(folder / f"{number}.jpg", quality=80)
    windtunnel.run(Flickering(300), root / "images", "systematic", out=root / "run").report()
    return root / "run"


class Flickering:
    """Six classes that follow each other as images grow lighter, as often as it is told."""

    def __init__(self, steps: int) -> None:
        self.name = self.fingerprint = f"flickering-{steps}"
        self.steps = steps

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        step = batch.mean(axis=(1, 2, 3)) / 255 * self.steps % 6
        return -np.abs(step[:, None] - np.arange(6)).astype(np.float32)


@pytest.fixture(scope="session")
def sequence_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two models on the ten sequences of twelve small images: run folders with reports."""
    root = tmp_path_factory.mktemp("sequences")
    rng = np.random.default_rng(3)
    for number in range(12):
        folder = root / "images" / str(number % 6)
        folder.mkdir(parents=True, exist_ok=True)
        small = rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)
        Image.fromarray(small).resize((32, 32)).save(folder / f"{number}.png")
    for steps in (100, 600):
        found = windtunnel.run(Flickering(steps), root / "images", "imagenet-p", out=root / str(steps))
        found.report()
    return root / "100", root / "600"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReviewServer]:
    """A review that is served."""
    served = ReviewServer(tmp_path_factory.mktemp("review") / "project")
    served.start()
    yield served
    served.close()


@pytest.fixture
def join(browser: Browser, server: ReviewServer) -> Iterator[Join]:
    """Open the link of a new person, or a given link; afterwards nothing may have gone wrong in the pages."""
    people: list[Person] = []

    def call(name: str = "Ada", role: str = "reviewer", link: str = "", **options: Any) -> Person:
        people.append(Person(browser, server, link or server.add_person(name, role), **options))
        return people[-1]

    yield call
    for person in people:
        person.context.close()
    assert [wrong for person in people for wrong in person.wrong] == []
