"""An S3 server in this process, which commands in other processes reach over HTTP."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

BUCKET = "bucket"
# Method and path in a line of the server's log.
_REQUEST = re.compile(r"\b(GET|HEAD|PUT|POST|DELETE) (\S+) HTTP")


class ObjectStore:
    """A server that counts requests, can be stopped, and goes on with the same content.

    Attributes:
        requests: method and key of every request, in order.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self._log = _Requests(self.requests)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
        self.port = 0

    def start(self) -> None:
        """Start, or start again at the same port."""
        log = logging.getLogger("werkzeug")
        log.setLevel(logging.INFO)
        log.propagate = False
        log.addHandler(self._log)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=self.port)
        self._server.start()
        if BUCKET not in _backend().buckets:
            _backend().create_bucket(BUCKET, "us-east-1")
        self.port = self._server.get_host_and_port()[1]

    def stop(self) -> None:
        """Close the port."""
        self._server.stop()
        logging.getLogger("werkzeug").removeHandler(self._log)

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a process finds the server."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def upload(self, folder: Path, key: str) -> str:
        """Put a folder or a file into the bucket; returns its URL."""
        for file in [folder] if folder.is_file() else folder.rglob("*"):
            if file.is_file():
                inside = file.relative_to(folder).as_posix() if folder.is_dir() else ""
                self.put(f"{key}/{inside}".rstrip("/"), file.read_bytes())
        return f"s3://{BUCKET}/{key}"

    def put(self, key: str, content: bytes) -> None:
        """Put an object into the bucket, past any check."""
        _backend().put_object(BUCKET, key, content)

    def content(self, prefix: str) -> dict[str, bytes]:
        """The objects below a key, by the rest of their key."""
        found = _backend().list_objects(_backend().get_bucket(BUCKET), f"{prefix}/", None, "", None)[0]
        return {entry.name.removeprefix(f"{prefix}/"): entry.value for entry in found}

    def gets(self, prefix: str) -> list[str]:
        """The keys below a prefix that were downloaded, each as often as it was."""
        return [key for method, key in self.requests if method == "GET" and key.startswith(f"{prefix}/")]

    @contextmanager
    def when(self, condition: Callable[[], bool], action: Callable[[], None]) -> Iterator[None]:
        """Act as soon as a condition holds, while the block runs."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.is_set():
                if condition():
                    action()
                    return
                time.sleep(0.002)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


class _Requests(logging.Handler):
    """Notes method and key of every line that the server logs."""

    def __init__(self, requests: list[tuple[str, str]]) -> None:
        super().__init__()
        self._requests = requests

    def emit(self, record: logging.LogRecord) -> None:
        if found := _REQUEST.search(record.getMessage()):
            self._requests.append((found[1], found[2].removeprefix(f"/{BUCKET}/")))


def _backend() -> Any:
    return s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
