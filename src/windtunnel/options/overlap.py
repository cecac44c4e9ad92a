"""The options of an overlap study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions

# What accuracies are divided by before gains are computed: the model's clean accuracy, or nothing.
RATIOS = ("clean", "raw")


@options_record
class OverlapOptions(Options):
    """The options of `overlap`."""

    candidates: Sequence[str] = option_field(
        default=(),
        help="A corruption, or a suite for all its corruptions; may be repeated. Default imagenet-c.",
        metavar="SUITE|UNIT[:SEVERITY]",
    )
    severity: int = option_field(
        default=3, help="Severity of candidates that are given without one.", minimum=1
    )
    protocol: str = option_field(
        default="small",
        help="How models are trained: small (32 pixels, a few CPU cores), paper (ResNet-18, Laugros et al.) "
        "or a TOML file.",
        metavar="NAME|FILE.toml",
    )
    network: str | None = option_field(
        default=None,
        help="Another network than the protocol's, as windtunnel list networks names it.",
        metavar="NAME|FILE.py:factory",
    )
    epochs: int | None = option_field(
        default=None, help="Another number of epochs than the protocol's.", minimum=1
    )
    seeds: int = option_field(
        default=3, help="Number of trainings per candidate; more can be added later, not fewer.", minimum=1
    )
    ratio: str = option_field(
        default=RATIOS[0],
        help="Divide accuracies by the model's clean accuracy, as in the paper (clean), or not (raw).",
        choices=RATIOS,
    )
    device: str = option_field(
        default="cpu",
        help="Device of the trainings: cpu, cuda, or auto. Trainings are reproducible on the CPU.",
        metavar="DEVICE",
    )
    workers: int | None = same_field(RunOptions, "workers")
    executor: str | None = same_field(RunOptions, "executor")
    address: str | None = same_field(RunOptions, "address")
    include: Sequence[str | Path] = same_field(RunOptions, "include")
