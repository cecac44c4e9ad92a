"""The options of collecting candidates."""

from __future__ import annotations

from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record


@options_record
class CollectOptions(Options):
    """The options of `curate collect` and `collect_candidates`."""

    classes: str | Path | None = option_field(
        default=None,
        help="CSV file with columns tag and class; rows with other tags are not collected. Default: the tag "
        "is the class.",
        metavar="FILE",
        path="file",
    )
    rate: str = option_field(
        default="1/s", help="Most requests to one host, such as 1/s or 30/min.", metavar="N/s|N/min"
    )
    retries: int = option_field(
        default=3, help="Further attempts after a time-out or a temporary error.", minimum=0
    )
    timeout: int = option_field(default=60, help="Most seconds for one request.", minimum=1)
    max_mb: int = option_field(default=32, help="Largest image, in MB.", minimum=1)
    allow_private: bool = option_field(
        default=False,
        help="Allow private, loopback and link-local addresses. Only for tables that you trust.",
    )
    allow_outside_files: bool = option_field(
        default=False,
        help="Allow files outside the table's folder. Only for tables that you trust.",
    )
    ignore_robots: bool = option_field(
        default=False, help="Do not ask robots.txt; only for hosts that allowed it."
    )
    user_agent: str | None = option_field(
        default=None, help="How requests identify themselves; default: windtunnel and its version."
    )
    retry: bool = option_field(
        default=False, help="Try rows again that failed when this table was collected before."
    )
    source: str = option_field(default="", help="Source of rows that name none.")
    licence: str = option_field(default="", help="Licence of rows that name none.")
