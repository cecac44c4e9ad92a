"""Simulated images and models: an image's difficulty is shared by its conditions and by the models.

A model is wrong about image i under condition j where sqrt(r)*u_i + sqrt(1 - r)*e_ij < Phi^-1(p_j): p_j is
its true error, u_i the image's ease for it, r how much of an answer the image decides. Two models' u
correlate by `kinship`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri, owens_t

Array = np.ndarray[Any, np.dtype[Any]]


def answers(
    rng: np.random.Generator,
    n: int,
    errors: list[Array],
    *,
    within: float,
    kinship: float,
    noise_kinship: float = 0.0,
    groups: Array | None = None,
    between: float = 0.0,
) -> list[Array]:
    """Whether each of several models is wrong: images x conditions, for every model's true errors.

    `noise_kinship` is what models share of the rest: two of them disagree less often on a single answer.
    `between` is how much of an image's ease its group decides, `groups` being a number per image.
    """
    shared = _ease(rng, n, groups, between)
    common = rng.standard_normal((n, len(errors[0]))) if noise_kinship else 0.0
    found = []
    for true in errors:
        ease = np.sqrt(kinship) * shared + np.sqrt(1 - kinship) * _ease(rng, n, groups, between)
        own = rng.standard_normal((n, len(true)))
        noise = np.sqrt(noise_kinship) * common + np.sqrt(1 - noise_kinship) * own
        found.append(np.sqrt(within) * ease + np.sqrt(1 - within) * noise < ndtri(true))
    return found


def _ease(rng: np.random.Generator, n: int, groups: Array | None, between: float) -> Array:
    images = rng.standard_normal((n, 1))
    if groups is None:
        return images
    of_groups = rng.standard_normal((int(groups.max()) + 1, 1))[groups]
    return np.asarray(np.sqrt(between) * of_groups + np.sqrt(1 - between) * images)


def kinship_for(discordance: float, error: float) -> float:
    """How alike two models' latent answers are if both err by `error` and disagree that often.

    P(one right, one wrong) = 4*T(h, sqrt((1 - k)/(1 + k))), h = Phi^-1(error), T Owen's function.
    """
    h = float(ndtri(error))
    return float(brentq(lambda k: 4 * owens_t(h, np.sqrt((1 - k) / (1 + k))) - discordance, 0.0, 1 - 1e-9))


def correlation(wrong: Array) -> float:
    """Mean correlation between two conditions of an image, over those that vary."""
    varying = wrong[:, wrong.any(axis=0) & ~wrong.all(axis=0)].astype(float)
    table = np.corrcoef(varying.T)
    return float(table[np.triu_indices(len(table), 1)].mean())
