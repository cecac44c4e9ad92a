"""The verbs of the command line, in Python."""

from windtunnel.api.comparing import compare as compare
from windtunnel.api.comparing import gate as gate
from windtunnel.api.comparing import slices as slices
from windtunnel.api.making import PreparedSet as PreparedSet
from windtunnel.api.making import make_set as make_set
from windtunnel.api.making import prepare_set as prepare_set
from windtunnel.api.running import PreparedRun as PreparedRun
from windtunnel.api.running import check_free as check_free
from windtunnel.api.running import plan as plan
from windtunnel.api.running import prepare as prepare
from windtunnel.api.running import run as run
from windtunnel.api.scoring import score_predictions as score_predictions
