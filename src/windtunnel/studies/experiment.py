"""An experiment: variants of a training with several seeds, compared with a baseline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.experiment_results import ExperimentResults, SuiteConditions, VariantFacts
from windtunnel.analysis.experiments import Tested, experiment_results
from windtunnel.core.calls import call_text
from windtunnel.core.errors import UserError
from windtunnel.core.interruption import finishing_items
from windtunnel.core.progress import Progress, silent
from windtunnel.core.seeding import digest64
from windtunnel.core.wording import counted
from windtunnel.engine.executors import Workers
from windtunnel.models.preprocess import Preprocess
from windtunnel.models.wrapping import parse_wrapper
from windtunnel.store.recipe_folder import RecipeFolder
from windtunnel.studies.experiment_costs import missing_latency, train_seconds, with_latency
from windtunnel.studies.experiment_file import ExperimentFile
from windtunnel.studies.experiment_records import (
    EXPERIMENT,
    ExperimentRecipe,
    finished_seeds,
    read_costs,
    write_costs,
    write_results,
)
from windtunnel.studies.experiment_variants import Variant
from windtunnel.studies.library_versions import check_versions, library_versions
from windtunnel.studies.model_names import MODELS, model_name
from windtunnel.studies.model_training import ModelItem, TrainingPlan, WrappedItem
from windtunnel.studies.study_data import StudyData
from windtunnel.studies.study_models import StudyModels
from windtunnel.train.settings import Settings

# The share of the test images that a variant is chosen on; reported scores are computed from the others.
CHOOSING_SHARE = 0.25


@dataclass(frozen=True)
class Experiment:
    """A planned or finished experiment.

    Attributes:
        folder: its folder.
        content: the file that describes it.
        preprocess: from files to the network's input.
        data: the training and test images.
        models: the models and their predictions.
        recipe: everything that determines the models' predictions, except the seeds.
        suites: the suites that are reported.
        choosing: the suite on which the best variant is chosen; None for none.
        notes: notes for the reader.
    """

    folder: Path
    content: ExperimentFile
    preprocess: Preprocess
    data: StudyData
    models: StudyModels
    recipe: ExperimentRecipe
    suites: tuple[SuiteConditions, ...]
    choosing: SuiteConditions | None
    notes: tuple[str, ...]

    @property
    def seeds(self) -> range:
        """The seeds of the trainings."""
        return range(self.content.seeds)

    @property
    def trainings(self) -> list[ModelItem]:
        """All trained models, by seed."""
        return [
            self._training(variant, seed)
            for seed in self.seeds
            for variant in self.content.variants
            if not variant.of
        ]

    @property
    def wrapped(self) -> list[WrappedItem]:
        """All wrapped models, by seed."""
        return [
            self._wrapped(variant, seed)
            for seed in self.seeds
            for variant in self.content.variants
            if variant.of
        ]

    @property
    def chosen_on(self) -> NDArray[np.bool_]:
        """Whether each test image is for choosing; none without a suite for choosing.

        Images with the same content are on the same side.
        """
        contents = [image.content for image in self.data.images]
        if self.choosing is None:
            return np.zeros(len(contents), np.bool_)
        order = sorted(set(contents), key=lambda content: (digest64("experiment/choosing", content), content))
        count = min(max(1, round(CHOOSING_SHARE * len(order))), len(order) - 1)
        chosen = set(order[:count])
        return np.array([content in chosen for content in contents], np.bool_)

    @property
    def epochs(self) -> int:
        """The epochs of all trainings; each evaluation counts as one."""
        return sum(item.plan.settings.epochs + 1 for item in self.trainings) + len(self.wrapped)

    def run(
        self,
        workers: Workers = Workers(),  # noqa: B008 (frozen)
        *,
        making: Progress = silent,
        training: Progress = silent,
    ) -> ExperimentResults:
        """Train and evaluate what is missing, then write results and costs.

        Args:
            workers: how many, and where.
            making: counts test images.
            training: counts epochs; the evaluation of a model counts as one.
        """
        workers.check(portable=self.data.portable, live="A dataset in memory")
        self.check_folder()
        folder = RecipeFolder(self.folder, EXPERIMENT)
        with folder.locked():
            self.check_folder()  # again, now that no other process can write
            trainings = [item for item in self.trainings if self.models.stored(item) is None]
            wrapped = [item for item in self.wrapped if self.models.stored(item) is None]
            if trainings or wrapped:
                check_versions(folder)
            folder.create_recipe_file({"recipe": self.recipe.to_json(), "versions": library_versions()})
            left = sum(item.plan.settings.epochs + 1 for item in trainings) + len(wrapped)
            training(self.epochs - left, self.epochs)
            try:
                with finishing_items():
                    self._finish(
                        trainings, wrapped, workers, making, lambda done: training(done, self.epochs)
                    )
            except BaseException as error:
                items: list[ModelItem | WrappedItem] = [*self.trainings, *self.wrapped]
                stored = sum(self.models.stored(item) is not None for item in items)
                error.add_note(
                    f"{stored} of {counted(len(items), 'model')} are finished in {self.folder}; the others "
                    "continue at their last epoch."
                )
                raise
            results = self.results()
            write_results(self.folder, results)
            self._write_costs(results, workers, making)
            self.models.delete_images()
        return results

    def results(self) -> ExperimentResults:
        """Errors, differences and verdicts, from the stored predictions."""
        tested = [self._tested(variant) for variant in self.content.variants]
        content = self.content
        return experiment_results(
            content.name, content.baseline, tested, self.suites, self.choosing, self.notes
        )

    def check_folder(self) -> None:
        """Refuse a folder of another experiment, and fewer seeds than it is finished with."""
        folder = RecipeFolder(self.folder, EXPERIMENT)
        folder.check_free()
        folder.refuse_other_recipe(self.recipe)
        finished = finished_seeds(self.folder)
        if finished > self.content.seeds:
            raise UserError(
                f"seeds is {self.content.seeds}, but {self.folder} is finished with "
                f"{counted(finished, 'seed')}; give seeds = {finished} or more, or another folder."
            )

    def _finish(
        self,
        trainings: list[ModelItem],
        wrapped: list[WrappedItem],
        workers: Workers,
        making: Progress,
        advance: Callable[[int], None],
    ) -> None:
        if trainings or wrapped:
            self.models.make_images(workers, making)
        if trainings:
            self.models.train(trainings, workers, advance, records_failures=True)
        possible = [item for item in wrapped if not self._failure(item.seed, self._of(item))]
        advance(len(wrapped) - len(possible))
        if possible:
            self.models.evaluate_wrapped(possible, workers, advance)

    def _of(self, item: WrappedItem) -> str:
        return self.content.variant(item.model).of

    def _failure(self, seed: int, trained: str) -> str:
        """Why a training failed; "" if it did not."""
        stored = self.models.stored(self._training(self.content.variant(trained), seed))
        return stored.failed if stored else ""

    def _tested(self, variant: Variant) -> Tested:
        facts = variant_facts(variant, self.content.settings)
        trained = variant.of or variant.name
        failures = {seed: reason for seed in self.seeds if (reason := self._failure(seed, trained))}
        if failures:
            seed, reason = next(iter(failures.items()))
            which = f"{trained}, seed {seed}" if variant.of else f"seed {seed}"
            others = f" ({len(failures)} of {counted(len(self.seeds), 'seed')} failed)"
            return Tested(facts, {}, f"{which}: {reason}{others if len(self.seeds) > 1 else ''}")
        chosen_on = self.chosen_on
        choosing = self.choosing.units if self.choosing else {}
        correct: dict[str, list[NDArray[np.bool_]]] = {}
        for seed in self.seeds:
            item = self._wrapped(variant, seed) if variant.of else self._training(variant, seed)
            stored = self.models.stored(item)
            if stored is None:
                raise UserError(
                    f"{self.folder} lacks the predictions of {item.description}; repeat the command that "
                    "made the experiment."
                )
            for tested in self.models.tested:
                images = chosen_on if tested.name in choosing else ~chosen_on
                correct.setdefault(tested.name, []).append(stored.unpacked(tested.name)[images])
        return Tested(facts, {name: np.stack(values) for name, values in correct.items()})

    def _write_costs(self, results: ExperimentResults, workers: Workers, making: Progress) -> None:
        """Measure what was not measured before, and write it."""
        costs = read_costs(self.folder)
        finished = [variant for variant in self.content.variants if not results.variant(variant.name).failed]
        if self.content.baseline in [variant.name for variant in finished] and missing_latency(
            costs, self.content.baseline, finished
        ):
            self.models.make_images(workers, making)
            costs = with_latency(costs, self.models, self.content.baseline, finished, self.suites[0].clean)
        folders = {
            variant.name: [
                self.folder / MODELS / model_name(variant.name, seed) for seed in self.seeds if not variant.of
            ]
            for variant in self.content.variants
        }
        write_costs(self.folder, train_seconds(costs, folders))

    def _training(self, variant: Variant, seed: int) -> ModelItem:
        plan = training_plan(self.content, self.preprocess, variant, seed)
        return ModelItem(variant.name, seed, plan, f"the model of {variant.name} with seed {seed}")

    def _wrapped(self, variant: Variant, seed: int) -> WrappedItem:
        return WrappedItem(
            variant.name,
            seed,
            model_name(variant.of, seed),
            variant.wrappers,
            f"the model of {variant.name} with seed {seed}",
        )


def training_plan(
    content: ExperimentFile, preprocess: Preprocess, variant: Variant, seed: int
) -> TrainingPlan:
    """How a model of a variant is trained."""
    return TrainingPlan(
        content.network,
        preprocess,
        replace(variant.settings, seed=seed),
        variant.mix,
        variant.augmentation,
        variant.remedies,
        content.weights,
    )


def variant_facts(variant: Variant, settings: Settings) -> VariantFacts:
    """What distinguishes a variant, as results store it.

    Args:
        variant: the variant.
        settings: those of the experiment, which variants may change.
    """
    augmentation, mix = variant.augmentation, variant.mix
    changed = {
        name: value for name, value in asdict(variant.settings).items() if value != getattr(settings, name)
    }
    texts = [
        *(f"{name}={_setting_text(value)}" for name, value in changed.items()),
        *([f"{augmentation.clean_copies} clean copies"] if augmentation.clean_copies != 1 else []),
        *(f"{text} copies" for text in augmentation.corruptions),
        *(f"decoder {text}" for text in mix.decoders),
        *(f"resizer {text}" for text in mix.resizers),
        *(["drawn for each image"] if mix.per == "image" and (mix.decoders or mix.resizers) else []),
        *variant.remedies.trained_with(),
    ]
    calls = [parse_wrapper(text) for text in variant.wrappers]
    texts += [f"{call_text(call.plugin.name, call.settings)} at test time" for call in calls]
    return VariantFacts(
        name=variant.name,
        group=variant.group,
        parameters=dict(variant.parameters),
        of=variant.of,
        remedies=tuple(texts),
        trained_on=variant.trained_on,
        order=f"copies {augmentation.copies}, batch {variant.settings.batch}",
        exposures=variant.settings.epochs * augmentation.copies,
    )


def _setting_text(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)
