"""Decoders, resizers and codecs: the shipped ones declare their facts, and a stranger's file is enough."""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conformance.test_docs import every_command
from tests.conftest import Command
from tests.strangers import EXAMPLES
from windtunnel import cli
from windtunnel.core import registry
from windtunnel.core.errors import ImageError, UserError
from windtunnel.imaging.codecs import REGISTRY as CODECS
from windtunnel.imaging.codecs import Codec, check_codec, encode, is_lossless, round_trip, suffix_of
from windtunnel.imaging.decoders import REGISTRY as DECODERS
from windtunnel.imaging.decoders import Decoder, decode
from windtunnel.imaging.formats import FORMATS
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.header import read_header
from windtunnel.imaging.resizers import REGISTRY as RESIZERS
from windtunnel.imaging.resizers import Resizer, resize, resizer_names
from windtunnel.models.preprocess import read_declaration
from windtunnel.suites.golden_digests import golden_image
from windtunnel.suites.pipeline_steps import spelt_out

HEIGHT, WIDTH = 48, 64


def small_image() -> np.ndarray:
    """A small image that is higher than wide in no direction a bug could swap unseen."""
    return np.ascontiguousarray(golden_image(WIDTH)[:HEIGHT])


def encoded(format_: str = "JPEG") -> bytes:
    """The small image as a file."""
    out = io.BytesIO()
    Image.fromarray(small_image()).save(out, format_)
    return out.getvalue()


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """The three examples in one file."""
    file = tmp_path / "stranger.py"
    file.write_text("\n".join(EXAMPLES[kind].text for kind in ("decoders", "resizers", "codecs")))
    return file


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plug-ins that a test includes are unknown to the next one."""
    for one in (DECODERS, RESIZERS, CODECS):
        monkeypatch.setattr(one, "_added", dict(one._added))
        monkeypatch.setattr(one, "_loaded", dict(one._loaded))
    monkeypatch.setattr(registry, "_INCLUDED", dict(registry._INCLUDED))
    yield


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Nine JPEG files in three classes."""
    root = tmp_path / "photos"
    for number in range(9):
        file = root / f"{number % 3}" / f"{number}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        coarse = np.random.default_rng(number).integers(0, 256, (9, 13, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((130, 90), Image.Resampling.BICUBIC).save(file, quality=80)
    return root


class Thirds:
    """A model that says which third of the greys the mean is in."""

    name = "thirds"

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        means = batch.reshape(len(batch), -1).mean(axis=1) * 7 % 3
        return -np.abs(means[:, None] - np.arange(3)[None]).astype(np.float32)


def included(folder: Path, text: str) -> Path:
    """A file of the user's, included."""
    file = folder / "mine.py"
    file.write_text(
        "import numpy as np\n"
        "from windtunnel.imaging.codecs import codec\n"
        "from windtunnel.imaging.decoders import decoder\n"
        "from windtunnel.imaging.resizers import resizer\n" + textwrap.dedent(text)
    )
    windtunnel.include(file)
    return file


@pytest.mark.parametrize("name", DECODERS.shipped())
def test_a_shipped_decoder_declares_its_facts_and_reads_its_formats(name: str) -> None:
    found = DECODERS.get(name)
    assert found.name == name and found.help.endswith(".") and "\n" not in found.help and found.library
    assert set(found.formats) <= {*FORMATS, "MPO"} and found.rank < 100 and not found.assets()
    if found.needs:
        pytest.importorskip(found.needs)
    for format_ in set(found.formats or ("JPEG", "PNG", "BMP")) - {"MPO"}:
        data = encoded(format_)
        image = decode(data, read_header(data), name, at_least=(WIDTH, HEIGHT))
        assert (image.dtype, image.shape) == (np.uint8, (HEIGHT, WIDTH, 3))
        assert np.abs(image.astype(int) - small_image()).mean() < 20


@pytest.mark.parametrize("name", RESIZERS.shipped())
def test_a_shipped_resizer_declares_its_facts_and_returns_the_size(name: str) -> None:
    found = RESIZERS.get(name)
    assert found.name == name and found.help.endswith(".") and "\n" not in found.help and found.library
    assert found.filters and found.rank < 100 and not found.assets()
    if found.needs:
        pytest.importorskip(found.needs)
    for resizer in found.resizers:
        image = resize(small_image(), 20, 30, resizer)
        assert (image.dtype, image.shape) == (np.uint8, (30, 20, 3)), resizer


@pytest.mark.parametrize("name", CODECS.shipped())
def test_a_shipped_codec_declares_its_facts_and_keeps_the_size(name: str) -> None:
    found = CODECS.get(name)
    assert found.name == name and found.help.endswith(".") and found.suffix.startswith(".")
    codec = check_codec(f"{name}:{found.parameter.most}" if found.parameter else name)
    image = round_trip(small_image(), codec)
    assert (image.dtype, image.shape) == (np.uint8, (HEIGHT, WIDTH, 3))
    assert np.array_equal(image, small_image()) == found.lossless == is_lossless(codec)
    content = encode(small_image(), codec)
    assert decode(content, read_header(content)).shape == image.shape


def test_everything_is_in_the_order_of_earlier_recipes() -> None:
    """A new decoder or resizer follows those of earlier recipes."""
    names = "pillow opencv ffmpeg simplejpeg simplejpeg-fastdct simplejpeg-fastupsample simplejpeg-scaled"
    assert spelt_out("decode=*")[:7] == [f"decode={name}" for name in names.split()]
    steps = spelt_out("resize=*")[:17]
    assert [steps[at] for at in (0, 5, 6, 12, 13, 16)] == [
        "resize=pillow-nearest", "resize=pillow-lanczos", "resize=opencv-nearest", "resize=opencv-lanczos",
        "resize=torch-bilinear", "resize=torch-bicubic-antialias",
    ]  # fmt: skip


def test_unknown_names_say_what_was_meant_and_what_there_is() -> None:
    with pytest.raises(UserError, match=r"Did you mean pillow\?.*windtunnel list decoders"):
        Geometry(decoder="pilow")
    with pytest.raises(UserError, match=r"Did you mean opencv-area\?.*windtunnel list resizers"):
        Geometry(resizer="opencv-aera")
    with pytest.raises(
        UserError,
        match=r"^Unknown codec 'webp:80'\. Give none, png, or jpeg:QUALITY with a quality from 1 to 100\.$",
    ):
        check_codec("webp:80")


def test_the_examples_are_one_of_each_kind(stranger: Path) -> None:
    assert windtunnel.include(stranger) == ["indexing", "pillow-draft", "webp"]
    kinds = [
        type(one) for one in (DECODERS.get("pillow-draft"), RESIZERS.get("indexing"), CODECS.get("webp"))
    ]
    assert kinds == [Decoder, Resizer, Codec]
    data = encoded()
    assert decode(data, read_header(data), "pillow-draft", at_least=(20, 20)).shape == (24, 32, 3)
    corners = resize(small_image(), 32, 24, "indexing-corner")
    assert np.array_equal(corners, small_image()[::2, ::2])
    assert resizer_names()[-2:] == ["indexing-corner", "indexing-centre"]
    stored = encode(small_image(), "webp:80")
    assert stored[8:12] == b"WEBP" and suffix_of("webp:80") == ".webp"
    assert round_trip(small_image(), "webp:80").shape == (HEIGHT, WIDTH, 3)
    with pytest.raises(UserError, match=r"or webp:QUALITY with a quality from 1 to 100\.$"):
        check_codec("webp:0")


@pytest.mark.parametrize(
    "command", ["list", "run", "plan", "make", "score", "report", "doctor", "explain", "distance", "show"]
)
def test_commands_that_make_images_take_include(command: str) -> None:
    found = every_command(cli.cli)[f"windtunnel {command}"]
    assert "include" in [parameter.name for parameter in found.params]


def test_a_strangers_plugins_are_listed(stranger: Path, windtunnel_command: Command) -> None:
    for kind, name in (
        ("decoders", "pillow-draft"),
        ("resizers", "indexing-centre"),
        ("codecs", "webp:QUALITY"),
    ):
        done = windtunnel_command("list", kind, "--include", stranger, "--json")
        assert done.returncode == 0, done.stderr
        rows = {row["name"]: row for row in json.loads(done.stdout)}
        assert rows[name]["help"].endswith(".")


def test_a_strangers_steps_run_in_workers_and_are_scored_and_reported(
    stranger: Path, photos: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    (tmp_path / "net.py").write_text(
        "import numpy as np\n"
        "def net():\n"
        "    return predict\n"
        "def predict(batch):\n"
        "    means = batch.reshape(len(batch), -1).mean(axis=1) * 7 % 3\n"
        "    return -np.abs(means[:, None] - np.arange(3)[None]).astype(np.float32)\n"
    )
    (tmp_path / "net.toml").write_text(
        "[geometry]\ndecoder = 'pillow-draft'\nresizer = 'indexing-centre'\nresize_px = 36\ncrop_px = 32\n"
    )
    (tmp_path / "mine.toml").write_text(
        "name = 'mine'\nversion = 1\ncanvas = 'native'\n"
        "units = ['decode=pillow', 'resize=indexing-corner', 'resize=pillow-bilinear']\n"
        "metrics = ['top1_error', 'step_cost', 'step_flip_share']\n"
    )
    options = ("--suite", "mine.toml", "--preprocess", "net.toml", "--include", stranger)
    done = windtunnel_command("run", "net.py:net", photos, *options, "--out", "run", "--workers", 2)
    assert done.returncode == 0, done.stderr
    run = windtunnel.load_run(tmp_path / "run")
    assert [condition.name for condition in run.conditions][1:] == [
        "decode=pillow", "resize=indexing-corner", "resize=pillow-bilinear",
    ]  # fmt: skip
    digests = run.recipe.model.assets
    assert set(digests) == {"decoder pillow-draft", "resizer indexing"}
    assert [set(condition.assets) for condition in run.conditions][1:] == [
        {"resizer indexing"}, {"decoder pillow-draft", "resizer indexing"}, {"decoder pillow-draft"},
    ]  # fmt: skip
    assert set(run.predictions()["status"].to_pylist()) == {"ok"}
    # Neither scores nor reports need the file.
    scored = windtunnel_command("score", "run", "--json")
    assert scored.returncode == 0 and "resize=indexing-corner" in scored.stdout, scored.stderr
    for more in ((), ("--include", stranger)):
        assert windtunnel_command("report", "run", *more).returncode == 0
        assert "indexing-corner" in (tmp_path / "run" / "report.html").read_text()
    # Another version of the file is another recipe.
    stranger.write_text(stranger.read_text() + "\n# edited\n")
    again = windtunnel_command("run", "net.py:net", photos, *options, "--out", "run")
    assert again.returncode == 2, again.stderr
    assert "run contains a run with another model, another list of conditions" in again.stderr


def test_everything_contains_what_is_included(stranger: Path, photos: Path, tmp_path: Path) -> None:
    run = windtunnel.run(
        Thirds(), photos, "imagenet-s", only=["decode=*"], include=[stranger], out=tmp_path / "run", subset=3
    )
    assert "decode=pillow-draft" in [condition.name for condition in run.conditions]


def test_a_strangers_steps_and_codec_are_made_and_another_version_is_noticed(
    stranger: Path, photos: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    steps = ("--only", "decode=opencv", "--only", "resize=indexing-centre", "--include", stranger)
    done = windtunnel_command("make", "imagenet-s", photos, "arrays", *steps, "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "arrays/pil/indexing-centre/0/0.jpg.npy").shape == (224, 224, 3)
    assert windtunnel_command("data", "verify", "arrays").returncode == 0
    codec = ("--only", "contrast:3", "--codec", "webp:80", "--edition", "32", "--include", stranger)
    done = windtunnel_command("make", "imagenet-c", photos, "files", *codec, "--layout", "folders")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "files/contrast/3").rglob("*.webp"))) == 9
    stranger.write_text(stranger.read_text() + "\n# edited\n")
    for again in (
        ("make", "imagenet-s", photos, "arrays", *steps),
        ("make", "imagenet-c", photos, "files", *codec, "--layout", "folders"),
    ):
        done = windtunnel_command(*again)
        assert done.returncode == 2 and "Two recipes are never mixed" in done.stderr, done.stderr


def test_training_draws_a_strangers_steps_and_notices_another_version(
    stranger: Path, photos: Path, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from windtunnel.train import Mix, Settings, fit

    windtunnel.include(stranger)
    preprocess = tmp_path / "net.toml"
    preprocess.write_text("[geometry]\nrule = 'exact'\ncrop_px = 16\n")
    mix = Mix(resizers=("indexing-corner", "pillow-box"))
    settings = Settings(epochs=1, batch=3, learning_rate=0.01)

    def train() -> None:
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 3))
        fit(module, photos, tmp_path / "trained", preprocess=preprocess, settings=settings, mix=mix)

    train()
    recipe = json.loads((tmp_path / "trained" / "training.json").read_text())
    assert list(recipe["recipe"]["mix"]["assets"]) == ["resizer indexing"]
    stranger.write_text(stranger.read_text() + "\n# edited\n")
    windtunnel.include(stranger)
    with pytest.raises(UserError, match="contains another training"):
        train()
    with pytest.raises(UserError, match="Decoder pillow-draft shrinks"):
        fit(
            torch.nn.Flatten(), photos, tmp_path / "other", preprocess=preprocess,
            mix=Mix(decoders=("pillow-draft",)),
        )  # fmt: skip


def test_a_models_toml_names_a_strangers_decoder(stranger: Path, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("[geometry]\ndecoder = 'pillow-draft'\n")
    with pytest.raises(UserError, match="Unknown decoder 'pillow-draft'"):
        read_declaration(tmp_path / "m.toml")
    windtunnel.include(stranger)
    geometry = read_declaration(tmp_path / "m.toml").preprocess.geometry
    assert list(geometry.assets()) == ["decoder pillow-draft"]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("np.zeros((header.height, header.width, 3), np.float32)", r"returns float32 \(48, 64, 3\)"),
        ("np.zeros((header.height, header.width), np.uint8)", r"returns uint8 \(48, 64\)"),
        ("None", "returns NoneType"),
    ],
)
def test_a_decoder_that_returns_something_else_is_refused_in_one_line(
    body: str, what: str, tmp_path: Path
) -> None:
    included(tmp_path, f"@decoder(help='x')\ndef odd_one(data, header, at_least):\n    return {body}\n")
    data = encoded()
    with pytest.raises(UserError, match=f"The decoder odd-one {what}; it must return a uint8 array"):
        decode(data, read_header(data), "odd-one")


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("1 / 0", "odd-one: ZeroDivisionError: division by zero"),
        ("np.zeros((5, 7, 3), np.uint8)", "odd-one: decodes 7x5, but the header has 64x48"),
    ],
)
def test_an_image_that_a_decoder_fails_on_is_a_row(body: str, what: str, tmp_path: Path) -> None:
    included(tmp_path, f"@decoder(help='x')\ndef odd_one(data, header, at_least):\n    return {body}\n")
    data = encoded()
    with pytest.raises(ImageError, match=what):
        decode(data, read_header(data), "odd-one")


def test_images_that_a_strangers_decoder_fails_on_are_rows_of_the_run(photos: Path, tmp_path: Path) -> None:
    file = included(
        tmp_path,
        """
        @decoder(help="Fails on some.")
        def moody(data, header, at_least):
            if len(data) % 2:
                raise ValueError("odd number of bytes")
            return np.zeros((header.height, header.width, 3), np.uint8)
        """,
    )
    odd = sum(path.stat().st_size % 2 for path in photos.rglob("*.jpg"))
    assert 0 < odd < 9
    run = windtunnel.run(
        Thirds(), photos, "imagenet-s", only=["decode=moody"], include=[file], out=tmp_path / "run"
    )
    rows = run.predictions().to_pylist()
    failed = [row for row in rows if row["status"] != "ok"]
    assert len(failed) == odd and {row["condition"] for row in failed} == {"decode=moody"}
    assert {row["reason"] for row in failed} == {"moody: ValueError: odd number of bytes"}


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("image.astype(np.float32)", r"returns float32 \(48, 64, 3\); it must return uint8 \(30, 20, 3\)"),
        ("image", r"returns uint8 \(48, 64, 3\); it must return uint8 \(30, 20, 3\)"),
        ("[1]", "returns list; it must return"),
        ("1 / 0", "failed: ZeroDivisionError: division by zero"),
    ],
)
def test_a_resizer_that_is_wrong_is_refused_in_one_line(body: str, what: str, tmp_path: Path) -> None:
    included(
        tmp_path,
        f"@resizer(help='x', filters={{'a': 1}})\ndef odd_one(image, width, height, a):\n    return {body}\n",
    )
    with pytest.raises(UserError, match=f"The resizer odd-one-a {what}"):
        resize(small_image(), 20, 30, "odd-one-a")


def test_a_resizer_cannot_change_the_image_it_is_given(tmp_path: Path) -> None:
    included(
        tmp_path,
        """
        @resizer(help="Writes into its input.", filters={"a": 1})
        def scribble(image, width, height, which):
            image[:] = 0
            return image[:height, :width].copy()
        """,
    )
    image = small_image()
    assert not resize(image, 20, 30, "scribble-a").any()
    assert np.array_equal(image, small_image())


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("1 / 0", "codec odd-one failed: ZeroDivisionError"),
        ("image", "codec odd-one returns ndarray; it must return bytes"),
        (
            "b'nothing'",
            "The content that the codec odd-one stores is unreadable: not an image in a supported format",
        ),
    ],
)
def test_a_codec_that_is_wrong_is_refused_in_one_line(body: str, what: str, tmp_path: Path) -> None:
    included(tmp_path, f"@codec(help='x', suffix='.odd')\ndef odd_one(image):\n    return {body}\n")
    with pytest.raises(UserError, match=what):
        round_trip(small_image(), check_codec("odd-one"))


def test_a_wrong_resizer_stops_a_run_in_one_line(
    photos: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    file = included(
        tmp_path,
        "@resizer(help='x', filters={'a': 1})\ndef odd_one(image, width, height, a):\n    return image / 2\n",
    )
    done = windtunnel_command(
        "run", "demo", photos, "--suite", "imagenet-s", "--only", "resize=odd-one-a", "--include", file,
        "--labels-are-outputs",
    )  # fmt: skip
    assert done.returncode == 2 and "The resizer odd-one-a returns float64" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            """
            calls = []
            @resizer(help="Depends on the number of calls.", filters={"a": 1})
            def fickle(image, width, height, a):
                calls.append(1)
                return np.full((height, width, 3), len(calls), np.uint8)
            """,
            r"resizer=fickle-a \(mine.py\) changes its pixels for the same image of 64 pixels from one call "
            "to the next; possible causes: a generator without a seed, the clock, or kept state",
        ),
        (
            """
            @resizer(help="Draws from NumPy's global generator.", filters={"a": 1})
            def fickle(image, width, height, a):
                return np.random.randint(0, 256, (height, width, 3), dtype=np.uint8)
            """,
            "with the state of the global generator of numpy.random, from which it draws",
        ),
    ],
)
def test_a_resizer_whose_pixels_vary_is_refused_before_the_run(
    text: str, what: str, photos: Path, tmp_path: Path
) -> None:
    included(tmp_path, text)
    with pytest.raises(UserError, match=what):
        windtunnel.plan(Thirds(), photos, "imagenet-s", only=["resize=fickle-a"])


def test_a_decoder_of_a_models_own_preprocessing_is_tried_before_the_run(
    photos: Path, tmp_path: Path
) -> None:
    included(tmp_path, "@decoder(help='x')\ndef odd_one(data, header, at_least):\n    return None\n")
    (tmp_path / "m.toml").write_text("[geometry]\ndecoder = 'odd-one'\n")
    with pytest.raises(UserError, match="The decoder odd-one returns NoneType"):
        windtunnel.plan(Thirds(), photos, "imagenet-s", preprocess=tmp_path / "m.toml")


FAILING = {
    "decoder": (
        "@decoder(help='x')\ndef odd_one(data, header, at_least):\n    raise KeyError('table')\n",
        r"The decoder odd-one reads none of 21 images that it was tried on: KeyError: 'table'\. Correct it",
    ),
    "resizer": (
        "@resizer(help='x', filters={'a': 1})\ndef odd_one(image, width, height, a):\n    return 1 / 0\n",
        "The resizer odd-one-a failed: ZeroDivisionError",
    ),
}


@pytest.mark.parametrize("kind", FAILING)
def test_a_step_that_fails_on_every_image_is_refused_before_a_run_a_set_or_a_training(
    kind: str, photos: Path, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from windtunnel.train import Mix, fit

    text, what = FAILING[kind]
    included(tmp_path, text)
    name = "odd-one" if kind == "decoder" else "odd-one-a"
    only = [f"{'decode' if kind == 'decoder' else 'resize'}={name}"]
    with pytest.raises(UserError, match=what):
        windtunnel.plan(Thirds(), photos, "imagenet-s", only=only)
    with pytest.raises(UserError, match=what):
        windtunnel.make_set("imagenet-s", photos, tmp_path / "set", only=only)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 3))
    (tmp_path / "net.toml").write_text("[geometry]\nrule = 'exact'\ncrop_px = 16\n")
    with pytest.raises(UserError, match=what):
        fit(
            module, photos, tmp_path / "trained", preprocess=tmp_path / "net.toml",
            mix=Mix(**{f"{kind}s": ("pillow" if kind == "decoder" else "pillow-box", name)}),
        )  # fmt: skip
    assert not (tmp_path / "set").exists() and not (tmp_path / "trained").exists()


def test_a_decoder_of_one_format_is_tried_on_that_format(photos: Path, tmp_path: Path) -> None:
    included(
        tmp_path,
        """
        @decoder(help="Undeclared: reads JPEG only.")
        def jpegs(data, header, at_least):
            if header.format != "JPEG":
                raise ValueError("not JPEG")
            return np.zeros((header.height, header.width, 3), np.uint8)
        """,
    )
    assert windtunnel.plan(Thirds(), photos, "imagenet-s", only=["decode=jpegs"]).conditions
