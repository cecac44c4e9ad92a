"""The oracles of the sequences are the reference: their frames have the digests of the original code's."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from tests.parity.sequence_reference import NAMES, golden_frames, reference_frames


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_is_the_original_code(name: str) -> None:
    wanted = {frame: digest for sequence, frame, digest in golden_frames() if sequence == name}
    assert len(wanted) >= 7
    for number, frame in enumerate(reference_frames(name)):
        if number in wanted:
            pixels = np.ascontiguousarray(frame).tobytes()
            assert hashlib.blake2b(pixels, digest_size=16).hexdigest() == wanted[number], number
