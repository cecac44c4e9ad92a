"""The page of a curation project: funnel, confusions, examples, near-duplicates and transfer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.core.candidates import SHORTLISTED, Candidate
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.seeding import digest64
from windtunnel.core.wording import counted
from windtunnel.curate.near_duplicates import grouped
from windtunnel.curate.project import Project, StepRecord
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

# The steps that filter, and for each number of their summaries the stage's name and meaning.
FUNNELS = {
    "hard": {
        "stored": ("stored", "all stored candidates"),
        "of_classes": ("classes", "of the chosen classes"),
        "candidates": ("predicted", "with a prediction of every filter model"),
        "never_correct": ("never correct", "no crop of any model is correct"),
        "low_true_confidence": ("unsure", "low confidence in the true class in every crop"),
        "shortlist": ("shortlist", "after the cap on each confusion"),
    },
    "ood": {
        "stored": ("stored", "all stored candidates"),
        "outside_label_space": ("other classes", "not a class of the filter models"),
        "unrelated": ("unrelated", "neither above nor below a class of the filter models"),
        "shortlist": ("shortlist", "every filter model is confident"),
    },
}
TITLES = {"hard": "Adversarial filtration", "ood": "Out-of-distribution selection"}
CONFUSION_HEADER = ("true class", "predicted class", "shortlisted", "before the cap")
TRANSFER_HEADER = ("candidates", "n", "top-1, %", "95 % interval")


@dataclass(frozen=True)
class Example:
    """An image of the page: a small copy and its caption."""

    image_url: str
    caption: str


@dataclass(frozen=True)
class StepPart:
    """The part of the page on one filter step.

    Attributes:
        step: its name.
        title: the heading.
        models: name and fingerprint of the filter models.
        rules: the thresholds, in words.
        funnel: rows of stages: name, candidates left, share of all.
        stages: name and meaning of each stage.
        confusions: rows of the most frequent confusions of the shortlist; none if all occur once.
        examples: shortlisted images.
        duplicates: groups of near-duplicates.
        duplicate_groups: the number of all groups.
        overlaps: sentences on classes that overlap.
    """

    step: str
    title: str
    models: list[tuple[str, str]]
    rules: list[str]
    funnel: list[list[str]]
    stages: list[tuple[str, str]]
    confusions: list[list[str]]
    examples: list[Example]
    duplicates: list[list[Example]]
    duplicate_groups: int
    overlaps: list[str]


def render_curation(project: Project) -> str:
    """The HTML page of a project; refuses one that is not filtered."""
    steps = project.steps()
    parts = [_part(project, steps[name]) for name in FUNNELS if name in steps and name in project.audits()]
    if not parts:
        raise UserError(f"{project.folder} is not filtered yet; run windtunnel curate hard or ood first.")
    figures = {f"funnel-{part.step}": _funnel_figure(steps[part.step]) for part in parts}
    transfer = steps.get("transfer")
    return render_page(
        "curation.html.j2",
        figures,
        name=project.recipe.name,
        facts=_facts(project.stored_candidates()),
        parts=parts,
        confusion_header=CONFUSION_HEADER,
        transfer=_transfer_tables(transfer),
        transfer_header=TRANSFER_HEADER,
        transfer_groups=transfer.summary["groups"] if transfer else {},
    )


def _facts(rows: Sequence[Candidate]) -> str:
    status = Counter(row.label_status for row in rows)
    labels = ", ".join(f"{number:,} {name}" for name, number in status.most_common())
    classes = len({row.label for row in rows})
    return f"{counted(len(rows), 'candidate')} of {counted(classes, 'class', 'classes')}; labels: {labels}"


def _part(project: Project, step: StepRecord) -> StepPart:
    rows = {row["id"]: row for row in project.audit_table(step.step).to_pylist()}
    candidates = {row.id: row for row in project.stored_candidates()}
    shortlist = [id_ for id_, row in rows.items() if row["stage"] == SHORTLISTED and id_ in candidates]
    shown = sorted(shortlist, key=lambda id_: digest64("curation page", id_))[:EXAMPLES_SHOWN]
    groups = grouped([(first, other, bits) for first, other, bits in step.summary["near_duplicates"]])
    return StepPart(
        step.step,
        TITLES[step.step],
        [
            (model["name"], model["fingerprint"][:FINGERPRINT_SHOWN])
            for model in step.summary["filter_models"]
        ],
        _rules(step),
        _funnel_rows(step),
        list(_stages(step).values()),
        _confusions(rows.values()) if step.step == "hard" else [],
        _examples(project, [candidates[id_] for id_ in shown], rows),
        [
            _examples(project, [candidates[id_] for id_ in group if id_ in candidates], rows)
            for group in groups[:GROUPS_SHOWN]
        ],
        len(groups),
        _overlaps(step),
    )


def _rules(step: StepRecord) -> list[str]:
    recipe = step.recipe
    if step.step == "ood":
        return [
            f"Every filter model gives some class at least {recipe['min_confidence']:.0%} confidence in the "
            "centre crop.",
            "Classes above and below the models' classes are dropped by a hierarchy."
            if recipe["hierarchy"]
            else "No hierarchy was given: classes above and below the models' classes are not recognised.",
        ]
    rules = recipe["rules"]
    first = recipe["models"][0]["name"]
    pair = {
        "centre": f"the prediction of the centre crop by {first}",
        "most-confident": "the most confident prediction of any crop by any model",
    }[rules["pair_from"]]
    order = {
        "least-true": "lowest confidence in the true class first",
        "most-wrong": "highest confidence in the predicted class first",
    }[rules["keep_first"]]
    cap = f"At most {rules['pair_cap']}" if rules["pair_cap"] else "All"
    classes = len(recipe["classes"])
    return [
        "A candidate is dropped if any of ten crops is classified correctly by any filter model.",
        "It is dropped if any crop of any model gives the true class more than "
        f"{rules['max_true_confidence']:.3g} confidence.",
        f"{cap} candidates of every confusion are kept, {order}, equal ones by id. The predicted class is "
        f"{pair}.",
        f"Only {counted(classes, 'class', 'classes')} compete." if classes else "All outputs compete.",
    ]


def _stages(step: StepRecord) -> dict[str, tuple[str, str]]:
    """Name and meaning of the numbers of a funnel; without a hierarchy nothing is known to be unrelated."""
    known = step.summary.get("hierarchy_known", True)
    return {key: stage for key, stage in FUNNELS[step.step].items() if known or key != "unrelated"}


def _funnel_rows(step: StepRecord) -> list[list[str]]:
    first = step.summary["stored"] or 1
    return [
        [name, f"{step.summary[key]:,}", f"{100 * step.summary[key] / first:.1f}"]
        for key, (name, _) in _stages(step).items()
    ]


def _funnel_figure(step: StepRecord) -> dict[str, Any]:
    """Horizontal bars of the number of candidates after each stage."""
    names = [name for name, _ in _stages(step).values()]
    values = [step.summary[key] for key in _stages(step)]
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


def _overlaps(step: StepRecord) -> list[str]:
    texts = {"hierarchy": "is below", "confusion": "is confused in both directions with"}
    return [
        f"{_named(first)} {texts[kind]} {_named(other)}."
        for kind, pairs in step.summary.get("overlapping_classes", {}).items()
        for first, other in pairs
    ]


def _transfer_tables(step: StepRecord | None) -> list[tuple[str, str, list[list[str]]]]:
    """For each model its name, its role, and its accuracy on every group."""
    tables: dict[tuple[str, bool], tuple[str, str, list[list[str]]]] = {}
    for row in step.summary["accuracies"] if step else []:
        _, _, rows = tables.setdefault((row["model"], row["held_out"]), (row["model"], _role(row), []))
        interval = f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
        rows.append(
            [row["group"].replace("_", " "), f"{row['n']:,}", f"{100 * row['accuracy']:.1f}", interval]
        )
    return list(tables.values())


def _role(row: Mapping[str, Any]) -> str:
    if not row["held_out"]:
        return "filter model"
    return f"held out ({row['note']})" if row["note"] else "held out"


def _named(name: str) -> str:
    """A class for readers: the name of a WordNet id of ImageNet-1k, with the id if the name is ambiguous."""
    names = imagenet_names()
    if name not in names:
        return name
    ambiguous = sum(other == names[name] for other in names.values()) > 1
    return f"{names[name]} ({name})" if ambiguous else names[name]
