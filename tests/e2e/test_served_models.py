"""Models of an inference server: every stored prediction is the model's own, whatever the server does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import windtunnel
from tests.inference_server import Settings, free_port, serving
from tests.onnx_models import write_colour_model
from windtunnel.core.errors import RunFailed, UserError
from windtunnel.models import load_model

IMAGES = np.random.default_rng(2).integers(0, 256, (70, 32, 32, 3), np.uint8)
OPTIONS = windtunnel.RunOptions(subset=40, chunk=10, preprocess="cifar", keep="logits", mask=False)
# Loading takes two requests, and the check for batch dependence at least three more.
FIRST = 6
FAULTS = (
    "500",
    "truncated",
    "bytes",
    "json",
    "shape",
    "few",
    "dtype",
    "id",
    "model",
    "429",
    "503",
    "timeout",
    "exit",
)


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    return write_colour_model(tmp_path / "colours.onnx")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short time-outs, and short pauses between attempts."""
    monkeypatch.setenv("WINDTUNNEL_KSERVE_TIMEOUT", "2")
    monkeypatch.setattr("windtunnel.models.http_requests.FIRST_PAUSE_S", 0.05)


def negated(file: Path) -> Path:
    """Another model with the same inputs and outputs."""
    model = onnx.load(file)
    (weights,) = model.graph.initializer
    weights.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(weights), weights.name))
    onnx.save(model, file.with_name("other.onnx"))
    return file.with_name("other.onnx")


def rows(run: windtunnel.Run) -> list[tuple[object, ...]]:
    """What is stored for every image and condition."""
    table = run.predictions()
    return [
        tuple(tuple(value) if isinstance(value, list) else value for value in row.values())
        for row in table.to_pylist()
    ]


def test_no_prediction_is_lost_or_invented_by_a_failing_server(tmp_path: Path, model_file: Path) -> None:
    faults = {str(FIRST + 2 * place): fault for place, fault in enumerate(FAULTS)}
    port = free_port()
    again = Settings(str(model_file), port, faults={"9": "500"})
    with serving(tmp_path, Settings(str(model_file), port, faults=faults), again) as server:
        served = windtunnel.run(server.url, "demo", "smoke", OPTIONS, out=tmp_path / "served", batch=16)
        assert server.starts == 2
    local = windtunnel.run(str(model_file), "demo", "smoke", OPTIONS, out=tmp_path / "local")
    assert rows(served) == rows(local)
    assert served.recipe.model.kind == "kserve"


def test_a_server_that_stays_away_stops_the_run_which_continues_later(
    tmp_path: Path, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDTUNNEL_KSERVE_ATTEMPTS", "2")
    port = free_port()
    # From the middle of the run on, every response is cut off.
    broken = {str(number): "truncated" for number in range(FIRST + 20, 2000)}
    with (
        serving(tmp_path, Settings(str(model_file), port, faults=broken)) as server,
        pytest.raises(RunFailed, match=r"gives no usable response \(2 attempts\): the body ends"),
    ):
        windtunnel.run(server.url, "demo", "smoke", OPTIONS, out=tmp_path / "run", batch=16)
    with pytest.raises(RunFailed, match="connection refused"):
        windtunnel.run(server.url, "demo", "smoke", OPTIONS, out=tmp_path / "run", batch=16)
    with serving(tmp_path, Settings(str(model_file), port)) as server:
        finished = windtunnel.run(server.url, "demo", "smoke", OPTIONS, out=tmp_path / "run", batch=16)
    local = windtunnel.run(str(model_file), "demo", "smoke", OPTIONS, out=tmp_path / "local")
    assert rows(finished) == rows(local)
    other = negated(model_file)
    with (
        serving(tmp_path, Settings(str(other), port)) as server,
        pytest.raises(UserError, match="contains a run with another model"),
    ):
        windtunnel.run(server.url, "demo", "smoke", OPTIONS, out=tmp_path / "run", batch=16)


def test_waiting_for_a_server_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WINDTUNNEL_KSERVE_ATTEMPTS", "4")
    monkeypatch.setattr("windtunnel.models.http_requests.FIRST_PAUSE_S", 0.5)
    with pytest.raises(RunFailed, match="connection refused"):
        load_model(f"kserve://127.0.0.1:{free_port()}/served", "cifar")
    (said,) = caplog.messages
    assert said.endswith("gives no usable response (connection refused); asking again (attempts left: 1).")


def test_json_tensors_give_the_same_scores(tmp_path: Path, model_file: Path) -> None:
    local = load_model(model_file, "cifar").predict(IMAGES)
    with serving(tmp_path, Settings(str(model_file), free_port(), binary=False)) as server:
        model = load_model(server.url, "cifar")
        assert np.array_equal(model.predict(IMAGES), local)


def test_a_restart_with_another_model_is_noticed(tmp_path: Path, model_file: Path) -> None:
    other = negated(model_file)
    port = free_port()
    first, second = Settings(str(model_file), port, faults={"5": "exit"}), Settings(str(other), port)
    with serving(tmp_path, first, second) as server:
        model = load_model(server.url, "cifar")
        with pytest.raises(RunFailed, match="another model under the name served"):
            model.predict(IMAGES)


def test_non_finite_scores_count_only_if_they_are_the_models_own(tmp_path: Path, model_file: Path) -> None:
    with serving(tmp_path, Settings(str(model_file), free_port(), faults={"3": "nan"})) as server:
        model = load_model(server.url, "cifar")
        with pytest.raises(RunFailed, match="non-finite scores, and in other places"):
            model.predict(IMAGES)


def test_a_token_comes_from_the_environment_and_is_not_stored(
    tmp_path: Path, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path, Settings(str(model_file), free_port(), token="s3cret")) as server:
        with pytest.raises(
            UserError, match=r"refuses access .* put a valid token into WINDTUNNEL_KSERVE_TOKEN"
        ):
            load_model(server.url)
        monkeypatch.setenv("WINDTUNNEL_KSERVE_TOKEN", "s3cret")
        run = windtunnel.run(server.url, "demo", "smoke", OPTIONS, subset=4, out=tmp_path / "run")
        assert not any(b"s3cret" in file.read_bytes() for file in run.path.rglob("*") if file.is_file())
        with pytest.raises(UserError, match="without TLS"):
            load_model("kserve://models.example.org/served")
        for name, text in (("TOKEN", "s3cret\nX-Other: 1"), ("ATTEMPTS", "inf")):
            monkeypatch.setenv(f"WINDTUNNEL_KSERVE_{name}", text)
            with pytest.raises(UserError, match=f"WINDTUNNEL_KSERVE_{name}") as error:
                load_model(server.url)
            assert "s3cret" not in str(error.value)
            monkeypatch.delenv(f"WINDTUNNEL_KSERVE_{name}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("kserve://127.0.0.1:{port}/absent", "has no model absent; check the URL"),
        ("http://127.0.0.1:{port}/v2/models/served/versions/9", "has no model served in version 9"),
        ("kserve://user:word@127.0.0.1/served", "contains a user name or a password"),
        (
            "kserve://127.0.0.1:{port}/a/b/c",
            "is not the URL of a served model; give kserve://HOST:PORT/MODEL",
        ),
    ],
)
def test_wrong_urls_get_one_line(tmp_path: Path, model_file: Path, url: str, said: str) -> None:
    port = free_port()
    with serving(tmp_path, Settings(str(model_file), port)), pytest.raises(UserError, match=said) as error:
        load_model(url.format(port=port), "cifar")
    assert "\n" not in str(error.value) and "word" not in str(error.value).replace("password", "")
