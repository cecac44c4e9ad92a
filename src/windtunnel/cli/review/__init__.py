"""windtunnel review: people judge images and frame pairs; one file for each sub-command."""

from windtunnel.cli.sub_commands import SubCommands

command = SubCommands(
    __name__,
    __path__,
    "review",
    """Let people judge the images and frame pairs of a curation project in the browser.

    Create tasks, add people, serve the pages, and export the verdicts. Nothing that people decide is ever
    overwritten.
    """,
)
