"""Small curation projects with a review: images and frame sets, tasks of every kind, people.

`python -m tests.review_projects FOLDER` makes one, serves it on a free port and prints everybody's link.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from windtunnel import api
from windtunnel.curate.frame_tables import IMAGES_FOLDER, SetFrame, VideoPart, VideoRow, write_tables
from windtunnel.curate.project import Project, open_project
from windtunnel.data import content_hash
from windtunnel.review.item_sources import class_names, task_items
from windtunnel.review.records import NewItem, TaskRecipe
from windtunnel.review.review import Review

CLASSES = ("cat", "dog", "fox")
REVIEWERS = ("Ann", "Bob", "Cid")
OWNER = "Olga"
# What practice and check items of each kind are answered with.
ANSWERS = {
    "select": {"choice": "accept"},
    "blind": None,
    "anchors": None,
    "pairs": {"label": "right", "similar": "yes"},
}


def make_project(folder: Path, per_class: int = 8, sets: int = 4, reach: int = 3) -> Project:
    """A project with stored images of three classes and frame sets of `2 * reach + 1` frames."""
    rng = np.random.default_rng(5)
    for number, name in enumerate(CLASSES):
        images = folder.parent / f"{folder.name}-images" / name
        images.mkdir(parents=True, exist_ok=True)
        for copy in range(per_class):
            drawn(f"{name} {copy}", rng, number).save(images / f"{copy}.jpg", quality=90)
    api.collect_candidates(folder.parent / f"{folder.name}-images", folder)
    project = open_project(folder)
    if sets:
        add_frame_sets(project, sets, reach)
    return project


def drawn(text: str, rng: np.random.Generator, hue: int = 0, shift: int = 0) -> Image.Image:
    """An image of 160 x 120 with a text and a disc."""
    ground = np.full((120, 160, 3), 90, np.uint8)
    ground[..., hue % 3] = 170
    grain = rng.integers(-20, 21, ground.shape)
    image = Image.fromarray(np.clip(ground + grain, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    draw.ellipse((40 + shift, 40, 80 + shift, 80), fill=(240, 240, 200))
    draw.text((8, 8), text, fill=(255, 255, 255))
    return image


def add_frame_sets(project: Project, sets: int, reach: int, wrong: Collection[tuple[int, int]] = ()) -> None:
    """Store frame sets as if they came from videos; `wrong` frames have the colour of another class.

    Args:
        project: the project.
        sets: the number of videos, with one set each.
        reach: frames on each side of the anchor.
        wrong: numbers of sets and offsets.
    """
    rng = np.random.default_rng(6)
    parts = []
    for number in range(sets):
        video, label = f"video{number}", CLASSES[number % len(CLASSES)]
        frames = []
        for offset in range(-reach, reach + 1):
            index = 100 + offset
            file = f"{IMAGES_FOLDER}/{video}/{index:06d}.png"
            path = project.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            hue = number + ((number, offset) in wrong)
            drawn(f"{video} {index}", rng, hue, 3 * offset).save(path)
            frames.append(
                SetFrame(
                    set=f"{video}/000100",
                    video=video,
                    video_name=video,
                    index=index,
                    offset=offset,
                    pts=index,
                    time=index / 30,
                    id=content_hash(path.read_bytes()),
                    file=file,
                    width=160,
                    height=120,
                    labels=(label,),
                    label_status="propagated" if offset else "weak",
                    boxes="[]",
                    difference=None,
                    histogram_distance=None,
                    ssim=None,
                    flags=(),
                    cut_off="",
                )
            )
        row = VideoRow(id=video, name=video, path=f"{video}.mp4", sets=1, frames=len(frames))
        parts.append(VideoPart(row, tuple(frames)))
    with project.locked():
        write_tables(project, parts)


def add_tasks(review: Review, project: Project, overlap: int = 2, practice: int = 2, checks: int = 1) -> None:
    """A task of every kind, each with practice and check items."""
    for kind in ("anchors", "pairs", "select", "blind"):
        source = "video" if kind in ("anchors", "pairs") else "candidates"
        items = task_items(project, kind, source)
        known = 0 if kind == "anchors" else practice + checks
        answered = [
            NewItem(
                item.key,
                item.media,
                item.labels,
                item.facts,
                "practice" if place < practice else "check",
                ANSWERS[kind] or {"label": item.labels[0]},
                f"The image says {item.labels[0]}." if place < practice else "",
            )
            for place, item in enumerate(items[:known])
        ]
        recipe = TaskRecipe(
            title=f"{kind.capitalize()} of the demo",
            source=source,
            instructions="Look at the whole image first.\n\nJudge what you see, not what you expect.",
            overlap=overlap,
            check_every=5,
            classes=class_names(items),
        )
        review.create_task(kind, kind, recipe, [*answered, *items[known:]])


def make_review(folder: Path, database: str | None = None, **options: int) -> dict[str, str]:
    """A project with tasks and people; returns everybody's secret."""
    project = make_project(folder)
    with api.open_review(folder, database, create=True) as review:
        add_tasks(review, project, **options)
        secrets = {name: review.add_person(name, "reviewer")[1] for name in REVIEWERS}
        return secrets | {OWNER: review.add_person(OWNER, "owner")[1]}


def main() -> None:
    """Make a project and serve it."""
    from windtunnel.web.review_app import review_app
    from windtunnel.web.server import LOOPBACK_NAMES, listen, serve

    folder = Path(sys.argv[1])
    secrets = make_review(folder)
    opened = listen("127.0.0.1", 0)
    for name, secret in secrets.items():
        print(f"{name}: http://127.0.0.1:{opened.getsockname()[1]}/join#{secret}", flush=True)
    with api.open_review(folder) as review:
        serve(review_app(review, LOOPBACK_NAMES), opened)


if __name__ == "__main__":
    main()
