"""Families of corruptions: noise, blur, weather, digital and others, as units and suites declare them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windtunnel.core.metrics import Missing
from windtunnel.suites.units import family_of

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

# The metrics that score families: of classification, and of detection.
FAMILY_ERROR = "family_error"
FAMILY_MPC = "family_mpc"
FAMILY_METRICS = (FAMILY_ERROR, FAMILY_MPC)


def columns_by_family(run: ScoredRun) -> dict[str, list[int]]:
    """By family, the columns of its corruptions, in the order of the run.

    Corruptions without a family, as in sets that others made, are left out.
    """
    columns: dict[str, list[int]] = {}
    for column, condition in enumerate(run.conditions):
        if condition.is_corruption:
            family = run.families.get(condition.unit) or family_of(condition.unit)
            if family:
                columns.setdefault(family, []).append(column)
    return columns


def why_no_families(run: ScoredRun) -> Missing | None:
    """Why a run with corruptions has no scores of families."""
    if columns_by_family(run):
        return None
    return Missing(
        "none of its corruptions has a family",
        "declare them in the suite's TOML file, as families = { CORRUPTION = 'noise' }",
    )
