"""A real HTTP server on 127.0.0.1 with the habits of bad ones, for tests of collecting."""

from __future__ import annotations

import io
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

ROBOTS = b"User-agent: *\nDisallow: /private/\nAllow: /private/open.jpg\nDisallow: /*.tiff$\n"


def jpeg(colour: tuple[int, int, int], side: int = 24) -> bytes:
    """A small image of one colour."""
    stream = io.BytesIO()
    Image.new("RGB", (side, side), colour).save(stream, "JPEG")
    return stream.getvalue()


def png(width: int, height: int) -> bytes:
    """A PNG file of a stated size that has the pixels of one row only."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * (1 + 3 * width))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


class _Handler(BaseHTTPRequestHandler):
    server: ImageServer

    def log_message(self, *_arguments: Any) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        self.server.requests.append((time.monotonic(), self.path))
        path, _, query = self.path.partition("?")
        if path == "/robots.txt" and self.server.robots_status != 200:
            self.send_error(self.server.robots_status)
        elif path == "/robots.txt" and self.server.robots_place:
            self._redirect(self.server.robots_place)
        elif path == "/robots.txt":
            self._send(ROBOTS + self.server.robots_rest, "text/plain")
        elif path.startswith(("/image/", "/private/")):
            red, green, blue = (sum(path.encode()) * step % 256 for step in (1, 7, 31))
            self._send(jpeg((red, green, blue)), "text/html")  # the content decides, not the type
        elif path == "/page":
            self._send(b"<html><body>not an image</body></html>", "image/jpeg")
        elif path == "/tiny":
            self._send(png(1, 1), "image/png")
        elif path == "/bomb":
            self._send(png(60_000, 60_000), "image/png")
        elif path == "/svg":
            self._send(b'<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml")
        elif path == "/garbage":
            self._write(b"\0\x1b[31mno HTTP" * 9)
        elif path == "/headers":
            self._write(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10**6 + b"\r\n\r\n")
        elif path == "/chunks":
            self._write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n")
        elif path == "/empty":
            self._send(b"", "image/jpeg")
        elif path == "/to":
            self._redirect(query)
        elif path == "/to-nowhere":
            self._redirect("http://[/x")
        elif path == "/loop":
            self._redirect("/loop")
        elif path == "/huge":
            self.send_response(200)
            self.send_header("Content-Length", str(10 * 10**9))
            self.end_headers()
        elif path == "/endless":
            self.send_response(200)
            self.end_headers()
            while self._write(b"\xff\xd8\xff" + b"\0" * 65536):
                self.server.sent += 65539
        elif path == "/drip":
            self.send_response(200)
            self.end_headers()
            while self._write(b"\0"):
                time.sleep(0.05)
        elif path == "/cut":
            self.send_response(200)
            content = jpeg((1, 2, 3))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self._write(content[:-100])
        elif path == "/busy":
            self.server.busy += 1
            if self.server.busy <= 1:
                self.send_response(429)
                self.send_header("Retry-After", "1")
                self.end_headers()
            else:
                self._send(jpeg((200, 10, 10)), "image/jpeg")
        elif path == "/later":
            self.send_response(503)
            self.send_header("Retry-After", "86400")
            self.end_headers()
        else:
            self.send_error(404)

    def _redirect(self, place: str) -> None:
        self.send_response(302)
        self.send_header("Location", place)
        self.end_headers()

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self._write(content)

    def _write(self, content: bytes) -> bool:
        try:
            self.wfile.write(content)
        except OSError:
            return False
        return True


class ImageServer(ThreadingHTTPServer):
    """The server; `requests` are the time and path of every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[float, str]] = []
        self.robots_status = 200
        self.robots_place = ""
        self.robots_rest = b""
        self.busy = 0
        self.sent = 0

    @property
    def url(self) -> str:
        """The URL of its root."""
        return f"http://127.0.0.1:{self.server_port}"

    def paths(self) -> list[str]:
        """The requested paths, without robots.txt."""
        return [path for _, path in self.requests if path != "/robots.txt"]


@contextmanager
def image_server() -> Iterator[ImageServer]:
    """A running server."""
    with ImageServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
