"""What every web application of windtunnel refuses, and the headers of every response."""

from __future__ import annotations

import json
import logging
import logging.handlers
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY_BYTES = 512 * 1024
# Refused requests of one address that the audit log keeps: nobody can push older lines out of it.
REFUSALS_PER_SECOND, REFUSALS_BURST = 2, 200
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; font-src 'self'; manifest-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Refusal(Exception):
    """A request that is refused before the application sees it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Guard:
    """Checks host, origin, type and size of requests, and adds headers to responses."""

    def __init__(self, app: App, hosts: Iterable[str], audit: Audit) -> None:
        self.audit = audit
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        body = _Body(receive)
        started = False

        async def send_safely(message: Message) -> None:
            nonlocal started
            started = True
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", []))
                given = {name.lower() for name, _ in headers}
                headers += [
                    (name.encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.encode() not in given
                ]
                message = {**message, "headers": headers}
            await send(message)

        async def send_unless_refused(message: Message) -> None:
            # The application takes a body that is cut off for a malformed one; the answer is another.
            if started or not body.too_large:
                await send_safely(message)

        try:
            self._check(scope)
            await self._app(scope, body, send_unless_refused)
            if body.too_large and not started:
                raise _too_large()
        except Refusal as refusal:
            address = (scope.get("client") or ("",))[0]
            self.audit.refused(address, scope["method"], scope["path"], refusal.status, refusal.reason)
            await _refuse(send_safely, refusal)

    def _check(self, scope: Scope) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if _name(host) not in self._hosts:
            raise Refusal(421, "This server has another name; open the address that it printed.")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > MAX_BODY_BYTES:
            raise _too_large()
        if scope["method"] in SAFE_METHODS:
            return
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if urlsplit(origin).netloc != host:
            raise Refusal(403, "A request that changes something must come from this page.")
        if headers.get(b"sec-fetch-site", b"same-origin") != b"same-origin":
            raise Refusal(403, "A request that changes something must come from this page.")
        content_type = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if content_type != b"application/json":
            raise Refusal(415, "The body must be JSON: content-type application/json.")


class _Body:
    """Counts the bytes of a body without a declared length; refuses more than are allowed."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._received = receive, 0

    @property
    def too_large(self) -> bool:
        """Whether more was received than is allowed."""
        return self._received > MAX_BODY_BYTES

    async def __call__(self) -> Message:
        """The next part."""
        message = await self._receive()
        self._received += len(message.get("body", b""))
        if self.too_large:
            raise _too_large()
        return message


def _too_large() -> Refusal:
    return Refusal(413, f"The body is larger than {MAX_BODY_BYTES:,} bytes.")


async def _refuse(send: Send, refusal: Refusal) -> None:
    body = json.dumps({"detail": refusal.reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _name(host: str) -> str:
    """The host without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


class Audit:
    """The audit log: a JSON object per line; no secret is ever in it."""

    def __init__(self, file: Path | None) -> None:
        self._logger = logging.Logger("windtunnel audit")
        self._refusals = Rate(REFUSALS_PER_SECOND, REFUSALS_BURST)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            handler = logging.handlers.RotatingFileHandler(
                file, maxBytes=10_000_000, backupCount=9, delay=True
            )
            handler.setFormatter(logging.Formatter("%(message)s"))
            self._logger.addHandler(handler)
        else:
            self._logger.addHandler(logging.NullHandler())

    def write(self, what: str, **facts: object) -> None:
        """Add a line."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._logger.warning(json.dumps({"time": when, "what": what, **facts}, ensure_ascii=True))

    def refused(self, address: str, method: str, path: str, status: int, reason: str) -> None:
        """Add a refused request; of very many from one address, only some."""
        if not self._refusals.allows(address):
            return
        self.write(
            "refused", address=address, method=method[:10], path=path[:200], status=status, reason=reason
        )


class Rate:
    """A limit of requests: `burst` at once, then `per_second`, for each key."""

    MOST_KEYS = 10_000

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second, self._burst = per_second, burst
        self._left: dict[str, tuple[float, float]] = {}

    def allows(self, key: str, cost: float = 1) -> bool:
        """Whether one more is allowed now."""
        now = time.monotonic()
        if len(self._left) > self.MOST_KEYS:
            self._left.clear()
        left, last = self._left.get(key, (float(self._burst), now))
        left = min(self._burst, left + (now - last) * self._per_second)
        allowed = left >= cost
        self._left[key] = (left - cost if allowed else left, now)
        return allowed
