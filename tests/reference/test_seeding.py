"""Random words against published values, and compiled against plain."""

from __future__ import annotations

import numpy as np
from scipy.stats import kstest

from windtunnel.core.seeding import Draws, words
from windtunnel.core.seeding import word as word_of
from windtunnel.kernels.draws import word


def test_words_are_splitmix64() -> None:
    # The generator's published outputs for seed 1234567; its state is advanced before the first output.
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert words(1234567, 4, start=1).tolist() == published


def test_compiled_words_equal_plain_ones() -> None:
    key = 0xFEDCBA9876543210
    plain = words(key, 1000)
    assert [int(word(np.uint64(key), np.uint64(i))) for i in range(1000)] == plain.tolist()


def test_every_part_of_a_key_matters() -> None:
    base = ("corruption/fog", 3)
    keys = {
        Draws(0, "a", *base).key("field"),
        Draws(1, "a", *base).key("field"),
        Draws(0, "b", *base).key("field"),
        Draws(0, "a", "corruption/snow", 3).key("field"),
        Draws(0, "a", "corruption/fog", 4).key("field"),
        Draws(0, "a", *base).key("angle"),
        Draws(0, "a,", *base).key("field"),
    }
    assert len(keys) == 7


def test_uniforms_and_integers_have_their_distributions() -> None:
    draws = Draws(0, "a", "corruption/fog", 1)
    assert kstest(draws.uniforms("u", 20000, -2, 3), "uniform", args=(-2, 5)).pvalue > 1e-3
    integers = np.array([draws.integer(f"i{n}", -3, 3) for n in range(12000)])
    assert set(integers.tolist()) == set(range(-3, 3))
    counts = np.bincount(integers + 3)
    assert ((counts - 2000) ** 2 / 2000).sum() < 20.5  # chi-square, 5 degrees, alpha 1e-3


def test_one_number_is_the_first_of_many() -> None:
    draws = Draws(7, "a", "corruption/fog", 1)
    assert draws.uniform("x", -45, 45) == draws.uniforms("x", 3, -45, 45)[0]
    assert [word_of(draws.key("x"), i) for i in range(5)] == words(draws.key("x"), 5).tolist()
