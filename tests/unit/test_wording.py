"""How numbers of things are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.conftest import Command
from windtunnel.core.wording import counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 shards"), (1, "1 shard"), (2, "2 shards"), (2048, "2,048 shards")]
)
def test_one_is_singular(number: int, text: str) -> None:
    assert counted(number, "shard") == text


def test_a_plural_of_its_own() -> None:
    assert [counted(number, "class", "classes") for number in (1, 2)] == ["1 class", "2 classes"]


def test_commands_write_one_of_a_thing_in_the_singular(tmp_path: Path, windtunnel_command: Command) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3)).astype(np.uint8)
    (tmp_path / "images" / "0").mkdir(parents=True)
    Image.fromarray(pixels).save(tmp_path / "images" / "0" / "a.png")
    options = ("--only", "tilt", "--workers", 1)
    ran = windtunnel_command(
        "plan", "demo", "images", "--suite", "imagenet-p", "--labels-are-outputs", *options[:2]
    )
    made = windtunnel_command("make", "imagenet-p", "images", "made", *options)
    assert "1 sequence of 31 frames" in ran.stderr + ran.stdout
    assert "in 1 shard on 1 worker" in ran.stderr + ran.stdout
    assert "1 sequence, " in made.stderr and "in 1 chunk on 1 worker" in made.stderr
