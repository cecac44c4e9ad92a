"""The command line: what it prints, where it leaves things, how it says no."""

from __future__ import annotations

import csv
import io
import json
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.forked_commands import started_command
from tests.onnx_models import write_colour_model
from windtunnel import api
from windtunnel.cli import COMMANDS, cli

HEAVY = ("numba", "cv2", "scipy", "sklearn", "pyarrow", "onnxruntime", "plotly", "torch", "fsspec")


def test_importing_is_light() -> None:
    code = (
        "import sys, time; start = time.perf_counter(); import windtunnel, windtunnel.api\n"
        "took = time.perf_counter() - start\n"
        f"print(took, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    ]
    took, loaded = min(float(run.split()[0]) for run in runs), runs[0].split(maxsplit=1)[1].strip()
    assert loaded == "[]"
    assert took < 0.5


def test_public_names_are_all_there() -> None:
    assert sorted(windtunnel.__all__) == windtunnel.__all__ == dir(windtunnel)
    assert all(getattr(windtunnel, name) is not None for name in windtunnel.__all__)
    assert all(getattr(api, name) is not None for name in dir(api))
    for package in (windtunnel, api):
        with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'nothing'"):
            package.nothing  # noqa: B018


Demo = tuple[Path, subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo in an interpreter and with workers of its own: the folder it ran in, and its output."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, started_command("demo", "--out", "run", cwd=folder)


def test_demo_leaves_a_report(demo: Demo) -> None:
    folder, done = demo
    assert done.returncode == 0, done.stderr
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in done.stdout.splitlines())
    assert lines["report"] == "run/report.html"
    assert set(lines) == {"native error", "clean error", "mean error", "worst", "families", "report"}
    clean = float(lines["clean error"].split()[0])
    mean = float(lines["mean error"].split()[0])
    assert 2 < clean < 7 < mean < 15
    assert {path.name for path in (folder / "run").iterdir()} == {
        "lock", "report.html", "report.md", "run.json", "samples.parquet", "scores.csv", "scores.json",
        "shards",
    }  # fmt: skip


def test_the_report_is_one_offline_file_with_every_number(demo: Demo) -> None:
    folder, done = demo
    assert done.returncode == 0
    page = (folder / "run" / "report.html").read_text()
    assert len(page) < 8_000_000
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", markup)
    assert "@import" not in markup
    for score in windtunnel.load_run(folder / "run").scores():
        assert f"{100 * score.value:.1f}" in markup
    for part in (
        "Error by severity",
        "Error by corruption and severity",
        "All conditions",
        "Failures",
        "Recipe",
    ):
        assert f"<h2>{part}</h2>" in markup
    document = json.loads((folder / "run" / "scores.json").read_text())
    assert document["recipe_digest"] in json.dumps(document["scores"])
    assert document["info"]["suite"] == "demo@1"


def test_json_and_csv_are_the_same_scores(demo: Demo, windtunnel_command: Command) -> None:
    folder, done = demo
    assert done.returncode == 0
    document = json.loads(windtunnel_command("report", "run", "--json", cwd=folder).stdout)
    rows = list(csv.DictReader(io.StringIO(windtunnel_command("report", "run", "--csv", cwd=folder).stdout)))
    assert [(row["metric"], row["condition"], float(row["value"])) for row in rows] == [
        (score["metric"], score["condition"], score["value"]) for score in document["scores"]
    ]
    assert all(score["formula"] and score["n"] == 599 for score in document["scores"])


def test_run_prints_json_on_standard_output_only(windtunnel_command: Command, digit_folder: Path) -> None:
    out = windtunnel_command("run", "demo", digit_folder, "--suite", "smoke", "--json", "--out", "run")
    assert json.loads(out.stdout)["info"]["data"]["name"] == "digit-files"
    assert "clean error" in out.stderr


def test_the_default_folder_names_model_data_suite_and_recipe(
    windtunnel_command: Command, digit_folder: Path, tmp_path: Path
) -> None:
    windtunnel_command("run", "demo", digit_folder, "--suite", "smoke")
    (made,) = (tmp_path / "windtunnel-runs").iterdir()
    assert re.fullmatch(r"digits-digit-files-smoke-[0-9a-f]{8}", made.name)
    windtunnel_command("run", "demo", digit_folder, "--suite", "smoke", "--seed", 1)
    assert len(list((tmp_path / "windtunnel-runs").iterdir())) == 2


@pytest.mark.parametrize("kind", ["corruptions", "suites", "presets", "published", "metrics"])
def test_lists(windtunnel_command: Command, kind: str) -> None:
    rows = json.loads(windtunnel_command("list", kind, "--json").stdout)
    shown = windtunnel_command("list", kind).stdout
    assert rows
    assert all(row["name"] in shown for row in rows)


def test_every_metric_says_what_it_is(windtunnel_command: Command) -> None:
    rows = json.loads(windtunnel_command("list", "metrics", "--json").stdout)
    found = {row["name"]: row for row in rows}
    assert found["flip_probability"]["written"] == "FP"
    assert "share of compared frames whose best class differs" in found["flip_probability"]["about"]
    assert (found["pm_k"]["better"], found["mfp"]["better"], found["axis_accuracy"]["better"]) == (
        "more",
        "less",
        "",
    )
    assert all("partial" not in row["about"] and row["about"].endswith(".") for row in rows)


def test_show_draws_a_contact_sheet(windtunnel_command: Command, tmp_path: Path) -> None:
    out = windtunnel_command("show", "defocus_blur", "--edition", 32)
    assert out.stdout.strip() == "defocus_blur.png"
    with Image.open(tmp_path / "defocus_blur.png") as sheet:
        assert sheet.width > 3 * 224
        assert len(set(sheet.convert("RGB").get_flattened_data())) > 1000
    Image.new("RGB", (300, 200), "orange").save(tmp_path / "mine.jpg")
    assert (
        windtunnel_command("show", "gaussian_noise", "--image", "mine.jpg", "--out", "x.png").returncode == 0
    )
    assert windtunnel_command("show", "gaussian_noise", "--image", "none.jpg").returncode == 2


def test_data_inspect_says_what_it_sees(windtunnel_command: Command, digit_folder: Path) -> None:
    (digit_folder / "0" / "bad.jpg").write_bytes(b"no")
    text = windtunnel_command("data", "inspect", digit_folder).stdout
    for part in ("41", "10 of 10", "all 32x32", "40 PNG", "0/bad.jpg: unreadable"):
        assert part in text
    found = json.loads(windtunnel_command("data", "inspect", digit_folder, "--json").stdout)
    assert found["images"] == 41
    assert windtunnel.inspect_dataset(digit_folder).to_json() == found


@pytest.mark.parametrize(
    ("labels", "notes"),
    [
        (
            ("0", "5", "1000000000000"),
            [
                "2 of 3 class names are class indices, '1000000000000' is not (image '2.png'): all count as "
                "names, in sorted order. 1000000000000 is too large for a class index; give 0 to 99,999."
            ],
        ),
        (
            ("0", "5", "cat"),
            [
                "2 of 3 class names are class indices, 'cat' is not (image '2.png'): all count as names, in "
                "sorted order."
            ],
        ),
        (
            ("0", "5", "995"),
            [
                "Of the class indices 0 to 995, 3 occur. If they are ImageNet-1k's, pass --labels "
                "imagenet-1k to run, plan, doctor, score or make."
            ],
        ),
        (
            ("0", "n01440764", "cat"),
            [
                "The class names are of several kinds: WordNet ids of ImageNet-1k ('n01440764'), class "
                "indices ('0'), other names ('cat'). All count as names, in sorted order."
            ],
        ),
        (("0", "5", "1000"), []),
        (("0", "1", "2"), []),
        (("cat", "dog", "fox"), []),
    ],
)
def test_data_inspect_warns_of_labels(
    windtunnel_command: Command, tmp_path: Path, labels: tuple[str, ...], notes: list[str]
) -> None:
    for number in range(3):
        Image.new("RGB", (40, 40), (60 * number, 0, 0)).save(tmp_path / f"{number}.png")
    rows = [f"{number}.png,{label}" for number, label in enumerate(labels)]
    (tmp_path / "data.csv").write_text("\n".join(["path,label", *rows]))
    done = windtunnel_command("data", "inspect", tmp_path / "data.csv", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["remarks"] == notes
    if notes:
        shown = windtunnel_command("data", "inspect", tmp_path / "data.csv").stdout
        assert f"note {notes[0]}" in " ".join(shown.split())


def test_warmup_and_golden(windtunnel_command: Command) -> None:
    assert "ready in" in windtunnel_command("warmup").stdout
    out = windtunnel_command("dev", "golden", "--check")
    assert out.returncode == 0, out.stdout
    assert out.stdout.count("as in the file") == len(out.stdout.splitlines())


@pytest.mark.parametrize("name", [*COMMANDS, "data inspect", "dev golden"])
def test_every_command_has_help(name: str) -> None:
    result = CliRunner().invoke(cli, [*name.split(), "--help"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: cli {name}")


WRONG = {
    "missing path": (["run", "demo", "nowhere"], "No such data: nowhere"),
    "empty folder": (["run", "demo", "empty"], "contains no images"),
    "unknown suite": (["run", "demo", "demo", "--suite", "smok"], "Did you mean smoke"),
    "misspelt corruption": (["show", "gausian_noise"], "Did you mean gaussian_noise"),
    "misspelt unit of a suite": (
        ["run", "demo", "demo", "--only", "defocus_blurr"],
        "Did you mean defocus_blur",
    ),
    "model that is no model": (["run", "text.onnx", "demo"], "not a model"),
    "missing model": (["run", "none.onnx", "demo"], "No such model"),
    "10-class model on 1000-class data": (["run", "ten.onnx", "imagenet"], "ImageNet-1k, 1000 classes"),
    "unknown TOML key": (["run", "demo", "demo", "--suite", "bad.toml"], "Did you mean units"),
    "unknown option": (["run", "demo", "demo", "--sede", "1"], "--seed"),
    "unknown command": (["rnu"], "Did you mean run"),
    "no arguments": (["run"], "Missing argument 'MODEL... DATA'"),
    "wrong preset": (["run", "demo", "demo", "--preprocess", "imagnet"], "Did you mean imagenet"),
    "wrong keep": (["run", "demo", "demo", "--keep", "all"], "auto, logits, summary"),
    "output below a file": (["run", "demo", "demo", "--out", "text.onnx/run"], "cannot be written"),
    "output on a folder of other things": (
        ["run", "demo", "demo", "--out", "imagenet"],
        "contains other files",
    ),
    "severity of one strength": (["show", "s2n/random_fog:3"], "has one strength; write s2n/random_fog."),
    "image into no folder": (["show", "gaussian_noise", "--out", "nope/x.png"], "nope/x.png"),
    "image of no kind": (["show", "gaussian_noise", "--out", "x.xyz"], ".png"),
    "suite of bytes": (["run", "demo", "demo", "--suite", "bytes.toml"], "not valid TOML"),
    "no run": (["report", "empty"], "is not a run folder"),
}


@pytest.fixture
def wrong_inputs(tmp_path: Path, digit_folder: Path) -> Path:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.onnx").write_text("hello")
    (tmp_path / "bad.toml").write_text('name = "bad"\nversion = 1\nunitz = []\n')
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    write_colour_model(tmp_path / "ten.onnx", side=224)
    (tmp_path / "imagenet" / "n01440764").mkdir(parents=True)
    Image.new("RGB", (64, 64)).save(tmp_path / "imagenet" / "n01440764" / "a.JPEG")
    return tmp_path


def children_seconds() -> float:
    """CPU time of the processes that this one has waited for: other work on the machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# The time of these is measured as well, each in a new interpreter: their imports differ.
TIMED = ("missing path", "misspelt corruption", "unknown command", "model that is no model", "no run")


def test_mistakes_get_one_line_exit_2_and_little_time(
    wrong_inputs: Path, windtunnel_command: Command
) -> None:
    took = []
    for name, (arguments, part) in WRONG.items():
        if name in TIMED:
            before = children_seconds()
            out = started_command(*arguments, cwd=wrong_inputs)
            took.append(children_seconds() - before)
        else:
            out = windtunnel_command(*arguments)
        assert out.returncode == 2, (name, out)
        assert out.stdout == "", name
        assert len(out.stderr.splitlines()) == 1, (name, out.stderr)
        assert out.stderr.startswith("error: "), name
        assert part in out.stderr, (name, out.stderr)
    assert len(took) == len(TIMED) and statistics.median(took) < 2
    assert not (wrong_inputs / "windtunnel-runs").exists()


def test_a_crash_is_exit_70_with_the_line_that_resumes(windtunnel_command: Command, tmp_path: Path) -> None:
    (tmp_path / "fragile.py").write_text(
        "import numpy as np\n"
        "def make():\n"
        "    calls = []\n"
        "    def predict(batch):\n"
        "        calls.append(1)\n"
        "        if len(calls) > 1:\n"
        "            raise MemoryError('no room')\n"
        "        return np.tile(np.arange(10.0), (len(batch), 1))\n"
        "    return predict\n"
    )
    options = ("--suite", "smoke", "--workers", 1, "--out", "run")
    out = windtunnel_command("run", "fragile.py:make", "demo", *options)
    assert out.returncode == 70
    last = out.stderr.splitlines()[-1]
    assert last.startswith("failed: the model fails on every image: MemoryError: no room")
    assert last.endswith(
        "To continue: windtunnel run fragile.py:make demo --suite smoke --workers 1 --out run"
    )
    assert "Traceback" not in out.stderr


@pytest.mark.parametrize("group", [(), ("data",), ("dev",), ("labels",)])
def test_help_describes_every_command_in_one_line_of_80_columns(group: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*group, "--help"], terminal_width=80)
    listed = result.output.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert listed and (group or [line.split()[0] for line in listed] == sorted(COMMANDS))
    for line in listed:
        assert len(line) <= 80 and line.endswith(".") and not line.endswith("..."), line


@pytest.mark.parametrize("kind", ["corruptions", "sequences", "suites", "presets", "metrics"])
def test_lists_are_readable_at_80_columns(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is longer, and no text is squeezed into a column of a few words."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = CliRunner().invoke(cli, ["list", kind]).output.splitlines()
    rows = json.loads(CliRunner().invoke(cli, ["list", kind, "--json"]).output)
    assert max(map(len, lines)) <= 80
    starts = [line.split()[0] for line in lines if line.split()]
    assert {row["name"] for row in rows} <= set(starts)
    assert len(lines) <= 5 * len(rows) + 5


def test_every_metric_is_listed_with_unit_direction_and_its_whole_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    blocks = CliRunner().invoke(cli, ["list", "metrics"]).output.strip("\n").split("\n\n")
    rows = json.loads(CliRunner().invoke(cli, ["list", "metrics", "--json"]).output)
    assert len(blocks) == len(rows)
    for block, row in zip(blocks, rows, strict=True):
        first, *about = block.splitlines()
        assert first.split()[0] == row["name"] and " ".join(map(str.strip, about)) == row["about"]
        direction = {"less": "lower is better", "more": "higher is better"}.get(row["better"], "")
        assert direction in first and row["unit"] in first and row["written"] in first


def test_help_alone_is_help(windtunnel_command: Command) -> None:
    out = windtunnel_command()
    assert out.returncode == 2
    assert out.stderr.startswith("Usage: windtunnel")
    assert len(out.stderr.splitlines()) > 10


def test_a_model_that_prints_does_not_spoil_json(windtunnel_command: Command, tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text(
        "import numpy as np\n"
        "def make():\n"
        "    print('loading')\n"
        "    def predict(batch):\n"
        "        print('predicting')\n"
        "        return np.tile(np.arange(10.0), (len(batch), 1))\n"
        "    return predict\n"
    )
    arguments = ("demo", "--suite", "smoke", "--subset", 20, "--workers", 1, "--out", "run", "--json")
    out = windtunnel_command("run", "chatty:make", *arguments)
    assert json.loads(out.stdout)["recipe"]["data"]["count"] == 20, out.stderr


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("gate", "a", "b", "--markdown"), "windtunnel gate"),
        (("data", "inspect", "--nope"), "windtunnel data inspect"),
    ],
)
def test_a_wrong_option_points_to_the_help_of_its_command(
    arguments: tuple[str, ...], command: str, windtunnel_command: Command
) -> None:
    told = windtunnel_command(*arguments)
    assert told.returncode == 2
    assert told.stderr.rstrip().endswith(f"({command} --help)"), told.stderr


def test_help_imports_no_command_and_none_of_the_large_libraries() -> None:
    code = (
        "import sys; from windtunnel.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pyarrow', 'scipy', 'cv2', 'rich', 'onnxruntime', 'windtunnel.cli.run'}\n"
        "sys.exit(str(sorted(heavy & set(sys.modules))) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
