"""Shell completion of commands, options, names and paths, and the facts for a bug report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from tests.conftest import Command
from windtunnel import api
from windtunnel.cli import COMPLETION, cli

# Completes words in turn, in one interpreter that has imported nothing else.
COMPLETE = """
import contextlib, io, json, os, sys
from windtunnel.cli.completion import complete
answers = []
for words in json.loads(sys.argv[1]):
    os.environ |= {"COMP_WORDS": " ".join(["windtunnel", *words]), "COMP_CWORD": str(len(words))}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert complete("bash_complete") == 0
    answers.append([out.getvalue().split(), sorted(sys.modules)])
print(json.dumps(answers))
"""
HEAVY = {"cv2", "numba", "onnxruntime", "plotly", "pyarrow", "scipy", "torch"}


def completed(*asked: list[str]) -> list[tuple[list[str], set[str]]]:
    """The completions of the last of the words in each list, and the modules imported until then."""
    done = subprocess.run(
        [sys.executable, "-c", COMPLETE, json.dumps(asked)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [(completions, set(modules)) for completions, modules in json.loads(done.stdout)]


def commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its words."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_names_are_completed_without_the_large_libraries() -> None:
    kinds = {
        ("run", "--suite", "imagenet-c"): "suites",
        ("make", "imagenet"): "suites",
        ("run", "--only", "f"): "corruptions",
        ("show", "seq/t"): "sequences",
        ("score", "--metric", "m"): "metrics",
        ("slices", "--metric", "top"): "metrics",
    }
    for (words, kind), (completions, modules) in zip(
        kinds.items(), completed(*map(list, kinds)), strict=True
    ):
        names = [row["name"].partition("@")[0] for row in api.list_plugins(kind)]
        fitting = sorted(f"plain,{name}" for name in names if name.startswith(words[-1]))
        assert completions == [f"file,{words[-1]}", *fitting] and fitting
        assert not HEAVY & modules


def test_every_command_completes_its_options() -> None:
    found = dict(commands(cli))
    asked = [[*words, "--"] for words in found]
    for command, (completions, _) in zip(found.values(), completed(*asked), strict=True):
        parameters = command.get_params(click.Context(command))
        options = {
            name
            for one in parameters
            if isinstance(one, click.Option)
            for name in (*one.opts, *one.secondary_opts)
        }
        assert {f"plain,{name}" for name in options if name.startswith("--")} == set(completions)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_ask_for_completions(windtunnel_command: Command, shell: str) -> None:
    done = windtunnel_command("completion", shell)
    assert f"{COMPLETION}={shell}_complete" in done.stdout


def test_bash_completes_a_suite_and_a_path(windtunnel_command: Command, tmp_path: Path) -> None:
    script = tmp_path / "windtunnel.bash"
    script.write_text(windtunnel_command("completion", "bash").stdout)
    command = tmp_path / "windtunnel"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m windtunnel "$@"\n')
    command.chmod(0o755)
    asked = (
        f". {script}; COMP_WORDS=(windtunnel run --suite imagenet-sk); COMP_CWORD=3; compopt() {{ :; }}; "
        '_windtunnel_completion windtunnel; echo "${COMPREPLY[@]}"'
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", asked], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "imagenet-sketch", done.stderr


def test_env_has_versions_and_machine_and_no_user_name(
    windtunnel_command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    facts = json.loads(windtunnel_command("env", "--json").stdout)
    assert facts["folders"]["cache"] == "~/cache"
    assert facts["threads"] == {"OMP_NUM_THREADS": "3"}
    assert facts["usable_cores"] >= 1 and facts["memory_bytes"] > 1e8 and facts["cpu"]
    assert facts["libraries"]["numpy"] == version("numpy") and facts["windtunnel"] == version("windtunnel")
    assert not {"pytest", "moto", "sphinx"} & {*facts["libraries"], *facts["missing"].get("", ())}
    text = windtunnel_command("env").stdout
    assert version("numpy") in text and "~/cache" in text
    assert "a-secret" not in text and str(tmp_path) not in text
