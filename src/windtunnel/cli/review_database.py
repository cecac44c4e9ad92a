"""The option that names the database of a review."""

import click

DATABASE = click.option(
    "--database",
    metavar="URL",
    envvar="WINDTUNNEL_REVIEW_DATABASE",
    help="postgresql://USER@HOST/NAME instead of SQLite in the project. The environment variable "
    "WINDTUNNEL_REVIEW_DATABASE keeps a password out of the command line.",
)
