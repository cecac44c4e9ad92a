"""Connections to public addresses only: the address that is connected to is the one that was checked."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from functools import cache


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
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_loopback)


def connection_to(
    scheme: str, host: str, port: int, *, timeout: float, allow_private: bool
) -> http.client.HTTPConnection:
    """An HTTP connection that refuses addresses that are not public; no proxy is used."""
    connection = (
        http.client.HTTPSConnection(host, port, timeout=timeout, context=_tls())
        if scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=timeout)
    )
    sock = _connected_socket(host, port, timeout, allow_private)
    if scheme == "https":
        try:
            sock = _tls().wrap_socket(sock, server_hostname=host)
        except BaseException:
            sock.close()
            raise
    connection.sock = sock
    return connection


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _connected_socket(host: str, port: int, timeout: float, allow_private: bool) -> socket.socket:
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
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(timeout)
        try:
            sock.connect(place)
        except OSError as error:
            failure = error
            sock.close()
            continue
        return sock
    raise failure
