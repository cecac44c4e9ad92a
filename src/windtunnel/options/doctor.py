"""The options of the doctor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions


@options_record
class DoctorOptions(Options):
    """The options of `doctor`."""

    preprocess: str | Path | None = same_field(RunOptions, "preprocess")
    subset: int = option_field(
        default=200, help="Number of images to use, stratified by class; 0 for all.", minimum=0
    )
    seed: int = option_field(default=0, help="Seed of the choice of images.")
    labels_are_outputs: bool = same_field(RunOptions, "labels_are_outputs")
    labels: str | None = same_field(RunOptions, "labels")
    label_map: str | Path | None = option_field(
        default=None,
        help="Label map from outputs to the data's classes: columns output,class. Other label orders are "
        "then not tried.",
        metavar="FILE.csv",
        flag_name="map",
        path="file",
    )
    group: str | None = option_field(
        default=None,
        help="A column of the data's table, such as patient; one image per value is used. Of a video, one "
        "frame is always used.",
        metavar="COLUMN",
    )
    device: str = same_field(RunOptions, "device")
    include: Sequence[str | Path] = same_field(RunOptions, "include")


# Which images the doctor uses is independent of the run.
_IMAGES = ("subset", "seed")


def options_for_doctor(options: RunOptions) -> dict[str, bool | str | tuple[str, ...]]:
    """The options of a run that the doctor takes too, where they are not the default."""
    given: dict[str, bool | str | tuple[str, ...]] = {}
    run_fields = {field.name for field in RunOptions.fields()}
    for field in DoctorOptions.fields():
        if field.name not in run_fields or field.name in _IMAGES:
            continue
        value = getattr(options, field.name)
        if value in (field.default, []):
            continue
        if field.kind == "texts":
            given[field.name] = tuple(map(str, value))
        else:
            given[field.name] = value if field.kind == "flag" else str(value)
    return given
