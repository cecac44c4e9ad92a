"""GitHub Actions: the summary of a job, and one comment on a pull request that later jobs update.

The job's environment says everything: GITHUB_STEP_SUMMARY, GITHUB_REPOSITORY, GITHUB_EVENT_PATH (the event
with the number of the pull request), GITHUB_API_URL and GITHUB_TOKEN.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option

API = "https://api.github.com"
API_VERSION = "2022-11-28"
SECONDS = 30
PER_PAGE = 100
# Pages of comments that are searched for the earlier comment.
MOST_PAGES = 50
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
# Authors whose comments are updated, in the words of GitHub's API.
BOT, MEMBERS = "Bot", ("OWNER", "MEMBER", "COLLABORATOR")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Done = Literal["created", "updated", "none"]


@dataclass(frozen=True)
class Comment:
    """What became of a comment.

    Attributes:
        done: created, updated, or none.
        note: its address; for none the reason.
    """

    done: Done
    note: str


class _Refused(Exception):
    """GitHub did not accept a request."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is sent to one host only."""

    def redirect_request(self, *_: Any) -> None:
        return None


def summary_file(environment: Mapping[str, str]) -> Path:
    """The file of the job's summary; refused outside GitHub Actions."""
    file = environment.get("GITHUB_STEP_SUMMARY", "")
    if not file:
        raise UserError(
            "GITHUB_STEP_SUMMARY is not set: this is no step of GitHub Actions. Leave out "
            f"{option('summary')}, or write a file with {option('markdown')}."
        )
    return Path(file)


def append_summary(text: str, environment: Mapping[str, str]) -> Path:
    """Append Markdown to the summary of the job; returns the file."""
    file = summary_file(environment)
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"{text}\n")
    return file


def marker(name: str) -> str:
    """The hidden first line by which a comment is found again."""
    if not NAME.fullmatch(name):
        raise UserError(
            f"{option('comment_name')} is '{name}'; use letters, digits, dots, hyphens and "
            "underscores, such as gate."
        )
    return f"<!-- windtunnel: {name} -->"


def post_comment(text: str, name: str, environment: Mapping[str, str]) -> Comment:
    """Create the comment of that name on the job's pull request, or update it.

    Trouble with GitHub is no error of the caller: the comment says why there is none.
    """
    first = marker(name)
    token, repository = environment.get("GITHUB_TOKEN", ""), environment.get("GITHUB_REPOSITORY", "")
    if not token:
        return Comment("none", "GITHUB_TOKEN is not set; pass the job's token to this step")
    number = pull_request_number(environment)
    if not repository or number is None:
        return Comment("none", "this job is not of a pull request")
    base = environment.get("GITHUB_API_URL") or API
    address = urlsplit(base)
    if address.scheme != "https" and address.hostname not in LOCAL_HOSTS:
        return Comment("none", f"GITHUB_API_URL is {base}; the token is sent over https only")
    issues = f"{base.rstrip('/')}/repos/{repository}/issues"
    body = {"body": f"{first}\n{text}"}
    try:
        earlier = _find(f"{issues}/{number}/comments", first, token)
        if earlier is None:
            answer = _request("POST", f"{issues}/{number}/comments", token, body)
        else:
            answer = _request("PATCH", f"{issues}/comments/{earlier}", token, body)
        address_of_comment = str(answer.get("html_url", ""))
    except _Refused as error:
        return Comment("none", str(error))
    except (AttributeError, KeyError, TypeError, ValueError):
        return Comment("none", f"{base} does not answer as GitHub's API does")
    return Comment("created" if earlier is None else "updated", address_of_comment)


def pull_request_number(environment: Mapping[str, str]) -> int | None:
    """The number of the pull request that started the job; None for other events."""
    try:
        event = json.loads(Path(environment.get("GITHUB_EVENT_PATH", "")).read_bytes())
        return int(event["pull_request"]["number"])
    except (OSError, ValueError, KeyError, TypeError):
        found = re.fullmatch(r"refs/pull/(\d+)/(?:merge|head)", environment.get("GITHUB_REF", ""))
        return int(found[1]) if found else None


def _find(comments: str, first: str, token: str) -> int | None:
    """The id of the comment that begins with the marker; None if there is none."""
    for page in range(1, MOST_PAGES + 1):
        listed = _request("GET", f"{comments}?per_page={PER_PAGE}&page={page}", token)
        for comment in listed:
            if str(comment.get("body") or "").startswith(first) and _is_trusted(comment):
                return int(comment["id"])
        if len(listed) < PER_PAGE:
            break
    return None


def _is_trusted(comment: Mapping[str, Any]) -> bool:
    """Whether a bot or a member wrote a comment; others could edit a result in their own comment later."""
    author = comment.get("user") or {}
    return author.get("type") == BOT or comment.get("author_association") in MEMBERS


def _request(method: str, url: str, token: str, body: object = None) -> Any:
    request = urllib.request.Request(
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": API_VERSION,
            "User-Agent": "windtunnel",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=SECONDS) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (401, 403, 404):
                raise _Refused(
                    f"GitHub refused the token ({error.code}); it needs `pull-requests: write`, which jobs "
                    "of forks do not have"
                ) from error
            raise _Refused(f"GitHub answered {error.code}") from error
    except (OSError, ValueError, HTTPException) as error:
        raise _Refused(f"GitHub cannot be reached ({type(error).__name__})") from error
