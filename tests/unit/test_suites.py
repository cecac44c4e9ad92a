"""Suites, canvases and condition identities."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command
from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.corruptions import corruption_condition
from windtunnel.imaging.geometry import Geometry
from windtunnel.suites.canvas import GEOMETRIES, Canvas, choose_canvas
from windtunnel.suites.suite_files import load_suite, suite_names
from windtunnel.suites.suite_text import suite_text

USUAL = Canvas(224, GEOMETRIES[224], "")


@pytest.mark.parametrize("name", suite_names())
def test_every_shipped_suite_loads_under_its_own_name(name: str) -> None:
    suite = load_suite(name)
    assert suite.name == name
    assert suite.about
    if suite.stored:
        with pytest.raises(UserError, match="only reads sets that contain its images"):
            suite.conditions(USUAL)
        return
    names = [condition.name for condition in suite.conditions(USUAL)]
    assert len(set(names)) == len(names)


def test_smoke_is_three_corruptions_at_three_severities() -> None:
    names = [condition.name for condition in load_suite("smoke").conditions(USUAL)]
    assert names[:2] == ["native", "clean"]
    assert names[2:5] == ["gaussian_noise:1", "gaussian_noise:3", "gaussian_noise:5"]
    assert len(names) == 11


def test_a_suite_file_may_extend_another(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('extends = "smoke"\nname = "mine"\nversion = 3\ncodec = "jpeg:85"\nlevels = [2]\n')
    suite = load_suite(file)
    assert suite.citation == "mine@3"
    names = [condition.name for condition in suite.conditions(USUAL)]
    assert names[:4] == ["native", "clean", "clean+jpeg:85", "gaussian_noise:2+jpeg:85"]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("unitz = []", "Did you mean units"),
        ("units = ['fogg']", "Unknown corruption 'fogg'"),
        ("levels = [0]", "levels are 0"),
        ("levels = []", "levels are none"),
        ("edition = 100", "edition is 100"),
        ("codec = 'jpg'", "Unknown codec"),
        ("canvas = 'mine'", "Unknown canvas"),
        ("metrics = ['mce2']", "Unknown metric"),
        ("subset = 'all'", "subset is 'all'"),
        ("subset = -1", "subset is -1"),
        ("mask = 1", "mask is 1"),
        ("extends = 'smok'", "Did you mean smoke"),
        ("extends = 'bad.toml'", "extends itself"),
        ("levels = [1.0]", "levels is"),
        ("levels = [1, 1]", "contains an entry twice"),
        ("units = [1]", "units is"),
        ("x = ", "not valid TOML"),
    ],
)
def test_a_suite_file_that_cannot_be_right_is_refused(tmp_path: Path, text: str, match: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(f'name = "bad"\nversion = 1\n{text}\n')
    with pytest.raises(UserError, match=match):
        load_suite(file)


def test_a_suite_needs_a_name_and_a_version(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("levels = [1]\n")
    with pytest.raises(UserError, match="no 'name'"):
        load_suite(tmp_path / "bad.toml")


def test_a_suite_that_extends_needs_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "child.toml").write_text('extends = "smoke"\nlevels = [2]\n')
    with pytest.raises(UserError, match="no 'name'"):
        load_suite(tmp_path / "child.toml")


def test_a_cited_version_must_be_the_one_there_is() -> None:
    assert load_suite("smoke@1") == load_suite("smoke")
    with pytest.raises(UserError, match="no smoke@99"):
        load_suite("smoke@99")


def test_only_keeps_some_units_or_levels() -> None:
    suite = load_suite("smoke")
    part = suite.only(["defocus_blur:3", "gaussian_noise:3"])
    assert (part.units, part.levels, part.name) == (("gaussian_noise", "defocus_blur"), (3,), "smoke-part")
    for bad in (["fogg"], ["defocus_blur:9"], ["defocus_blur:"]):
        with pytest.raises(UserError):
            suite.only(bad)


def test_bare_names_are_sequences_in_a_suite_of_sequences() -> None:
    part = load_suite("imagenet-p").only(["spatter", "seq/shear", "tilt"])
    assert part.units == ("seq/tilt", "seq/shear", "seq/spatter")
    assert part.name == "imagenet-p-part" and part.levels == (1,)


def test_a_level_of_only_is_a_difficulty_the_suites_name_tells() -> None:
    suite = load_suite("imagenet-p")
    assert suite.only(["tilt:2"]) == suite.only(["tilt"]).at_difficulty(2)
    assert suite.only(["tilt:2"]).name == "imagenet-p-part-difficulty-2"


@pytest.mark.parametrize(
    ("suite", "only", "words"),
    [
        ("imagenet-p", ["fog"], 'fog"\\] is not a sequence.*suite="imagenet-c".*tilt'),
        ("imagenet-p", ["tilt", "fog"], 'only=\\["fog"\\] is not a sequence'),
        ("imagenet-p", ["decode=opencv"], 'decode=opencv"\\] is not a sequence'),
        ("imagenet-p", ["tlit"], "Unknown sequence 'tlit'. Did you mean tilt.*zoom_blur"),
        ("imagenet-p", ["tilt:1", "tilt:2"], "one difficulty"),
        ("imagenet-c", ["seq/tilt"], 'is a sequence.*suite="imagenet-p"'),
        ("imagenet-c-quick", ["tilt"], 'is a sequence.*suite="imagenet-p"'),
        ("imagenet-c", ["seq/spatter"], "is a sequence"),
        ("as-stored", ["seq/tilt"], "is a sequence"),
        ("imagenet-c", ["fogg"], "Unknown corruption 'fogg'. Did you mean fog"),
        ("imagenet-c", ["fog:3,snow"], 'each unit apart: only=\\["fog:3", "snow"\\]'),
        (
            "imagenet-c",
            ["fog,snow:2, frost"],
            'each unit apart: only=\\["fog", "snow:2", "frost"\\]',
        ),
    ],
)
def test_only_takes_units_of_the_suites_kind(suite: str, only: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        load_suite(suite).only(only)


def test_what_a_suite_is_already_leaves_its_name() -> None:
    suite = load_suite("imagenet-p")
    assert suite.stored_as("none") is suite.at_difficulty(1) is suite
    assert suite.stored_as("jpeg:90").name == "imagenet-p-jpeg90"
    assert suite.at_edition(64).at_edition(64).name == "imagenet-p-64"


@pytest.mark.parametrize(
    ("sizes", "edition", "rule"),
    [
        ({(32, 32)}, 32, "none"),
        ({(28, 28)}, 32, "short-side"),
        ({(47, 60)}, 32, "none"),
        ({(64, 64)}, 64, "none"),
        ({(96, 96)}, 64, "none"),
        ({(97, 97)}, 224, "short-side"),
        ({(32, 32), (33, 32)}, 224, "short-side"),
        ({(500, 375)}, 224, "short-side"),
    ],
)
def test_the_canvas_follows_the_images(sizes: set[tuple[int, int]], edition: int, rule: str) -> None:
    canvas = choose_canvas(load_suite("smoke"), sizes, Geometry())
    assert (canvas.edition, canvas.geometry.rule) == (edition, rule)


def test_small_images_are_enlarged_to_32_and_the_canvas_says_so() -> None:
    canvas = choose_canvas(load_suite("smoke"), {(28, 28)}, Geometry())
    assert (canvas.geometry.resize_px, canvas.geometry.resizer) == (32, "pillow-bilinear")
    assert "enlarged to 32" in canvas.note


def test_the_identity_of_a_condition_is_everything_that_decides_its_pixels() -> None:
    base = corruption_condition("defocus_blur", 3, 224, "none")
    others = [
        corruption_condition("defocus_blur", 4, 224, "none"),
        corruption_condition("defocus_blur", 3, 299, "none"),
        corruption_condition("defocus_blur", 3, 224, "jpeg:85"),
        corruption_condition("jpeg_compression", 3, 224, "none"),
        Condition("clean", edition=224),
        Condition("native"),
        corruption_condition("defocus_blur", 3, 224, "none", {"rule": "none"}),
    ]
    assert len({base.id, *(other.id for other in others)}) == 8
    assert base.id == corruption_condition("defocus_blur", 3, 224, "none").id


def test_identities_last() -> None:
    # Stored runs are joined by these: a change here breaks every comparison with an old run.
    assert Condition("native").id == "5a75c0a82791399ec69dfd5ad693ae3e"
    assert corruption_condition("defocus_blur", 3, 224, "jpeg:85").id == "ad6968ac4e55f4155701c6c90d24efa6"


def test_the_same_unit_on_another_canvas_is_another_condition() -> None:
    suite = load_suite("smoke")
    as_they_are = suite.conditions(choose_canvas(suite, {(44, 44)}, Geometry()))
    squashed = suite.conditions(Canvas(32, GEOMETRIES[32], ""))
    assert [one.name for one in as_they_are] == [one.name for one in squashed]
    assert as_they_are[0].id == squashed[0].id  # native is the model's own way
    assert all(ours.id != theirs.id for ours, theirs in zip(as_they_are[1:], squashed[1:], strict=True))


def test_imagenet_c_is_fifteen_corruptions_stored_as_published() -> None:
    suite = load_suite("imagenet-c")
    conditions = suite.conditions(USUAL)
    assert len(suite.units) == 15
    names = [one.name for one in conditions]
    assert names[:4] == ["native", "clean", "clean+jpeg:85", "gaussian_noise:1+jpeg:85"]
    assert len(conditions) == 3 + 75
    cifar = suite.conditions(choose_canvas(suite, {(32, 32)}, Geometry()))
    assert [one.name for one in cifar[:3]] == ["native", "clean", "gaussian_noise:1"]
    assert suite.stored_as("none").name == "imagenet-c-none"


def test_extra_and_fifteen_never_mix() -> None:
    from windtunnel.metrics.corruption_error import THE_FIFTEEN

    assert set(load_suite("imagenet-c").units) == set(THE_FIFTEEN)
    extra = load_suite("imagenet-c-extra")
    assert set(extra.units) == {"speckle_noise", "gaussian_blur", "spatter", "saturate"}
    assert "mce" not in extra.metrics
    assert load_suite("imagenet-c-quick").subset == 1000


def test_the_native_canvas_is_the_models_own() -> None:
    suite = load_suite("imagenet-c-native")
    own = Geometry(rule="short-side", resize_px=342, crop_px=299, resizer="pillow-bicubic")
    canvas = choose_canvas(suite, {(500, 375)}, own)
    assert (canvas.edition, canvas.geometry) == (299, own)
    assert canvas.overrides()["resizer"] == "pillow-bicubic"


@pytest.mark.parametrize("name", ["imagenet-s", "systematic"])
def test_a_suite_of_steps_is_not_renamed_by_what_changes_nothing(
    name: str, windtunnel_command: Command
) -> None:
    suite = load_suite(name)
    with pytest.raises(
        UserError, match=f"Suite {name} has its own canvas for every edition; leave edition out"
    ):
        suite.at_edition(299)
    with pytest.raises(UserError, match=f"Suite {name} stores no image.*leave codec out"):
        suite.stored_as("jpeg:10")
    with pytest.raises(UserError, match="leave edition out"):
        suite.only(["resize=opencv-area"]).at_edition(64)
    done = windtunnel_command(
        "run", "demo", "demo", "--suite", name, "--edition", "299", "--codec", "jpeg:10"
    )
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_editions_and_codecs_of_corruptions_are_as_ever() -> None:
    assert load_suite("imagenet-c").at_edition(299).stored_as("jpeg:10").name == "imagenet-c-299-jpeg10"
    # With corruptions on its canvas a codec has something to store; an edition still has not.
    mixed = load_suite("imagenet-s").only(["fog", "decode=opencv"])
    assert mixed.stored_as("jpeg:10").codec == "jpeg:10"
    with pytest.raises(UserError, match="leave edition out"):
        mixed.at_edition(64)


@pytest.mark.parametrize(
    ("conditions", "levels"),
    [
        (("fog:3", "snow:3"), {"fog": (3,), "snow": (3,)}),
        (("fog:3", "snow:1", "fog:5"), {"fog": (3, 5), "snow": (1,)}),
        (("fog:3", "snow"), {"fog": (3,), "snow": (1, 2, 3, 4, 5)}),
        (("fog", "snow"), {"fog": (1, 2, 3, 4, 5), "snow": (1, 2, 3, 4, 5)}),
    ],
)
def test_the_text_of_a_suite_has_its_conditions(
    conditions: tuple[str, ...], levels: dict[str, tuple[int, ...]], tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(suite_text("mine", 'about "it"', {"category 1": conditions}, "Selected."))
    suite = load_suite(file)
    assert (suite.name, suite.about) == ("mine", 'about "it"')
    assert {unit: suite.levels_of(unit) for unit in suite.units} == levels


def test_a_suite_of_an_unknown_corruption_or_a_bad_name_is_not_written() -> None:
    with pytest.raises(UserError, match="Unknown corruption 'frog'"):
        suite_text("mine", "", {"a": ["frog:3"]}, "")
    with pytest.raises(UserError, match="letters, digits and hyphens"):
        suite_text("my suite", "", {"a": ["fog:3"]}, "")
