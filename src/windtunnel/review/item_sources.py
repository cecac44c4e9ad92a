"""Items of tasks from a curation project: candidates of a shortlist, anchors and pairs of frame sets."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.core.candidates import SHORTLISTED, Candidate
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.curate.frame_tables import SETS_TABLE, SetFrame, read_set_frames
from windtunnel.curate.project import Project
from windtunnel.published.imagenet import imagenet_synonyms
from windtunnel.review.records import ClassName, MediaFile, NewItem

CANDIDATES, VIDEO = "candidates", "video"
# The role of the image of an item that has one image.
IMAGE, ANCHOR, FRAME = "image", "anchor", "frame"


def sources(project: Project) -> list[str]:
    """What a task of a project can be made from."""
    frames = [VIDEO] if (project.folder / SETS_TABLE).is_file() else []
    stored = [CANDIDATES] if project.stored_candidates() else []
    return [*project.audits(), *frames, *stored]


def task_items(project: Project, kind: str, source: str | None, batch: str | None = None) -> list[NewItem]:
    """The items of a task.

    Args:
        project: the project.
        kind: the kind of work; `pairs` needs frame sets.
        source: a step with a shortlist, `video` or `candidates`; None for the only one that fits.
        batch: only the candidates of this batch.
    """
    known = sources(project)
    chosen = source or _default_source(known, kind)
    shortlists = [step for step in project.unfinished() if step != VIDEO]
    project.refuse_unfinished((chosen,) if source or chosen == VIDEO else shortlists)
    if chosen not in known:
        raise UserError(
            f"{project.folder} has no {chosen} to review; {option('source')} takes "
            f"{', '.join(known) or 'what windtunnel curate collect or curate video has stored'}."
        )
    refuse_source(kind, chosen)
    if chosen == VIDEO:
        frames = read_set_frames(project)
        return _pairs(frames) if kind == "pairs" else _anchors(frames)
    rows = project.stored_candidates()
    if chosen != CANDIDATES:
        project.refuse_stale(chosen)
        audit = project.audit(chosen)
        rows = [row for row in rows if row.id in audit and audit[row.id].stage == SHORTLISTED]
    return [_image(row) for row in rows if batch in (None, row.batch)]


def refuse_source(kind: str, source: str) -> None:
    """Refuse a source that a kind of work cannot be made from."""
    if kind == "pairs" and source != VIDEO:
        raise UserError(
            f"The kind pairs needs frame sets, not {source}; make them with windtunnel curate video."
        )


def _default_source(known: Sequence[str], kind: str) -> str:
    if kind == "pairs":
        return VIDEO
    if kind == "anchors" and VIDEO in known:
        return VIDEO
    shortlists = [name for name in known if name not in (VIDEO, CANDIDATES)]
    if len(shortlists) > 1:
        raise UserError(
            f"The project has the shortlists {', '.join(shortlists)}; choose one with {option('source')}."
        )
    return shortlists[0] if shortlists else CANDIDATES


def _image(row: Candidate) -> NewItem:
    return NewItem(
        key=row.id,
        media=(MediaFile(IMAGE, row.file, row.width, row.height),),
        labels=(row.label,) if row.label else (),
        facts={"id": row.id, "url": row.url, "licence": row.licence},
    )


def _anchors(frames: Sequence[SetFrame]) -> list[NewItem]:
    return [
        NewItem(
            key=frame.set,
            media=(MediaFile(IMAGE, frame.file, frame.width, frame.height),),
            labels=frame.labels,
            facts={"set": frame.set, "frame": frame.index, "offset": 0},
        )
        for frame in frames
        if not frame.offset
    ]


def _pairs(frames: Sequence[SetFrame]) -> list[NewItem]:
    """A pair for each frame of a set and its anchor."""
    anchors = {frame.set: frame for frame in frames if not frame.offset}
    return [
        NewItem(
            key=f"{frame.set}#{frame.index}",
            media=(
                MediaFile(
                    ANCHOR, anchors[frame.set].file, anchors[frame.set].width, anchors[frame.set].height
                ),
                MediaFile(FRAME, frame.file, frame.width, frame.height),
            ),
            labels=frame.labels,
            facts={
                "set": frame.set,
                "frame": frame.index,
                "offset": frame.offset,
                "anchor": anchors[frame.set].index,
            },
        )
        for frame in frames
        if frame.offset
    ]


def class_names(items: Sequence[NewItem], given: Sequence[str] = ()) -> tuple[ClassName, ...]:
    """The classes that verdicts may name: the given ones, else those of the items.

    All of ImageNet-1k, with their names, if every class is one of its WordNet ids.
    """
    synonyms = imagenet_synonyms()
    names = list(dict.fromkeys(given)) or sorted({label for item in items for label in item.labels})
    if not given and names and all(name in synonyms for name in names):
        names = list(synonyms)
    return tuple(ClassName(name, ", ".join(synonyms.get(name, ()))) for name in names)
