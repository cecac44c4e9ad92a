"""Requests to an inference server: a connection for each thread, bounded retries, time-outs.

A response is used only if it is complete and `read` accepts it. Everything else is tried again and ends in
RunFailed, or in Refused if the server says that the request itself is wrong.
"""

from __future__ import annotations

import email.utils
import http.client
import logging
import os
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.models.served_address import ServedAddress

LOGGER = logging.getLogger(__name__)

T = TypeVar("T")
Body = Sequence[bytes | memoryview]

TOKEN = "WINDTUNNEL_KSERVE_TOKEN"
TIMEOUT = "WINDTUNNEL_KSERVE_TIMEOUT"
ATTEMPTS = "WINDTUNNEL_KSERVE_ATTEMPTS"
DEFAULT_TIMEOUT_S = 60.0
DEFAULT_ATTEMPTS = 8
# Before the second attempt there is no pause: a server may close an idle connection at any time.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 16.0
LONGEST_RETRY_AFTER_S = 300.0
# A pause of this length is announced.
NOTICED_S = 1.0
MOST_BYTES = 1 << 28
PIECE_BYTES = 1 << 20
TRY_AGAIN = (408, 425, 429)
LONGEST_REASON = 200
# The largest time-out in seconds, and the largest number of attempts.
MOST_NUMBER = 86_400


class Refused(Exception):
    """The server says that a request is wrong: repeating it is pointless.

    Attributes:
        status: the HTTP status.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Unusable(Exception):
    """There is no response, or one that cannot be used; the request is tried again.

    Attributes:
        after: seconds that the server asks to wait, or None.
    """

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True)
class Response:
    """A complete response of status 200; the names of headers are in lower case."""

    headers: Mapping[str, str]
    body: bytes


class Requests:
    """Requests to one server, by any number of threads.

    Attributes:
        connections: the number of connections opened so far by counted requests.
    """

    def __init__(self, address: ServedAddress) -> None:
        self._address = address
        self._timeout = _number(TIMEOUT, DEFAULT_TIMEOUT_S)
        self._attempts = int(_number(ATTEMPTS, DEFAULT_ATTEMPTS))
        token = os.environ.get(TOKEN, "").strip()
        # The library's own error would repeat the token.
        if not (token.isascii() and token.isprintable()):
            raise UserError(
                f"{TOKEN} contains line breaks or characters that no token has; set it to the token alone."
            )
        if token and not address.is_private:
            raise UserError(
                f"{TOKEN} is set, and {address.server} is reached without TLS, where others can read it; "
                f"give an https:// URL, or unset {TOKEN}."
            )
        self._authorisation = {"Authorization": f"Bearer {token}"} if token else {}
        self._threads = threading.local()
        self._lock = threading.Lock()
        self._announced = False
        self.connections = 0

    def ask(
        self,
        path: str,
        read: Callable[[Response], T],
        body: Body = (),
        headers: Mapping[str, str] | None = None,
        *,
        counted: bool = True,
        stop: threading.Event | None = None,
    ) -> T:
        """What `read` makes of the response; POST if there is a body, else GET.

        Args:
            path: the path on the server.
            read: raises Unusable for a response that must not be used.
            body: the parts of the body.
            headers: further headers.
            counted: whether a new connection counts in `connections`.
            stop: ends waiting when it is set.

        Raises:
            Refused: the request is wrong.
            RunFailed: no attempt gave a usable response.
        """
        stop = stop or threading.Event()
        reason = ""
        for attempt in range(self._attempts):
            try:
                return read(self._attempt(path, body, headers or {}, counted))
            except Unusable as error:
                reason, after = str(error), error.after
            if attempt + 1 == self._attempts:
                break
            pause = _pause(attempt, after)
            self._announce(pause, reason, self._attempts - attempt - 1)
            if stop.wait(pause):
                break
        raise RunFailed(
            f"{self._address.server} gives no usable response ({self._attempts} attempts): {reason}"
        )

    def _announce(self, pause: float, reason: str, left: int) -> None:
        """Log once that the server is asked again after a pause that people notice."""
        with self._lock:
            if pause < NOTICED_S or self._announced:
                return
            self._announced = True
        LOGGER.warning(
            "%s gives no usable response (%s); asking again (attempts left: %d).",
            self._address.server,
            reason,
            left,
        )

    def _attempt(self, path: str, body: Body, headers: Mapping[str, str], counted: bool) -> Response:
        """A complete response of status 200; the connection is closed after a failure."""
        deadline = time.monotonic() + self._timeout
        try:
            connection = self._connection(counted)
            _send(connection, path, body, {**self._authorisation, **headers})
            response = connection.getresponse()
            content = _content(connection, response, deadline)
        except ssl.SSLCertVerificationError as error:
            raise UserError(
                f"The certificate of {self._address.server} is not trusted ({error.verify_message}); put the "
                "certificate of its authority into a file and name it in SSL_CERT_FILE."
            ) from error
        except (OSError, http.client.HTTPException) as error:
            self._close()
            raise Unusable(_reason(error)) from error
        except BaseException:
            self._close()
            raise
        if response.will_close:
            self._close()
        if response.status == 200:
            return Response({name.lower(): value for name, value in response.getheaders()}, content)
        said = " ".join(content[:LONGEST_REASON].decode("utf-8", "replace").split())
        status = f"HTTP {response.status} {response.reason}" + (f": {said}" if said else "")
        if response.status >= 500 or response.status in TRY_AGAIN:
            raise Unusable(status, _retry_after(response.getheader("Retry-After", "")))
        raise Refused(response.status, status)

    def _connection(self, counted: bool) -> http.client.HTTPConnection:
        """The connection of this thread, opened if there is none."""
        connection: http.client.HTTPConnection | None = getattr(self._threads, "connection", None)
        if connection is None:
            connection = self._opened()
            self._threads.connection = connection
            if counted:
                with self._lock:
                    self.connections += 1
        connection.sock.settimeout(self._timeout)
        return connection

    def _opened(self) -> http.client.HTTPConnection:
        host, port = self._address.host, self._address.port
        connection = (
            http.client.HTTPSConnection(
                host, port, timeout=self._timeout, context=ssl.create_default_context()
            )
            if self._address.secure
            else http.client.HTTPConnection(host, port, timeout=self._timeout)
        )
        connection.connect()
        # http.client would reconnect by itself, and the new connection would not be counted.
        connection.auto_open = 0
        return connection

    def _close(self) -> None:
        connection = getattr(self._threads, "connection", None)
        if connection is not None:
            connection.close()
            self._threads.connection = None


def _send(connection: http.client.HTTPConnection, path: str, body: Body, headers: Mapping[str, str]) -> None:
    """Send a request."""
    connection.putrequest("POST" if body else "GET", path, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body:
        connection.putheader("Content-Length", str(sum(len(part) for part in body)))
    connection.endheaders()
    # A server may respond and close before it has read the whole body: the response says why.
    with suppress(BrokenPipeError, ConnectionResetError):
        for part in body:
            connection.send(part)


def _content(
    connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float
) -> bytes:
    """The whole body; refuses one that is too long, too short or too slow."""
    pieces: list[bytes] = []
    size = 0
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(remaining)
        piece = response.read(PIECE_BYTES)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise Unusable(f"the body has more than {MOST_BYTES:,} bytes")
    # read(n) does not report a body that ends early; `length` is what is missing of it.
    if response.length:
        raise Unusable(f"the body ends {response.length:,} bytes early")
    return b"".join(pieces)


def _pause(attempt: int, asked: float | None) -> float:
    """Seconds before the next attempt: as the server asks, else none at first, then doubled each time."""
    if asked is not None:
        return min(asked, LONGEST_RETRY_AFTER_S)
    return min(FIRST_PAUSE_S * 2.0 ** (attempt - 1), LONGEST_PAUSE_S) if attempt else 0.0


def _retry_after(text: str) -> float | None:
    """The seconds of a Retry-After header, a number or a date; None without a valid one."""
    if text.strip().isdecimal():
        return float(text)
    try:
        date = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, date.timestamp() - time.time())


def _reason(error: Exception) -> str:
    """Why there is no response, in words."""
    if isinstance(error, TimeoutError):
        return f"no complete response in time (for a slow model, set {TIMEOUT} to more seconds)"
    if isinstance(error, http.client.RemoteDisconnected):
        return "the connection was closed without a response"
    if isinstance(error, http.client.IncompleteRead):
        return "the body ends early"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _number(variable: str, default: float) -> float:
    """The number in an environment variable, from 1 to MOST_NUMBER, or the default."""
    text = os.environ.get(variable, "")
    try:
        number = float(text) if text else default
    except ValueError:
        number = 0.0
    if not 1 <= number <= MOST_NUMBER:
        raise UserError(f"{variable} is '{text}'; give a number from 1 to {MOST_NUMBER:,}, or unset it.")
    return number
