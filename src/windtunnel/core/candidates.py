"""Candidates of curation projects: images that may become part of a natural set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# weak: from a tag or a folder; propagated: copied from another frame; confirmed: by a person.
LabelStatus = Literal["weak", "propagated", "confirmed"]
# ok: stored; of all others `reason` says why not. The content of a duplicate is another candidate's.
CandidateStatus = Literal[
    "ok",
    "duplicate",
    "unlabelled",
    "refused",
    "unreachable",
    "too_large",
    "too_small",
    "not_an_image",
]

# The stage, in audits, of candidates that passed every stage of a step.
SHORTLISTED = "shortlisted"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One row of a table of candidates, or one file of a folder.

    Attributes:
        id: hash of the content: 128 bits of BLAKE2b; "" if nothing was stored.
        batch: the batch it was collected in.
        row: its place in the batch, from 0.
        file: the image relative to the project, with `/`; "" if nothing was stored.
        label: the name of its class; "" for none.
        label_status: how far the label can be trusted.
        url: the URL or path it came from.
        source: where the URL was found, such as a search engine.
        licence: its licence, as given.
        tag: the search word, tag or folder that gave the label.
        status: `ok`, or why nothing was stored.
        reason: what happened, in words; of a stored image, other labels that were given for it.
        width, height: the size in pixels; 0 if unknown.
        format: `jpeg`, `png` ...; "" if unknown.
        bytes: the size of the file.
    """

    id: str
    batch: str
    row: int
    file: str
    label: str
    label_status: LabelStatus = "weak"
    url: str
    source: str = ""
    licence: str = ""
    tag: str = ""
    status: CandidateStatus = "ok"
    reason: str = ""
    width: int = 0
    height: int = 0
    format: str = ""
    bytes: int = 0
