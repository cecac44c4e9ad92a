"""Data, models and run folders in an object store: the same bytes as on a disk, whatever happens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import fsspec
import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.forked_commands import forked_command
from tests.object_store import BUCKET, ObjectStore
from windtunnel.data.demo import demo_model_path

SUITE = ("--suite", "smoke", "--only", "gaussian_noise", "--chunk", "2", "--workers", "1")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    """The variables of this module's commands, with a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WINDTUNNEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield patch


@pytest.fixture(scope="module")
def store(environment: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """An object store that the environment names."""
    server = ObjectStore()
    server.start()
    for name, value in server.environment.items():
        environment.setenv(name, value)
    yield server
    server.stop()
    fsspec.get_filesystem_class("s3").clear_instance_cache()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, digits: tuple[np.ndarray, np.ndarray]) -> Path:
    """A folder with images, and a run on them and the demo model."""
    folder = tmp_path_factory.mktemp("local")
    images, classes = digits
    for row in range(0, 72, 3):
        (folder / "data" / str(classes[row])).mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[row]).save(folder / "data" / str(classes[row]) / f"{row:08d}.png")
    for file in (demo_model_path(), demo_model_path().with_name("digits.onnx.toml")):
        shutil.copy(file, folder)
    done = forked_command("run", "digits.onnx", "data", *SUITE, "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def shards(local: Path) -> dict[str, bytes]:
    """The shards of the local run."""
    return {f"shards/{file.name}": file.read_bytes() for file in (local / "run" / "shards").iterdir()}


@pytest.fixture
def remote(store: ObjectStore, local: Path, request: pytest.FixtureRequest) -> str:
    """A prefix of the test's own in the store, with the same images and model."""
    prefix = request.node.name
    store.upload(local / "data", f"{prefix}/data")
    for name in ("digits.onnx", "digits.onnx.toml"):
        store.upload(local / name, f"{prefix}/{name}")
    store.requests.clear()
    return prefix


def arguments(prefix: str) -> list[str]:
    """The command whose data, model and run folder are all in the store."""
    url = f"s3://{BUCKET}/{prefix}"
    return ["run", f"{url}/digits.onnx", f"{url}/data", *SUITE, "--out", f"{url}/run"]


def run_arguments(prefix: str, workers: int = 1) -> dict[str, Any]:
    """The same run as arguments of `windtunnel.run`."""
    url = f"s3://{BUCKET}/{prefix}"
    return {
        "model": f"{url}/digits.onnx",
        "data": f"{url}/data",
        "suite": "smoke",
        "only": ["gaussian_noise"],
        "chunk": 2,
        "workers": workers,
        "out": f"{url}/run",
    }


def run_in_process(prefix: str, workers: int = 1) -> windtunnel.Run:
    """The same run without a command."""
    return windtunnel.run(**run_arguments(prefix, workers))


def started(*given: str, cwd: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "windtunnel", *given]
    return subprocess.Popen(command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def stored_shards(store: ObjectStore, prefix: str) -> dict[str, bytes]:
    found = store.content(f"{prefix}/run")
    return {name: content for name, content in found.items() if name.startswith("shards/")}


def test_a_killed_remote_run_continues_and_equals_the_local_one(
    store: ObjectStore, remote: str, local: Path, shards: dict[str, bytes], tmp_path: Path
) -> None:
    process = started(*arguments(remote), cwd=tmp_path)
    with store.when(lambda: len(stored_shards(store, remote)) >= 2, process.kill):
        process.communicate()
    assert 2 <= len(stored_shards(store, remote)) < len(shards)

    done = forked_command(*arguments(remote), cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert stored_shards(store, remote) == shards
    written = Counter(key for method, key in store.requests if method == "PUT" and "/shards/" in key)
    assert set(written.values()) == {1}
    downloaded = Counter(key for key in store.gets(remote) if not key.startswith(f"{remote}/run/"))
    assert len(downloaded) == 26 and set(downloaded.values()) == {1}

    found = store.content(f"{remote}/run")
    assert {"run.json", "samples.parquet", "report.html", "report.md", "scores.json"} <= found.keys()
    secrets = [store.environment[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    cached = [file.read_bytes() for file in Path(os.environ["WINDTUNNEL_CACHE"]).rglob("*") if file.is_file()]
    texts = [done.stdout.encode(), done.stderr.encode(), *found.values(), *cached]
    assert len(cached) > 20 and not any(secret.encode() in text for secret in secrets for text in texts)


def test_finished_remote_runs_are_scored_reported_compared_and_gated(
    store: ObjectStore, remote: str, local: Path, shards: dict[str, bytes], tmp_path: Path
) -> None:
    run = run_in_process(remote)
    assert stored_shards(store, remote) == shards
    url = f"s3://{BUCKET}/{remote}/run"
    scored = forked_command("score", url, "--csv", cwd=tmp_path)
    assert scored.stdout == forked_command("score", "run", "--csv", cwd=local).stdout
    assert str(run.report()) == f"{url}/report.html" and "report.html" in store.content(f"{remote}/run")
    there, here = windtunnel.load_run(url), windtunnel.load_run(local / "run")
    assert there.scores() == here.scores() and there.predictions() == here.predictions()
    assert windtunnel.compare(there, here).images == 24
    assert not windtunnel.gate(url, local / "run").failed
    assert windtunnel.slices(url, "class", minimum=1)


def test_workers_read_what_the_survey_downloaded(
    store: ObjectStore, remote: str, shards: dict[str, bytes], tmp_path: Path
) -> None:
    run_in_process(remote, workers=2)
    assert stored_shards(store, remote) == shards
    assert set(Counter(store.gets(f"{remote}/data")).values()) == {1}
    count = len(store.gets(f"{remote}/data"))
    run_in_process(remote)
    assert len(store.gets(f"{remote}/data")) == count == 24


def test_two_writers_at_once_lose_and_mix_nothing(
    store: ObjectStore, remote: str, shards: dict[str, bytes]
) -> None:
    command = [sys.executable, "-c", f"import windtunnel; windtunnel.run(**{run_arguments(remote)!r})"]
    processes = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert stored_shards(store, remote) == shards
    assert len(store.content(f"{remote}/run")) == len(shards) + 2


def test_a_truncated_remote_shard_is_made_again(
    store: ObjectStore, remote: str, shards: dict[str, bytes]
) -> None:
    run = run_in_process(remote)
    name, content = sorted(shards.items())[3]
    store.put(f"{remote}/run/{name}", content[:200])
    store.requests.clear()
    with pytest.raises(windtunnel.UserError, match="is damaged"):
        run.predictions()
    run_in_process(remote)
    assert stored_shards(store, remote) == shards
    written = [key for method, key in store.requests if method == "PUT" and "/shards/" in key]
    assert set(written) == {f"{remote}/run/{name}"}


def test_a_store_that_is_lost_costs_nothing_that_was_stored(
    store: ObjectStore, remote: str, shards: dict[str, bytes], tmp_path: Path
) -> None:
    process = started(*arguments(remote), cwd=tmp_path)
    try:
        with store.when(lambda: len(stored_shards(store, remote)) >= 2, store.stop):
            _, errors = process.communicate()
        kept = stored_shards(store, remote)
    finally:
        store.start()
    last = errors.splitlines()[-1]
    assert process.returncode == 70, errors
    assert last.startswith(f"failed: s3://{BUCKET}/{remote}/run/shards/") and "cannot be reached" in last
    assert f"{len(kept) * 10} of 120 predictions are stored in s3://{BUCKET}/{remote}/run" in last
    assert "To continue: windtunnel run s3://" in last and "Traceback" not in errors
    assert 2 <= len(kept) < len(shards)
    run_in_process(remote)
    assert stored_shards(store, remote) == shards


def test_a_made_set_in_a_store_equals_a_local_one(
    store: ObjectStore, remote: str, local: Path, tmp_path: Path
) -> None:
    url = f"s3://{BUCKET}/{remote}"

    def make(data: object, out: object, layout: str = "folders") -> None:
        windtunnel.make_set("imagenet-c", data, out, only=["gaussian_noise:3"], layout=layout)

    make(f"{url}/data", f"{url}/made")
    make(local / "data", tmp_path / "made")
    files = {
        file.relative_to(tmp_path / "made").as_posix(): file.read_bytes()
        for file in (tmp_path / "made").rglob("*")
        if file.is_file() and file.name != "lock"
    }
    stored = store.content(f"{remote}/made")
    assert stored.keys() == files.keys()
    # The manifest names the source.
    assert {name for name in files if stored[name] != files[name]} <= {"manifest.json"}
    damaged = next(name for name in sorted(files) if "gaussian" in name)
    store.put(f"{remote}/made/{damaged}", b"damaged")
    checked = forked_command("data", "verify", f"{url}/made", cwd=tmp_path)
    assert checked.returncode == 1 and damaged in checked.stdout
    make(f"{url}/data", f"{url}/made")
    assert store.content(f"{remote}/made") == stored
    with pytest.raises(windtunnel.UserError, match="is a URL; give a local path, or use layout"):
        windtunnel.make_set("imagenet-c", local / "data", f"{url}/arrays", layout="arrays")


SECRETS = ("p4ssw0rd", "0123456789abcdefSIGNATURE")
WITH_SECRETS = (
    "s3://someone:p4ssw0rd@bucket/data",
    "s3://AKIA:p4ss/p4ssw0rd@bucket/data",
    "https://p4ssw0rd@example.com/data.zip",
    "https://example.com/data.zip?X-Amz-Signature=0123456789abcdefSIGNATURE",
    "s3://bucket/data?token=0123456789abcdefSIGNATURE",
)


@pytest.mark.parametrize("url", WITH_SECRETS)
def test_urls_with_credentials_are_refused_and_not_repeated(url: str, windtunnel_command: Command) -> None:
    for given in (
        ["run", "demo", url],
        ["run", f"{url}.onnx", "demo"],
        ["run", "demo", "demo", "--out", url],
        ["plan", "demo", url],
        ["make", "smoke", "demo", url],
        ["score", url],
        ["report", url],
        ["data", "inspect", url],
    ):
        refused = windtunnel_command(*given)
        assert refused.returncode == 2, given
        assert len(refused.stderr.splitlines()) == 1 and "give the URL without it" in refused.stderr
        assert not any(secret in refused.stdout + refused.stderr for secret in SECRETS)


@pytest.mark.parametrize(
    ("url", "changes", "message"),
    [
        ("s3://no-such-bucket/data", {}, "The bucket of s3://no-such-bucket/data does not exist; create it"),
        ("s3://bucket/nothing", {}, "No such data: s3://bucket/nothing."),
        ("s4://bucket/data", {}, "Unknown scheme s4://; give a local path, or a URL that fsspec knows"),
        ("gs://bucket/data", {}, "A URL of gs:// needs gcsfs, which is not installed: pip install 'gcsfs'."),
        (
            "s3://bucket/data",
            {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None},
            "s3://bucket/data: no credentials for s3:// were found; set them in the environment",
        ),
    ],
)
def test_what_is_wrong_with_a_store_is_told_in_one_line(
    store: ObjectStore,
    url: str,
    changes: dict[str, str | None],
    message: str,
    windtunnel_command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in changes:
        monkeypatch.delenv(name)
    refused = windtunnel_command("plan", "demo", url)
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1 and f"error: {message}" in refused.stderr


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The URL of a web server for the test's folder `web`; nobody may read `private`."""

    class Handler(SimpleHTTPRequestHandler):
        def send_head(self) -> Any:
            if self.path.startswith("/private"):
                return self.send_error(403)
            return super().send_head()

        def log_message(self, *_given: object) -> None:
            pass

    (tmp_path / "web").mkdir()
    address = ("127.0.0.1", 0)
    with ThreadingHTTPServer(address, partial(Handler, directory=str(tmp_path / "web"))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_denied_access_is_told_in_one_line(
    web: str, environment: pytest.MonkeyPatch, windtunnel_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (*ObjectStore().environment.items(), ("AWS_ENDPOINT_URL", web)):
        monkeypatch.setenv(name, value)
    for given in (
        ["plan", "demo", "s3://private/data"],
        ["run", "demo", "demo", "--out", "s3://private/run"],
    ):
        refused = windtunnel_command(*given)
        assert refused.returncode == 2
        assert len(refused.stderr.splitlines()) == 1
        assert "the store denies access (PermissionError: " in refused.stderr
        assert "check the credentials in the environment" in refused.stderr


def test_an_archive_and_a_model_on_the_web_are_read(
    web: str, environment: pytest.MonkeyPatch, local: Path, windtunnel_command: Command, tmp_path: Path
) -> None:
    shutil.make_archive(str(tmp_path / "web" / "data"), "zip", local / "data")
    shutil.copy(local / "digits.onnx", tmp_path / "web")
    shutil.copy(local / "digits.onnx.toml", tmp_path / "web")
    done = windtunnel_command("run", f"{web}/digits.onnx", f"{web}/data.zip", *SUITE, "--out", "run")
    assert done.returncode == 0, done.stderr
    score = windtunnel_command("score", "run", "--csv")
    columns = [line.split(",")[:5] for line in score.stdout.splitlines()]
    expected = forked_command("score", "run", "--csv", cwd=local).stdout.splitlines()
    assert columns == [line.split(",")[:5] for line in expected]
    refused = windtunnel_command("run", "demo", "demo", *SUITE, "--out", f"{web}/run")
    assert refused.returncode == 2 and "can only be read" in refused.stderr
