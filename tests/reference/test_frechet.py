"""The Fréchet distance against SciPy's matrix root, against eigenvalues, and worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from windtunnel.stats.frechet import frechet_distance, moments


def by_matrix_root(one: np.ndarray, other: np.ndarray) -> float:
    """The formula as it is written."""
    covariances = [np.cov(points, rowvar=False) for points in (one, other)]
    root = scipy.linalg.sqrtm(covariances[0] @ covariances[1])
    apart = np.square(one.mean(axis=0) - other.mean(axis=0)).sum()
    return float(apart + np.trace(covariances[0] + covariances[1] - 2 * np.real(root)))


def cloud(seed: int, n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


@pytest.mark.parametrize(("n", "m", "d"), [(50, 80, 2), (400, 400, 30), (300, 129, 128)])
def test_equals_scipys_matrix_root(n: int, m: int, d: int) -> None:
    one, other = cloud(1, n, d), cloud(2, m, d)
    found = frechet_distance(moments(one), moments(other))
    assert found == pytest.approx(by_matrix_root(one, other), rel=1e-6)


def test_features_of_very_different_spread() -> None:
    scales = np.geomspace(1e-4, 1e2, 40)
    one, other = cloud(3, 500, 40) * scales, cloud(4, 500, 40) * scales
    assert frechet_distance(moments(one), moments(other)) == pytest.approx(
        by_matrix_root(one, other), rel=1e-6
    )


def test_fewer_points_than_features() -> None:
    """Singular covariances: the trace of the root is the sum of the roots of C1 C2's eigenvalues."""
    one, other = cloud(5, 20, 60), cloud(6, 25, 60)
    c1, c2 = (np.cov(points, rowvar=False) for points in (one, other))
    eigenvalues = np.linalg.eigvals(c1 @ c2)
    kept = np.sort(np.real(eigenvalues))[-19:]
    apart = np.square(one.mean(axis=0) - other.mean(axis=0)).sum()
    expected = apart + np.trace(c1) + np.trace(c2) - 2 * np.sqrt(kept).sum()
    assert frechet_distance(moments(one), moments(other)) == pytest.approx(expected, rel=1e-6)


def test_worked_by_hand() -> None:
    """One feature: (m1 - m2)^2 + (s1 - s2)^2; here 3 - 1 apart, variances 4 and 16, so 4 + 4."""
    one, other = np.array([[1.0], [3.0], [5.0]]), np.array([[-3.0], [1.0], [5.0]])
    assert frechet_distance(moments(one), moments(other)) == pytest.approx(8.0)


def test_a_cloud_moved_and_a_cloud_itself() -> None:
    points = cloud(7, 100, 12)
    assert frechet_distance(moments(points), moments(points)) == pytest.approx(0, abs=1e-9)
    assert frechet_distance(moments(points), moments(points + 2)) == pytest.approx(12 * 4)
