"""The oracles are the reference: their outputs have the digests of the original code's."""

from __future__ import annotations

import hashlib

import pytest

from tests.parity.reference import FLOORED, golden_rows, oracle, reference_input


@pytest.mark.parametrize(("edition", "name", "severity", "digest"), golden_rows())
def test_the_oracle_is_the_original_code(edition: int, name: str, severity: int, digest: str) -> None:
    options = {"floor": True} if name in FLOORED else {}
    out = oracle(name, reference_input(edition), severity, edition, **options)
    assert hashlib.blake2b(out.tobytes(), digest_size=16).hexdigest() == digest
