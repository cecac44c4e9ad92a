"""A task of the kind select in a review, people who judge it, and what it has."""

from __future__ import annotations

import uuid
from typing import Any

from windtunnel.review.records import MediaFile, NewEvent, NewItem, Person, TaskRecipe
from windtunnel.review.review import Review

ACCEPT, REJECT, UNSURE = ({"choice": word} for word in ("accept", "reject", "unsure"))


def items(count: int, role: str = "work", **more: Any) -> list[NewItem]:
    return [
        NewItem(
            f"{role} {number}",
            (MediaFile("image", f"media/{number}.png"),),
            ("cat",),
            {"id": f"{role} {number}"},
            role,
            **more,
        )
        for number in range(count)
    ]


def select_task(review: Review, count: int, extra: tuple[NewItem, ...] = (), **recipe: Any) -> Any:
    settings = {"title": "Choose", "source": "candidates", "overlap": 2, "check_every": 0, **recipe}
    return review.create_task("choose", "select", TaskRecipe(**settings), [*items(count), *extra])


def judge(
    review: Review, person: Person, item: str, verdict: Any = None, action: str = "verdict", target: str = ""
) -> str:
    """Store an event and return its id."""
    new = NewEvent(str(uuid.uuid4()), "choose", item, action, 0, verdict, target or None)  # type: ignore[arg-type]
    done = review.append(person, [new])
    assert done.acknowledged == (new.event,), done.refused
    return new.event


def people(review: Review, *names: str, role: str = "reviewer") -> list[Person]:
    return [review.add_person(name, role)[0] for name in names]


def codes(review: Review, person: Person, count: int = 100, start: int = 0) -> list[str]:
    window = review.window(review.task("choose"), person, start, count)
    return [place.item.code for place in window.places]


def verdicts(review: Review, person: Person) -> dict[str, str]:
    window = review.window(review.task("choose"), person, 0, 100)
    return {place.item.code: place.verdict["choice"] for place in window.places if place.verdict}


def outcomes(review: Review) -> dict[str, int]:
    found = review.progress(review.task("choose"))
    return {name: getattr(found, name) for name in ("open", "accepted", "rejected", "conflicts", "resolved")}
