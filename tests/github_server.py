"""A local server with the part of GitHub's API that comments on pull requests need."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "job-token"
READ_ONLY = "token-of-a-fork"


class GitHub:
    """Comments on the issues of one repository, and the requests that were made.

    Attributes:
        comments: id to body, in the order of creation; those below 100 are of people without rights, and
            the others of the job's bot.
        requests: method and path of every request.
    """

    def __init__(self) -> None:
        self.comments: dict[int, str] = {}
        self.requests: list[tuple[str, str]] = []
        self.url = ""


def _comment(number: int, body: str) -> dict[str, object]:
    author = {"type": "User" if number < 100 else "Bot"}
    return {"id": number, "body": body, "user": author, "author_association": "NONE"}


@contextmanager
def github_server() -> Iterator[GitHub]:
    """Serve the comments of acme/nets, pull request 7, at a free port of this machine."""
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, code: int, content: object) -> None:
            body = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _handle(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            sent: Any = json.loads(self.rfile.read(length)) if length else None
            address = urlsplit(self.path)
            state.requests.append((self.command, address.path))
            token = self.headers["Authorization"]
            if token not in (f"Bearer {TOKEN}", f"Bearer {READ_ONLY}"):
                return self._answer(401, {"message": "Bad credentials"})
            if self.command != "GET" and token != f"Bearer {TOKEN}":
                return self._answer(403, {"message": "Resource not accessible by integration"})
            if sent is not None and len(sent["body"]) > 65_536:
                return self._answer(422, {"message": "body is too long"})
            thread = "/repos/acme/nets/issues/7/comments"
            if self.command == "GET" and address.path == thread:
                page, size = (int(parse_qs(address.query)[name][0]) for name in ("page", "per_page"))
                listed = [_comment(number, body) for number, body in state.comments.items()]
                return self._answer(200, listed[(page - 1) * size : page * size])
            if self.command == "POST" and address.path == thread:
                number = 100 + len(state.comments)
            elif self.command == "PATCH" and address.path.startswith("/repos/acme/nets/issues/comments/"):
                number = int(address.path.rpartition("/")[2])
                if number not in state.comments:
                    return self._answer(404, {"message": "Not Found"})
            else:
                return self._answer(404, {"message": "Not Found"})
            state.comments[number] = sent["body"]
            link = f"https://github.com/acme/nets/pull/7#issuecomment-{number}"
            return self._answer(201 if self.command == "POST" else 200, {"id": number, "html_url": link})

        do_GET = do_POST = do_PATCH = _handle

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
