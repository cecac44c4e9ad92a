"""Fine-tuning of a filter model on the classes of a project, by the training loop.

PROJECT/models/NAME-fine-tuned-DIGEST/   a folder of a training, and the model as an ONNX file
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.core.conditions import digest
from windtunnel.core.curation_records import FilterModelRecord, FineTuneRecipe, FineTuneSummary
from windtunnel.core.errors import UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.labels import LabelSpace
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.samples import Sample
from windtunnel.core.wording import counted, listed
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.ensemble import labelled_candidates
from windtunnel.curate.filter_models import FilterModel, chosen_classes, class_lines, load_source
from windtunnel.curate.implausible_models import doubtful_declarations
from windtunnel.curate.project import Project
from windtunnel.curate.steps import FinishedStep, StepKind
from windtunnel.data import Dataset, open_dataset
from windtunnel.data.survey import survey
from windtunnel.models import load_model
from windtunnel.models.declaration import declaration_text
from windtunnel.options.fine_tune import FineTuneOptions
from windtunnel.store.atomic_files import write_whole

if TYPE_CHECKING:
    from windtunnel.core.images import Image

FINE_TUNE = StepKind("fine-tune", FineTuneRecipe, FineTuneSummary)
MODELS_FOLDER = "models"
# Classes that a message names.
CLASSES_NAMED = 5


def fine_tune(
    project: Project,
    model: Any,
    data: Any,
    options: FineTuneOptions = FineTuneOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> FinishedStep[FineTuneRecipe, FineTuneSummary]:
    """Fine-tune a torch module on labelled images of the project's classes, and store it in the project.

    All weights are trained. The last layer has one output for each class; it starts with the weights of the
    model's outputs of the same names, other outputs with random ones.

    Args:
        project: the project.
        model: a torch module, or the factory of one.
        data: labelled images; those that are candidates of the project are left out.
        options: classes and settings of the training.
        progress: counts epochs.
    """
    load_extra("torch", "Fine-tuning")
    with project.locked():
        rows = labelled_candidates(project)
        more_classes = class_lines(options.classes, [row.label for row in rows])
        candidates = CandidateImages(project.folder, rows, more_classes)
        names = candidates.label_space.classes
        classes = tuple(sorted(names[label] for label in chosen_classes(candidates, options.classes)))
        base = FilterModel(*load_source(model), {})
        if base.model.wrappers:
            raise UserError(
                f"{base.model.name} has wrappers, which cannot be trained; give the model without wrappers."
            )
        predictor = base.model.gradient_source
        if predictor is None:
            raise UserError(
                f"{base.model.name} is a model of kind {base.model.kind}, which cannot be trained; give a "
                "torch module or the factory of one, FILE.py:factory."
            )
        images = _TrainingImages(open_dataset(data), classes, {row.id for row in rows})
        recipe = FineTuneRecipe(
            base.record, classes, images.digest, options.epochs, options.learning_rate, options.batch,
            not options.no_mirror, options.seed,
        )  # fmt: skip
        name = f"{base.model.name}-fine-tuned"
        step = FINE_TUNE.of(f"{base.model.name}-{digest(recipe.to_json())[:8]}")
        file = project.folder / MODELS_FOLDER / f"{name}-{digest(recipe.to_json())[:8]}" / f"{name}.onnx"
        if (finished := project.finished(step, recipe)) and file.is_file():
            return finished
        losses = _train(predictor.module, base, images, recipe, file, progress)
        summary = FineTuneSummary(
            model=file.relative_to(project.folder).as_posix(),
            fingerprint=load_model(file).fingerprint,
            images=len(images.samples()),
            left_out=images.left_out,
            losses=losses,
            warnings=tuple(doubtful_declarations([base])),
        )
        return project.finish(step, recipe, summary)


def fine_tuned_from(project: Project) -> dict[str, FilterModelRecord]:
    """By fingerprint of a model that was fine-tuned in a project, the model it was fine-tuned from."""
    names = [name for name in project.steps() if name.startswith(f"{FINE_TUNE.name}-")]
    steps = [project.step(replace(FINE_TUNE, name=name)) for name in names]
    return {step.summary.fingerprint: step.recipe.model for step in steps if step is not None}


class _TrainingImages(Dataset):
    """The images of some classes that are not candidates.

    Attributes:
        left_out: images of these classes that are candidates.
        digest: of classes and contents.
    """

    name: str
    location: str
    label_space: LabelSpace
    parallel_reads: bool

    def __init__(self, source: Dataset, classes: Sequence[str], candidates: set[str]) -> None:
        self._source = source
        self.name, self.location = source.name, source.location
        self.parallel_reads = source.parallel_reads
        self.label_space = LabelSpace("names", tuple(classes), "sorted class names")
        place = {name: number for number, name in enumerate(classes)}
        names = source.label_space.classes
        of_classes = [
            replace(sample, labels=(place[names[sample.labels[0]]],))
            for sample in source.samples()
            if len(sample.labels) == 1 and names[sample.labels[0]] in place
        ]
        surveyed = survey(source, of_classes)
        kept = [image for image in surveyed if image.content not in candidates]
        self.left_out = len(surveyed) - len(kept)
        self.digest = digest([[image.sample.id, image.sample.labels, image.content] for image in kept])
        self._samples = [image.sample for image in kept]
        seen = {sample.labels[0] for sample in self._samples}
        if missing := [f"'{name}'" for name in classes if place[name] not in seen]:
            left_out = f" that is not a candidate ({self.left_out:,} are)" if self.left_out else ""
            raise UserError(
                f"{self.location} has no image{left_out} of {len(missing):,} of "
                f"{counted(len(classes), 'class', 'classes')}: {listed(missing, CLASSES_NAMED)}; give "
                f"labelled images of every class, or fewer classes with {option('classes')}."
            )

    def samples(self) -> Sequence[Sample]:
        """Every image, labelled by its place among the classes."""
        return self._samples

    def read(self, sample: Sample) -> bytes | Image:
        """An image's bytes or pixels."""
        return self._source.read(sample)


def _train(
    module: Any,
    base: FilterModel,
    images: _TrainingImages,
    recipe: FineTuneRecipe,
    file: Path,
    progress: Progress,
) -> tuple[float, ...]:
    """Train in the folder of a file, continue a stopped training, write the file, and return the losses."""
    from windtunnel.train import Settings, fit

    settings = Settings(
        epochs=recipe.epochs,
        batch=recipe.batch,
        learning_rate=recipe.learning_rate,
        mirror=recipe.mirror,
        seed=recipe.seed,
    )
    file.parent.parent.mkdir(exist_ok=True)
    done = 0

    def advance(epoch: int, _loss: float) -> None:
        nonlocal done
        progress(epoch - done, recipe.epochs)
        done = epoch

    changed = _with_outputs(module, base, recipe.classes, recipe.seed)
    trained = fit(
        changed, images, file.parent, preprocess=base.model.preprocess, settings=settings, advance=advance
    )
    about = {"family": base.model.about.family or base.model.name, "trained_on": list(base.model.trained_on)}
    text = declaration_text(base.model.preprocess, about, labels=recipe.classes, outputs="logits")
    write_whole(Path(f"{file}.toml"), text.encode())
    trained.model.replace(file)
    Path(f"{trained.model}.toml").unlink()
    return trained.losses


def _with_outputs(module: Any, base: FilterModel, classes: Sequence[str], seed: int) -> Any:
    """A copy of the module whose last layer has an output for each class."""
    import torch

    from windtunnel.models.torch_layers import last_layer

    model = base.model
    module = copy.deepcopy(module)
    name = last_layer(module, model.class_count)
    if not name:
        raise UserError(
            f"{model.name} has no linear layer or convolution of {model.class_count} outputs, which "
            "fine-tuning replaces; give a module that ends in one."
        )
    old = module.get_submodule(name)
    bias = old.bias is not None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if isinstance(old, torch.nn.Linear):
            new: Any = torch.nn.Linear(old.in_features, len(classes), bias=bias)
        else:
            size = old.kernel_size, old.stride, old.padding, old.dilation
            new = torch.nn.Conv2d(old.in_channels, len(classes), *size, bias=bias)
    output_of = {known: output for output, known in enumerate(base.class_names)}
    with torch.no_grad():
        for place, known in enumerate(classes):
            if known in output_of:
                new.weight[place] = old.weight[output_of[known]]
                if bias:
                    new.bias[place] = old.bias[output_of[known]]
    new = new.to(old.weight.device, old.weight.dtype)
    parent, _, attribute = name.rpartition(".")
    setattr(module.get_submodule(parent), attribute, new)
    return module
