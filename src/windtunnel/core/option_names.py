"""Names of options in messages: the interface that shows a message spells them.

A message contains a token for each option, by the field's name: `option("keep", "logits")`. Python spells it
`keep="logits"`; the command line sets a spelling of its own, `--keep logits`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# None, True of a flag, a number, a text, or a list with one text of an option that may be repeated.
Value = None | bool | int | str | list[str]
Spelling = Callable[[str, Value], str]

# Characters that no text has: Unicode leaves them to private use.
_BEGIN, _END = "\ue000", "\ue001"
_TOKEN = re.compile(f"{_BEGIN}(.*?){_END}", re.DOTALL)


def option(name: str, value: Value = None) -> str:
    """The token of an option, alone or with the value to give it; upper case is a placeholder (`DATA`)."""
    return f"{_BEGIN}{json.dumps([name, value])}{_END}"


def as_argument(name: str, value: Value) -> str:
    """An option as Python passes it."""
    return name if value is None else f"{name}={_literal(value)}"


def _literal(value: Value) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return f'"{value}"' if isinstance(value, str) and not value.isupper() else str(value)


_spelling: ContextVar[Spelling] = ContextVar("windtunnel_option_spelling", default=as_argument)


@contextmanager
def spelled_by(spelling: Spelling) -> Iterator[None]:
    """Spell the options in messages in another way than as arguments in Python."""
    token = _spelling.set(spelling)
    try:
        yield
    finally:
        _spelling.reset(token)


def spelled(message: str) -> str:
    """A message with its options as the current interface spells them."""
    spelling = _spelling.get()
    return _TOKEN.sub(lambda token: spelling(*json.loads(token[1])), message)
