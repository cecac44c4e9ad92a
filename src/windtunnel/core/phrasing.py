"""Options in messages: written for the command line, or for Python.

Messages are written with the options of the command line (`--keep logits`). For Python users, every option
is replaced by the corresponding argument (`keep="logits"`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Options whose argument in Python has another name; for others only hyphens become underscores.
ARGUMENTS = {"map": "label_map", "set": "settings", "rule": "rules", "metric": "metrics"}
FLAGS = frozenset({"labels-are-outputs", "mask", "partial", "strict"})
LISTS = frozenset({"only", "set", "include", "rule", "metric"})

# What follows an option is its value where it is a placeholder (DATA, FILE.csv), a number, an assignment, an
# empty text, one of these words or the subject of "is a", "is no" or "is not"; other text is not.
WORDS = (
    "auto|logits|summary|folders|arrays|frames|videos|train|val|none|png|h264|jpeg:[0-9]+|as-stored|indices|npy|pass|fail|"
    "imagenet-[a-z0-9-]*[a-z0-9]"
)
VALUE = (
    rf"[A-Z]{{2,}}(?:\.[a-z]+)?|[0-9]+|[\w.]+=[\w./]*\w|''|(?:{WORDS})(?![\w-])|"
    r"[\w/:*=.-]+(?= is (?:a|no|not) )"
)
# Options of other programs are not changed.
OPTION = re.compile(
    rf"(?P<foreign>pip install [^;]*)|(?<![\w-])--(?P<name>[a-z][a-z-]*)(?: (?P<value>{VALUE}))?"
)

_command_line: ContextVar[bool] = ContextVar("windtunnel_command_line", default=False)


@contextmanager
def phrased_for_command_line() -> Iterator[None]:
    """Keep options in messages as the command line writes them."""
    token = _command_line.set(True)
    try:
        yield
    finally:
        _command_line.reset(token)


def phrased(message: str) -> str:
    """A message with options for the command line, or with arguments for Python."""
    return message if _command_line.get() else OPTION.sub(_argument, message)


def _argument(option: re.Match[str]) -> str:
    """An option as an argument in Python."""
    if option["foreign"]:
        return option["foreign"]
    name, value = option["name"], option["value"]
    argument = ARGUMENTS.get(name, name.replace("-", "_"))
    if value is None:
        return f"{argument}=True" if name in FLAGS else argument
    literal = value if value.isdecimal() or value.isupper() else '"' + value.strip("'") + '"'
    return f"{argument}=[{literal}]" if name in LISTS else f"{argument}={literal}"
