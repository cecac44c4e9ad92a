"""A folder of everything that goes wrong: what can be scored is scored, the rest are rows with reasons."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.suites.golden_digests import golden_image

SCORED = ("cmyk.jpg", "rgba.png", "palette.png", "sixteen.png", "animated.gif", "grey.png", "plain.png")
FAILED = {
    "truncated.jpg": "unreadable",
    "empty.jpg": "unreadable",
    "text.jpg": "unreadable",
    "one.png": "too_small",
    "huge.png": "too_large",
    "thin.png": "too_large",
}


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def write_oddities(folder: Path) -> None:
    folder.mkdir(parents=True)
    image = Image.fromarray(golden_image(64))
    image.save(folder / "plain.png")
    image.convert("CMYK").save(folder / "cmyk.jpg")
    image.convert("RGBA").save(folder / "rgba.png")
    image.convert("P").save(folder / "palette.png")
    image.convert("L").save(folder / "grey.png")
    Image.fromarray((np.arange(64 * 64, dtype=np.uint16) * 16).reshape(64, 64)).save(folder / "sixteen.png")
    image.save(folder / "animated.gif", save_all=True, append_images=[image.rotate(90)])
    image.save(folder / "whole.jpg")
    whole = (folder / "whole.jpg").read_bytes()
    (folder / "whole.jpg").unlink()
    (folder / "truncated.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "text.jpg").write_text("this is no image")
    Image.new("RGB", (1, 1)).save(folder / "one.png")
    # A header that promises 30000x30000 and a body nobody must inflate.
    header = struct.pack(">IIBBBBB", 30000, 30000, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0" * 1000)
    (folder / "huge.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )
    Image.new("RGB", (8, 60000)).save(folder / "thin.png")


@pytest.fixture
def odd_run(tmp_path: Path, digit_folder: Path) -> windtunnel.Run:
    write_oddities(digit_folder / "0" / "odd")
    return windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "odd-run")


def test_each_oddity_is_scored_or_a_row_with_its_reason(odd_run: windtunnel.Run) -> None:
    rows = [row for row in odd_run.predictions().to_pylist() if "/odd/" in row["sample_id"]]
    for name in SCORED:
        found = [row for row in rows if row["sample_id"].endswith(name)]
        assert len(found) == 11
        assert {row["status"] for row in found} == {"ok"}, found[0]["reason"]
    for name, status in FAILED.items():
        found = [row for row in rows if row["sample_id"].endswith(name)]
        clean = [row for row in found if row["condition"] == "clean"]
        assert [row["status"] for row in clean] == [status], clean
        assert clean[0]["reason"]
        assert clean[0]["top"] is None
        assert clean[0]["label_rank"] is None
    assert len(rows) == 11 * (len(SCORED) + len(FAILED))


def test_failures_leave_every_condition_alike_and_are_counted(odd_run: windtunnel.Run) -> None:
    scores = odd_run.scores()
    assert {score.n for score in scores} == {40 + len(SCORED)}
    from windtunnel.report.tables import run_document

    document = run_document(odd_run.scoring, scores)
    assert document["failed_images"] == len(FAILED)
    assert any("6 images" in note for note in document["notes"])


def test_nothing_else_changes(tmp_path: Path, digit_folder: Path, odd_run: windtunnel.Run) -> None:
    for name in FAILED:
        (digit_folder / "0" / "odd" / name).unlink()
    alone = windtunnel.run("demo", digit_folder, "smoke", out=tmp_path / "alone")
    beside = odd_run.predictions().to_pylist()
    kept = [row for row in beside if row["sample_id"].rsplit("/", 1)[1] not in FAILED]
    for ours, theirs in zip(alone.predictions().to_pylist(), kept, strict=True):
        assert (ours["sample_id"], ours["condition"]) == (theirs["sample_id"], theirs["condition"])
        assert ours["top"] == theirs["top"]
        # Other neighbours in a batch may change the last bit of a sum.
        assert ours["top_score"] == pytest.approx(theirs["top_score"], rel=1e-5)


def test_odd_formats_have_the_right_pixels(odd_run: windtunnel.Run, tmp_path: Path) -> None:
    """What the model saw of each oddity is what Pillow makes of it by hand."""
    image = Image.fromarray(golden_image(64))
    sixteen = ((np.arange(64 * 64, dtype=np.uint16) * 16).reshape(64, 64) >> 8).astype(np.uint8)
    by_hand = {
        "rgba.png": image,
        "plain.png": image,
        "grey.png": image.convert("L").convert("RGB"),
        "palette.png": image.convert("P").convert("RGB"),
        "sixteen.png": Image.fromarray(sixteen).convert("RGB"),
    }
    model = windtunnel.load_model("demo")

    def logits(image: Image.Image) -> np.ndarray:
        small = image.resize((32, 32), Image.Resampling.BILINEAR)
        return model.predict(np.asarray(small)[None])[0]

    rows = odd_run.predictions().to_pylist()
    ours = {row["sample_id"]: np.array(row["logits"] or []) for row in rows if row["condition"] == "native"}
    for name, image in by_hand.items():
        assert ours[f"0/odd/{name}"] == pytest.approx(logits(image), abs=1e-4), name
    # JPEG and GIF lose a little; turned or with colours exchanged they would be much farther away.
    plain = ours["0/odd/plain.png"]
    wrong = [image.rotate(90), Image.fromarray(np.ascontiguousarray(np.asarray(image)[:, :, ::-1]))]
    nearest = min(np.abs(logits(image) - plain).max() for image in wrong)
    for name in ("cmyk.jpg", "animated.gif"):
        assert np.abs(ours[f"0/odd/{name}"] - plain).max() < 0.5 * nearest, name


def test_strict_stops_at_the_first(tmp_path: Path, digit_folder: Path, windtunnel_command: Command) -> None:
    (digit_folder / "0" / "bad.jpg").write_bytes(b"no")
    options = ("--suite", "smoke", "--strict", "--out", tmp_path / "run")
    out = windtunnel_command("run", "demo", digit_folder, *options)
    assert out.returncode == 2
    assert "0/bad.jpg" in out.stderr.splitlines()[-1]
    assert "--strict" in out.stderr.splitlines()[-1]


def test_a_set_without_one_readable_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data" / "0").mkdir(parents=True)
    (tmp_path / "data" / "0" / "a.jpg").write_bytes(b"no")
    with pytest.raises(windtunnel.UserError, match="None of the 1 images"):
        windtunnel.run("demo", tmp_path / "data", labels_are_outputs=True)


def test_the_report_lists_failures(odd_run: windtunnel.Run, windtunnel_command: Command) -> None:
    page = Path(windtunnel_command("report", odd_run.path).stdout.strip())
    text = page.read_text()
    for name in FAILED:
        assert f"0/odd/{name}" in text
    assert "could not be scored under at least one condition" in text


def test_markdown_names_failures_and_their_reasons_up_to_a_number(
    odd_run: windtunnel.Run, digit_folder: Path, tmp_path: Path
) -> None:
    odd_run.report()
    rows = {one["sample_id"]: one for one in odd_run.predictions(["condition", "reason"]).to_pylist()}
    written = (odd_run.path / "report.md").read_text()
    for name, status in FAILED.items():
        line = next(one for one in written.splitlines() if one.startswith(f"| 0/odd/{name} |"))
        assert f"| {status} | {rows[f'0/odd/{name}']['reason']} |" in line
    assert "more are in report.html" not in written
    for number in range(30):
        (digit_folder / "0" / f"no{number}.jpg").write_bytes(b"no")
    windtunnel.run("demo", digit_folder, "smoke", subset=0, out=tmp_path / "many").report()
    written = (tmp_path / "many" / "report.md").read_text()
    assert written.count("| unreadable |") + written.count("| too_") == 20
    assert "16 more are in report.html and scores.json." in written


def test_the_terminal_names_the_first_reasons(odd_run: windtunnel.Run, windtunnel_command: Command) -> None:
    said = windtunnel_command("score", odd_run.path).stdout
    told = said.partition("left out")[2].splitlines()
    assert told[0].strip() == "6 images that could not be scored under some condition; see the report"
    assert told[1].strip().startswith("0/odd/empty.jpg") and ": " in told[1]
    assert len(told) == 5 and told[4].strip().endswith("other reasons")


def test_a_plan_says_that_its_count_of_failing_images_is_by_headers(
    tmp_path: Path, digit_folder: Path, windtunnel_command: Command
) -> None:
    """The truncated file has a good header: only decoding finds it."""
    write_oddities(digit_folder / "0" / "odd")
    planned = windtunnel_command("plan", "demo", digit_folder, "--suite", "smoke", "--only", "fog:3")
    assert "; at least 4 images fail, judged by headers only (windtunnel data inspect" in planned.stdout
    assert " x severity 3" in planned.stdout
    assert "5 images" in windtunnel_command("data", "inspect", digit_folder).stdout
