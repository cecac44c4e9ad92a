"""`windtunnel curate collect`: candidates from untrusted tables."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.conftest import Command
from tests.image_server import ImageServer, image_server, jpeg

FAST = ("--rate", "1000/s", "--retries", "0")


@pytest.fixture
def server() -> Iterator[ImageServer]:
    with image_server() as running:
        yield running


def table(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    return path


def candidates(project: Path) -> list[dict[str, Any]]:
    files = sorted((project / "candidates").glob("*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def collect(command: Command, source: Path, *options: str) -> list[dict[str, Any]]:
    """The rows of the project `p` next to a table, after collecting."""
    done = command("curate", "collect", source, "--project", source.parent / "p", *options)
    assert done.returncode == 0, done.stderr
    return candidates(source.parent / "p")


def everything(folder: Path) -> dict[str, bytes]:
    """All files of a folder except locks."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "lock"
    }


def test_every_failure_is_a_row_and_the_step_continues(
    tmp_path: Path, windtunnel_command: Command, server: ImageServer
) -> None:
    paths = {
        "/image/a": "ok",
        "/missing": "unreachable",
        "/page": "not_an_image",
        "/empty": "not_an_image",
        "/tiny": "too_small",
        "/bomb": "too_large",
        "/svg": "not_an_image",
        "/garbage": "unreachable",
        "/headers": "unreachable",
        "/chunks": "unreachable",
        "/huge": "too_large",
        "/endless": "too_large",
        "/drip": "unreachable",
        "/cut": "unreachable",
        "/loop": "unreachable",
        "/to?/image/b": "ok",
        "/to?file:///etc/passwd": "refused",
        "/to?ftp://127.0.0.1/x": "refused",
        "/to?javascript:alert(1)": "refused",
        "/to-nowhere": "refused",
        "/private/x.jpg": "refused",
        "/private/open.jpg": "ok",
        "/image/scan.tiff": "refused",
        "/to?/private/x.jpg": "refused",
        "/image/last": "ok",
    }
    urls = {server.url + path: status for path, status in paths.items()} | {
        "file:///etc/passwd": "refused",
        "gopher://127.0.0.1/": "refused",
        "http://user:secret@127.0.0.1/": "refused",
        "http://[::bad/": "refused",
        "http://127.0.0.1:99999/": "refused",
        "http://127.0.0.1/\nX: y": "refused",
        "http://127.0.0.1:1/image": "unreachable",
        "http://nowhere.invalid/": "unreachable",
    }
    rows = [{"url": url, "tag": "cat", "licence": "CC0", "source": "test"} for url in urls]
    found = collect(
        windtunnel_command, table(tmp_path / "urls.csv", rows), *FAST, "--allow-private", "--max-mb", "1",
        "--timeout", "2",
    )  # fmt: skip
    assert {row["url"]: row["status"] for row in found} == urls
    assert all(row["reason"].isprintable() for row in found)
    assert all(row["reason"] for row in found if row["status"] != "ok")
    assert {row["label_status"] for row in found} == {"weak"}
    assert server.sent < 10 * 10**6
    stored = [row for row in found if row["status"] == "ok"]
    for row in stored:
        assert (tmp_path / "p" / row["file"]).read_bytes().startswith(b"\xff\xd8\xff")
        assert row["file"] == f"media/{row['id'][:2]}/{row['id']}.jpg"
        assert (row["width"], row["height"], row["licence"]) == (24, 24, "CC0")


def test_several_threads_store_the_same_image(tmp_path: Path) -> None:
    """Several hosts serve the same placeholder at the same time."""
    from concurrent.futures import ThreadPoolExecutor

    from windtunnel.curate.project import Project

    project, together = Project(tmp_path), threading.Barrier(8)

    def store(_thread: int) -> list[tuple[str, str]]:
        stored = []
        for number in range(20):
            together.wait(60)
            stored.append(project.add_media(b"%d" % number * 10_000, ".jpg"))
        return stored

    with ThreadPoolExecutor(8) as threads:
        first, *others = threads.map(store, range(8))
    assert all(other == first for other in others)
    assert len(everything(tmp_path)) == 20
    assert (tmp_path / first[3][1]).read_bytes() == b"3" * 10_000


def test_a_redirected_robots_file_costs_its_host_only(
    tmp_path: Path, windtunnel_command: Command, server: ImageServer
) -> None:
    with image_server() as hostile:
        hostile.robots_place = "http://[/x"
        rows = [{"url": f"{each.url}/image/a", "tag": "cat"} for each in (hostile, server)]
        found = collect(windtunnel_command, table(tmp_path / "t.csv", rows), *FAST, "--allow-private")
    assert [row["status"] for row in found] == ["refused", "ok"]
    assert "redirects to no valid URL" in found[0]["reason"]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "127.1"]
)
def test_private_addresses_are_refused(
    tmp_path: Path, windtunnel_command: Command, server: ImageServer, host: str
) -> None:
    url = f"http://{host}:{server.server_port}/image/a"
    (row,) = collect(windtunnel_command, table(tmp_path / "t.csv", [{"url": url, "tag": "cat"}]), *FAST)
    assert row["status"] in ("refused", "unreachable")
    assert row["status"] == "refused" or host == "[::1]"
    assert not server.requests
    assert not (tmp_path / "p" / "media").exists()


def test_the_address_that_is_connected_to_is_checked(
    monkeypatch: pytest.MonkeyPatch, server: ImageServer
) -> None:
    """A name server that answers differently the second time, and redirects to a private address."""
    import socket

    from windtunnel.curate.downloads import DownloadFailed, Limits, download

    asked: list[str] = []
    real = socket.getaddrinfo

    def rebinding(host: str, port: int, *arguments: Any, **names: Any) -> Any:
        asked.append(host)
        answer = "8.8.8.8" if len(asked) == 1 else "127.0.0.1"
        return real(answer if host == "public.test" else host, port, *arguments, **names)

    connected: list[Any] = []

    def connect(_self: socket.socket, place: Any) -> None:
        connected.append(place[0])
        raise ConnectionRefusedError(111, "refused")

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(socket.socket, "connect", connect)
    limits = Limits(1000, 2.0, False, "test")
    with pytest.raises(DownloadFailed):
        download(f"http://public.test:{server.server_port}/", limits, lambda _: None)
    assert (asked, connected) == (["public.test"], ["8.8.8.8"])  # resolved once, and connected to that
    with pytest.raises(DownloadFailed, match="not public") as raised:
        download(f"http://public.test:{server.server_port}/", limits, lambda _: None)
    assert raised.value.status == "refused"
    assert connected == ["8.8.8.8"]


def test_redirects_to_private_addresses_are_refused(
    monkeypatch: pytest.MonkeyPatch, server: ImageServer
) -> None:
    """The first host counts as public here; the one that it redirects to does not."""
    from windtunnel.curate import addresses
    from windtunnel.curate.downloads import DownloadFailed, Limits, download

    real = addresses.is_public
    monkeypatch.setattr(addresses, "is_public", lambda address: address == "127.0.0.1" or real(address))
    limits = Limits(10**6, 5.0, False, "test")
    assert download(f"{server.url}/to?/image/a", limits, lambda _: None)
    for place in ("http://127.0.0.2/", "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/"):
        with pytest.raises(DownloadFailed, match="not public"):
            download(f"{server.url}/to?{place}", limits, lambda _: None)


def test_which_addresses_are_public() -> None:
    from windtunnel.curate.addresses import is_public

    for address in ("8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "2002:808:808::1"):
        assert is_public(address), address
    private = (
        "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 240.0.0.1 "
        "255.255.255.255 198.18.0.1 192.0.2.1 ::1 :: fe80::1 fe80::1%eth0 fc00::1 ff02::1 ::ffff:10.0.0.1 "
        "::127.0.0.1 2002:7f00:1::1 2001:0:1234::1 64:ff9b::7f00:1 2001:db8::1 "
        "fec0::1 3fff::1 192.88.99.1"
    )
    for address in private.split():
        assert not is_public(address), address


def test_duplicates_tags_and_labels(tmp_path: Path, windtunnel_command: Command, server: ImageServer) -> None:
    rows = [
        {"url": f"{server.url}/image/a", "tag": " Tabby  Cat", "label": ""},
        {"url": f"{server.url}/image/a", "tag": "tabby cat", "label": ""},
        {"url": f"{server.url}/image/a?again", "tag": "hound", "label": ""},
        {"url": f"{server.url}/image/b", "tag": "tree", "label": ""},
        {"url": f"{server.url}/image/c", "tag": "tree", "label": "given"},
    ]
    table(tmp_path / "map.csv", [{"tag": "tabby cat", "class": "cat"}, {"tag": "hound", "class": "dog"}])
    source = table(tmp_path / "t.csv", rows)
    found = collect(
        windtunnel_command, source, *FAST, "--allow-private", "--classes", str(tmp_path / "map.csv")
    )
    assert [row["status"] for row in found] == ["ok", "duplicate", "duplicate", "unlabelled", "ok"]
    assert [row["label"] for row in found] == ["cat", "cat", "dog", "", "given"]
    assert found[1]["reason"] == "same URL as row 1"
    assert found[2]["reason"] == "same content as row 1, whose label is 'cat'"
    assert sorted(server.paths()) == ["/image/a", "/image/a?again", "/image/c"]
    # Another map gives other labels; only what is new is requested.
    table(tmp_path / "map.csv", [{"tag": "tabby cat", "class": "CAT"}, {"tag": "tree", "class": "tree"}])
    found = collect(
        windtunnel_command, source, *FAST, "--allow-private", "--classes", str(tmp_path / "map.csv")
    )
    assert [row["status"] for row in found] == ["ok", "duplicate", "unlabelled", "ok", "ok"]
    assert [row["label"] for row in found] == ["CAT", "CAT", "", "tree", "given"]
    assert sorted(server.paths()) == ["/image/a", "/image/a?again", "/image/b", "/image/c"]


def test_rates_and_retry_after_are_respected(
    tmp_path: Path, windtunnel_command: Command, server: ImageServer
) -> None:
    paths = ["/busy", "/image/a", "/image/b"]
    rows = [{"url": server.url + path, "tag": "cat"} for path in paths]
    found = collect(windtunnel_command, table(tmp_path / "t.csv", rows), "--rate", "5/s", "--allow-private")
    assert [row["status"] for row in found] == ["ok", "ok", "ok"]
    times = [moment for moment, _ in server.requests]
    assert [path for _, path in server.requests] == ["/robots.txt", "/busy", *paths]
    gaps = np.diff(times)
    assert gaps[1] > 0.95  # Retry-After: 1
    assert min(gaps) > 0.15


def test_the_rate_holds_for_all_ports_of_a_host(
    tmp_path: Path, windtunnel_command: Command, server: ImageServer
) -> None:
    with image_server() as other:
        rows = [
            {"url": f"{each.url}/image/{name}", "tag": "cat"} for each in (server, other) for name in "ab"
        ]
        found = collect(
            windtunnel_command, table(tmp_path / "t.csv", rows), "--rate", "5/s", "--allow-private"
        )
        times = sorted(moment for moment, _ in [*server.requests, *other.requests])
    assert len(found) == 4
    assert len(times) == 6
    # Five pauses of 0.2 s. With a rate for each port there would be two at a time: 0.4 s in all.
    assert times[-1] - times[0] > 0.6


def test_of_a_long_robots_file_the_first_part_holds(
    tmp_path: Path, windtunnel_command: Command, server: ImageServer
) -> None:
    server.robots_rest = b"# long\n" * 10**5
    rows = [{"url": f"{server.url}/{name}", "tag": "cat"} for name in ("image/a", "private/b")]
    found = collect(windtunnel_command, table(tmp_path / "t.csv", rows), *FAST, "--allow-private")
    assert [row["status"] for row in found] == ["ok", "refused"]
    assert "disallows" in found[1]["reason"]


def test_a_host_that_asks_to_wait_for_long_is_left_in_peace(
    tmp_path: Path, windtunnel_command: Command, server: ImageServer
) -> None:
    rows = [{"url": f"{server.url}{path}", "tag": "cat"} for path in ("/later", "/image/a")]
    source = table(tmp_path / "t.csv", rows)
    found = collect(windtunnel_command, source, "--rate", "100/s", "--allow-private")
    assert [row["status"] for row in found] == ["unreachable", "unreachable"]
    assert "asked to wait 86,400 s" in found[1]["reason"]
    assert server.paths() == ["/later"]
    # The same command does nothing; --retry tries again.
    collect(windtunnel_command, source, "--rate", "100/s", "--allow-private")
    assert server.paths() == ["/later"]
    table(source, rows)
    collect(windtunnel_command, source, "--rate", "100/s", "--allow-private", "--retry")
    assert server.paths() == ["/later", "/later"]


@pytest.mark.parametrize(("status", "allowed"), [(404, True), (403, True), (500, False), (503, False)])
def test_a_robots_file_that_cannot_be_read_closes_its_host(
    tmp_path: Path, windtunnel_command: Command, server: ImageServer, status: int, allowed: bool
) -> None:
    """RFC 9309: without a file everything is allowed; after an error of the server nothing is."""
    server.robots_status = status
    rows = [{"url": f"{server.url}/private/{name}", "tag": "cat"} for name in "ab"]
    found = collect(windtunnel_command, table(tmp_path / "t.csv", rows), *FAST, "--allow-private")
    assert [row["status"] for row in found] == (["ok", "ok"] if allowed else ["unreachable"] * 2)
    assert len(server.requests) == (3 if allowed else 1)
    if not allowed:
        assert (
            collect(windtunnel_command, tmp_path / "t.csv", *FAST, "--allow-private", "--ignore-robots")[0][
                "status"
            ]
            == "ok"
        )


def test_files_and_hostile_names_stay_in_the_project(tmp_path: Path, windtunnel_command: Command) -> None:
    inside = tmp_path / "data"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub" / "é ;$(touch x).jpg").write_bytes(jpeg((1, 2, 3)))
    (tmp_path / "secret.jpg").write_bytes(jpeg((9, 9, 9)))
    (inside / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    (inside / "text.jpg").write_text("no image")
    (inside / "cut.jpg").write_bytes(jpeg((5, 5, 5), 200)[:300])
    rows = [
        {"file": "sub/é ;$(touch x).jpg", "label": "../../escape", "tag": "<script>"},
        {"file": "../secret.jpg", "label": "cat", "tag": ""},
        {"file": str(tmp_path / "secret.jpg"), "label": "cat", "tag": ""},
        {"file": "link.jpg", "label": "cat", "tag": ""},
        {"file": "text.jpg", "label": "cat", "tag": ""},
        {"file": "cut.jpg", "label": "cat", "tag": ""},
        {"file": "sub", "label": "cat", "tag": ""},
        {"file": "gone.jpg", "label": "cat", "tag": ""},
        {"file": "/dev/zero", "label": "cat", "tag": ""},
        {"file": "a\0b", "label": "cat", "tag": ""},
    ]
    before = {str(path) for path in tmp_path.rglob("*")}
    found = collect(windtunnel_command, table(inside / "t.csv", rows))
    assert [row["status"] for row in found] == [
        "ok", "refused", "refused", "refused", "not_an_image", "not_an_image", "unreachable", "unreachable",
        "refused", "unreachable",
    ]  # fmt: skip
    new = {str(path) for path in tmp_path.rglob("*")} - before
    assert all(path.startswith(str(inside / "p")) or path == str(inside / "t.csv") for path in new)
    found = collect(windtunnel_command, inside / "t.csv", "--allow-private")
    assert found[1]["status"] == "refused"
    found = collect(windtunnel_command, inside / "t.csv", "--allow-outside-files")
    assert [row["status"] for row in found][1:4] == ["ok", "duplicate", "duplicate"]


def test_a_folder_and_an_array_are_collected_and_shown(tmp_path: Path, windtunnel_command: Command) -> None:
    for number, name in enumerate(("cat", "dog", "dog")):
        (tmp_path / "images" / name).mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (16, 16), (number, 0, 0)).save(tmp_path / "images" / name / f"{number}.png")
    found = collect(windtunnel_command, tmp_path / "images", "--licence", "CC0", "--source", "camera")
    assert [(row["label"], row["licence"], row["source"]) for row in found] == [
        ("cat", "CC0", "camera"), ("dog", "CC0", "camera"), ("dog", "CC0", "camera"),
    ]  # fmt: skip
    pixels = np.arange(2 * 8 * 8 * 3, dtype=np.uint8).reshape(2, 8, 8, 3)
    np.savez(tmp_path / "digits.npz", images=pixels, labels=[0, 1])
    collect(windtunnel_command, tmp_path / "digits.npz")
    shown = windtunnel_command("curate", "status", tmp_path / "p", "--json")
    status = json.loads(shown.stdout)
    assert status["candidates"] == {"ok": 5}
    assert status["labels"] == {"weak": 5}
    assert len(status["steps"]) == 2
    assert "ok 5" in windtunnel_command("curate", "status", tmp_path / "p").stdout


def test_files_of_the_same_names_in_two_folders_are_different_candidates(tmp_path: Path) -> None:
    from windtunnel import api

    for shade, place in enumerate(("a", "b")):
        for number, name in enumerate(("cat", "dog")):
            (tmp_path / place / "images" / name).mkdir(parents=True)
            image = jpeg((shade * 90, number * 90, 0))
            (tmp_path / place / "images" / name / "0.jpg").write_bytes(image)
        rows = [{"file": f"images/{name}/0.jpg", "tag": name} for name in ("cat", "dog")]
        source = table(tmp_path / place / "t.csv", rows)
        api.collect_candidates(tmp_path / place / "images", tmp_path / "folders")
        api.collect_candidates(source, tmp_path / "tables")
    for project in ("folders", "tables"):
        assert api.project_status(tmp_path / project).candidates == {"ok": 4}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no rows"),
        ("a,b\n1,2\n", "give a column url or file"),
        ("url,tag,URL\nhttp://a.b/,cat,x\n", "has the column url more than once"),
        ("url,licence,license\nhttp://a.b/,x,y\n", "has the column licence more than once"),
    ],
)
def test_bad_tables_are_refused_before_any_work(
    tmp_path: Path, windtunnel_command: Command, content: str, message: str
) -> None:
    (tmp_path / "t.csv").write_text(content)
    done = windtunnel_command("curate", "collect", "t.csv", "--project", "p")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "p").exists()


def test_bad_options_are_refused_before_any_work(tmp_path: Path, windtunnel_command: Command) -> None:
    (tmp_path / "t.csv").write_text("url,tag\nhttp://nowhere.invalid/,cat\n")
    (tmp_path / "map.csv").write_text("tag,class\ncat,a\nCat,b\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    for options, message in (
        (("--project", "p", "--rate", "fast"), "--rate is 'fast'"),
        (("--project", "p", "--classes", "map.csv"), "has the classes a and b"),
        (("--project", "p", "--classes", "t.csv"), "columns tag and class"),
        (("--project", "other"), "contains other files"),
    ):
        done = windtunnel_command("curate", "collect", "t.csv", *options)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr
    assert not (tmp_path / "p").exists()


def test_a_kill_costs_nothing(tmp_path: Path, windtunnel_command: Command, server: ImageServer) -> None:
    rows = [{"url": f"{server.url}/image/{number}", "tag": "cat"} for number in range(12)]
    rows.insert(4, {"url": f"{server.url}/missing", "tag": "cat"})
    source = table(tmp_path / "t.csv", rows)
    options = ["--rate", "20/s", "--retries", "0", "--allow-private"]
    command = [sys.executable, "-m", "windtunnel", "curate", "collect", str(source), *options, "--project"]
    process = subprocess.Popen([*command, str(tmp_path / "killed")], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while len(server.paths()) < 6 and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    asked = server.paths()
    assert 6 <= len(asked) < 13
    journal = next((tmp_path / "killed" / "candidates").glob("*.jsonl"))
    journal.write_bytes(journal.read_bytes() + b'{"row": 1')  # a torn line
    for project in ("killed", "whole"):
        done = windtunnel_command("curate", "collect", source, *options, "--project", project)
        assert done.returncode == 0, done.stderr
        if project == "killed":
            again = server.paths()[len(asked) :]
            assert len(again) + len(asked) <= 13 + 1  # at most the row in progress is asked twice
    killed, whole = everything(tmp_path / "killed"), everything(tmp_path / "whole")
    assert {name: content for name, content in killed.items() if name != "project.json"} == {
        name: content for name, content in whole.items() if name != "project.json"
    }


def test_a_stopped_command_leaves_no_failures_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are refused; then they are allowed, and that command is stopped too."""
    from windtunnel import api
    from windtunnel.curate import collect_journal as step

    for number in range(3):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg((number * 50, 0, 0)))
    (tmp_path / "t").mkdir()
    rows = [{"file": f"../{number}.jpg", "tag": "cat"} for number in range(3)]
    source = table(tmp_path / "t" / "t.csv", rows)
    add = step.Journal.add
    for count, allowed in ((3, False), (1, True)):
        left = iter(range(count - 1))

        def stopping(self: Any, outcome: Any, left: Iterator[int] = left) -> None:
            add(self, outcome)
            if next(left, None) is None:
                raise KeyboardInterrupt

        monkeypatch.setattr(step.Journal, "add", stopping)
        with pytest.raises(KeyboardInterrupt):
            api.collect_candidates(source, tmp_path / "p", allow_outside_files=allowed)
    monkeypatch.undo()
    done = api.collect_candidates(source, tmp_path / "p", allow_outside_files=True)
    assert done.summary.statuses == {"ok": 3}


def test_rows_that_name_no_candidate_have_a_reason_with_their_line(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    """Lines are those of the file: a cell may have several, and empty lines count."""
    (tmp_path / "0.jpg").write_bytes(jpeg((9, 0, 0)))
    (tmp_path / "t.csv").write_text(
        "file,url,tag,source\n"
        '0.jpg,,cat,"two\nlines"\n'
        "\n"
        ",,cat,zoo\n"
        "0.jpg,http://nowhere.invalid/,cat,zoo\n"
        "0.jpg,,cat,zoo,more\n"
        "0.jpg,,cat\n"
    )
    found = collect(windtunnel_command, tmp_path / "t.csv")
    assert [(row["status"], row["reason"]) for row in found] == [
        ("ok", ""),
        ("refused", "line 5 has neither a url nor a file"),
        ("refused", "line 6 has both a url and a file"),
        ("refused", "line 7 has 5 cells, the header 4"),
        ("refused", "line 8 has 3 cells, the header 4"),
    ]
    # Without the cell that was too many, the row is collected.
    (tmp_path / "t.csv").write_text("file,url,tag,source\n0.jpg,,cat,zoo\n")
    windtunnel_command("curate", "collect", "t.csv", "--project", "p")
    (tmp_path / "t.csv").write_text("file,url,tag,source\n0.jpg,,cat,zoo,more\n")
    done = windtunnel_command("curate", "collect", "t.csv", "--project", "p")
    assert "refused 1" in done.stdout


def labels(project: Path) -> list[tuple[str, str]]:
    """Label and reason of the stored images."""
    from windtunnel.curate.project import Project

    return [(row.label, row.reason) for row in Project(project).stored_candidates()]


def test_the_latest_collection_of_an_image_decides_its_label(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    """In every order of commands; labels of other sources are named as conflicts."""
    from windtunnel import api
    from windtunnel.curate.project import Project

    (tmp_path / "0.jpg").write_bytes(jpeg((9, 0, 0)))
    names = ("cat", "fox", "owl", "emu")
    sources = {
        name: table(tmp_path / f"{name}.csv", [{"file": "0.jpg", "tag": name}, {"file": "0.jpg", "tag": "x"}])
        for name in names
    }
    only_dogs = table(tmp_path / "map.csv", [{"tag": "dog", "class": "dog"}])
    for project, order in (("p", names), ("q", names[::-1])):
        for name in order:
            api.collect_candidates(sources[name], tmp_path / project)
            ((label, _),) = labels(tmp_path / project)
            assert label == name
    assert labels(tmp_path / "p") == [("emu", "label conflict: also given as 'cat', 'x', 'fox', 'owl'")]
    (kept,) = Project(tmp_path / "p").stored_candidates()
    shown = windtunnel_command("curate", "status", tmp_path / "p")
    assert "1 image given with several labels" in shown.stdout
    assert kept.reason in windtunnel_command("curate", "show", tmp_path / "p", kept.id).stdout
    others = [row.reason for row in Project(tmp_path / "p").candidates() if row.row == 0 and row != kept]
    assert others == ["same content as row 1 of emu.csv, whose label is 'emu'"] * 3
    # The same table again is the latest collection again.
    done = windtunnel_command("curate", "collect", sources["fox"], "--project", "p").stdout
    assert "1 image: label changed from 'emu' to 'fox'" in done
    assert "1 image given with several labels" in done
    assert labels(tmp_path / "p")[0][0] == "fox"
    # A source that does not give the image any more leaves it to the latest of the others.
    api.collect_candidates(sources["fox"], tmp_path / "p", classes=only_dogs)
    assert labels(tmp_path / "p")[0][0] == "emu"


def test_the_same_commands_again_change_nothing(tmp_path: Path) -> None:
    from windtunnel import api
    from windtunnel.curate.project import Project

    for number in range(3):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg((number * 50, 0, 0)))
    sources = [
        table(tmp_path / "a.csv", [{"file": f"{number}.jpg", "tag": "cat"} for number in (0, 1)]),
        table(tmp_path / "b.csv", [{"file": f"{number}.jpg", "tag": "dog"} for number in (1, 2)]),
        table(tmp_path / "c.csv", [{"file": f"{number}.jpg", "tag": "dog"} for number in (1, 2)]),
    ]
    for source in sources:
        api.collect_candidates(source, tmp_path / "p")
    before, digest = everything(tmp_path / "p"), Project(tmp_path / "p").candidates_digest()
    for source in sources:
        api.collect_candidates(source, tmp_path / "p")
    assert everything(tmp_path / "p") == before
    # A table without conflicts keeps its place: a shortlist stays valid.
    api.collect_candidates(sources[1], tmp_path / "p")
    assert Project(tmp_path / "p").candidates_digest() == digest
    # Another label makes a shortlist invalid.
    api.collect_candidates(sources[0], tmp_path / "p")
    assert Project(tmp_path / "p").candidates_digest() != digest


def test_a_changed_table_corrects_labels(
    tmp_path: Path, windtunnel_command: Command, server: ImageServer
) -> None:
    """Corrections are no conflicts, empty labels take none away, and no URL is requested again."""
    source = tmp_path / "t.csv"
    wrong = ["wrong", "wrong", "", "kept"]

    def rows(given: list[str]) -> list[dict[str, str]]:
        return [{"url": f"{server.url}/image/{n}", "label": label} for n, label in enumerate(given)]

    options = (*FAST, "--allow-private")
    collect(windtunnel_command, table(source, rows(wrong)), *options)
    project = tmp_path / "p"
    done = windtunnel_command("curate", "export", project, "--out", tmp_path / "set")
    assert done.returncode == 2
    assert re.search(
        r"1 of 4 candidates have no label, the first is [0-9a-f]{32} \(row 3 of t.csv\);", done.stderr
    )
    status = windtunnel_command("curate", "status", project).stdout
    assert re.search(r"unlabelled +1 stored image, the first is [0-9a-f]{32} \(row 3 of t.csv\)", status), (
        status
    )
    asked = server.paths()
    done = windtunnel_command(
        "curate",
        "collect",
        table(source, rows(["right", "right", "new", ""])),
        "--project",
        project,
        *options,
    )
    assert "2 images: label changed from 'wrong' to 'right'" in done.stdout
    assert "1 image: label changed from none to 'new'" in done.stdout
    assert "conflicts" not in done.stdout and "kept" not in done.stdout
    assert server.paths() == asked
    assert sorted(labels(project)) == [("kept", ""), ("new", ""), ("right", ""), ("right", "")]
    done = windtunnel_command("curate", "export", project, "--out", tmp_path / "set")
    assert done.returncode == 0, done.stderr
    # Back to the first version.
    done = windtunnel_command(
        "curate", "collect", table(source, rows(wrong)), "--project", project, *options, "--json"
    )
    content = json.loads(done.stdout)
    assert content["label_changes"] == [{"before": "right", "now": "wrong", "images": 2}]
    assert sorted(labels(project)) == [("kept", ""), ("new", ""), ("wrong", ""), ("wrong", "")]


def test_an_unlabelled_row_takes_no_label_from_a_later_row_of_the_same_url(
    tmp_path: Path, windtunnel_command: Command, server: ImageServer
) -> None:
    """In one table without a conflict; over other tables as the latest collection."""
    options = (*FAST, "--allow-private")

    def rows(*given: str) -> list[dict[str, str]]:
        return [{"url": f"{server.url}/image/a", "label": label} for label in given]

    found = collect(windtunnel_command, table(tmp_path / "t.csv", rows("", "cat", "cat")), *options)
    assert [row["status"] for row in found] == ["duplicate", "ok", "duplicate"]
    assert [row["reason"] for row in found] == ["same URL as row 2", "", "same URL as row 2"]
    assert labels(tmp_path / "p") == [("cat", "")]
    collect(windtunnel_command, table(tmp_path / "u.csv", rows("", "dog")), *options)
    assert labels(tmp_path / "p") == [("dog", "label conflict: also given as 'cat'")]
    collect(windtunnel_command, table(tmp_path / "u.csv", rows("", "")), *options)
    assert labels(tmp_path / "p") == [("dog", "label conflict: also given as 'cat'")]
    collect(windtunnel_command, table(tmp_path / "u.csv", rows("", "cat", "fox")), *options)
    assert labels(tmp_path / "p") == [("cat", "label conflict: also given as 'fox'")]
    assert server.paths() == ["/image/a"]


def test_stored_rows_whose_image_belongs_to_an_unlabelled_row_keep_their_label(tmp_path: Path) -> None:
    """Projects may have the image in the first row of a URL, although a later row has the label."""
    from windtunnel.core.candidates import Candidate
    from windtunnel.curate.collected_batches import duplicates_marked

    shared = {"batch": "b", "url": "http://zoo/a", "source": "", "licence": "", "tag": ""}
    image = {"id": "0" * 32, "file": "media/00/0.jpg", "width": 9, "height": 9, "format": "jpeg", "bytes": 5}
    empty = {"id": "", "file": "", "width": 0, "height": 0, "format": "", "bytes": 0}
    rows = [
        Candidate(**shared, **image, row=0, label="", status="ok", reason=""),
        Candidate(**shared, **empty, row=1, label="cat", status="duplicate", reason="same URL as row 1"),
    ]
    marked = duplicates_marked(rows)
    assert [(row.status, row.label, row.reason) for row in marked] == [
        ("duplicate", "", "same content as row 2, whose label is 'cat'"),
        ("ok", "cat", ""),
    ]
    assert marked[1].file == rows[0].file
    assert duplicates_marked(marked) == marked


def test_a_file_in_another_class_folder_has_its_new_label(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    folder = tmp_path / "images"
    for number, name in enumerate(("cat", "dog", "emu", "fox")):
        (folder / name).mkdir(parents=True)
        for other in range(2):
            (folder / name / f"{number}{other}.jpg").write_bytes(jpeg((number * 60, other * 90, 0)))
    collect(windtunnel_command, folder)
    for before, now in (("cat", "dog"), ("dog", "emu"), ("emu", "cat"), ("cat", "fox")):
        moved = next(iter(sorted((folder / before).iterdir())))
        moved.rename(folder / now / moved.name)
        done = windtunnel_command("curate", "collect", folder, "--project", tmp_path / "p")
        assert f"1 image: label changed from '{before}' to '{now}'" in done.stdout
        assert "conflicts" not in done.stdout


def test_a_project_without_stored_order_opens_and_is_corrected(tmp_path: Path) -> None:
    """In projects without a file of batches the first batch by name decided labels, and still does."""
    from windtunnel import api

    (tmp_path / "0.jpg").write_bytes(jpeg((9, 0, 0)))
    source = tmp_path / "t.csv"
    for name in ("cat", "fox"):
        api.collect_candidates(table(source, [{"file": "0.jpg", "tag": name}]), tmp_path / "p")
    (tmp_path / "p" / "batches.json").unlink()
    first = min((tmp_path / "p" / "candidates").glob("*.parquet"))
    assert labels(tmp_path / "p") == [(pq.read_table(first)["label"][0].as_py(), "")]
    for name in ("owl", "cat", "fox", "cat"):
        api.collect_candidates(table(source, [{"file": "0.jpg", "tag": name}]), tmp_path / "p")
        assert labels(tmp_path / "p") == [(name, "")]


def test_sources_of_the_same_name_in_two_folders_are_different(tmp_path: Path) -> None:
    """Their labels are conflicts; a correction of one of them is none."""
    from windtunnel import api

    def images(parent: str, name: str) -> Path:
        folder = tmp_path / parent / "images"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / name).mkdir(parents=True)
        (folder / name / "0.jpg").write_bytes(jpeg((9, 0, 0)))
        return folder

    api.collect_candidates(images("a", "cat"), tmp_path / "p")
    api.collect_candidates(images("b", "dog"), tmp_path / "p")
    assert labels(tmp_path / "p") == [("dog", "label conflict: also given as 'cat'")]
    (tmp_path / "link").symlink_to(tmp_path / "a")
    images("a", "emu")
    api.collect_candidates(tmp_path / "link" / "images", tmp_path / "p")
    assert labels(tmp_path / "p") == [("emu", "label conflict: also given as 'dog'")]
    api.collect_candidates(images("b", "emu"), tmp_path / "p")
    assert labels(tmp_path / "p") == [("emu", "")]


def test_a_project_that_stored_names_of_sources_opens_and_is_corrected(tmp_path: Path) -> None:
    from windtunnel import api

    (tmp_path / "0.jpg").write_bytes(jpeg((9, 0, 0)))
    source = tmp_path / "t.csv"
    api.collect_candidates(table(source, [{"file": "0.jpg", "tag": "cat"}]), tmp_path / "p")
    file = tmp_path / "p" / "batches.json"
    content = json.loads(file.read_text())
    for batch in content["batches"]:
        del batch["path"]
    file.write_text(json.dumps(content))
    assert labels(tmp_path / "p") == [("cat", "")]
    api.collect_candidates(table(source, [{"file": "0.jpg", "tag": "fox"}]), tmp_path / "p")
    assert labels(tmp_path / "p") == [("fox", "")]


def test_a_kill_while_a_correction_is_written_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop before every single write of the command, and then the command again."""
    from windtunnel import api
    from windtunnel.curate import collect_journal, project
    from windtunnel.store import atomic_files

    for number in range(2):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg((number * 50, 0, 0)))
    source = tmp_path / "t.csv"

    def rows(name: str) -> list[dict[str, str]]:
        return [{"file": f"{number}.jpg", "tag": name} for number in range(2)]

    for name in ("cat", "fox"):
        api.collect_candidates(table(source, rows(name)), tmp_path / "start")
    for name in ("cat", "owl"):  # a table that was collected before, and a new one
        table(source, rows(name))
        whole, killed = tmp_path / f"whole-{name}", tmp_path / f"killed-{name}"
        shutil.copytree(tmp_path / "start", whole)
        api.collect_candidates(source, whole)
        stops = 0
        for writes in range(20):
            shutil.copytree(tmp_path / "start", killed)
            left = iter(range(writes))

            def write(path: Path, content: bytes, left: Iterator[int] = left) -> None:
                if next(left, None) is None:
                    raise KeyboardInterrupt
                atomic_files.write_whole(path, content)

            for module in (project, collect_journal):
                monkeypatch.setattr(module, "write_whole", write)
            try:
                api.collect_candidates(source, killed)
            except KeyboardInterrupt:
                stops += 1
            monkeypatch.undo()
            api.collect_candidates(source, killed)
            assert everything(killed) == everything(whole)
            shutil.rmtree(killed)
        assert 1 <= stops < 20


def test_damaged_and_missing_images_are_restored(tmp_path: Path, windtunnel_command: Command) -> None:
    from windtunnel.curate.project import Project

    for number in range(5):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg((number * 50, 0, 0)))
    rows = [{"file": f"{number}.jpg", "tag": "cat"} for number in range(5)]
    source = table(tmp_path / "t.csv", rows)
    stored = [tmp_path / "p" / row["file"] for row in collect(windtunnel_command, source)]
    whole = everything(tmp_path / "p")
    stored[0].unlink()
    stored[1].write_bytes(b"damaged")
    same_size = bytearray(stored[2].read_bytes())
    same_size[-3] ^= 255
    stored[2].write_bytes(same_size)
    command = ("curate", "collect", source, "--project", tmp_path / "p")
    assert "2 images that were damaged or missing" in windtunnel_command(*command).stdout
    assert stored[2].read_bytes() == same_size
    done = windtunnel_command(*command, "--retry")
    assert "1 image that was damaged or missing" in done.stdout
    assert everything(tmp_path / "p") == whole
    assert "restored" not in windtunnel_command(*command, "--retry").stdout
    # Without its source the candidate keeps its row, and the command reports it.
    stored[3].unlink()
    (tmp_path / "3.jpg").unlink()
    done = windtunnel_command(*command)
    assert "not restored  1 damaged or missing image" in done.stdout
    assert len(Project(tmp_path / "p").stored_candidates()) == 5
    (tmp_path / "3.jpg").write_bytes(jpeg((150, 0, 0)))
    assert "restored" in windtunnel_command(*command).stdout
    assert everything(tmp_path / "p") == whole


def test_cells_of_manifests_are_no_formulas(tmp_path: Path, windtunnel_command: Command) -> None:
    """Spreadsheets calculate no cell of a manifest."""
    for number in range(2):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg((number * 50, 0, 0)))
    rows = [
        {"file": f"{number}.jpg", "label": f"class {number}", "source": "=1+1", "licence": "@SUM(1)"}
        for number in range(2)
    ]
    collect(windtunnel_command, table(tmp_path / "t.csv", rows))
    done = windtunnel_command("curate", "export", tmp_path / "p", "--out", tmp_path / "set")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "set" / "manifest.csv").open(encoding="utf-8") as stream:
        cells = next(csv.DictReader(stream))
    assert (cells["source"], cells["licence"], cells["width"]) == ("'=1+1", "'@SUM(1)", "24")
    assert pq.read_table(tmp_path / "set" / "manifest.parquet")["source"][0].as_py() == "=1+1"


def test_lines_and_tables_do_not_command_the_terminal() -> None:
    import io

    from rich.console import Console

    from windtunnel.cli.printing import print_lines, print_table

    shown = io.StringIO()
    console = Console(file=shown, color_system=None)
    print_lines(console, [("label", "x\x1b]0;title\x07y")])
    print_table(console, ["name"], [["a\x1b[2Jb"]])
    assert shown.getvalue() == "label  x?]0;title?y\nname\na?[2Jb\n"
