"""The verbs of the command line, in Python, and the types of their results.

Each name is imported on first use: a command loads only the modules that it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windtunnel.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from windtunnel.analysis.comparison import Comparison as Comparison
    from windtunnel.analysis.diagnosis import Diagnosis as Diagnosis
    from windtunnel.analysis.distance import Distance as Distance
    from windtunnel.analysis.distance import ImageSet as ImageSet
    from windtunnel.analysis.distance import OverSplits as OverSplits
    from windtunnel.analysis.doctor_trials import LEAST_GAIN as LEAST_GAIN
    from windtunnel.analysis.doctor_trials import Gain as Gain
    from windtunnel.analysis.effective_robustness import EffectiveRobustness as EffectiveRobustness
    from windtunnel.analysis.experiment_results import ExperimentResults as ExperimentResults
    from windtunnel.analysis.explain import Explanation as Explanation
    from windtunnel.analysis.gate import Gate as Gate
    from windtunnel.analysis.multi_run import Several as Several
    from windtunnel.analysis.overlap.benchmarks import RULES as RULES
    from windtunnel.analysis.overlap.benchmarks import GeneratedBenchmarks as GeneratedBenchmarks
    from windtunnel.analysis.overlap.benchmarks import SelectedBenchmark as SelectedBenchmark
    from windtunnel.analysis.overlap.category_analysis import CategoryAnalysis as CategoryAnalysis
    from windtunnel.analysis.overlap.generation import DRAWS as DRAWS
    from windtunnel.analysis.overlap.scores import OverlapMatrix as OverlapMatrix
    from windtunnel.analysis.predictivity.measurement import Predictivity as Predictivity
    from windtunnel.analysis.public_placement import Placed as Placed
    from windtunnel.analysis.subtypes import SubtypeRobustness as SubtypeRobustness
    from windtunnel.api.calibrating import fit_temperature as fit_temperature
    from windtunnel.api.calibrating import write_temperature as write_temperature
    from windtunnel.api.choosing import BENCHMARK_COUNT as BENCHMARK_COUNT
    from windtunnel.api.choosing import CATEGORY_REPLICATES as CATEGORY_REPLICATES
    from windtunnel.api.choosing import CATEGORY_THRESHOLD as CATEGORY_THRESHOLD
    from windtunnel.api.choosing import find_categories as find_categories
    from windtunnel.api.choosing import generate_benchmarks as generate_benchmarks
    from windtunnel.api.choosing import select_benchmark as select_benchmark
    from windtunnel.api.choosing import write_matrix_page as write_matrix_page
    from windtunnel.api.choosing import write_study_page as write_study_page
    from windtunnel.api.comparing import SLICE_MINIMUM as SLICE_MINIMUM
    from windtunnel.api.comparing import compare as compare
    from windtunnel.api.comparing import gate as gate
    from windtunnel.api.comparing import omitted_slices as omitted_slices
    from windtunnel.api.comparing import slices as slices
    from windtunnel.api.curating import collect_candidates as collect_candidates
    from windtunnel.api.curating import export_set as export_set
    from windtunnel.api.curating import project_status as project_status
    from windtunnel.api.curating_videos import export_frame_sets as export_frame_sets
    from windtunnel.api.curating_videos import make_frame_sets as make_frame_sets
    from windtunnel.api.curating_videos import prepare_frame_sets as prepare_frame_sets
    from windtunnel.api.diagnosing import DoctorResult as DoctorResult
    from windtunnel.api.diagnosing import check_writable as check_writable
    from windtunnel.api.diagnosing import doctor as doctor
    from windtunnel.api.environment import Environment as Environment
    from windtunnel.api.environment import describe_environment as describe_environment
    from windtunnel.api.experiment_reports import StoredExperiment as StoredExperiment
    from windtunnel.api.experiment_reports import open_experiment as open_experiment
    from windtunnel.api.experiment_reports import write_experiment_page as write_experiment_page
    from windtunnel.api.experimenting import PreparedExperiment as PreparedExperiment
    from windtunnel.api.experimenting import experiment as experiment
    from windtunnel.api.experimenting import prepare_experiment as prepare_experiment
    from windtunnel.api.explaining import explain as explain
    from windtunnel.api.explaining import explanation_path as explanation_path
    from windtunnel.api.explaining import write_explanation as write_explanation
    from windtunnel.api.filtering import audit_csv as audit_csv
    from windtunnel.api.filtering import candidate_audit as candidate_audit
    from windtunnel.api.filtering import filter_hard as filter_hard
    from windtunnel.api.filtering import fine_tune as fine_tune
    from windtunnel.api.filtering import measure_transfer as measure_transfer
    from windtunnel.api.filtering import select_ood as select_ood
    from windtunnel.api.filtering import write_project_page as write_project_page
    from windtunnel.api.inspecting import distance as distance
    from windtunnel.api.inspecting import inspect_dataset as inspect_dataset
    from windtunnel.api.labelling import ImagenetMap as ImagenetMap
    from windtunnel.api.labelling import map_imagenet_classes as map_imagenet_classes
    from windtunnel.api.listing import KINDS as KINDS
    from windtunnel.api.listing import PUBLISHED_METRICS as PUBLISHED_METRICS
    from windtunnel.api.listing import list_plugins as list_plugins
    from windtunnel.api.listing import published_sources as published_sources
    from windtunnel.api.logging_runs import log_runs as log_runs
    from windtunnel.api.making import PreparedSet as PreparedSet
    from windtunnel.api.making import make_set as make_set
    from windtunnel.api.making import prepare_set as prepare_set
    from windtunnel.api.making import verify_set as verify_set
    from windtunnel.api.output_files import check_html as check_html
    from windtunnel.api.overlapping import overlap_of_accuracies as overlap_of_accuracies
    from windtunnel.api.plugin_names import plugin_names as plugin_names
    from windtunnel.api.predicting import effective_robustness as effective_robustness
    from windtunnel.api.predicting import predictivity as predictivity
    from windtunnel.api.publishing import COMMENT_NAME as COMMENT_NAME
    from windtunnel.api.publishing import check_github as check_github
    from windtunnel.api.publishing import comment_on_pull_request as comment_on_pull_request
    from windtunnel.api.publishing import summarise_change as summarise_change
    from windtunnel.api.publishing import write_job_summary as write_job_summary
    from windtunnel.api.reporting import kind_of_run_needed as kind_of_run_needed
    from windtunnel.api.reporting import leaderboard as leaderboard
    from windtunnel.api.reporting import place_among_public as place_among_public
    from windtunnel.api.reporting import summarise_runs as summarise_runs
    from windtunnel.api.reporting import write_leaderboard as write_leaderboard
    from windtunnel.api.reporting import write_report as write_report
    from windtunnel.api.reviewing import create_review_task as create_review_task
    from windtunnel.api.reviewing import export_review as export_review
    from windtunnel.api.reviewing import import_review_votes as import_review_votes
    from windtunnel.api.reviewing import open_review as open_review
    from windtunnel.api.reviewing import png_of_image as png_of_image
    from windtunnel.api.reviewing import rebuild_review as rebuild_review
    from windtunnel.api.reviewing import review_progress as review_progress
    from windtunnel.api.running import PreparedRuns as PreparedRuns
    from windtunnel.api.running import check_free as check_free
    from windtunnel.api.running import expected_time as expected_time
    from windtunnel.api.running import include_plugins as include_plugins
    from windtunnel.api.running import plan as plan
    from windtunnel.api.running import prepare as prepare
    from windtunnel.api.running import run as run
    from windtunnel.api.running import run_models as run_models
    from windtunnel.api.scoring import score_predictions as score_predictions
    from windtunnel.api.studying import PreparedStudy as PreparedStudy
    from windtunnel.api.studying import overlap as overlap
    from windtunnel.api.studying import prepare_study as prepare_study
    from windtunnel.api.subtyping import PreparedSubtypes as PreparedSubtypes
    from windtunnel.api.subtyping import prepare_subtypes as prepare_subtypes
    from windtunnel.api.subtyping import subtypes as subtypes
    from windtunnel.api.training_reports import open_trainings as open_trainings
    from windtunnel.api.training_reports import write_training_page as write_training_page
    from windtunnel.api.units import Gallery as Gallery
    from windtunnel.api.units import GoldenDigest as GoldenDigest
    from windtunnel.api.units import WarmedUp as WarmedUp
    from windtunnel.api.units import golden_digests as golden_digests
    from windtunnel.api.units import make_gallery as make_gallery
    from windtunnel.api.units import show as show
    from windtunnel.api.units import warmup as warmup
    from windtunnel.core.errors import ImageError as ImageError
    from windtunnel.curate.collect import Collected as Collected
    from windtunnel.curate.export import ExportedSet as ExportedSet
    from windtunnel.curate.frame_set_export import FrameSetExport as FrameSetExport
    from windtunnel.curate.status import ProjectStatus as ProjectStatus
    from windtunnel.curate.steps import FinishedStep as FinishedStep
    from windtunnel.curate.video import FrameSets as FrameSets
    from windtunnel.data.inspection import Inspection as Inspection
    from windtunnel.engine.cost import storage_bytes as storage_bytes
    from windtunnel.engine.estimate import Expected as Expected
    from windtunnel.engine.execution import PlannedRun as PlannedRun
    from windtunnel.make.plan import MakePlan as MakePlan
    from windtunnel.make.verification import Verification as Verification
    from windtunnel.metrics.published_figures import published_models as published_models
    from windtunnel.metrics.slices import Omitted as Omitted
    from windtunnel.metrics.slices import Slice as Slice
    from windtunnel.models import load_model as load_model
    from windtunnel.report.files import Written as Written
    from windtunnel.report.run_browser import NoSuchRun as NoSuchRun
    from windtunnel.report.run_browser import RunBrowser as RunBrowser
    from windtunnel.review.agreement import TaskAgreement as TaskAgreement
    from windtunnel.review.database import DatabaseLost as DatabaseLost
    from windtunnel.review.events import Appended as Appended
    from windtunnel.review.export import collect_export as collect_export
    from windtunnel.review.practice import PracticeRound as PracticeRound
    from windtunnel.review.progress import TaskProgress as TaskProgress
    from windtunnel.review.records import Item as Item
    from windtunnel.review.records import NewEvent as NewEvent
    from windtunnel.review.records import Person as Person
    from windtunnel.review.review import PracticeFirst as PracticeFirst
    from windtunnel.review.review import Review as Review
    from windtunnel.review.tasks import Task as Task
    from windtunnel.review.votes import JudgedItem as JudgedItem
    from windtunnel.sequences import SEQUENCE_PREFIX as SEQUENCE_PREFIX
    from windtunnel.stats.agreement import Agreement as Agreement
    from windtunnel.store.training_folder import StoredTraining as StoredTraining
    from windtunnel.store.training_folder import is_training as is_training
    from windtunnel.studies.experiment_records import is_experiment as is_experiment
    from windtunnel.studies.stored_accuracies import is_study as is_study
    from windtunnel.studies.stored_accuracies import refuse_unfinished as refuse_unfinished

# The names of each module.
_NAMES = {
    "windtunnel.analysis.comparison": ("Comparison",),
    "windtunnel.analysis.diagnosis": ("Diagnosis",),
    "windtunnel.analysis.distance": ("Distance", "ImageSet", "OverSplits"),
    "windtunnel.analysis.doctor_trials": ("LEAST_GAIN", "Gain"),
    "windtunnel.analysis.effective_robustness": ("EffectiveRobustness",),
    "windtunnel.analysis.experiment_results": ("ExperimentResults",),
    "windtunnel.analysis.explain": ("Explanation",),
    "windtunnel.analysis.gate": ("Gate",),
    "windtunnel.analysis.multi_run": ("Several",),
    "windtunnel.analysis.overlap.benchmarks": ("RULES", "GeneratedBenchmarks", "SelectedBenchmark"),
    "windtunnel.analysis.overlap.category_analysis": ("CategoryAnalysis",),
    "windtunnel.analysis.overlap.generation": ("DRAWS",),
    "windtunnel.analysis.overlap.scores": ("OverlapMatrix",),
    "windtunnel.analysis.predictivity.measurement": ("Predictivity",),
    "windtunnel.analysis.public_placement": ("Placed",),
    "windtunnel.analysis.subtypes": ("SubtypeRobustness",),
    "windtunnel.api.calibrating": ("fit_temperature", "write_temperature"),
    "windtunnel.api.choosing": (
        "BENCHMARK_COUNT",
        "CATEGORY_REPLICATES",
        "CATEGORY_THRESHOLD",
        "find_categories",
        "generate_benchmarks",
        "select_benchmark",
        "write_matrix_page",
        "write_study_page",
    ),
    "windtunnel.api.comparing": ("SLICE_MINIMUM", "compare", "gate", "omitted_slices", "slices"),
    "windtunnel.api.curating": ("collect_candidates", "export_set", "project_status"),
    "windtunnel.api.curating_videos": ("export_frame_sets", "make_frame_sets", "prepare_frame_sets"),
    "windtunnel.api.diagnosing": ("DoctorResult", "check_writable", "doctor"),
    "windtunnel.api.environment": ("Environment", "describe_environment"),
    "windtunnel.api.experimenting": ("PreparedExperiment", "experiment", "prepare_experiment"),
    "windtunnel.api.experiment_reports": (
        "StoredExperiment",
        "open_experiment",
        "write_experiment_page",
    ),
    "windtunnel.api.explaining": ("explain", "explanation_path", "write_explanation"),
    "windtunnel.api.filtering": (
        "audit_csv",
        "candidate_audit",
        "filter_hard",
        "fine_tune",
        "measure_transfer",
        "select_ood",
        "write_project_page",
    ),
    "windtunnel.api.inspecting": ("distance", "inspect_dataset"),
    "windtunnel.api.labelling": ("ImagenetMap", "map_imagenet_classes"),
    "windtunnel.api.listing": ("KINDS", "PUBLISHED_METRICS", "list_plugins", "published_sources"),
    "windtunnel.api.logging_runs": ("log_runs",),
    "windtunnel.api.making": ("PreparedSet", "make_set", "prepare_set", "verify_set"),
    "windtunnel.api.output_files": ("check_html",),
    "windtunnel.api.overlapping": ("overlap_of_accuracies",),
    "windtunnel.api.plugin_names": ("plugin_names",),
    "windtunnel.api.predicting": ("effective_robustness", "predictivity"),
    "windtunnel.api.publishing": (
        "COMMENT_NAME",
        "check_github",
        "comment_on_pull_request",
        "summarise_change",
        "write_job_summary",
    ),
    "windtunnel.api.reporting": (
        "kind_of_run_needed",
        "leaderboard",
        "place_among_public",
        "summarise_runs",
        "write_leaderboard",
        "write_report",
    ),
    "windtunnel.api.reviewing": (
        "create_review_task",
        "export_review",
        "import_review_votes",
        "open_review",
        "png_of_image",
        "rebuild_review",
        "review_progress",
    ),
    "windtunnel.api.running": (
        "PreparedRuns",
        "check_free",
        "expected_time",
        "include_plugins",
        "plan",
        "prepare",
        "run",
        "run_models",
    ),
    "windtunnel.api.scoring": ("score_predictions",),
    "windtunnel.api.studying": ("PreparedStudy", "overlap", "prepare_study"),
    "windtunnel.api.subtyping": ("PreparedSubtypes", "prepare_subtypes", "subtypes"),
    "windtunnel.api.training_reports": ("open_trainings", "write_training_page"),
    "windtunnel.api.units": (
        "Gallery",
        "GoldenDigest",
        "WarmedUp",
        "golden_digests",
        "make_gallery",
        "show",
        "warmup",
    ),
    "windtunnel.core.errors": ("ImageError",),
    "windtunnel.curate.collect": ("Collected",),
    "windtunnel.curate.export": ("ExportedSet",),
    "windtunnel.curate.frame_set_export": ("FrameSetExport",),
    "windtunnel.curate.status": ("ProjectStatus",),
    "windtunnel.curate.steps": ("FinishedStep",),
    "windtunnel.curate.video": ("FrameSets",),
    "windtunnel.data.inspection": ("Inspection",),
    "windtunnel.engine.cost": ("storage_bytes",),
    "windtunnel.engine.estimate": ("Expected",),
    "windtunnel.engine.execution": ("PlannedRun",),
    "windtunnel.make.plan": ("MakePlan",),
    "windtunnel.make.verification": ("Verification",),
    "windtunnel.metrics.published_figures": ("published_models",),
    "windtunnel.metrics.slices": ("Omitted", "Slice"),
    "windtunnel.models": ("load_model",),
    "windtunnel.report.files": ("Written",),
    "windtunnel.report.run_browser": ("NoSuchRun", "RunBrowser"),
    "windtunnel.review.agreement": ("TaskAgreement",),
    "windtunnel.review.database": ("DatabaseLost",),
    "windtunnel.review.events": ("Appended",),
    "windtunnel.review.export": ("collect_export",),
    "windtunnel.review.practice": ("PracticeRound",),
    "windtunnel.review.progress": ("TaskProgress",),
    "windtunnel.review.records": ("Item", "NewEvent", "Person"),
    "windtunnel.review.review": ("PracticeFirst", "Review"),
    "windtunnel.review.tasks": ("Task",),
    "windtunnel.review.votes": ("JudgedItem",),
    "windtunnel.sequences": ("SEQUENCE_PREFIX",),
    "windtunnel.stats.agreement": ("Agreement",),
    "windtunnel.store.training_folder": ("StoredTraining", "is_training"),
    "windtunnel.studies.experiment_records": ("is_experiment",),
    "windtunnel.studies.stored_accuracies": ("is_study", "refuse_unfinished"),
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__, {name: module for module, names in _NAMES.items() for name in names}
    )
