"""KL-matching of images that belong together: templates and scored images never share a group."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from windtunnel.core.seeding import digest64
from windtunnel.metrics.ood_detection import template_split
from windtunnel.metrics.ood_scores import KL_MATCHING
from windtunnel.report.sections.notes import run_notes

CLASSES, PATIENTS, IMAGES = 20, 50, 6
RNG = np.random.default_rng(5)
# All patients are sampled alike, whether their images are ID or OOD: no score can tell them apart, and the
# true AUROC is 0.5. Images of one patient look alike.
LOGITS = (
    RNG.normal(0, 2, (2 * PATIENTS, 1, CLASSES)) + RNG.normal(0, 0.3, (2 * PATIENTS, IMAGES, CLASSES))
).astype(np.float32)
# A hospital all of whose images become templates.
HOSPITAL = next(name for name in "abcdefgh" if digest64(KL_MATCHING, name) & 1)


def patients(batch: np.ndarray) -> np.ndarray:
    """Logits of the patient and image that the colour encodes."""
    colour = batch[:, 0, 0].astype(int)
    return LOGITS[colour[:, 0], colour[:, 1]]


def write_table(folder: Path, of: range, *, names_from: int = 0) -> Path:
    """A table of uniform images with the columns path, label and patient; one image's patient is unknown."""
    folder.mkdir(parents=True)
    lines = ["path,label,patient"]
    for patient in of:
        for image in range(IMAGES):
            pixels = np.full((40, 40, 3), (patient, image, 0), np.uint8)
            name = f"{patient:03}_{image}.png"
            Image.fromarray(pixels).save(folder / name)
            known = "" if (patient, image) == (0, 0) else f"p{patient - names_from}"
            lines.append(f"{name},c{(patient + image) % CLASSES:02},{known}")
    (folder / "table.csv").write_text("\n".join(lines))
    return folder / "table.csv"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> windtunnel.Run:
    """ID and OOD images of different patients."""
    root = tmp_path_factory.mktemp("patients")
    clean = write_table(root / "in", range(PATIENTS))
    out = write_table(root / "out", range(PATIENTS, 2 * PATIENTS))
    return windtunnel.run(
        patients, out, "ood", clean=clean, out=root / "run", group="patient", labels_are_outputs=True
    )


def auroc_of_kl_matching(run: windtunnel.Run) -> float:
    (score,) = run.scores(["auroc:kl_matching"])
    return score.value


def test_patients_on_both_sides_would_look_like_detection(run: windtunnel.Run) -> None:
    assert auroc_of_kl_matching(run.grouped_by("")) > 0.75  # templates have seen the patients that are scored
    assert auroc_of_kl_matching(run) == pytest.approx(0.5, abs=0.1)


def test_no_patient_is_on_both_sides(run: windtunnel.Run) -> None:
    detectors = run.scoring.detectors
    assert detectors is not None
    patient = np.array(run.scoring.columns["patient"])[detectors.rows]
    patient[patient == ""] = "unknown"
    scored = detectors.taken_by("kl_matching")
    assert not set(patient[detectors.template]) & set(patient[scored])
    assert set(scored) | set(np.flatnonzero(detectors.template)) == set(range(len(patient)))
    assert 0.3 < detectors.template.sum() / (PATIENTS * IMAGES) < 0.7


def test_ood_images_of_template_patients_are_left_out(tmp_path: Path) -> None:
    """Half of the OOD images are of patients who have ID images too."""
    clean = write_table(tmp_path / "in", range(PATIENTS))
    out = write_table(tmp_path / "out", range(PATIENTS, 2 * PATIENTS), names_from=PATIENTS // 2)
    run = windtunnel.run(
        patients, out, "ood", clean=clean, out=tmp_path / "run", group="patient", labels_are_outputs=True
    )
    detectors = run.scoring.detectors
    assert detectors is not None
    patient = np.array(run.scoring.columns["patient"])[detectors.rows]
    templates = set(patient[detectors.template])
    kept = {f"p{number}" for number in range(PATIENTS // 2, PATIENTS + PATIENTS // 2)} - templates
    (score,) = run.scores(["aupr:kl_matching"])
    assert f"{len(kept) * IMAGES} OOD, " in score.formula
    lost = (PATIENTS - len(kept)) * IMAGES
    run.report()
    document = json.loads((run.path / "scores.json").read_text())
    assert document["detection"]["n_ood_by_score"]["kl_matching"] == PATIENTS * IMAGES - lost
    assert document["detection"]["n_ood_by_score"]["msp"] == PATIENTS * IMAGES
    assert any(f"kl_matching leaves out {lost} OOD images" in note for note in run_notes(run.scoring))


def test_many_ids_are_split_quickly() -> None:
    """The split of 40,000 images, half of them OOD, looks every id up once."""
    ids = np.array([f"{part}/{place:05}.png" for part in ("clean", "out") for place in range(20_000)], object)
    out = np.arange(40_000) >= 20_000
    started = time.perf_counter()
    chosen, left_out = template_split(ids, out)
    assert time.perf_counter() - started < 5  # compared pair by pair: 16 s
    assert (chosen == left_out).all() and 0.45 < chosen[~out].mean() < 0.55
    groups = np.array(["a", "b", HOSPITAL] * 2, object)
    chosen, left_out = template_split(groups, np.arange(6) >= 3)
    assert chosen[2] and left_out[2] and left_out[5] and not chosen[5]


def test_few_groups_may_leave_nothing_to_score(tmp_path: Path) -> None:
    clean = write_table(tmp_path / "in", range(40))
    out = write_table(tmp_path / "out", range(PATIENTS, PATIENTS + 5))
    text = clean.read_text()
    clean.write_text("\n".join(f"{line},hospital" if not place else f"{line},{HOSPITAL}"
                               for place, line in enumerate(text.splitlines())))  # fmt: skip
    out.write_text("\n".join(f"{line},hospital" if not place else f"{line},other"
                             for place, line in enumerate(out.read_text().splitlines())))  # fmt: skip
    run = windtunnel.run(
        patients, out, "ood", clean=clean, out=tmp_path / "run", group="hospital", labels_are_outputs=True
    )
    with pytest.raises(windtunnel.UserError, match="no ID or no OOD image to score"):
        run.scores(["auroc:kl_matching"])
    assert "kl_matching" not in {score.condition for score in run.scores()}
