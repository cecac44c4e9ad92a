"""Files that are no images: special files, and formats whose readers start programs or open other files."""

from __future__ import annotations

import io
import os
import socket
import struct
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.hostile_files import MIB, chunk, jpeg_with, png, slow_files, sparse, unusual_files
from windtunnel.core.errors import ImageError, UserError
from windtunnel.data import open_dataset
from windtunnel.data.inspection import inspect
from windtunnel.data.survey import survey
from windtunnel.imaging.clips import decode_clip, encode_clip
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import read_header
from windtunnel.suites.golden_digests import golden_image

posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n%%EndComments\nshowpage\n%%EOF\n"
# Formats that Pillow or OpenCV read and we do not.
OTHER_FORMATS = ("ICO", "TGA", "PCX", "SGI", "JPEG2000", "DDS", "XBM", "MSP")
SIGNATURES = {
    "eps": EPS,
    "eps in dos": b"\xc5\xd0\xd3\xc6" + bytes(28) + EPS,
    "psd": b"8BPS\0\1" + bytes(6) + b"\0\3" + b"\0\0\0\x40" * 2 + b"\0\x08\0\3" + bytes(64),
    "fits": b"SIMPLE  =                    T".ljust(2880),
    "wmf": b"\xd7\xcd\xc6\x9a\0\0" + bytes(64),
    "exr": b"\x76\x2f\x31\x01" + bytes(64),
    "hdr": b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 64 +X 64\n" + bytes(64),
    "playlist": b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg' width='64' height='64'/>",
    "pdf": b"%PDF-1.4\n",
}


def write_special_files(folder: Path) -> dict[str, str]:
    """Names that end in `.jpg` and are no regular files, with a word of the reason."""
    os.mkfifo(folder / "fifo.jpg")
    (folder / "directory.jpg").mkdir()
    (folder / "nothing.jpg").symlink_to(folder / "nowhere")
    (folder / "zero.jpg").symlink_to("/dev/zero")
    here = Path.cwd()
    os.chdir(folder)  # the path of a socket has at most 107 characters
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket.jpg")
    finally:
        os.chdir(here)
    return {
        "fifo.jpg": "a FIFO",
        "directory.jpg": "a directory",
        "nothing.jpg": "No such file",
        "zero.jpg": "a character device",
        "socket.jpg": "a socket",
    }


@posix
def test_special_files_are_rows_with_a_reason(
    tmp_path: Path, digit_folder: Path, windtunnel_command: Command
) -> None:
    reasons = write_special_files(digit_folder / "0")
    (digit_folder / "0" / "link.png").symlink_to(next((digit_folder / "1").glob("*.png")))
    out = windtunnel_command("run", "demo", digit_folder, "--suite", "smoke", "--out", tmp_path / "run")
    assert out.returncode == 0, out.stderr
    rows = windtunnel.Run(tmp_path / "run").predictions(["condition", "status", "reason"]).to_pylist()
    clean = {row["sample_id"]: row for row in rows if row["condition"] == "clean"}
    for name, word in reasons.items():
        assert clean[f"0/{name}"]["status"] == "unreadable"
        assert word in clean[f"0/{name}"]["reason"]
    assert clean["0/link.png"]["status"] == "ok"
    assert sum(row["status"] == "ok" for row in clean.values()) == 41


@posix
def test_special_files_in_a_table_are_rows_with_a_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.jpg")
    Image.fromarray(golden_image(64)).save(tmp_path / "good.png")
    table = tmp_path / "data.csv"
    table.write_text("path,label\nfifo.jpg,0\n/dev/zero,0\n.,0\ngood.png,1\n")
    found = inspect(open_dataset(table)).unreadable
    assert {name: reason.partition(";")[0] for name, reason in found.items()} == {
        "fifo.jpg": "unreadable: the path is a FIFO",
        "/dev/zero": "unreadable: the path is a character device",
        ".": "unreadable: the path is a directory",
    }


@posix
@pytest.mark.parametrize("name", ["labels.npy", "fog.npy", "pmsets.json", "data.tar", "manifest.json"])
def test_a_fifo_does_not_stop_the_search_for_a_layout(digit_folder: Path, name: str) -> None:
    os.mkfifo(digit_folder / name)
    assert len(open_dataset(digit_folder).samples()) == 40


@posix
def test_a_table_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "data.csv")
    with pytest.raises(UserError, match="not a regular file"):
        open_dataset(tmp_path / "data.csv")


@posix
def test_single_images_are_regular_files_too(tmp_path: Path, windtunnel_command: Command) -> None:
    sparse(tmp_path / "sparse.jpg", 2**40)
    file = tmp_path / "sparse.jpg"
    for arguments in (("show", "fog", "--image", file), ("explain", "demo", file)):
        out = windtunnel_command(*arguments)
        assert out.returncode == 2
        assert "1,099,511,627,776 bytes" in out.stderr


def test_members_of_a_tar_that_are_no_files_are_rows(tmp_path: Path) -> None:
    encoded = io.BytesIO()
    Image.fromarray(golden_image(64)).save(encoded, "PNG")
    with tarfile.open(tmp_path / "data.tar", "w") as archive:
        for name, type_, link in (
            ("good.png", tarfile.REGTYPE, ""),
            ("fifo.png", tarfile.FIFOTYPE, ""),
            ("device.png", tarfile.CHRTYPE, ""),
            ("hard.png", tarfile.LNKTYPE, "0/good.png"),
            ("soft.png", tarfile.SYMTYPE, "good.png"),
            ("loop.png", tarfile.SYMTYPE, "loop.png"),
            ("outside.png", tarfile.SYMTYPE, "/etc/passwd"),
        ):
            member = tarfile.TarInfo(f"0/{name}")
            member.type, member.linkname = type_, link
            member.size = len(encoded.getvalue()) if type_ == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(encoded.getvalue()))
    dataset = open_dataset(tmp_path / "data.tar")
    found = {one.sample.id: one.status for one in survey(dataset, dataset.samples(), decoded=True)}
    read = {"0/good.png", "0/hard.png", "0/soft.png"}
    assert {name for name, status in found.items() if status == "ok"} == read
    assert {name for name, status in found.items() if status == "unreadable"} == {
        "0/fifo.png", "0/device.png", "0/loop.png", "0/outside.png",
    }  # fmt: skip


def test_members_are_judged_by_their_size_before_they_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("0/bomb.png", bytes(129 * MIB))
    member = tarfile.TarInfo("0/bomb.png")
    member.size = 2**40
    sparse(tmp_path / "whole.tar", 2**40 + 4096, member.tobuf())
    for name, size in (("data.zip", 129 * MIB), ("whole.tar", 2**40)):
        dataset = open_dataset(tmp_path / name)
        (found,) = survey(dataset, dataset.samples())
        assert (found.status, found.reason.partition(";")[0]) == ("too_large", f"{size:,} bytes")


def test_no_program_is_started_and_other_formats_are_rows(
    tmp_path: Path, digit_folder: Path, windtunnel_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, marker = tmp_path / "bin", tmp_path / "started"
    programs.mkdir()
    for name in ("gs", "gswin64c", "djpeg", "ffmpeg"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >> '{marker}'\nexit 1\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    names = set()
    for kind, content in SIGNATURES.items():
        (digit_folder / "0" / f"{kind}.jpg").write_bytes(content)
        names.add(f"0/{kind}.jpg")
    image = Image.fromarray(golden_image(64))
    for kind in OTHER_FORMATS:
        mode = {"XBM": "1", "MSP": "1"}.get(kind, "RGB")
        image.convert(mode).save(digit_folder / "0" / f"{kind}.jpg", kind)
        names.add(f"0/{kind}.jpg")
    found = windtunnel_command("data", "inspect", digit_folder, "--json")
    assert found.returncode == 0, found.stderr
    out = windtunnel_command("run", "demo", digit_folder, "--suite", "smoke", "--out", tmp_path / "run")
    assert out.returncode == 0, out.stderr
    rows = windtunnel.Run(tmp_path / "run").predictions(["condition", "status", "reason"]).to_pylist()
    failed = {row["sample_id"]: row for row in rows if row["status"] != "ok" and row["condition"] == "clean"}
    assert set(failed) == names
    assert all(row["status"] == "unreadable" for row in failed.values())
    assert all("supported format (JPEG, PNG, WEBP" in row["reason"] for row in failed.values())
    assert not marker.exists(), marker.read_text()


def test_the_formats_stay_few_where_pillow_knows_all_of_its_own() -> None:
    Image.init()
    for content in SIGNATURES.values():
        with pytest.raises(ImageError, match="not an image in a supported format"):
            read_header(content)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "AVIF"])
@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "CMYK", "1"])
def test_every_supported_format_has_pillows_own_pixels(kind: str, mode: str) -> None:
    """Decoded in bands, as Pillow makes them of the whole image; 1,500 x 1,100 pixels are two bands."""
    y, x = np.mgrid[:1100, :1500]
    values = np.stack([x % 256, y % 256, (x + y) % 256], axis=2).astype(np.uint8)
    image = Image.fromarray(values).convert(mode)
    out = io.BytesIO()
    try:
        image.save(out, kind, **({"speed": 10} if kind == "AVIF" else {}))
    except (OSError, ValueError):
        pytest.skip(f"{kind} has no images of mode {mode}")
    with Image.open(io.BytesIO(out.getvalue())) as whole:
        wanted = np.asarray(whole.convert("RGB"))
    header = read_header(out.getvalue())
    assert header.format == kind
    found = decode(out.getvalue(), header)
    assert np.array_equal(found, wanted)
    assert found.flags.writeable


@pytest.mark.parametrize("behind", [False, True])
def test_the_orientation_of_a_png_is_found_before_and_behind_its_pixels(behind: bool) -> None:
    tag = b"II*\0" + struct.pack("<IHHHIII", 8, 1, 274, 3, 1, 6, 0)
    whole = png(64, 32, b"" if behind else chunk(b"eXIf", tag))
    if behind:
        whole = whole[:-12] + chunk(b"eXIf", tag) + whole[-12:]
    assert read_header(whole).orientation == 6
    with Image.open(io.BytesIO(whole)) as image:
        assert image.getexif()[274] == 6


@pytest.mark.parametrize("name", slow_files())
def test_no_small_file_takes_long_to_examine(name: str) -> None:
    content = slow_files()[name]
    begin = time.process_time()
    try:
        decode(content, read_header(content))
        status = "ok"
    except ImageError as error:
        status = error.status
    assert time.process_time() - begin < 0.5
    # Of 2,500 pointers one is followed: the image has few tags then, and sound pixels.
    assert status == {"pointers.jpg": "ok"}.get(name, "too_large")


@pytest.mark.parametrize("name", unusual_files())
def test_unusual_metadata_is_read_as_pillow_reads_it(name: str) -> None:
    content = unusual_files()[name]
    begin = time.process_time()
    header = read_header(content)
    pixels = decode(content, header)
    assert time.process_time() - begin < 1
    assert header.orientation == (6 if name == "long exif.jpg" else 1)
    with Image.open(io.BytesIO(jpeg_with(b""))) as plain:
        assert np.array_equal(pixels, np.asarray(plain))


def test_a_jpeg_of_several_images_is_decoded() -> None:
    out = io.BytesIO()
    first, second = Image.fromarray(golden_image(64)), Image.new("RGB", (64, 64))
    first.save(out, "MPO", save_all=True, append_images=[second], exif=b"")
    header = read_header(out.getvalue())
    assert header.format == "MPO"
    with Image.open(io.BytesIO(out.getvalue())) as image:
        assert np.array_equal(decode(out.getvalue(), header), np.asarray(image))


def test_a_clip_cannot_name_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frames = [np.zeros((64, 64, 3), np.uint8)] * 2
    content = encode_clip(frames, "noise")
    assert len(list(decode_clip(content))) == 2
    (tmp_path / "secret.mp4").write_bytes(content)
    with pytest.raises(ImageError, match="no video"):
        list(decode_clip(b"ffconcat version 1.0\nfile secret.mp4\n"))


def test_a_clip_of_large_frames_is_refused() -> None:
    content = encode_clip([np.zeros((2050, 2050, 3), np.uint8)], "noise")
    with pytest.raises(ImageError, match="at most 4,194,304") as error:
        list(decode_clip(content))
    assert error.value.status == "too_large"
