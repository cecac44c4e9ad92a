"""Downloads of untrusted URLs: schemes, addresses, redirects, sizes and times are limited."""

from __future__ import annotations

import email.utils
import http.client
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from windtunnel.core.candidates import CandidateStatus
from windtunnel.core.wording import byte_size
from windtunnel.curate.addresses import PrivateAddress, closed_at, connection_to

MAX_REDIRECTS = 5
MAX_URL_CHARACTERS = 8192
BLOCK_BYTES = 1 << 16
REDIRECTS = (301, 302, 303, 307, 308)
# Answers that another attempt may change.
TEMPORARY = (408, 425, 429, 500, 502, 503, 504)
PORTS = {"http": 80, "https": 443}


class DownloadFailed(Exception):
    """A URL cannot be downloaded.

    Attributes:
        status: the candidate's status.
        reason: what happened, in words.
        http_status: the server's answer; 0 if there was none.
        temporary: whether another attempt may succeed.
        wait: seconds that the server asked to wait.
    """

    def __init__(
        self,
        status: CandidateStatus,
        reason: str,
        *,
        http_status: int = 0,
        temporary: bool = False,
        wait: float = 0.0,
    ) -> None:
        # Servers choose some of the words.
        self.reason = "".join(letter if letter.isprintable() else "?" for letter in reason)
        super().__init__(self.reason)
        self.status: CandidateStatus = status
        self.http_status = http_status
        self.temporary = temporary
        self.wait = wait


@dataclass(frozen=True)
class Address:
    """A checked URL, split for a request."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> str:
        """Scheme, host and port: what has its own robots.txt."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = PORTS[self.scheme] == self.port
        return f"{self.scheme}://{host}" + ("" if default else f":{self.port}")


@dataclass(frozen=True)
class Limits:
    """Limits of one download, and how it identifies itself.

    Of an answer with more bytes the first ones are returned if `first_part`, else it is refused.
    """

    bytes: int
    seconds: float
    allow_private: bool
    user_agent: str
    first_part: bool = False


def split_url(url: str) -> Address:
    """The parts of an http or https URL; refuses everything else."""
    if len(url) > MAX_URL_CHARACTERS:
        raise DownloadFailed(
            "refused", f"the URL has {len(url):,} characters; at most {MAX_URL_CHARACTERS:,}"
        )
    if any(ord(character) <= 32 or ord(character) == 127 for character in url):
        raise DownloadFailed("refused", "the URL contains spaces or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError as error:
        raise DownloadFailed("refused", f"not a valid URL: {error}") from error
    if parts.scheme not in PORTS:
        raise DownloadFailed("refused", f"the scheme is '{parts.scheme}'; only http and https are allowed")
    if not host or parts.username is not None or parts.password is not None:
        what = "user names and passwords are not allowed" if host else "it names no host"
        raise DownloadFailed("refused", f"not a valid URL: {what}")
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    return Address(parts.scheme, host, PORTS[parts.scheme] if port is None else port, target)


def download(url: str, limits: Limits, before: Callable[[Address], None]) -> bytes:
    """The content at a URL, after at most `MAX_REDIRECTS` redirects.

    Args:
        url: an http or https URL.
        limits: limits of size and time; each redirect has its own time.
        before: called before every request, also after a redirect; it waits, or refuses the address.
    """
    for _ in range(MAX_REDIRECTS + 1):
        address = split_url(url)
        before(address)
        content, moved = _request(address, limits)
        if moved is None:
            return content
        try:
            url = urljoin(url, moved)
        except ValueError as error:
            raise DownloadFailed("refused", f"it redirects to no valid URL: {error}") from error
    raise DownloadFailed("unreachable", f"more than {MAX_REDIRECTS} redirects")


def _request(address: Address, limits: Limits) -> tuple[bytes, str | None]:
    """The content of one answer, or the place it redirects to."""
    deadline = time.monotonic() + limits.seconds
    try:
        connection = connection_to(
            address.scheme,
            address.host,
            address.port,
            deadline=deadline,
            allow_private=limits.allow_private,
        )
        try:
            with closed_at(connection.sock, deadline):
                answer = _answer(connection, address, limits)
        finally:
            connection.close()
        if time.monotonic() >= deadline:  # an answer without length ends when it is cut
            raise _too_slow(limits)
        return answer
    except PrivateAddress as error:
        raise DownloadFailed("refused", str(error)) from error
    except DownloadFailed as error:
        if error.temporary and time.monotonic() >= deadline:
            raise _too_slow(limits) from error
        raise
    except ssl.SSLCertVerificationError as error:
        raise DownloadFailed("refused", f"{address.host} has no valid certificate") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, TimeoutError) or time.monotonic() >= deadline:
            raise _too_slow(limits) from error
        raise DownloadFailed("unreachable", _reason(address, error), temporary=True) from error


def _too_slow(limits: Limits) -> DownloadFailed:
    return DownloadFailed("unreachable", f"no complete answer within {limits.seconds:g} s", temporary=True)


def _reason(address: Address, error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return f"the host {address.host} is unknown"
    if isinstance(error, http.client.BadStatusLine):
        return f"{address.host} does not answer in HTTP"
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return f"{address.host}: {' '.join(text.split())[:200]}"


def _answer(
    connection: http.client.HTTPConnection, address: Address, limits: Limits
) -> tuple[bytes, str | None]:
    headers = {"User-Agent": limits.user_agent, "Accept": "*/*", "Accept-Encoding": "identity"}
    connection.request("GET", address.target, headers=headers)
    response = connection.getresponse()
    if response.status in REDIRECTS and (moved := response.getheader("Location")):
        return b"", moved
    if response.status != 200:
        wait = _wait(response.getheader("Retry-After")) if response.status in TEMPORARY else 0.0
        raise DownloadFailed(
            "unreachable",
            f"{address.host} answered {response.status} {response.reason[:80]}".rstrip(),
            http_status=response.status,
            temporary=response.status in TEMPORARY,
            wait=wait,
        )
    declared = response.length
    if declared is not None and declared > limits.bytes and not limits.first_part:
        raise _too_large(declared, limits)
    blocks: list[bytes] = []
    size = 0
    while block := response.read1(BLOCK_BYTES):
        size += len(block)
        if size > limits.bytes and limits.first_part:
            return b"".join([*blocks, block])[: limits.bytes], None
        if size > limits.bytes:
            raise _too_large(None, limits)
        blocks.append(block)
    if declared is not None and size < declared:
        raise DownloadFailed(
            "unreachable", f"{address.host} sent {size:,} of {declared:,} bytes", temporary=True
        )
    return b"".join(blocks), None


def _too_large(declared: int | None, limits: Limits) -> DownloadFailed:
    size = "more" if declared is None else byte_size(declared)
    return DownloadFailed("too_large", f"at most {byte_size(limits.bytes)} are read; the answer has {size}")


def _wait(header: str | None) -> float:
    """The seconds of a Retry-After header: a number, or a date; 0 for anything else."""
    if not header:
        return 0.0
    if header.strip().isdecimal():
        return float(header.strip()[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
