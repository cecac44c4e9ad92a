"""Reads the fenced code blocks of a Markdown page, and runs them in a folder of its own.

A comment in front of a block says what to do with it:

    <!-- not run: REASON -->   leave it out
    <!-- file: NAME -->        write it to a file of that name
    <!-- exit: CODE -->        its last command ends with this exit code

Other `python`, `bash` and `console` blocks are executed. Lines that a `console` block shows below a command
must be in its output, in this order; `...` stands for any text.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from windtunnel import cli

EXECUTED = ("python", "bash", "console")
FENCE = re.compile(
    r"^(?:<!-- (?P<mark>not run|file|exit): (?P<value>.+?) -->\n)?"
    r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    text: str
    mark: str
    value: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["language"].strip(),
            found["text"],
            found["mark"] or "",
            found["value"] or "",
            text[: found.start()].count("\n") + 1,
        )
        for found in FENCE.finditer(text)
    ]


def commands_of(block: Block) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines shown below it."""
    commands: list[tuple[str, list[str]]] = []
    lines = iter(block.text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines).removeprefix("> ")
            commands.append((command, []))
        elif line.strip():
            commands[-1][1].append(line)
    return commands


def squeezed(text: str) -> str:
    return " ".join(text.split())


def missing_line(shown: list[str], output: str) -> str | None:
    """The first shown line that the output does not have after the lines before it."""
    rest = squeezed(output)
    for line in shown:
        for part in filter(None, map(squeezed, line.split("..."))):
            _, found, rest = rest.partition(part)
            if not found:
                return line
    return None


class Page:
    """A page's blocks, executed in one folder; Python blocks share their names."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, block: Block) -> None:
        """Execute a block, or write its file; fails with the page's line."""
        where = f"{self.name}:{block.line}"
        if block.mark == "file":
            path = self.folder / block.value
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.mark != "not run" and block.language in EXECUTED:
            expected = int(block.value) if block.mark == "exit" else 0
            getattr(self, f"_run_{block.language}")(block, where, expected)

    def _run_python(self, block: Block, where: str, _expected: int) -> None:
        exec(compile("\n" * block.line + block.text, where, "exec"), self.names)  # noqa: S102

    def _run_bash(self, block: Block, where: str, expected: int) -> None:
        done = subprocess.run(
            ["bash", "-euc", f'windtunnel() {{ "{sys.executable}" -m windtunnel "$@"; }}\n{block.text}'],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == expected, (where, done.stdout, done.stderr)

    def _run_console(self, block: Block, where: str, expected: int) -> None:
        commands = commands_of(block)
        for number, (command, shown) in enumerate(commands):
            words = shlex.split(command, comments=True)
            assert words[0] == "windtunnel", f"{where}: only windtunnel's commands are run, not {words[0]}"
            result = CliRunner().invoke(cli.cli, words[1:], env={"COLUMNS": "200"})
            code = expected if number == len(commands) - 1 else 0
            assert result.exit_code == code, (where, command, result.output, result.exception)
            line = missing_line(shown, result.output)
            assert line is None, f"{where}: {command} does not print: {line}\n{result.output}"
