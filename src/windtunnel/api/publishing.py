"""Publish the change between two runs: Markdown, job summaries and comments on pull requests."""

from __future__ import annotations

import os
from pathlib import Path

from windtunnel.analysis.comparison import compare
from windtunnel.analysis.gate import Gate
from windtunnel.integrations import github
from windtunnel.integrations.github import Comment
from windtunnel.report.change_summary import MOST_CHARACTERS, change_markdown
from windtunnel.runs import Run, scored_runs

COMMENT_NAME = "gate"


def summarise_change(gate: Gate, run: Run | str | Path, against: Run | str | Path) -> str:
    """A gate, the change of the scores and the worst conditions as Markdown that fits into a comment.

    Args:
        gate: the outcome of `gate(run, against)`.
        run: the new run.
        against: the baseline run.
    """
    new, base = scored_runs([run, against])
    # Room for the marker of a comment.
    return change_markdown(gate, compare(base, new), MOST_CHARACTERS - 200)


def check_github(summary: bool, comment_name: str) -> None:
    """Refuse, before any work, a summary outside GitHub Actions and a name that is no name of a comment."""
    github.marker(comment_name)
    if summary:
        github.summary_file(os.environ)


def write_job_summary(text: str) -> Path:
    """Append Markdown to the summary of a GitHub Actions job; returns the file."""
    return github.append_summary(text, os.environ)


def comment_on_pull_request(text: str, name: str = COMMENT_NAME) -> Comment:
    """Create or update one comment on the pull request of a GitHub Actions job, with the job's token.

    Args:
        text: Markdown.
        name: later jobs update the comment of the same name.
    """
    return github.post_comment(text, name, os.environ)
