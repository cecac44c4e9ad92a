"""Polite requests: a rate for every host, robots.txt, retries with back-off."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field, replace

from windtunnel.core.candidates import CandidateStatus
from windtunnel.core.errors import UserError
from windtunnel.core.interruption import stop_requested
from windtunnel.core.option_names import option
from windtunnel.curate.downloads import Address, DownloadFailed, Limits, download, split_url
from windtunnel.curate.robots import ALLOW_ALL, MAX_ROBOTS_BYTES, Robots, read_robots

_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(s|sec|second|min|minute|h|hour)\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
# A server that asks to wait longer than this is left for another day.
MAX_WAIT = 120.0
# After so many URLs in a row without an answer the other URLs of a host are not tried.
SILENT = 5
SLEEP = 0.1
TOO_MANY = 429


class Stopped(Exception):
    """A signal asked to stop while a host was waited for."""


def seconds_between(rate: str) -> float:
    """The seconds between two requests of a rate such as `1/s` or `30/min`."""
    match = _RATE.fullmatch(rate.lower())
    if not match or float(match[1]) == 0:
        raise UserError(f"{option('rate')} is '{rate}'; give a number per time, such as 1/s or 30/min.")
    return _SECONDS[match[2][0]] / float(match[1])


@dataclass
class _Host:
    """What is known of one origin."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    robots: Robots | None = None
    silent: int = 0
    closed: str = ""
    closed_as: CandidateStatus = "unreachable"


class Hosts:
    """Downloads at a rate for each host name; used by several threads."""

    def __init__(self, limits: Limits, *, interval: float, retries: int, robots: bool) -> None:
        self._limits = limits
        self._interval = interval
        self._retries = retries
        self._ask_robots = robots
        self._hosts: dict[str, _Host] = {}
        self._next: dict[str, float] = {}  # by host name, when it may be asked again
        self._lock = threading.Lock()

    def fetch(self, url: str, origin: str) -> bytes:
        """The content at a URL; temporary errors are tried again, later each time.

        Args:
            url: the URL.
            origin: its origin, whose requests the caller makes one after the other.
        """
        host = self._host(origin)
        for attempt in range(self._retries + 1):
            if host.closed:
                raise DownloadFailed(host.closed_as, host.closed)
            try:
                content = download(url, self._limits, self._admit)
            except DownloadFailed as error:
                if error.wait > MAX_WAIT:
                    host.closed = f"{error.reason}, and asked to wait {error.wait:,.0f} s; try it again later"
                    raise DownloadFailed("unreachable", host.closed) from error
                if not error.temporary or attempt == self._retries:
                    self._count_silence(host, error)
                    raise
                self._delay(split_url(url), max(error.wait, self._interval, 2.0**attempt))
            else:
                host.silent = 0
                return content
        raise AssertionError("the last attempt returns or raises")

    def _count_silence(self, host: _Host, error: DownloadFailed) -> None:
        """Close a host that has not answered for several URLs in a row."""
        silent = error.temporary and not error.http_status
        host.silent = host.silent + 1 if silent else 0
        if host.silent >= SILENT:
            host.closed = f"not tried: the host did not answer for {SILENT} URLs in a row"

    def _host(self, origin: str) -> _Host:
        with self._lock:
            return self._hosts.setdefault(origin, _Host())

    def _admit(self, address: Address) -> None:
        """Wait for an origin's turn; refuses what its robots.txt disallows."""
        host = self._host(address.origin)
        if self._ask_robots:
            with host.lock:
                if host.closed:
                    raise DownloadFailed(host.closed_as, host.closed)
                if host.robots is None:
                    host.robots = self._robots(address, host)
            if not host.robots.allows(address.target):
                raise DownloadFailed("refused", f"robots.txt of {address.host} disallows it")
        self._take_turn(address, host)

    def _robots(self, address: Address, host: _Host) -> Robots:
        """The rules of an origin: without a file everything is allowed; one that cannot be read closes it."""
        limits = replace(self._limits, bytes=MAX_ROBOTS_BYTES, first_part=True)
        for attempt in range(self._retries + 1):
            self._take_turn(address, host)
            try:
                content = download(f"{address.origin}/robots.txt", limits, _any_address)
                return read_robots(content, self._limits.user_agent)
            except DownloadFailed as error:
                if 400 <= error.http_status < 500 and error.http_status != TOO_MANY:
                    return ALLOW_ALL
                if not error.temporary or attempt == self._retries or error.wait > MAX_WAIT:
                    host.closed = (
                        error.reason
                        if error.status == "refused"
                        else f"{error.reason} (for robots.txt of {address.host}, which closes the host)"
                    )
                    host.closed_as = error.status
                    raise DownloadFailed(error.status, host.closed) from error
                self._delay(address, max(error.wait, self._interval, 2.0**attempt))
        raise AssertionError("the last attempt returns or raises")

    def _take_turn(self, address: Address, host: _Host) -> None:
        """Wait until the host may be asked again, and reserve the next turn."""
        delay = host.robots.delay if host.robots else 0.0
        with self._lock:
            turn = max(time.monotonic(), self._next.get(address.host, 0.0))
            self._next[address.host] = turn + max(self._interval, delay)
        while (left := turn - time.monotonic()) > 0:
            if stop_requested():
                raise Stopped
            time.sleep(min(SLEEP, left))

    def _delay(self, address: Address, seconds: float) -> None:
        with self._lock:
            earliest = time.monotonic() + seconds
            self._next[address.host] = max(self._next.get(address.host, 0.0), earliest)


def _any_address(_address: Address) -> None:
    """A robots.txt may redirect anywhere; what is connected to is checked as always."""
