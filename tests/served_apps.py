"""Web applications that a thread of the test serves."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from windtunnel.web.safety import Guard
from windtunnel.web.server import http_server, listen


@contextmanager
def served(app: Guard, proxies: Sequence[str] = ()) -> Iterator[int]:
    """Serve an application in a thread; its port."""
    opened = listen("127.0.0.1", 0)
    server = http_server(app, proxies)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield opened.getsockname()[1]
    server.should_exit = True
    thread.join(30)
