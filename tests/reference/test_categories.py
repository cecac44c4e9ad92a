"""Categories of corruptions against scikit-learn, SciPy and hand-worked examples."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest, pearsonr
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score

from windtunnel import UserError
from windtunnel.analysis.overlap.advice import advice_of
from windtunnel.analysis.overlap.categories import categories_of, variants_of
from windtunnel.analysis.overlap.category_analysis import analyse_categories, with_stability
from windtunnel.analysis.overlap.hierarchy import hierarchy_of
from windtunnel.analysis.overlap.row_correlations import pair_means, row_correlations
from windtunnel.analysis.overlap.scores import OverlapMatrix
from windtunnel.analysis.overlap.stability import stability_of
from windtunnel.analysis.overlap.validation import validate_categories
from windtunnel.report.overlap_advice import contents_sentence, open_questions, redundancy_sentence

Matrix = NDArray[np.float64]


def block_matrix(
    sizes: tuple[int, ...], seed: int = 0, noise: float = 0.05
) -> tuple[Matrix, NDArray[np.int64]]:
    """Overlaps of 0.6 within blocks and 0.1 between them, with noise."""
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    matrix = np.where(np.equal.outer(blocks, blocks), 0.6, 0.1)
    drawn = np.random.default_rng(seed).normal(0, noise, matrix.shape)
    matrix = np.maximum(0.0, matrix + (drawn + drawn.T) / 2)
    np.fill_diagonal(matrix, 1.0)
    return matrix, blocks


def names_of(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


@pytest.mark.parametrize("sizes", [(4, 3, 3), (6, 5, 4, 3), (5, 5)])
def test_the_rule_is_the_first_k_whose_mean_r_exceeds_the_threshold(sizes: tuple[int, ...]) -> None:
    matrix, _ = block_matrix(sizes)
    found = categories_of(matrix, names_of(len(matrix)), threshold=0.5, seed=3)
    for k in range(2, len(matrix)):
        labels = KMeans(n_clusters=k, n_init=100, max_iter=1000, random_state=3).fit_predict(matrix)
        r = [
            pearsonr(matrix[i], matrix[j]).statistic
            for i in range(len(matrix))
            for j in range(len(matrix))
            if i != j and labels[i] == labels[j]
        ]
        trial = found.trials[k - 2]
        assert trial.k == k
        assert trial.within == pytest.approx(np.mean(r))
        assert trial.pairs == len(r) / 2
        assert trial.silhouette == pytest.approx(silhouette_score(matrix, labels))
        if np.mean(r) > 0.5:
            break
    assert found.k == k == len(found.trials) + 1
    assert adjusted_rand_score(found.labels, labels) == 1


def test_blocks_are_found_and_small_ones_only_with_a_higher_threshold() -> None:
    """The published threshold is exceeded while two small blocks are still one category."""
    matrix, blocks = block_matrix((4, 3, 3))
    assert adjusted_rand_score(categories_of(matrix, names_of(10)).labels, blocks) == 1
    matrix, blocks = block_matrix((6, 5, 4, 3))
    assert categories_of(matrix, names_of(18)).k == 3
    assert adjusted_rand_score(categories_of(matrix, names_of(18), threshold=0.8).labels, blocks) == 1


def test_categories_are_numbered_by_size() -> None:
    matrix, _ = block_matrix((3, 5, 4))
    found = categories_of(matrix, names_of(12))
    assert [len(members) for members in found.members.values()] == [5, 4, 3]
    assert found.members[3] == ("c0", "c1", "c2")


def test_a_singleton_has_no_pairs_and_does_not_enter_the_mean() -> None:
    r = np.array([[1.0, 0.8, -0.2], [0.8, 1.0, -0.4], [-0.2, -0.4, 1.0]])
    means = pair_means(r, [1, 1, 2])
    assert (means.within, means.pairs_within) == (0.8, 1)
    assert (means.across, means.pairs_across) == (pytest.approx(-0.3), 2)
    alone = pair_means(r, [1, 2, 3])
    assert (alone.within, alone.pairs_within, alone.pairs_across) == (None, 0, 3)


def test_without_the_diagonal_r_leaves_out_the_columns_of_both_candidates() -> None:
    matrix, _ = block_matrix((3, 3), noise=0.2)
    r = row_correlations(matrix, diagonal=False)
    assert r[0, 4] == pytest.approx(pearsonr(matrix[0, [1, 2, 3, 5]], matrix[4, [1, 2, 3, 5]]).statistic)
    assert row_correlations(matrix)[0, 4] == pytest.approx(pearsonr(matrix[0], matrix[4]).statistic)


def test_a_constant_row_has_no_r_and_is_left_out_of_means() -> None:
    r = row_correlations(np.array([[0.3, 0.3, 0.3], [0.1, 0.5, 0.2], [0.2, 0.9, 0.4]]))
    assert np.isnan(r[0, 1:]).all()
    means = pair_means(r, [1, 1, 1])
    assert (means.pairs_within, means.undefined) == (1, 2)
    assert means.within == pytest.approx(pearsonr([0.1, 0.5, 0.2], [0.2, 0.9, 0.4]).statistic)


def test_variants_state_the_other_diagonal_and_the_result_without_a_duplicate() -> None:
    matrix, blocks = block_matrix((4, 4, 4))
    found = categories_of(matrix, names_of(12))
    diagonal, without = variants_of(matrix, found, ["c0"])
    assert diagonal.name == "without the diagonal"
    assert without.name == "without c0"
    direct = categories_of(matrix[1:, 1:], names_of(12)[1:])
    assert (without.k, without.within) == (direct.k, direct.trials[-1].within)
    assert without.agreement == pytest.approx(adjusted_rand_score(found.labels[1:], direct.labels))
    assert adjusted_rand_score(blocks, found.labels) == 1


def test_unrelated_candidates_form_no_categories() -> None:
    matrix = np.eye(5)
    with pytest.raises(UserError, match=r"No number of categories from 2 to 4 .*highest.*lower threshold"):
        categories_of(matrix, names_of(5))


@pytest.mark.parametrize("threshold", [1.0, -1.5, float("nan")])
def test_a_threshold_that_is_no_correlation_is_refused(threshold: float) -> None:
    with pytest.raises(UserError, match="give a correlation from -1 to below 1"):
        categories_of(np.eye(5), names_of(5), threshold=threshold)


def test_average_linkage_agrees_with_scikit_learn_and_merges_at_the_mean_overlap() -> None:
    matrix, _ = block_matrix((5, 4, 3), noise=0.3)
    tree = hierarchy_of(matrix, names_of(12), 3)
    distances = np.maximum(0, 1 - matrix)
    np.fill_diagonal(distances, 0)
    other = AgglomerativeClustering(3, metric="precomputed", linkage="average").fit_predict(distances)
    assert adjusted_rand_score(tree.labels, other) == 1
    # With three groups left, the last merges are the two largest heights.
    heights = sorted(max(up) for _, up in tree.lines)
    inside = {label: np.flatnonzero(other == label) for label in range(3)}
    between = [distances[np.ix_(inside[a], inside[b])].mean() for a, b in combinations(range(3), 2)]
    assert heights[-2] == pytest.approx(min(between))
    assert sorted(tree.order) == sorted(names_of(12))


def test_stability_of_a_known_mixture_of_replicates() -> None:
    """Three of four replicates have the blocks of the result; in the fourth, c3 has moved."""
    matrix, _ = block_matrix((4, 4), noise=0.0)
    moved = matrix.copy()
    moved[3, :], moved[:, 3] = 0.1, 0.1
    moved[3, 4:], moved[4:, 3] = 0.6, 0.6
    moved[3, 3] = 1.0
    found = categories_of(matrix, names_of(8))
    stability = stability_of(found, np.stack([matrix, matrix, moved, matrix]))
    assert stability is not None
    assert stability.replicates == 4
    assert stability.k_counts == {2: 4}
    assert stability.together[0][1] == 1
    assert stability.together[0][3] == 0.75
    assert stability.together[3][4] == 0.25
    assert stability.membership("c3", ("c0", "c1", "c2", "c3")) == 0.75
    assert stability.cohesion(("c0", "c1", "c2", "c3")) == pytest.approx((3 * 1 + 3 * 0.75) / 6)
    # The 2.5 % quantile lies between the moved replicate's index and 1.
    moved_index = adjusted_rand_score([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1])
    assert stability.agreement == 1
    assert stability.agreement_low == pytest.approx(moved_index + 0.075 * (1 - moved_index))


def test_advice_names_redundant_uncovered_and_unstable_candidates() -> None:
    """c0 and c1 are nearly the same, c8 overlaps with nothing, and c3 moves in two of five replicates."""
    values, _ = block_matrix((4, 4, 1), noise=0.0)
    values[0, 1] = values[1, 0] = 0.95
    moved = values.copy()
    moved[3, :8], moved[:8, 3] = 0.1, 0.1
    moved[3, 4:8], moved[4:8, 3] = 0.6, 0.6
    moved[3, 3] = 1.0
    scores = tuple(map(tuple, values.tolist()))
    unknown = ((None,) * 9,) * 9
    analysis = analyse_categories(OverlapMatrix(tuple(names_of(9)), scores, unknown, unknown), threshold=0.6)
    analysis = with_stability(analysis, np.stack([values, moved, values, moved, values]))
    advice = advice_of(analysis, each=2)
    assert [(pair.first, pair.second) for pair in advice.redundant] == [("c0", "c1")]
    assert [pair.first for pair in advice.uncovered] == ["c8"]
    assert advice.pairs == 0, "a matrix without intervals"
    assert [member.candidate for member in advice.unstable] == ["c3"]
    unstable = advice.unstable[0]
    assert (unstable.share, unstable.rival_share) == (0.6, 0.4)
    assert analysis.categories.members[unstable.rival] == ("c4", "c5", "c6", "c7")
    sentence = next(line for line in open_questions(analysis, advice) if "uncertain" in line)
    assert f"c3 (60 % with members of category {unstable.category}, 40 % with those of" in sentence


def test_redundant_candidates_are_not_recommended_together() -> None:
    """All pairs of the first category are redundant; of the second, only one of three combinations is not."""
    values, _ = block_matrix((3, 3), noise=0.0)
    values[:3, :3] = np.where(np.eye(3, dtype=bool), 1.0, 0.9)
    values[0, 1] = values[1, 0] = 0.95
    values[1, 2] = values[2, 1] = 0.93
    values[3, 4] = values[4, 3] = 0.95
    scores = tuple(map(tuple, values.tolist()))
    unknown = ((None,) * 6,) * 6
    analysis = analyse_categories(OverlapMatrix(tuple(names_of(6)), scores, unknown, unknown))
    first, second = advice_of(analysis).recommended
    assert first.chosen == ("c1",) and first.overlap is None  # the largest mean overlap with the others
    assert len(second.chosen) == 2 and not {"c3", "c4"} <= set(second.chosen)


def test_a_candidate_that_is_undefined_in_a_replicate_is_left_out_of_it() -> None:
    matrix, _ = block_matrix((4, 4), noise=0.0)
    partial = matrix.copy()
    partial[0, :], partial[:, 0] = np.nan, np.nan
    found = categories_of(matrix, names_of(8))
    stability = stability_of(found, np.stack([matrix, partial]))
    assert stability is not None
    assert stability.replicates == 2
    assert stability.together[0][1] == 1  # over the one replicate with both
    assert stability_of(found, np.full((3, 8, 8), np.nan)) is None


def residuals_of(blocks: NDArray[np.int64], models: int, seed: int, shared: float) -> Matrix:
    generator = np.random.default_rng(seed)
    common = generator.normal(size=(models, blocks.max() + 1))[:, blocks]
    return np.asarray(shared * common + generator.normal(size=(models, len(blocks))))


def test_validation_means_are_those_of_scipy() -> None:
    blocks = np.repeat(np.arange(3), (3, 3, 2))
    residuals = residuals_of(blocks, 12, 0, 1.0)
    names = names_of(8)
    labels = dict(zip(names, (blocks + 1).tolist(), strict=True))
    found = validate_categories(residuals, [f"m{row}" for row in range(12)], names, labels, permutations=99)
    r = {(i, j): pearsonr(residuals[:, i], residuals[:, j]).statistic for i, j in combinations(range(8), 2)}
    inside = [value for (i, j), value in r.items() if blocks[i] == blocks[j]]
    outside = [value for (i, j), value in r.items() if blocks[i] != blocks[j]]
    assert found.within == pytest.approx(np.mean(inside))
    assert found.across == pytest.approx(np.mean(outside))
    assert (found.pairs_within, found.pairs_across) == (7, 21)
    assert [each.pairs for each in found.by_category] == [3, 3, 1]


def test_the_permutation_p_value_is_the_exact_share() -> None:
    blocks = np.array([0, 0, 0, 1, 1])
    residuals = residuals_of(blocks, 6, 4, 0.4)
    names = names_of(5)
    found = validate_categories(
        residuals, list("abcdef"), names, dict(zip(names, blocks.tolist(), strict=True)), permutations=4000
    )
    r = np.corrcoef(residuals.T)

    def difference(labels: tuple[int, ...]) -> float:
        pairs = list(combinations(range(5), 2))
        inside = [r[i, j] for i, j in pairs if labels[i] == labels[j]]
        outside = [r[i, j] for i, j in pairs if labels[i] != labels[j]]
        return float(np.mean(inside) - np.mean(outside))

    every = [difference(labels) for labels in permutations(blocks.tolist())]
    exact = float(np.mean([value >= difference(tuple(blocks.tolist())) - 1e-12 for value in every]))
    assert 0 < exact < 1
    assert found.p == pytest.approx(exact, abs=0.03)


def test_without_categories_p_values_are_uniform_and_with_them_small() -> None:
    blocks = np.repeat(np.arange(3), 3)
    names, models = names_of(9), [f"m{row}" for row in range(10)]
    labels = dict(zip(names, blocks.tolist(), strict=True))
    null = [
        validate_categories(
            residuals_of(blocks, 10, seed, 0.0), models, names, labels, permutations=99, seed=seed
        ).p
        for seed in range(200)
    ]
    below = sum(p <= 0.2 for p in null)
    assert binomtest(below, 200, 0.2).pvalue > 0.001
    real = validate_categories(residuals_of(blocks, 10, 0, 3.0), models, names, labels, permutations=999)
    assert real.p < 0.01
    assert real.within > real.across + 0.3


def test_validation_refuses_what_it_cannot_answer() -> None:
    labels = {"c0": 1, "c1": 1, "c2": 2}
    with pytest.raises(UserError, match="2 models; correlations over models need 3"):
        validate_categories(np.zeros((2, 3)), ["a", "b"], list(labels), labels)
    with pytest.raises(UserError, match="two of one category and one of another are the minimum"):
        validate_categories(np.random.default_rng(0).random((5, 2)), list("abcde"), ["c0", "c2"], labels)


def test_pairs_whose_interval_reaches_above_redundancy_are_counted() -> None:
    """All pairs are below 0.8; the intervals of two of them end above it."""
    values, _ = block_matrix((4, 4), noise=0.0)
    high = np.minimum(values + 0.1, 1.0)
    high[0, 1] = high[1, 0] = high[4, 5] = high[5, 4] = 0.9
    scores, low, ends = (tuple(map(tuple, part.tolist())) for part in (values, values - 0.1, high))
    advice = advice_of(analyse_categories(OverlapMatrix(tuple(names_of(8)), scores, low, ends)))
    assert not advice.redundant and advice.perhaps_redundant == 2
    assert "2 pairs may: the estimate is not above 0.8, but the interval reaches" in redundancy_sentence(
        advice
    )
    assert "taken whole" not in contents_sentence(advice)
