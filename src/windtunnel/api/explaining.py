"""Explain a prediction on one image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windtunnel.analysis.explain import Explanation, explain_image
from windtunnel.api.output_files import check_png
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.models import load_model
from windtunnel.options import ExplainOptions
from windtunnel.report.saliency_overlay import side_by_side
from windtunnel.suites.inclusion import include_files


def explain(
    model: Any,
    image: Any,
    target: str | int | None = None,
    options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> Explanation:
    """Explain a model's prediction on an image by a saliency map of one class.

    Args:
        model: a model as `run` accepts it.
        image: a file, or an image as a PIL image, array or tensor; the model's own preprocessing is applied.
        target: the class to explain: its name, WordNet id or index; None for the predicted class.
        options: method, cover, score and layer; see `windtunnel.options.ExplainOptions`.
        progress: counts occluded patches.
        changes: single options by name, such as `method="grad-cam"`; they override `options`.

    Raises:
        UserError: an argument is invalid.
    """
    chosen = options.with_changes(changes)
    include_files(chosen.include)
    loaded = load_model(model, chosen.preprocess, device=chosen.device)
    return explain_image(loaded, image, target, chosen, progress)


def explanation_path(image: str | Path, out: str | Path | None = None) -> Path:
    """The PNG file of an explanation, by default `<image>.explained.png` in the current folder.

    Raises:
        UserError: it is not a PNG file, its folder does not exist, or it is the image itself.
    """
    path = Path(out) if out else Path(f"{Path(image).stem}.explained.png")
    check_png(path)
    if path.exists() and Path(image).exists() and path.samefile(image):
        raise UserError(f"{option('out')} is {path}, the image itself; give another file.")
    return path


def write_explanation(explanation: Explanation, path: Path) -> None:
    """Write the image and its saliency map side by side, with a legend, to a PNG file."""
    side_by_side(explanation).save(path, "PNG")
