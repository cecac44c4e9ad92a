"""MLflow: a run with parameters, metrics, tags and the report's files."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.extras import load_extra
from windtunnel.core.option_names import option
from windtunnel.integrations.destinations import (
    Destination,
    LoggedRun,
    Parameter,
    Settings,
    metric_values,
    writable_folder,
)

# Metrics in one request; MLflow accepts at most 1,000.
BATCH = 500


class Mlflow(Destination):
    """MLflow's tracking: a local folder, or with `--upload` the server of MLFLOW_TRACKING_URI."""

    name = "mlflow"
    help = "MLflow run with parameters, metrics and report files; a local folder without --upload."
    source = "mlflow.org; MLflow's own tracking API"
    uploads = True
    parameters = (
        Parameter("folder", "mlruns", "the local folder of MLflow's runs", path=True),
        Parameter("experiment", "windtunnel", "the experiment"),
    )

    def log(self, runs: Sequence[LoggedRun], settings: Settings, upload: bool) -> list[str]:
        address = os.environ.get("MLFLOW_TRACKING_URI", "")
        if upload and not address:
            raise UserError(
                f"{option('upload')} needs the address of the MLflow server; set MLFLOW_TRACKING_URI."
            )
        # MLflow reports its use to its makers, and refuses folders, unless these are set before the import.
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        mlflow = load_extra("mlflow", "The destination mlflow")
        where = address if upload else writable_folder(settings).as_uri()
        shown = without_password(where)
        client = mlflow.MlflowClient(tracking_uri=where)
        try:
            return [self._log(client, run, str(settings["experiment"]), shown) for run in runs]
        except mlflow.exceptions.MlflowException as error:
            reason = first_line(Exception(str(error).replace(where.rstrip("/"), shown.rstrip("/"))))
            raise UserError(f"MLflow at {shown} refused the run: {reason}.") from None

    def _log(self, client: Any, run: LoggedRun, experiment: str, where: str) -> str:
        entities = load_extra("mlflow.entities", "The destination mlflow")
        known = client.get_experiment_by_name(experiment)
        number = known.experiment_id if known else client.create_experiment(experiment)
        tags = {"windtunnel.suite": run.suite, **{f"tag.{tag}": "true" for tag in run.tags}}
        created = client.create_run(number, run_name=run.name, tags=tags)
        id_, now = created.info.run_id, int(1000 * time.time())
        metrics = [entities.Metric(name, value, now, 0) for name, value in metric_values(run).items()]
        params = [entities.Param(name, text) for name, text in run.settings.items()]
        client.log_batch(id_, params=params)
        for start in range(0, len(metrics), BATCH):
            client.log_batch(id_, metrics=metrics[start : start + BATCH])
        if run.warnings:
            client.set_tag(id_, "windtunnel.warnings", "\n".join(run.warnings))
        for file in run.files:
            client.log_artifact(id_, str(file))
        client.set_terminated(id_)
        return f"{where}, experiment {experiment}, run {id_}"


def without_password(address: str) -> str:
    """An address for messages, without the user name and password that it may contain."""
    scheme, separator, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


mlflow = Mlflow()
