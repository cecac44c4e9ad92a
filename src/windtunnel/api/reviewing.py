"""Review: people judge the images and frame pairs of a curation project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.api.curating import collect_candidates
from windtunnel.core.errors import UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.curate.candidate_sources import open_source
from windtunnel.curate.project import Project, open_project
from windtunnel.imaging.codecs.png import png
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import read_header
from windtunnel.options import CollectOptions, ReviewOptions

if TYPE_CHECKING:
    from windtunnel.review.export import ReviewExport
    from windtunnel.review.import_votes import ImportedVotes
    from windtunnel.review.progress import TaskProgress
    from windtunnel.review.rebuild import Rebuilt
    from windtunnel.review.review import Review
    from windtunnel.review.tasks import Task


def open_review(project: str | Path, database: str | None = None, *, create: bool = False) -> Review:
    """The review of a curation project; close it after use, or use it in a `with` statement.

    Args:
        project: the project's folder.
        database: URL of a PostgreSQL database; None for SQLite in the project.
        create: whether to create the review if there is none.
    """
    load_extra("sqlalchemy", "Review")
    from windtunnel.review.review import open_review

    return open_review(open_project(project).folder, database, create=create)


def create_review_task(
    project: str | Path,
    name: str,
    kind: str,
    options: ReviewOptions = ReviewOptions(),  # noqa: B008 (frozen)
    *,
    database: str | None = None,
    progress: Progress = silent,
    **changes: Any,
) -> Task:
    """Create a task on the images or frame sets of a project.

    Args:
        project: the project's folder; with `images` it is created if there is none.
        name: the task's name: lower-case letters, digits, `-` and `_`.
        kind: the kind of work: `anchors`, `pairs`, `select` or `blind`.
        options: source, overlap and so on; see `windtunnel.options.ReviewOptions`.
        database: URL of a PostgreSQL database; None for SQLite in the project.
        progress: counts images that are collected.
        changes: single options by name, such as `overlap=2`; they override `options`.
    """
    load_extra("sqlalchemy", "Review")
    from windtunnel.review.item_sources import CANDIDATES, class_names, refuse_source, task_items
    from windtunnel.review.kinds import REGISTRY
    from windtunnel.review.records import TaskRecipe
    from windtunnel.review.tasks import check_new_task
    from windtunnel.review.verdict_tables import read_rows, with_answers

    options = options.with_changes(changes)
    plugin = REGISTRY.get(kind)
    instructions = _text(options.instructions, "instructions")
    given = [line.strip() for line in _text(options.classes, "classes").splitlines() if line.strip()]
    rows = [] if options.answers is None else read_rows(options.answers)
    if options.images is None:
        opened, batch, source = open_project(project), None, options.source
    else:
        if options.source is not None:
            raise UserError(f"{option('images')} and {option('source')} exclude each other; give one.")
        refuse_source(kind, CANDIDATES)
        collect_candidates(options.images, project, progress=progress)
        opened = Project(Path(project))
        batch, source = open_source(options.images, CollectOptions()).batch, CANDIDATES
    items = task_items(opened, kind, source, batch)
    classes = class_names(items, given) if plugin.takes_classes else ()
    items = with_answers(items, plugin, frozenset(row.name for row in classes), rows)
    recipe = TaskRecipe(
        title=options.title or f"{plugin.name.capitalize()}: {opened.recipe.name}, {name}",
        source=str(options.images or source or ""),
        instructions=instructions,
        overlap=options.overlap,
        seed=options.seed,
        second_pass="flagged" if options.second_pass == "flagged" else "conflicts",
        lease=60 * options.lease,
        check_every=options.check_every,
        practice_pass=options.practice_pass,
        classes=classes,
    )
    check_new_task(name, recipe, items)
    with open_review(project, database, create=True) as review:
        return review.create_task(name, kind, recipe, items)


def review_progress(project: str | Path, *, database: str | None = None) -> list[TaskProgress]:
    """How far the tasks of a project are.

    Args:
        project: the project's folder.
        database: URL of a PostgreSQL database; None for SQLite in the project.
    """
    with open_review(project, database) as review:
        return [review.progress(task) for task in review.tasks().values()]


def export_review(
    project: str | Path, tasks: str | Sequence[str], out: str | Path, *, database: str | None = None
) -> ReviewExport:
    """Write the verdicts of tasks as the table that `export_set` and `export_frame_sets` read.

    Next to it are all votes, all events, and the agreement of the people.

    Args:
        project: the project's folder.
        tasks: a task on images, or tasks on frame sets (anchors and pairs), whose verdicts are joined.
        out: the folder of the files.
        database: URL of a PostgreSQL database; None for SQLite in the project.
    """
    with open_review(project, database) as review:
        from windtunnel.review.export import export_review

        names = [tasks] if isinstance(tasks, str) else tasks
        return export_review(review, [review.task(name) for name in names], Path(out))


def import_review_votes(
    project: str | Path,
    task: str,
    votes: str | Path,
    *,
    database: str | None = None,
    progress: Progress = silent,
) -> ImportedVotes:
    """Add earlier votes to a task: each becomes an event of a person of that name.

    Args:
        project: the project's folder.
        task: the task.
        votes: a CSV file with the columns id (or set and frame), verdict, and optionally reviewer and note;
            or `votes.csv` of an export. All rows are checked before the first is stored.
        database: URL of a PostgreSQL database; None for SQLite in the project.
        progress: counts rows.
    """
    with open_review(project, database) as review:
        from windtunnel.review.verdict_tables import read_rows

        return review.import_votes(review.task(task), read_rows(votes), progress)


def rebuild_review(
    project: str | Path, *, database: str | None = None, progress: Progress = silent
) -> Rebuilt:
    """Compute everything that a review derives from its events again; returns what was corrected.

    Args:
        project: the project's folder.
        database: URL of a PostgreSQL database; None for SQLite in the project.
        progress: counts items.
    """
    with open_review(project, database) as review:
        return review.rebuild(progress)


def png_of_image(content: bytes) -> bytes:
    """An image in any format that windtunnel reads, as PNG; raises `ImageError` for anything else."""
    return png.function(decode(content, read_header(content)))


def _text(file: str | Path | None, name: str) -> str:
    """The text of an optional file."""
    if file is None:
        return ""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(f"{option(name)} is {file}, which cannot be read: {reason}.") from error
