"""Connections to public addresses only: the address that is connected to is the one that was checked."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

# Site-local, documentation and former relay addresses, which `is_global` does not know everywhere.
_NOT_PUBLIC = tuple(map(ipaddress.ip_network, ("fec0::/10", "3fff::/20", "192.88.99.0/24")))


class PrivateAddress(Exception):
    """A host has an address that is not public."""


def is_public(address: str) -> bool:
    """Whether an IP address is reachable from everywhere: not private, loopback, link-local or reserved.

    IPv6 addresses that contain an IPv4 address are judged by that.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is not None:
            return is_public(str(inner))
        if ip.teredo is not None:
            return False
    if any(ip in network for network in _NOT_PUBLIC):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_loopback)


def connection_to(
    scheme: str, host: str, port: int, *, deadline: float, allow_private: bool
) -> http.client.HTTPConnection:
    """An HTTP connection that refuses addresses that are not public; no proxy is used.

    `deadline` is a time of `time.monotonic`, also for the handshake of TLS.
    """
    connection = (
        http.client.HTTPSConnection(host, port, context=_tls())
        if scheme == "https"
        else http.client.HTTPConnection(host, port)
    )
    sock = _connected_socket(host, port, deadline, allow_private)
    if scheme == "https":
        try:
            wrapped = _tls().wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
            sock = wrapped
            with closed_at(sock, deadline):
                wrapped.do_handshake()
        except BaseException:
            sock.close()
            raise
    connection.sock = sock
    return connection


@contextmanager
def closed_at(sock: socket.socket, deadline: float) -> Iterator[None]:
    """Shut a socket down at a time, also while a server sends one byte at a time."""

    def shut() -> None:
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _connected_socket(host: str, port: int, deadline: float, allow_private: bool) -> socket.socket:
    """A socket that is connected to a checked address of a host.

    The name is resolved once and the connection is made to the number, so a second answer of the name
    server (DNS rebinding) has no effect. One address that is not public refuses the host.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_, place in found:
        if not allow_private and not is_public(str(place[0])):
            raise PrivateAddress(f"{host} has the address {place[0]}, which is not public")
    failure: OSError = OSError(f"{host} has no address")
    for family, kind, protocol, _, place in found:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(left)
        try:
            sock.connect(place)
        except OSError as error:
            failure = error
            sock.close()
            continue
        return sock
    raise failure
