"""Options records: one per verb, shared by the Python API, the command line and run files."""

from windtunnel.options.collect import CollectOptions as CollectOptions
from windtunnel.options.curation import HardOptions as HardOptions
from windtunnel.options.curation import OodOptions as OodOptions
from windtunnel.options.curation import TransferOptions as TransferOptions
from windtunnel.options.distance import DistanceOptions as DistanceOptions
from windtunnel.options.doctor import DoctorOptions as DoctorOptions
from windtunnel.options.experiment import ExperimentOptions as ExperimentOptions
from windtunnel.options.explain import ExplainOptions as ExplainOptions
from windtunnel.options.export import ExportOptions as ExportOptions
from windtunnel.options.fine_tune import FineTuneOptions as FineTuneOptions
from windtunnel.options.make import MakeOptions as MakeOptions
from windtunnel.options.overlap import OverlapOptions as OverlapOptions
from windtunnel.options.predictivity import EffectiveRobustnessOptions as EffectiveRobustnessOptions
from windtunnel.options.predictivity import PredictivityOptions as PredictivityOptions
from windtunnel.options.record import Options as Options
from windtunnel.options.review import ReviewOptions as ReviewOptions
from windtunnel.options.run import RunOptions as RunOptions
from windtunnel.options.run_file import RunFile as RunFile
from windtunnel.options.run_file import is_run_file as is_run_file
from windtunnel.options.run_file import read_run_file as read_run_file
from windtunnel.options.score import ScoreOptions as ScoreOptions
from windtunnel.options.show import ShowOptions as ShowOptions
from windtunnel.options.subtypes import SubtypeOptions as SubtypeOptions
from windtunnel.options.video import VideoOptions as VideoOptions
