"""windtunnel curate: natural sets from your own images; one file for each sub-command."""

from windtunnel.cli.sub_commands import SubCommands

command = SubCommands(
    __name__,
    __path__,
    "curate",
    """Build a natural benchmark from your own images: collect candidates, filter, export.

    A curation project is a folder. Every step can be repeated: the same command continues after a stop.
    """,
)
