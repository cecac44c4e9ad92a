"""YTBB-Robust's annotation files: the labels of anchors, and the reviews of anchors and frame pairs.

Read as the official scorer of imagenet-testbed reads them. The last annotation of a key counts. Keys may be
absolute paths of the authors' machine: only the last folder and the file name count.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location, local_file, matching
from windtunnel.data.frame_json import JSON_FOLDERS, JSON_PLACES, read_json

ANCHOR_LABELS, PAIR_LABELS, RAW_ANCHORS = "anchor_labels.json", "pmk_labels.json", "*test_anchors_full.csv"
# Annotators' verdicts on an anchor, which come before the classes in their list of words.
ANCHOR_WORDS = ("good", "unsure", "bad")
SIMILAR, BAD_ANCHOR = "similar", "bad-anchor"
# A similar pair is rejected if it has any of these words.
PROBLEMS = frozenset(
    (
        "dissimilar", "problematic", "incorrect", "dont know", "deformation", "background-change",
        "occlusion-increased", "blur-increase", BAD_ANCHOR,
    )
)  # fmt: skip
# In the raw list of YTBB's anchors these two classes are exchanged.
SWAPPED = {22: 23, 23: 22}
# Candidates are the frames up to this many before and after an anchor.
CANDIDATE_FRAMES = 10


@dataclass(frozen=True)
class Annotations:
    """The content of the annotation files.

    Attributes:
        labels: the classes of every anchor: the raw list's, and those that annotators added.
        accepted: the anchors that reviewers accepted: good, and no pair has `bad-anchor`.
        pairs: the annotated frames of every anchor, and whether reviewers accepted each.
        unlisted: good anchors missing from the raw list; without it their own class would count as wrong.
    """

    labels: dict[str, tuple[int, ...]]
    accepted: frozenset[str]
    pairs: dict[str, dict[str, bool]]
    unlisted: tuple[str, ...]

    @property
    def reviewed(self) -> dict[str, list[str]]:
        """The accepted anchors, each with its accepted frames."""
        return {
            anchor: [frame for frame, good in self.pairs.get(anchor, {}).items() if good]
            for anchor in self.labels
            if anchor in self.accepted
        }

    def candidates(self, exists: Callable[[str], bool]) -> dict[str, list[str]]:
        """All anchors, each with its annotated frames and with the nearby frames that exist.

        Anchors that were rejected immediately have no annotated frame.
        """
        return {
            anchor: list(dict.fromkeys([*self.pairs.get(anchor, {}), *filter(exists, _nearby(anchor))]))
            for anchor in self.labels
        }

    @property
    def frames(self) -> frozenset[str]:
        """Every frame that an annotation names."""
        return frozenset(
            [*self.labels, *self.pairs, *(frame for near in self.pairs.values() for frame in near)]
        )


def read_annotations(root: Location, classes: Sequence[str]) -> Annotations:
    """Read the annotation files of a folder; `classes` are YTBB's, in the order of their indices."""
    raw = _raw_anchors(root)
    labels: dict[str, tuple[int, ...]] = {}
    good: set[str] = set()
    unlisted: list[str] = []
    for path, words in _last_words(root, ANCHOR_LABELS).items():
        anchor = frame_key(path)
        is_good = "good" in words and not {"bad", "unsure"} & words
        if anchor in good and not is_good:
            continue
        own = raw.get(anchor.partition("/")[0])
        if own is None:
            unlisted += [anchor] if is_good else []
            continue
        added = {_class_index(classes, word, root) for word in words - set(ANCHOR_WORDS)}
        labels[anchor] = tuple(sorted(added | {own}))
        good |= {anchor} if is_good else set()
    pairs: dict[str, dict[str, bool]] = {}
    bad: set[str] = set()
    for pair, words in _last_words(root, PAIR_LABELS).items():
        anchor, frame = map(frame_key, _both_paths(root, pair))
        bad |= {anchor} if BAD_ANCHOR in words else set()
        near = pairs.setdefault(anchor, {})
        near[frame] = near.get(frame, False) or (SIMILAR in words and not words & PROBLEMS)
    return Annotations(labels, frozenset(good - bad), pairs, tuple(unlisted))


def frame_key(path: str) -> str:
    """A frame's key, its folder and file name: `gm1AHhmwhRY_58200/frame-1745.jpg` of an absolute path."""
    file = PurePosixPath(path)
    return f"{file.parent.name}/{file.name}" if file.parent.name else file.name


def youtube_id(folder: str) -> str:
    """The video of a folder `<YouTube id>_<milliseconds>`; ids may contain underscores too."""
    return re.sub(r"_\d+$", "", folder)


def _nearby(anchor: str) -> list[str]:
    """The frames before and after an anchor, by their keys."""
    parts = re.fullmatch(r"(.*?)(\d+)(\.\w+)", anchor)
    if parts is None:
        return []
    number = int(parts[2])
    near = [*range(number - CANDIDATE_FRAMES, number), *range(number + 1, number + CANDIDATE_FRAMES + 1)]
    return [f"{parts[1]}{number}{parts[3]}" for number in near]


def _both_paths(root: Location, pair: str) -> tuple[str, str]:
    anchor, comma, frame = pair.partition(",")
    if not (comma and anchor and frame):
        raise UserError(f"{root}: {PAIR_LABELS} has the key '{pair}'; give the anchor, a comma and a frame.")
    return anchor, frame


def _class_index(classes: Sequence[str], word: str, root: Location) -> int:
    if word not in classes:
        raise UserError(f"{root}: {ANCHOR_LABELS} names the class '{word}', which YTBB-Robust does not have.")
    return classes.index(word)


def _last_words(root: Location, name: str) -> dict[str, set[str]]:
    """The words of the last annotation of each key."""
    content = read_json(root, name, dict)
    try:
        words = list(content["labels"])
        return {
            str(row["key"]): {str(words[place]) for place in row["labels"]} for row in content["annotations"]
        }
    except (KeyError, TypeError, IndexError) as error:
        raise UserError(f"{root}: {name} is not a list of annotations with keys and labels.") from error


def _raw_anchors(root: Location) -> dict[str, int]:
    """The raw class of each anchor by video and time (`<id>_<ms>`), in the order of the class index."""
    files = [
        file for folder in JSON_FOLDERS for file in matching(root / folder, RAW_ANCHORS) if file.is_file()
    ]
    if not files:
        raise UserError(
            f"{root} has no {RAW_ANCHORS} in {JSON_PLACES}; it contains the anchors' labels. Put it into the "
            f"folder of {ANCHOR_LABELS}, which has only the labels that annotators added."
        )
    with local_file(files[0]).open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    if rows and not {"ytid", "time_ms", "label"} <= set(rows[0]):
        raise UserError(f"{files[0]} has the columns {', '.join(rows[0])}; it needs ytid, time_ms, label.")
    classes = {}
    for row in rows:
        label = int(row["label"])
        classes[f"{row['ytid']}_{row['time_ms']}"] = SWAPPED.get(label, label)
    return classes
