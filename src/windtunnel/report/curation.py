"""The page of a curation project: funnel, confusions, examples, near-duplicates and transfer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from windtunnel.core.candidates import SHORTLISTED, Candidate
from windtunnel.core.conditions import digest
from windtunnel.core.curation_records import (
    ClassOverlaps,
    GroupAccuracy,
    HardRecipe,
    HardSummary,
    OodRecipe,
    OodSummary,
)
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.seeding import digest64
from windtunnel.core.wording import counted
from windtunnel.curate.hard import HARD
from windtunnel.curate.near_duplicates import grouped
from windtunnel.curate.ood import OOD
from windtunnel.curate.project import Project
from windtunnel.curate.steps import FinishedStep
from windtunnel.curate.transfer import TRANSFER
from windtunnel.engine.images import as_image
from windtunnel.imaging.ten_crops import CENTRE
from windtunnel.published.imagenet import imagenet_names
from windtunnel.report.figures import BAR_PX, COLOURS
from windtunnel.report.page import render_page
from windtunnel.report.source_images import thumbnail

CONFUSIONS_SHOWN = 20
EXAMPLES_SHOWN = 24
GROUPS_SHOWN = 12
THUMBNAIL_PX = 160
FINGERPRINT_SHOWN = 16

FilterStep = FinishedStep[HardRecipe, HardSummary] | FinishedStep[OodRecipe, OodSummary]

CONFUSION_HEADER = ("true class", "predicted class", "shortlisted", "before the cap")
TRANSFER_HEADER = ("candidates", "n", "top-1, %", "95 % interval")


@dataclass(frozen=True)
class Example:
    """An image of the page: a small copy and its caption."""

    image_url: str
    caption: str


@dataclass(frozen=True)
class Stage:
    """A stage of a funnel: its name, the number of candidates that are left after it, and its meaning."""

    name: str
    left: int
    meaning: str


@dataclass(frozen=True)
class StepPart:
    """The part of the page on one filter step.

    Attributes:
        step: its name.
        title: the heading.
        models: name, fingerprint and accuracy of the filter models; "" for an accuracy that is not known.
        rules: the thresholds, in words.
        warnings: why the numbers may be wrong.
        funnel: the candidates left after each stage.
        confusions: rows of the most frequent confusions of the shortlist; none if all occur once.
        examples: shortlisted images.
        duplicates: groups of near-duplicates.
        duplicate_groups: the number of all groups.
        features: the features that near-duplicates were searched by, or why there are none.
        overlaps: sentences on classes that overlap.
    """

    step: str
    title: str
    models: list[tuple[str, str, str]]
    rules: list[str]
    warnings: tuple[str, ...]
    funnel: list[Stage]
    confusions: list[list[str]]
    examples: list[Example]
    duplicates: list[list[Example]]
    duplicate_groups: int
    features: str
    overlaps: list[str]

    @property
    def funnel_rows(self) -> list[list[str]]:
        """The funnel as a table: stage, candidates, share of all."""
        first = self.funnel[0].left or 1
        return [[stage.name, f"{stage.left:,}", f"{100 * stage.left / first:.1f}"] for stage in self.funnel]


def render_curation(project: Project) -> str:
    """The HTML page of a project; refuses one that is not filtered."""
    hard, ood, transfer = project.step(HARD), project.step(OOD), project.step(TRANSFER)
    audits = project.audits()
    for step in audits:
        project.refuse_stale(step)
    parts = []
    if hard and hard.step in audits:
        parts.append(_hard_part(project, hard))
    if ood and ood.step in audits:
        parts.append(_ood_part(project, ood))
    if not parts:
        raise UserError(f"{project.folder} is not filtered yet; run windtunnel curate hard or ood first.")
    other_shortlist = bool(transfer and hard and transfer.recipe.hard != digest(hard.recipe.to_json()))
    if hard is None or other_shortlist:
        transfer = None
    return render_page(
        "curation.html.j2",
        {f"funnel-{part.step}": _funnel_figure(part.funnel) for part in parts},
        name=project.recipe.name,
        facts=_facts(project.stored_candidates()),
        parts=parts,
        confusion_header=CONFUSION_HEADER,
        transfer=_transfer_tables(transfer.summary.accuracies if transfer else ()),
        transfer_repeat=other_shortlist,
        transfer_header=TRANSFER_HEADER,
        transfer_groups=transfer.summary.groups if transfer else {},
        transfer_warnings=transfer.summary.warnings if transfer else (),
    )


def _facts(rows: Sequence[Candidate]) -> str:
    status = Counter(row.label_status for row in rows)
    labels = ", ".join(f"{number:,} {name}" for name, number in status.most_common())
    classes = len({row.label for row in rows})
    conflicts = sum(bool(row.reason) for row in rows)
    parts = [
        f"{counted(len(rows), 'candidate')} of {counted(classes, 'class', 'classes')}",
        f"labels: {labels}",
        f"{counted(conflicts, 'image')} with conflicting labels" if conflicts else "",
    ]
    return "; ".join(filter(None, parts))


def _hard_part(project: Project, step: FinishedStep[HardRecipe, HardSummary]) -> StepPart:
    summary = step.summary
    funnel = [
        Stage("stored", summary.stored, "all stored candidates"),
        Stage("classes", summary.of_classes, "of the chosen classes"),
        Stage("predicted", summary.candidates, "with a prediction of every filter model"),
        Stage("never correct", summary.never_correct, "no crop of any model is correct"),
        Stage("low confidence", summary.low_true_confidence, "in the true class, in every crop"),
        Stage("shortlist", summary.shortlist, "after the cap on each confusion"),
    ]
    rows = project.audit_table(step.step).to_pylist()
    part = _part(project, step, "Adversarial filtration", _hard_rules(step.recipe), funnel, rows)
    models = [
        (name, fingerprint, f"{accuracy:.1%}")
        for (name, fingerprint, _), accuracy in zip(part.models, summary.accuracies, strict=True)
    ]
    overlaps = _overlaps(summary.overlapping_classes)
    return replace(part, models=models, confusions=_confusions(rows), overlaps=overlaps)


def _ood_part(project: Project, step: FinishedStep[OodRecipe, OodSummary]) -> StepPart:
    summary = step.summary
    unrelated = Stage("unrelated", summary.unrelated, "neither above nor below a class of the filter models")
    funnel = [
        Stage("stored", summary.stored, "all stored candidates"),
        Stage("other classes", summary.outside_label_space, "not a class of the filter models"),
        # Without a hierarchy nothing is known to be unrelated.
        *([unrelated] if summary.hierarchy_known else []),
        Stage("shortlist", summary.shortlist, "every filter model is confident"),
    ]
    rules = [
        f"Every filter model gives some class at least {step.recipe.min_confidence:.0%} confidence in the "
        "centre crop.",
        "Classes above and below the models' classes are dropped by a hierarchy."
        if summary.hierarchy_known
        else "No hierarchy was given: classes above and below the models' classes are not recognised.",
        *(
            f"Dropped: {_named(row.name)}, {counted(row.candidates, 'candidate')}, {row.relation} "
            f"{_named(row.known)}."
            for row in summary.related_classes
        ),
    ]
    rows = project.audit_table(step.step).to_pylist()
    return _part(project, step, "Out-of-distribution selection", rules, funnel, rows)


def _part(
    project: Project,
    step: FilterStep,
    title: str,
    rules: list[str],
    funnel: list[Stage],
    audit: Sequence[Mapping[str, Any]],
) -> StepPart:
    """What both kinds of steps have."""
    rows = {row["id"]: row for row in audit}
    candidates = {row.id: row for row in project.stored_candidates()}
    shortlist = [id_ for id_, row in rows.items() if row["stage"] == SHORTLISTED and id_ in candidates]
    shown = sorted(shortlist, key=lambda id_: digest64("curation page", id_))[:EXAMPLES_SHOWN]
    groups = grouped(step.summary.near_duplicates)
    return StepPart(
        step.step,
        title,
        [(model.name, model.fingerprint[:FINGERPRINT_SHOWN], "") for model in step.summary.filter_models],
        rules,
        step.summary.warnings,
        funnel,
        [],
        _examples(project, [candidates[id_] for id_ in shown], rows),
        [
            _examples(project, [candidates[id_] for id_ in group if id_ in candidates], rows)
            for group in groups[:GROUPS_SHOWN]
        ],
        len(groups),
        step.summary.features,
        [],
    )


def _hard_rules(recipe: HardRecipe) -> list[str]:
    rules = recipe.rules
    pair = {
        "centre": f"the prediction of the centre crop by {recipe.models[0].name}",
        "most-confident": "the most confident prediction of any crop by any model",
    }[rules.pair_from]
    order = {
        "least-true": "lowest confidence in the true class first",
        "most-wrong": "highest confidence in the predicted class first",
    }[rules.keep_first]
    cap = f"At most {rules.pair_cap}" if rules.pair_cap else "All"
    classes = len(recipe.classes)
    return [
        "A candidate is dropped if any of ten crops is classified correctly by any filter model.",
        "It is dropped if any crop of any model gives the true class more than "
        f"{rules.max_true_confidence:.3g} confidence.",
        f"{cap} candidates of every confusion are kept, {order}, equal ones by id. The predicted class is "
        f"{pair}.",
        f"Only {counted(classes, 'class', 'classes')} compete." if classes else "All outputs compete.",
    ]


def _funnel_figure(funnel: Sequence[Stage]) -> dict[str, Any]:
    """Horizontal bars of the number of candidates after each stage."""
    names = [stage.name for stage in funnel]
    values = [stage.left for stage in funnel]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "x": values[::-1],
                "y": names[::-1],
                "text": [f"{value:,}" for value in values[::-1]],
                "textposition": "auto",
                "marker": {"color": COLOURS[0]},
                "hovertemplate": "%{y}<br>%{x:,}<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": "candidates"}},
            "yaxis": {"automargin": True},
            "height": 110 + 2 * BAR_PX * len(names),
        },
    }


def _confusions(rows: Any) -> list[list[str]]:
    kept = Counter((row["label"], row["confused_with"]) for row in rows if row["stage"] == SHORTLISTED)
    sizes = {(row["label"], row["confused_with"]): row["pair_size"] for row in rows if row["pair_size"]}
    ordered = sorted(kept.items(), key=lambda item: (-item[1], -sizes[item[0]], item[0]))
    if not ordered or ordered[0][1] == 1:
        return []
    return [
        [_named(true), _named(predicted), f"{number:,}", f"{sizes[true, predicted]:,}"]
        for (true, predicted), number in ordered[:CONFUSIONS_SHOWN]
    ]


def _examples(
    project: Project, candidates: Sequence[Candidate], rows: Mapping[str, Mapping[str, Any]]
) -> list[Example]:
    examples = []
    for candidate in candidates:
        try:
            image_url = thumbnail(as_image(project.read_media(candidate)), THUMBNAIL_PX)
        except (ImageError, UserError):
            continue  # an image that is damaged or missing now
        row = rows[candidate.id]
        predicted = row.get("confused_with") or row["model1_predicted"][CENTRE]
        caption = f"{_named(candidate.label)}, predicted as {_named(predicted)}; {candidate.id[:8]}"
        examples.append(Example(image_url, caption))
    return examples


def _overlaps(overlaps: ClassOverlaps) -> list[str]:
    below = [f"{_named(first)} is below {_named(other)}." for first, other in overlaps.hierarchy]
    confused = "is confused in both directions with"
    return [*below, *(f"{_named(first)} {confused} {_named(other)}." for first, other in overlaps.confusion)]


def _transfer_tables(accuracies: Sequence[GroupAccuracy]) -> list[tuple[str, str, list[list[str]]]]:
    """For each model its name, its role, and its accuracy on every group.

    Models of one name are told apart by their fingerprints.
    """
    of_name: dict[str, set[str]] = {}
    for row in accuracies:
        of_name.setdefault(row.model, set()).add(row.fingerprint)
    tables: dict[str, tuple[str, str, list[list[str]]]] = {}
    for row in accuracies:
        alone = len(of_name[row.model]) == 1
        name = row.model if alone else f"{row.model} ({row.fingerprint[:FINGERPRINT_SHOWN]})"
        _, _, rows = tables.setdefault(row.fingerprint, (name, _role(row), []))
        rows.append([row.group.replace("_", " "), f"{row.n:,}", *accuracy_cells(row)])
    return list(tables.values())


def accuracy_cells(row: GroupAccuracy) -> tuple[str, str]:
    """An accuracy and its interval in percent; "-" without candidates."""
    if row.accuracy is None or row.low is None or row.high is None:
        return "-", "-"
    return f"{100 * row.accuracy:.1f}", f"[{100 * row.low:.1f}, {100 * row.high:.1f}]"


def _role(row: GroupAccuracy) -> str:
    if not row.held_out:
        return "filter model"
    return f"held out ({row.note})" if row.note else "held out"


def _named(name: str) -> str:
    """A class for readers: the name of a WordNet id of ImageNet-1k, with the id if the name is ambiguous."""
    names = imagenet_names()
    if name not in names:
        return name
    ambiguous = sum(other == names[name] for other in names.values()) > 1
    return f"{names[name]} ({name})" if ambiguous else names[name]
