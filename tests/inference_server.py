"""An inference server around ONNX Runtime that speaks the Open Inference Protocol, and fails on request.

`python inference_server.py SETTINGS.json`, with the keys of `Settings`. Faults are by the number of the
inference request in this process, from 1.
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

TYPES = {"tensor(float)": ("FP32", "<f4"), "tensor(uint8)": ("UINT8", "u1")}
HEADER_LENGTH = "Inference-Header-Content-Length"


@dataclass
class Settings:
    """What is served, and how it fails.

    Attributes:
        model: an ONNX file.
        port: a free port.
        binary: whether the binary extension is offered.
        faults: kinds of faults, by the number of the request.
        version: of the model.
        token: the bearer token that requests need, if any.
    """

    model: str
    port: int
    binary: bool = True
    faults: dict[str, str] = field(default_factory=dict)
    version: str = "1"
    token: str = ""


class Server(ThreadingHTTPServer):
    """One network on one thread; requests wait for each other."""

    daemon_threads = True

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(settings.model, options)
        self.taken, self.returned = self.session.get_inputs()[0], self.session.get_outputs()[0]
        self.lock = threading.Lock()
        self.count = 0
        super().__init__(("127.0.0.1", settings.port), Handler)

    def scores(self, tensor: np.ndarray) -> np.ndarray:
        with self.lock:
            return self.session.run([self.returned.name], {self.taken.name: tensor})[0]

    def metadata(self) -> dict[str, Any]:
        def described(item: Any) -> dict[str, Any]:
            shape = [size if isinstance(size, int) else -1 for size in item.shape]
            return {"name": item.name, "datatype": TYPES[item.type][0], "shape": shape}

        return {
            "name": "served",
            "versions": [self.settings.version],
            "platform": "onnxruntime",
            "inputs": [described(self.taken)],
            "outputs": [described(self.returned)],
        }


class Handler(BaseHTTPRequestHandler):
    """The requests of the protocol that windtunnel makes."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        if not self.allowed():
            self.reply(401, b"no token")
        elif self.path == "/v2":
            extensions = ["binary_tensor_data"] if self.server.settings.binary else []
            self.reply(200, json.dumps({"name": "test", "extensions": extensions}).encode())
        elif self.path in ("/v2/models/served", "/v2/models/served/versions/1"):
            self.reply(200, json.dumps(self.server.metadata()).encode())
        else:
            self.reply(404, b'{"error": "unknown model"}')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.count += 1
        fault = self.server.settings.faults.get(str(self.server.count), "")
        if fault == "exit":
            os._exit(3)
        if fault == "timeout":
            time.sleep(2.5)
        if fault in ("500", "503", "429"):
            self.reply(int(fault), b"injected", {"Retry-After": "1"} if fault != "500" else {})
            return
        self.infer(body, fault)

    def infer(self, body: bytes, fault: str) -> None:
        end = int(self.headers.get(HEADER_LENGTH, len(body)))
        message = json.loads(body[:end])
        (given,) = message["inputs"]
        dtype = TYPES[self.server.taken.type][1]
        values = (
            np.frombuffer(memoryview(body)[end:], dtype)
            if end < len(body)
            else np.array(given["data"], dtype)
        )
        scores = self.server.scores(values.reshape(given["shape"]).astype(dtype))
        if fault == "nan":
            scores = np.where(np.arange(scores.size).reshape(scores.shape) == 3, np.nan, scores)
        if fault == "shape":
            scores = scores[:, :-1]
        if fault == "few":
            scores = scores[:-1]
        output: dict[str, Any] = {
            "name": self.server.returned.name,
            "shape": scores.shape,
            "datatype": "INT32" if fault == "dtype" else "FP32",
        }
        reply = {
            "model_name": "other" if fault == "model" else "served",
            "model_version": self.server.settings.version,
            "id": "another" if fault == "id" else message["id"],
            "outputs": [output],
        }
        data = b""
        if message["outputs"][0].get("parameters", {}).get("binary_data"):
            data = scores.astype("<f4").tobytes()
            output["parameters"] = {"binary_data_size": len(data)}
            data = data[:-4] if fault == "bytes" else data
        else:
            output["data"] = scores.ravel().tolist()
        header = json.dumps(reply).encode()
        if fault == "json":
            header = header[:-2]
        headers = {HEADER_LENGTH: str(len(header))} if data else {}
        self.reply(200, header + data, headers, cut=fault == "truncated")

    def allowed(self) -> bool:
        token = self.server.settings.token
        return not token or self.headers.get("Authorization") == f"Bearer {token}"

    def reply(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, *, cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


class Served:
    """A server in a process of its own; it is started again with the next settings when it exits."""

    def __init__(self, folder: Path, *settings: Settings) -> None:
        self.url = f"kserve://127.0.0.1:{settings[0].port}/served"
        self.starts = 0
        self._folder, self._settings = folder, list(settings)
        self._ended = False
        self._start()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _start(self) -> None:
        settings = self._settings.pop(0) if len(self._settings) > 1 else self._settings[0]
        file = self._folder / f"server-{self.starts}.json"
        file.write_text(json.dumps(dataclasses.asdict(settings)))
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        self.starts += 1

    def _watch(self) -> None:
        while True:
            self._process.wait()
            if self._ended:
                return
            self._start()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def end(self) -> None:
        """Stop the server."""
        self._ended = True
        self._process.kill()
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def serving(folder: Path, *settings: Settings) -> Iterator[Served]:
    """A running server, which is started again with the next settings when it exits."""
    served = Served(folder, *settings)
    try:
        yield served
    finally:
        served.end()


def main() -> None:
    """Serve until the process is ended."""
    server = Server(Settings(**json.loads(Path(sys.argv[1]).read_text())))
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
