"""The next item near the end of a task, when few items are left for a person.

python benchmarks/review_end.py [--items 100000] [--windows 100]

Places of queues and numbers of verdicts are stored directly, as if people had judged. Prints the time of the
next window in three situations, and that of the processor, which other programs change less:

others: other people have finished all but 2000 items; a new person begins.
fastest: one person has judged all items but 300, which other people hold; nobody has judged them twice.
apart: one person has judged 60 % of the items; other people have finished the rest but 200.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import insert, update

from windtunnel.review import tables
from windtunnel.review.database import open_database
from windtunnel.review.records import MediaFile, NewEvent, NewItem, Person, TaskRecipe, now_ms
from windtunnel.review.review import Review, open_review

LEFT, HELD, FEW = 2000, 300, 200
Judged = Iterable[tuple[Person, NDArray[np.int32], bool]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--windows", type=int, default=100)
    given = parser.parse_args()
    for situation in ("others", "fastest", "apart"):
        with tempfile.TemporaryDirectory(prefix="windtunnel-end-") as folder:
            prepare(Path(folder), situation, given.items)
            with open_review(Path(folder)) as review:
                print(f"{situation}: {measure(review, given.windows)}", flush=True)


def prepare(folder: Path, situation: str, count: int) -> None:
    """A task of some items with overlap 2 near its end; the person R0 goes on."""
    new = [
        NewItem(f"{number}", (MediaFile("image", f"{number}.png"),), ("cat",), {"id": f"{number}"})
        for number in range(count)
    ]
    with open_review(folder, create=True) as review:
        recipe = TaskRecipe(title="End", source="candidates", overlap=2, check_every=0)
        task = review.create_task("end", "select", recipe, new)
        me, *others = (review.add_person(f"R{number}", "reviewer")[0] for number in range(3))
    order = task.order(me.code, "work")
    done, queues = 0, [(other, order[LEFT:], True) for other in others]
    if situation == "fastest":
        done = count
        queues = [(me, order[HELD:], True), *((other, order[:HELD], False) for other in others)]
    elif situation == "apart":
        done = count * 6 // 10
        queues = [(me, order[:done], True), *((other, order[done + FEW :], True) for other in others)]
    fill(folder, task.id, count, queues)
    database = open_database(folder, None, create=False)
    begun = insert(tables.cursors).values(task=task.id, person=me.id, position=done)
    database.write(lambda connection: connection.execute(begun))
    database.close()


def fill(folder: Path, task: int, count: int, queues: Judged) -> None:
    """Store places of queues, judged or held, and the numbers of verdicts."""
    verdicts = np.zeros(count, int)
    until = now_ms() + 3_600_000
    database = open_database(folder, None, create=False)
    for person, numbers, judged in queues:
        rows = [
            {"task": task, "person": person.id, "place": place, "item": int(number) + 1, "until": until}
            | {"judged": judged}
            for place, number in enumerate(numbers)
        ]
        database.write(lambda connection, rows=rows: connection.execute(insert(tables.queue), rows))
        verdicts[[row["item"] - 1 for row in rows]] += judged
    for number in (1, 2):
        chosen = [int(row) + 1 for row in np.flatnonzero(verdicts == number)]
        for start in range(0, len(chosen), 10_000):
            part = tables.items.c.id.in_(chosen[start : start + 10_000])
            change = update(tables.items).where(part).values(verdicts=number)
            database.write(lambda connection, change=change: connection.execute(change))
    database.close()


def measure(review: Review, windows: int) -> str:
    """Judge window by window; the first is also given alone."""
    task = review.task("end")
    me = review.people()[0]
    place = review.judged(task, me)
    times, busy = [], []
    judged = 0
    for _ in range(windows):
        begun, computing = time.perf_counter(), time.process_time()
        found = review.window(task, me, place, 20)
        times.append(1000 * (time.perf_counter() - begun))
        busy.append(1000 * (time.process_time() - computing))
        new = [
            NewEvent(str(uuid.uuid4()), task.name, row.item.code, "verdict", now_ms(), {"choice": "accept"})
            for row in found.places
        ]
        review.append(me, new)
        place += len(new)
        judged += len(new)
    return (
        f"window of 20: first {times[0]:.0f} ms, p50 {np.median(times):.1f} ms, "
        f"p95 {np.percentile(times, 95):.1f} ms, max {max(times):.0f} ms; processor p50 "
        f"{np.median(busy):.1f} ms, p95 {np.percentile(busy, 95):.1f} ms; {judged} judged"
    )


if __name__ == "__main__":
    main()
