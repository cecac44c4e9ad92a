"""Predictivity and effective robustness: made worlds, run folders, the command line and the pages."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.special import expit, logit

import windtunnel
from tests.conftest import Command
from windtunnel.analysis.predictivity.published_tables import published_syn2nat
from windtunnel.core.errors import UserError

NATURAL = ("ImageNet-V2", "ImageNet-Sketch")
FAMILIES = ("conv", "vit", "mixer")


def write(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def made_world(path: Path, *, models: int = 400, own: float = 1.0, seed: int = 0) -> Path:
    """Drops = shared + own parts. `own` is the standard deviation of what each setting does not share.

    Every drop has a part that all settings share, of variance 1, and one of its own: drops on two single
    settings correlate with 1 / (1 + own^2).
    """
    rng = np.random.default_rng(seed)
    clean = rng.uniform(0.70, 0.72, models)
    shared = rng.normal(size=models)

    def accuracy(lost: float) -> np.ndarray:
        return clean - lost - 0.02 * (shared + own * rng.normal(size=models))

    columns = {"clean": clean, **{name: accuracy(0.2) for name in ("fog:1", "fog:3", "snow:3", "frost:3")}}
    columns |= {name: accuracy(0.3) for name in NATURAL}
    rows = [
        [f"{FAMILIES[row % 3]}{row}", *(f"{column[row]:.6f}" for column in columns.values())]
        for row in range(models)
    ]
    return write(path, ["model", *columns], rows)


def test_a_known_correlation_is_recovered(tmp_path: Path) -> None:
    """A single setting: 1 / (1 + 1) = 0.5. The mean of four: (1 / sqrt(2 * 1.25)) = 0.632."""
    table = made_world(tmp_path / "world.csv", models=4000)
    found = windtunnel.predictivity(table, synthetic=["fog:1", "fog,snow,frost"])
    by_name = {(pair.predictor, pair.target): pair for pair in found.pairs}
    assert len(by_name) == 4
    for target in NATURAL:
        for name, expected in (("fog:1", 0.5), ("fog,snow,frost", 1 / (2 * 1.25) ** 0.5)):
            pair = by_name[name, target]
            assert pair.r == pytest.approx(expected, abs=0.03)
            assert pair.low < expected < pair.high
            # Clean accuracies hardly vary: they explain nothing, and holding them constant changes nothing.
            assert pair.partial == pytest.approx(expected, abs=0.03)
            assert pair.from_clean == pytest.approx(0, abs=0.05)
            assert pair.from_clean_p < 0.01
            assert pair.kind == "drops" and pair.classes == "same"


def test_drops_that_share_only_clean_accuracy_are_seen_through(tmp_path: Path) -> None:
    """Drops that grow with clean accuracy and share nothing else: a high r, and no partial correlation."""
    rng = np.random.default_rng(1)
    clean = rng.uniform(0.5, 0.9, 200)
    # Noise that is orthogonal to clean accuracy and to each other.
    basis, _ = np.linalg.qr(np.column_stack([np.ones(200), clean, rng.normal(size=(200, 2))]))
    fog, sketch = (clean - 0.5 * clean - 0.3 * basis[:, column] for column in (2, 3))
    rows = [[f"net{row}", clean[row], fog[row], sketch[row]] for row in range(200)]
    path = write(tmp_path / "t.csv", ["model", "clean", "fog", "ImageNet-Sketch"], rows)
    (pair,) = windtunnel.predictivity(path).pairs
    assert pair.r > 0.8
    assert pair.from_clean == pytest.approx(pair.r, abs=1e-4)
    assert pair.from_clean_low < pair.r < pair.from_clean_high
    assert pair.partial == pytest.approx(0, abs=1e-3)
    assert pair.partial_low < 0 < pair.partial_high and pair.partial_p > 0.9
    assert pair.from_clean_p > 0.05


def test_r_is_that_of_the_definition(tmp_path: Path) -> None:
    table = made_world(tmp_path / "world.csv", models=30)
    with table.open() as stream:
        rows = [
            {name: float(text) for name, text in row.items() if name != "model"}
            for row in csv.DictReader(stream)
        ]
    corrupted = ("fog:1", "fog:3", "snow:3", "frost:3")
    synthetic = [row["clean"] - np.mean([row[name] for name in corrupted]) for row in rows]
    found = windtunnel.predictivity(table, natural=["ImageNet-V2"])
    natural = [row["clean"] - row["ImageNet-V2"] for row in rows]
    (pair,) = found.pairs
    assert pair.predictor == "the mean of 3 corruptions"
    assert pair.r == pytest.approx(np.corrcoef(synthetic, natural)[0, 1])
    families = {
        family: np.corrcoef(
            [x for row, x in enumerate(synthetic) if FAMILIES[row % 3] != family],
            [y for row, y in enumerate(natural) if FAMILIES[row % 3] != family],
        )[0, 1]
        for family in FAMILIES
    }
    assert (pair.family_low, pair.family_high) == pytest.approx(
        (min(families.values()), max(families.values()))
    )
    assert pair.family_left_out == max(families, key=lambda family: abs(families[family] - pair.r))


def generated(path: Path) -> Path:
    """Four benchmarks: two of one corruption, two of two."""
    lines = [("b1", "fog:1", 1, 1), ("b2", "snow:3", 1, 1)]
    lines += [("b3", "fog:3", 2, 1), ("b3", "snow:3", 2, 1), ("b4", "fog:1", 2, 1), ("b4", "frost:3", 2, 1)]
    return write(path, ["benchmark", "corruption", "n", "k"], [list(line) for line in lines])


def test_groups_of_generated_benchmarks_have_the_mean_of_their_correlations(tmp_path: Path) -> None:
    table, benchmarks = made_world(tmp_path / "world.csv"), generated(tmp_path / "generated.csv")
    found = windtunnel.predictivity(table, synthetic=[str(benchmarks)])
    by_pair = {(pair.predictor, pair.target): pair for pair in found.pairs}
    by_n, by_size = found.groups
    assert (by_n.by, by_n.groups) == (("n", "k"), ("n=1, k=1", "n=2, k=1"))
    assert (by_size.by, by_size.groups) == (("size",), ("size=1", "size=2"))
    for group, members in (("n=1, k=1", ("b1", "b2")), ("n=2, k=1", ("b3", "b4"))):
        for target in NATURAL:
            cell = by_n.cell(group, target)
            pairs = [by_pair[name, target] for name in members]
            assert cell.r == pytest.approx(np.mean([pair.r for pair in pairs]))
            assert cell.mean_p_value == pytest.approx(np.mean([pair.p for pair in pairs]))
            assert cell.partial == pytest.approx(np.mean([pair.partial for pair in pairs]))
            assert (cell.lowest, cell.highest) == pytest.approx(tuple(sorted(pair.r for pair in pairs)))
            assert cell.low < cell.r < cell.high
            assert cell.p < 0.001 + 1 / 2000
        mean = by_n.cell(group, "mean")
        assert mean.r == pytest.approx(np.mean([by_n.cell(group, target).r for target in NATURAL]))
    assert by_n.cell("n=2, k=1", "mean").r > by_n.cell("n=1, k=1", "mean").r


def test_groups_hold_the_clean_accuracies_of_each_benchmark_constant(tmp_path: Path) -> None:
    """Two corruptions with clean accuracies of their own: a group has the mean of the pairs' controls."""
    rng = np.random.default_rng(0)
    columns = {name: rng.uniform(0.6, 0.8, 12) for name in ("clean", "fog:1 clean", "snow:3 clean")}
    columns |= {name: 0.4 + 0.3 * rng.random(12) for name in ("fog:1", "snow:3", "ImageNet-V2")}
    rows = [[f"n{row}", *(column[row] for column in columns.values())] for row in range(12)]
    table = write(tmp_path / "t.csv", ["model", *columns], rows)
    lines: list[list[object]] = [["b1", "fog:1", 1], ["b2", "snow:3", 1]]
    benchmarks = write(tmp_path / "g.csv", ["benchmark", "corruption", "n"], lines)
    found = windtunnel.predictivity(table, synthetic=[str(benchmarks)])
    cell = found.groups[0].cell("n=1", "ImageNet-V2")
    assert cell.partial == pytest.approx(np.mean([pair.partial for pair in found.pairs]))
    assert cell.from_clean == pytest.approx(np.mean([pair.from_clean for pair in found.pairs]))
    assert cell.partial_low is not None and cell.partial_low < cell.partial < cell.partial_high


def test_generated_benchmarks_that_cannot_be_correlated_are_refused(tmp_path: Path) -> None:
    table = made_world(tmp_path / "world.csv", models=20)
    header = ["benchmark", "corruption", "n"]
    doubled = write(tmp_path / "doubled.csv", header, [["b1", "fog:1", 1], ["b1", "fog:1", 1]])
    with pytest.raises(UserError, match="lists fog:1 twice in the benchmark b1"):
        windtunnel.predictivity(table, synthetic=[str(doubled)])
    rows = [[f"n{row}", 0.7, 0.5, 0.3 + row / 100] for row in range(9)]
    constant = write(tmp_path / "constant.csv", ["model", "clean", "fog:1", "ImageNet-V2"], rows)
    one = write(tmp_path / "one.csv", header, [["b1", "fog:1", 1]])
    with pytest.raises(UserError, match="b1 has the same drop for all 9 models"):
        windtunnel.predictivity(constant, synthetic=[str(one)])


def test_a_target_without_a_fit_still_has_a_page(tmp_path: Path) -> None:
    """All models have the same accuracy on the natural set: drops vary, and no line can be fitted."""
    rng = np.random.default_rng(0)
    rows = [[f"n{row}", 0.7 + 0.1 * rng.random(), 0.4 + 0.1 * rng.random(), 0.5] for row in range(9)]
    table = write(tmp_path / "t.csv", ["model", "clean", "fog", "ImageNet-V2"], rows)
    found = windtunnel.predictivity(table, out=tmp_path / "page.html")
    assert found.pairs[0].r is not None and (tmp_path / "page.html").is_file()
    assert any("No fit of effective robustness on ImageNet-V2" in note for note in found.notes)


def test_a_reversed_relation_is_not_called_a_prediction(tmp_path: Path, windtunnel_command: Command) -> None:
    """Given clean accuracy, models that lose more under fog lose less on the natural set."""
    rng = np.random.default_rng(0)
    clean, lost = rng.uniform(0.6, 0.8, 30), rng.uniform(0.1, 0.2, 30)
    rows = [[f"n{row}", clean[row], clean[row] - lost[row], 0.2 + lost[row]] for row in range(30)]
    table = write(tmp_path / "t.csv", ["model", "clean", "fog", "ImageNet-V2"], rows)
    done = windtunnel_command("predictivity", table)
    assert "beyond clean accuracy the relation is reversed" in done.stdout
    assert "predicts something" not in done.stdout


def test_families_limit_only_what_resamples_them(tmp_path: Path) -> None:
    table = made_world(tmp_path / "world.csv", models=30)
    notes = windtunnel.predictivity(table, by="prefix").notes
    assert any("p-values and the range of r" in note and "independent" in note for note in notes)
    assert any("3 families: intervals over fewer than 10 are unreliable" in note for note in notes)


def test_the_permutation_test_of_a_mean_is_uniform_without_relation(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p_values = []
    for seed in range(20):
        columns = {"clean": np.full(25, 0.7) + rng.normal(0, 0.001, 25)}
        columns |= {
            name: 0.5 + 0.02 * rng.normal(size=25) for name in ("fog:1", "fog:3", "snow:3", "frost:3")
        }
        columns["ImageNet-V2"] = 0.4 + 0.02 * rng.normal(size=25)
        rows = [[f"n{row}", *(column[row] for column in columns.values())] for row in range(25)]
        table = write(tmp_path / f"{seed}.csv", ["model", *columns], rows)
        found = windtunnel.predictivity(table, synthetic=[str(generated(tmp_path / "g.csv"))])
        p_values.append(found.groups[0].cell("n=2, k=1", "ImageNet-V2").p)
    assert 0.2 < float(np.mean(p_values)) < 0.8
    assert min(p_values) > 0.001


def test_without_natural_sets_corruptions_predict_each_other(tmp_path: Path) -> None:
    path = tmp_path / "corruptions.csv"
    rng = np.random.default_rng(0)
    skill = rng.uniform(0.4, 0.8, 9)
    values = np.round(skill[:, None] - 0.05 * rng.random((9, 4)), 4)
    lines = [
        ",fog,fog,snow,frost",
        ",1,2,1,1",
        *(f"net{row},{','.join(map(str, values[row]))}" for row in range(9)),
    ]
    path.write_text("\n".join(lines) + "\n")
    found = windtunnel.predictivity(path)
    assert found.question.mode == "leave-one-out"
    assert [pair.target for pair in found.pairs] == ["fog", "snow", "frost"]
    snow = found.pairs[1]
    # The others' mean over conditions: fog has two severities. Errors, for there are no clean accuracies.
    assert snow.kind == "errors" and snow.from_subtraction is None
    assert snow.r == pytest.approx(np.corrcoef(values[:, [0, 1, 3]].mean(axis=1), values[:, 2])[0, 1])
    assert snow.given.startswith("accuracy on ") and "snow" not in snow.given
    assert any("no clean accuracies" in note for note in found.notes)
    # Of two tables the last is predicted.
    other = tmp_path / "other.csv"
    other.write_text(
        path.read_text().replace("fog", "flash").replace("snow", "blur").replace("frost", "dust")
    )
    with pytest.raises(UserError, match="No column is recognised as a natural set for synthetic to predict"):
        windtunnel.predictivity(path, other, synthetic=["fog"])
    (named, *_) = windtunnel.predictivity(path, other, synthetic=["fog"], natural=["other"]).pairs
    assert (named.predictor, named.target) == ("fog", "flash")
    # The control is neither the target nor the predictor.
    assert named.given.startswith("accuracy on ") and "fog" not in named.given and "flash" not in named.given
    both = windtunnel.predictivity(path, other)
    assert both.question.mode == "table against table"
    assert [pair.target for pair in both.pairs] == ["flash", "blur", "dust", "all of other"]
    assert {pair.predictor for pair in both.pairs} == {"corruptions"}


def test_a_score_predicts_with_its_direction(tmp_path: Path) -> None:
    """mFR is lower for better models, a stability higher: both are oriented so that higher is worse."""
    rng = np.random.default_rng(0)
    lost = rng.uniform(0.1, 0.3, 40)
    rows = [[f"n{row}", 0.7, 0.7 - lost[row], 2 * lost[row], 5 - lost[row]] for row in range(40)]
    path = write(tmp_path / "t.csv", ["model", "clean", "ImageNet-V2", "mFR", "stability"], rows)
    found = windtunnel.predictivity(path, scores=["mFR", "stability:higher"])
    assert {pair.predictor: pair.r for pair in found.pairs} == pytest.approx({"mFR": 1, "stability": 1})
    assert found.pairs[0].kind == "score and drop"


def test_networks_that_filtered_are_left_out_and_stated(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        [f"net{row}", f"{rng.uniform(0.6, 0.8):.4f}", "0.5", f"{rng.uniform(0.1, 0.3):.4f}"]
        for row in range(20)
    ]
    rows += [["resnet50.retrained", "0.76", "0.5", "0.0001"]]
    path = write(tmp_path / "t.csv", ["model", "clean", "fog", "ImageNet-A"], rows)
    found = windtunnel.predictivity(path)
    assert len(found.table.models) == 20
    assert any("filtered by ResNet-50, 1 model: resnet50.retrained" in note for note in found.notes)
    (fits,) = windtunnel.effective_robustness(path)
    (marked,) = [model for model in fits.models if model.is_filter]
    assert marked.model == "resnet50.retrained" and not marked.reference
    assert fits.fit.n == 20 and fits.fit.breakpoint is not None


def test_effective_robustness_is_the_distance_from_the_fit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    clean = rng.uniform(0.5, 0.9, 60)
    shifted = expit(-0.8 + 0.9 * logit(clean) + 0.05 * rng.normal(size=60))
    rows = [[f"net{row}", clean[row], shifted[row]] for row in range(60)]
    rows.append(["better", 0.7, float(expit(-0.8 + 0.9 * logit(0.7))) + 0.2])
    path = write(tmp_path / "t.csv", ["model", "val", "night"], rows)
    (found,) = windtunnel.effective_robustness(path, clean="val", shifted=["night"], reference=["net*"])
    best = found.models[0]
    assert best.model == "better" and not best.reference
    assert best.effective is not None
    assert best.effective.value == pytest.approx(0.2, abs=0.01)
    assert 0.15 < best.effective.low < 0.2 < best.effective.high < 0.25
    slope, intercept = np.polyfit(logit(clean), logit(shifted), 1)
    assert (found.fit.slope, found.fit.intercept) == pytest.approx((slope, intercept))
    assert any("number of images of val, night is not known" in note for note in found.notes)
    (probit,) = windtunnel.effective_robustness(path, clean="val", shifted=["night"], axis="probit")
    assert probit.fit.axis == "probit" and probit.fit.n == 61


def test_means_over_settings_that_need_their_own_fit_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    header = ["model", "clean", "ImageNet-A", "ImageNet-V2", "ImageNet-R", "ImageNet-R clean"]
    rows = [[f"n{row}", *rng.uniform(0.3, 0.8, 5)] for row in range(9)]
    table = write(tmp_path / "t.csv", header, rows)
    with pytest.raises(UserError, match=r'filtered by a network .* shifted=\["ImageNet-A"\]'):
        windtunnel.effective_robustness(table, shifted=["ImageNet-A,ImageNet-V2"])
    with pytest.raises(UserError, match="different clean accuracies, ImageNet-R clean, clean"):
        windtunnel.effective_robustness(table, shifted=["ImageNet-V2,ImageNet-R"])


def test_pm_0_against_pm_k_is_the_same_fit(tmp_path: Path) -> None:
    """Four rows of published video results: the line by hand through SciPy's logits."""
    rows = [
        ["resnet50", 67.54, 52.48],
        ["alexnet", 49.41, 32.01],
        ["l2", 88.01, 82.15],
        ["vit", 89.36, 78.63],
    ]
    path = write(tmp_path / "video.csv", ["model", "pm-0", "pm-10"], rows)
    (found,) = windtunnel.effective_robustness(path, unit=["percent"], shifted=["pm-10"])
    x, y = (logit([row[column] / 100 for row in rows]) for column in (1, 2))
    slope, intercept = np.polyfit(x, y, 1)
    assert (found.fit.slope, found.fit.intercept) == pytest.approx((slope, intercept))
    assert found.clean.name == "pm-0"


class Threshold:
    """A model that knows the digits by their mean ink, more or less precisely."""

    def __init__(self, name: str, blur: float) -> None:
        self.name = self.fingerprint = name
        self.blur = blur

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        ink = batch.reshape(len(batch), -1).mean(axis=1) * self.blur
        return -np.abs(ink[:, None] % 10 - np.arange(10)).astype(np.float32)


def test_run_folders_are_a_table(tmp_path: Path, digit_folder: Path) -> None:
    models = [Threshold(f"net{number}", 0.3 + 0.17 * number) for number in range(5)]
    runs = windtunnel.run_models(
        models, digit_folder, "smoke", only=["fog", "gaussian_noise"], out=tmp_path / "runs"
    )
    found = windtunnel.predictivity(
        *(run.path for run in runs), synthetic=["fog"], natural=["gaussian_noise"]
    )
    assert found.table.models == tuple(f"net{number}" for number in range(5))
    for run, drop in zip(runs, found.points[0][0].values, strict=True):
        scores = run.scores(["residual_robustness"])
        expected = np.mean([score.value for score in scores if score.corruption == "fog"])
        assert drop == pytest.approx(expected)
    assert found.clean[0] == "clean" and found.clean_range is not None
    same = windtunnel.predictivity(tmp_path / "runs", synthetic=["fog"], natural=["gaussian_noise"])
    assert same.table.models == found.table.models


def test_models_of_one_name_are_called_by_their_run_folders(tmp_path: Path, digit_folder: Path) -> None:
    models = [Threshold("model", 0.3 + 0.17 * number) for number in range(4)]
    runs = [
        windtunnel.run(model, digit_folder, "smoke", only=["fog"], out=tmp_path / f"net-{number}")
        for number, model in enumerate(models)
    ]
    table = windtunnel.predictivity(*runs, synthetic=["fog:1"], natural=["fog:5"]).table
    assert table.models == ("net-0", "net-1", "net-2", "net-3")
    second = windtunnel.run(models[0], digit_folder, "smoke", only=["gaussian_noise"], out=tmp_path / "more")
    with pytest.raises(UserError, match="are runs of two models called model; give each"):
        windtunnel.predictivity(*runs, second)


def test_runs_of_one_suite_on_different_data_are_different_columns(
    tmp_path: Path, digit_folder: Path
) -> None:
    other = tmp_path / "other_digits"
    shutil.copytree(digit_folder, other)
    models = [Threshold(f"net{number}", 0.3 + 0.17 * number) for number in range(4)]
    runs = [
        *windtunnel.run_models(models, digit_folder, "smoke", only=["fog"], out=tmp_path / "a"),
        *windtunnel.run_models(models[:2], other, "smoke", only=["fog"], out=tmp_path / "b"),
    ]
    found = windtunnel.predictivity(*runs[:4], synthetic=["fog:1"], natural=["fog:5"]).table
    assert "clean" in found.names
    with pytest.raises(UserError, match=f"Unknown column.* {digit_folder.name}/fog:"):
        windtunnel.predictivity(*runs, synthetic=["fog:1"], natural=["fog:5"])


def test_runs_over_natural_sets_frames_and_sequences_are_joined(
    tmp_path: Path, digits: tuple[np.ndarray, np.ndarray]
) -> None:
    """Each natural run has its own clean column, frames have pm-0 and pm-k, and mFP is a score."""
    images, classes = digits
    lines = ["file,set,offset,label"]
    for row in range(24):
        for folder, light in (("day", 1.0), ("night", 0.7)):
            path = tmp_path / folder / str(classes[row]) / f"{row}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((images[row] * light).astype(np.uint8)).save(path)
            lines.append(
                f"{folder}/{classes[row]}/{row}.png,set{row},{int(folder == 'night')},{classes[row]}"
            )
    (tmp_path / "frames.csv").write_text("\n".join(lines) + "\n")
    models = [Threshold(f"net{number}", 0.2 + 0.13 * number) for number in range(5)]
    day, night, frames = tmp_path / "day", tmp_path / "night", tmp_path / "frames.csv"
    outputs = {"labels_are_outputs": True}
    runs = [
        *windtunnel.run_models(models, night, "natural", clean=day, out=tmp_path / "n", **outputs),
        *windtunnel.run_models(models, frames, "pm-k", out=tmp_path / "f", **outputs),
        *windtunnel.run_models(models, day, "imagenet-p", only=["seq/brightness"], out=tmp_path / "p"),
    ]
    found = windtunnel.predictivity(*runs, scores=["mfp"])
    table = found.table
    assert {setting.name: (setting.role, setting.clean) for setting in table.settings} == {
        "night": ("natural", "night clean"),
        "night clean": ("clean", ""),
        "frames pm-0": ("clean", ""),
        "frames pm-1": ("natural", "frames pm-0"),
        "clean": ("clean", ""),
        "mfp": ("synthetic", ""),
    }
    assert not table.setting("mfp").is_accuracy and table.setting("mfp").direction == "lower"
    assert [(pair.predictor, pair.target) for pair in found.pairs] == [
        ("mfp", "night"),
        ("mfp", "frames pm-1"),
    ]
    for run in runs[:5]:
        row = table.models.index(run.info.model.name)
        errors = {score.condition: score.value for score in run.scores(["top1_error"])}
        assert table.column("night")[row] == pytest.approx(1 - errors["shifted"])
        assert table.column("night clean")[row] == pytest.approx(1 - errors["clean"])
    for run in runs[5:10]:
        row = table.models.index(run.info.model.name)
        scores = {score.condition: score.value for score in run.scores(["pm_k"])}
        assert table.column("frames pm-1")[row] == pytest.approx(scores["pm-1"])
    for run in runs[10:]:
        (score,) = [score for score in run.scores(["mfp"]) if not score.condition]
        assert table.column("mfp")[table.models.index(run.info.model.name)] == pytest.approx(score.value)


def test_published_means_recompute_except_one() -> None:
    table2, table3 = published_syn2nat()
    assert table3.differences == ()
    assert len(table2.differences) == 1
    assert "n=4, k=3: the five values average 0.722, and the paper prints 0.720" in table2.differences[0]
    assert len(table2.rows) == len(table3.rows) == 5
    # The column without substitutions of table 3 is that of n=6, k=2 in table 2.
    column = table2.columns.index("n=6, k=2")
    assert [row.values[column] for row in table2.rows] == [row.values[0] for row in table3.rows]


def test_the_command_prints_json_csv_and_a_page(tmp_path: Path, windtunnel_command: Command) -> None:
    table = made_world(tmp_path / "world.csv", models=60)
    generated(tmp_path / "generated.csv")
    done = windtunnel_command("predictivity", table, "--out", "page.html")
    assert done.returncode == 0, done.stderr
    assert "question  Does the mean of 3 corruptions predict ImageNet-V2, ImageNet-Sketch?" in done.stdout
    assert "with it held constant r = " in done.stdout and done.stdout.endswith("page.html\n")
    page = (tmp_path / "page.html").read_text()
    for text in ("Correlations and their controls", "Effective robustness", "the paper prints 0.720"):
        assert text in page
    document = json.loads(windtunnel_command("predictivity", table, "--json", "--by", "prefix").stdout)
    assert document["families_resampled"] == 3 and len(document["pairs"]) == 2
    rows = list(csv.DictReader(io.StringIO(windtunnel_command("predictivity", table, "--csv").stdout)))
    assert float(rows[0]["r"]) == pytest.approx(document["pairs"][0]["r"])
    done = windtunnel_command("predictivity", table, "--synthetic", "generated.csv")
    assert "natural set" in done.stdout and "mean p-value" in done.stdout and "permutation p" in done.stdout


def test_the_command_of_effective_robustness(tmp_path: Path, windtunnel_command: Command) -> None:
    table = made_world(tmp_path / "world.csv", models=60)
    done = windtunnel_command("effective-robustness", table, "--shifted", "fog", "--out", "fit.html")
    assert done.returncode == 0, done.stderr
    assert "fit      logit(shifted) = " in done.stdout and "models between them" in done.stdout
    assert "farthest above and below the fit" in (tmp_path / "fit.html").read_text()
    (document,) = json.loads(
        windtunnel_command("effective-robustness", table, "--shifted", "fog", "--json").stdout
    )
    # The mean over both severities.
    with table.open() as stream:
        first = next(csv.DictReader(stream))
    (model,) = [model for model in document["models"] if model["model"] == first["model"]]
    assert model["shifted"] == pytest.approx((float(first["fog:1"]) + float(first["fog:3"])) / 2)
    text = windtunnel_command("effective-robustness", table, "--csv").stdout
    assert len(text.splitlines()) == 1 + 2 * 60


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["predictivity", "nothing.csv"], "No such table: nothing.csv"),
        (["predictivity", "T", "--synthetic", "rain"], "Unknown column, corruption or suite 'rain'"),
        (["predictivity", "T", "--synthetic", "none.csv"], "No such file: none.csv"),
        (["predictivity", "T", "--synthetic", "imagenet-c"], "no column of gaussian_noise"),
        (
            ["predictivity", "T", "--natural", "fog", "--synthetic", "fog:1"],
            "contains fog:1, which is also to be",
        ),
        (["predictivity", "T", "--unit", "percent"], "--unit"),
        (["predictivity", "T", "--unit", "claen=fraction"], "Unknown column 'claen'. Did you mean clean?"),
        (["predictivity", "T", "--ignore", "snow:2", "--ignore", "rain"], "Unknown column 'snow:2'"),
        (["predictivity", "T", "--by", "brand"], "Unknown column of families 'brand'"),
        (["predictivity", "T", "--exclude", "x*"], "--exclude x* matches no model"),
        (["predictivity", "T", "--exclude", "*"], "--exclude leaves 0 models of 20; at least 4 are needed"),
        (["predictivity", "T", "T"], "T.csv is given twice"),
        (["effective-robustness", "T", "--shifted", "clean"], "clean is itself a column of clean accuracies"),
        (["effective-robustness", "T", "--reference", "vit?"], "--reference leaves 3 models to fit"),
        (["predictivity", "T", "--score", "speed"], "--score speed:lower"),
        (["predictivity", "T", "--out", "page.pdf"], "give a file ending in .html"),
        (["predictivity", "T", "--json", "--csv"], "exclude each other"),
        (["predictivity"], "Missing argument"),
        (
            ["effective-robustness", "T", "--shifted", "fog:1", "--clean", "none"],
            "name their column with --clean",
        ),
        (["effective-robustness", "T", "--pieces", "3"], "--pieces is 3; give 1 or 2"),
        (["effective-robustness", "T", "--breakpoint", "76"], "--breakpoint is 76; give a clean accuracy"),
        (["effective-robustness", "T", "--breakpoint", "0.2"], "--breakpoint 0.2 has fewer than two models"),
        (
            ["effective-robustness", "T", "--pieces", "1", "--breakpoint", "0.71"],
            "--pieces 1 fits one line, which has no --breakpoint",
        ),
        (["effective-robustness", "T", "--reference", "x*"], "--reference x* matches no model"),
        (["effective-robustness", "T", "--axis", "log"], "--axis"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], words: str, tmp_path: Path, windtunnel_command: Command
) -> None:
    table = made_world(tmp_path / "T.csv", models=20)
    done = windtunnel_command(*(table if word == "T" else word for word in arguments))
    assert done.returncode == 2, done.stdout
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_columns_that_are_held_constant_are_named(tmp_path: Path, windtunnel_command: Command) -> None:
    """A target with its own clean column: its clean accuracy and the predictor's are held constant."""
    rng = np.random.default_rng(4)
    clean = rng.uniform(0.6, 0.8, 40)
    own = clean + rng.uniform(0.05, 0.15, 40)
    fog, v2, hard = (clean - rng.uniform(0.1, 0.3, 40) for _ in range(3))
    header = ["model", "clean", "ImageNet-A clean", "fog:3", "ImageNet-V2", "ImageNet-A"]
    columns = (clean, own, fog, v2, hard)
    rows = [[f"net{row}", *(float(column[row]) for column in columns)] for row in range(40)]
    table = write(tmp_path / "two.csv", header, rows)
    one, two = windtunnel.predictivity(table, natural=["ImageNet-V2", "ImageNet-A"], synthetic=["fog"]).pairs
    assert (one.given, one.held_constant) == ("clean accuracy", ("clean",))
    assert (two.given, two.held_constant) == ("the two clean accuracies", ("ImageNet-A clean", "clean"))
    # Partial correlation by regression on exactly these columns.
    for pair, target, given in ((one, clean - v2, [clean]), (two, own - hard, [own, clean])):
        design = np.column_stack([np.ones(40), *given])
        rest = [
            drop - design @ np.linalg.lstsq(design, drop, rcond=None)[0] for drop in (clean - fog, target)
        ]
        assert pair.partial == pytest.approx(np.corrcoef(*rest)[0, 1])
    done = windtunnel_command("predictivity", table, "--synthetic", "fog", "--natural", "ImageNet-A")
    assert "ImageNet-A (ImageNet-A clean; clean)" in done.stdout
    document = json.loads(windtunnel_command("predictivity", table, "--json").stdout)
    assert document["pairs"][1]["held_constant"] == ["ImageNet-A clean", "clean"]


def test_few_models_have_intervals_of_known_distributions(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    table = made_world(tmp_path / "few.csv", models=6, own=0.3)
    found = windtunnel.predictivity(table, synthetic=["fog"])
    assert any("6 models are too few for a bootstrap" in note for note in found.notes)
    assert all(pair.high - pair.low < 1 for pair in found.pairs if pair.p < 0.01)
    done = windtunnel_command("effective-robustness", table, "--shifted", "ImageNet-V2")
    assert "Student's band" in done.stdout and "classes same" in done.stdout
    (fit,) = windtunnel.effective_robustness(table, shifted=["ImageNet-V2"])
    assert fit.to_json()["band"] == "student"


def test_a_suite_file_names_a_benchmark(tmp_path: Path, windtunnel_command: Command) -> None:
    """Its corruptions at its severities: fog at 3, although the table also has fog at 1."""
    table = made_world(tmp_path / "world.csv", models=30)
    (tmp_path / "chosen.toml").write_text(
        'name = "chosen"\nversion = 1\nunits = ["fog", "frost"]\nlevels = [3]\n'
    )
    documents = [
        json.loads(windtunnel_command("predictivity", table, "--synthetic", text, "--json").stdout)
        for text in ("chosen.toml", "fog:3,frost:3")
    ]
    assert [pair["r"] for pair in documents[0]["pairs"]] == [pair["r"] for pair in documents[1]["pairs"]]
    missing = windtunnel_command("predictivity", table, "--synthetic", "absent.toml")
    assert missing.returncode == 2 and "absent.toml" in missing.stderr


def test_a_predictor_that_does_not_vary_has_no_correlations(tmp_path: Path) -> None:
    """Drops of 0.1 for all models differ by rounding alone."""
    rng = np.random.default_rng(2)
    clean = rng.uniform(0.6, 0.8, 12).round(3)
    rows = [
        [f"net{row}", value, value - 0.1, value - rng.uniform(0.1, 0.2)] for row, value in enumerate(clean)
    ]
    table = write(tmp_path / "constant.csv", ["model", "clean", "fog:3", "ImageNet-V2"], rows)
    found = windtunnel.predictivity(table)
    (pair,) = found.pairs
    assert (pair.r, pair.partial, pair.spearman) == (None, None, None)
    assert any("Correlations of fog are undefined: all models have" in note for note in found.notes)


def test_the_family_is_named_at_its_end_of_the_range(tmp_path: Path, windtunnel_command: Command) -> None:
    """Without the family that alone makes the relation, r falls: its name follows the lower end."""
    rng = np.random.default_rng(5)
    far = np.repeat([0.0, 0.2], [20, 5])
    fog, v2 = (0.7 - far - 0.02 * rng.normal(size=25) for _ in range(2))
    families = ["odd" if far[row] else f"net{row % 4}" for row in range(25)]
    rows = [[f"m{row}", 0.9, fog[row], v2[row], families[row]] for row in range(25)]
    table = write(tmp_path / "odd.csv", ["model", "clean", "fog:3", "ImageNet-V2", "family"], rows)
    done = windtunnel_command("predictivity", table)
    assert " (without odd) to " in done.stdout, done.stdout


def test_a_breakpoint_at_the_limit_of_the_search_is_noted(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    """The bend lies below all but two models."""
    x = np.concatenate([[-3.0, -2.5], np.linspace(0, 2, 38)])
    y = -3 + 2.5 * np.maximum(0, x + 1)
    rows = [[f"net{row}", expit(x[row]), expit(y[row])] for row in range(40)]
    table = write(tmp_path / "bent.csv", ["model", "clean", "ImageNet-V2"], rows)
    done = windtunnel_command("effective-robustness", table, "--pieces", "2")
    assert done.returncode == 0, done.stderr
    assert "is at the limit of the search, which leaves at least 4 models on each side" in done.stdout


def test_a_negative_slope_is_subtracted_in_the_formula(tmp_path: Path, windtunnel_command: Command) -> None:
    rows = [[f"net{row}", 0.5 + row / 50, 0.6 - row / 50 + 0.01 * (row % 2)] for row in range(12)]
    table = write(
        tmp_path / "down.csv", ["model", "clean", "fog:3", "snow:3"], [[*row, row[2]] for row in rows]
    )
    done = windtunnel_command("effective-robustness", table, "--shifted", "fog:3")
    assert "+ -" not in done.stdout and " - " in done.stdout.splitlines()[1]
    two = windtunnel_command("predictivity", table)
    assert "How well does each of the two corruptions predict the other?" in two.stdout
