"""Runs a web application: uvicorn with limits on connections and on slow clients."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.web.safety import Audit, Guard, Rate

# A request must be complete after this many seconds, and connections end when they are idle for as long.
REQUEST_SECONDS = 20
IDLE_SECONDS = 30
# A client must have read its response after this many seconds.
RESPONSE_SECONDS = 120
CONNECTIONS = 1000
# Files that a server opens besides its connections: images, the database, logs.
OTHER_FILES = 1000
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


class PatientProtocol(H11Protocol):
    """HTTP whose requests must arrive, and responses be read, within a time: slow clients hold no connection.

    Of more than `CONNECTIONS`, one without a request under way is closed: people get through while somebody
    opens very many. It is the oldest of those that never made a request or of those that are idle after one,
    whichever are more. If all others wait for responses, the new one is closed.
    """

    audit = Audit(None)
    # Connections that never made a complete request, and those that are idle after a response; oldest first.
    silent: ClassVar[dict[PatientProtocol, None]] = {}
    idle: ClassVar[dict[PatientProtocol, None]] = {}
    _reports = Rate(1, 5)

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._answering: Any = None
        self.silent[self] = None
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._too_slow)
        if len(self.connections) > CONNECTIONS:
            self._report("too many connections", 503)
            closable = max(self.idle, self.silent, key=len)
            oldest = next(iter(closable))
            oldest.connections.discard(oldest)
            del closable[oldest]
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Handle data, and wait for the response to be read once the request is complete."""
        super().data_received(data)
        cycle = self.cycle
        if cycle is None or cycle.more_body or cycle.response_complete or cycle is self._answering:
            return
        self._answering = cycle
        self._set_busy()
        self._deadline.cancel()
        self._deadline = self.loop.call_later(RESPONSE_SECONDS, self._too_slow)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._deadline.cancel()
        if not self.transport.is_closing():
            if self.cycle.response_complete:  # else the next request has been sent already
                self.idle[self] = None
            self._deadline = self.loop.call_later(REQUEST_SECONDS + IDLE_SECONDS, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._deadline.cancel()
        self._set_busy()
        super().connection_lost(exc)

    def _set_busy(self) -> None:
        self.silent.pop(self, None)
        self.idle.pop(self, None)

    def _too_slow(self) -> None:
        if self.cycle is None or not self.cycle.response_complete:
            self._report("too slow", 408)
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # closing would wait for the client to read
        else:
            self.transport.close()

    def _report(self, reason: str, status: int) -> None:
        if self._reports.allows(reason):
            self.audit.refused(self.client[0] if self.client else "", "", "", status, reason)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def served_names(host: str) -> list[str]:
    """The names by which requests may address a server on this address; the first is the one to show."""
    if host in ("0.0.0.0", "::"):
        try:
            found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
        except socket.gaierror:  # the machine does not know its own name
            found = []
        addresses = [str(row[4][0]).partition("%")[0] for row in found]
        return [socket.gethostname(), *(f"[{name}]" if ":" in name else name for name in addresses)]
    return [f"[{host}]" if ":" in host else host]


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; refuses an address that cannot be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends every answer at once instead of waiting 40 ms for more.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except (OSError, OverflowError) as error:
        opened.close()
        raise UserError(
            f"{host}:{port} cannot be used: {getattr(error, 'strerror', None) or error}; give another "
            f"{option('port')} or {option('host')}."
        ) from error
    opened.listen(512)
    return opened


def serve(app: Guard, opened: socket.socket, proxies: Sequence[str] = ()) -> None:
    """Serve until a signal ends it; requests that are under way are finished.

    Args:
        app: the application.
        opened: the socket that listens.
        proxies: addresses and networks of proxies whose word on the client's address is believed.
    """
    _allow_files(CONNECTIONS + OTHER_FILES)
    http_server(app, proxies).run(sockets=[opened])


def http_server(app: Guard, proxies: Sequence[str] = ()) -> uvicorn.Server:
    """A server of an application, not started yet."""
    config = uvicorn.Config(
        app,
        http=type("AuditedProtocol", (PatientProtocol,), {"audit": app.audit, "silent": {}, "idle": {}}),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=5,
        backlog=512,
    )
    return uvicorn.Server(config)


def refuse_unknown_proxies(proxies: Sequence[str]) -> None:
    """Refuse proxies that are no addresses or networks, and networks of all addresses."""
    for proxy in proxies:
        try:
            network = ipaddress.ip_network(proxy)
        except ValueError as error:
            raise UserError(
                f"{option('trusted_proxy')} is {proxy}; give the address of the proxy, such as 127.0.0.1, or "
                "a network of proxies only, such as 172.18.0.0/16."
            ) from error
        if not network.prefixlen:
            raise UserError(
                f"{option('trusted_proxy')} is {proxy}, which is every address, so that anybody could forge "
                "theirs; give the address of the proxy, such as 127.0.0.1."
            )


def _allow_files(count: int) -> None:
    """Let this process open as many files, if the system permits; connections are files too."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
