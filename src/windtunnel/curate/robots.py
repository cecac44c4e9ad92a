"""Rules of robots.txt (RFC 9309): which paths of a host may be requested."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

# What is read of a robots.txt; RFC 9309 asks for at least 500 KiB.
MAX_ROBOTS_BYTES = 512 * 1024
MAX_RULES = 10_000
# The longest crawl delay that is followed, in seconds.
MAX_DELAY = 60.0


@dataclass(frozen=True)
class Robots:
    """The rules for one agent.

    Attributes:
        rules: patterns of paths, and whether they are allowed.
        delay: seconds between two requests, 0 for none.
    """

    rules: tuple[tuple[str, bool], ...] = ()
    delay: float = 0.0

    def allows(self, target: str) -> bool:
        """Whether a path with its query may be requested: the longest matching rule decides."""
        path = unquote(target)
        best = max(
            ((len(pattern), allowed) for pattern, allowed in self.rules if _matches(pattern, path)),
            default=(0, True),
        )
        return best[1]


ALLOW_ALL = Robots()


def read_robots(content: bytes, agent: str) -> Robots:
    """The rules of a robots.txt for an agent: those of its own groups, else those of `*`."""
    product = agent.partition("/")[0].strip().lower()
    groups: dict[str, list[tuple[str, bool]]] = {}
    delays: dict[str, float] = {}
    agents: list[str] = []
    in_rules = True
    text = content[:MAX_ROBOTS_BYTES].decode("utf-8-sig", errors="replace")
    for line in text.splitlines()[:MAX_RULES]:
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            agents = [*([] if in_rules else agents), value.lower()]
            groups.setdefault(value.lower(), [])
            in_rules = False
        elif key in ("allow", "disallow"):
            in_rules = True
            for name in agents:
                if value:
                    groups[name].append((unquote(value), key == "allow"))
        elif key == "crawl-delay":
            in_rules = True
            for name in agents:
                delays[name] = _seconds(value)
    name = product if product in groups else "*"
    return Robots(tuple(groups.get(name, ())), delays.get(name, 0.0))


def _seconds(text: str) -> float:
    try:
        return min(max(0.0, float(text)), MAX_DELAY)
    except ValueError:
        return 0.0


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern with `*` and a final `$` matches the beginning of a path, in linear time."""
    anchored = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    place = len(first)
    if not others:
        return not anchored or place == len(path)
    for part in others[:-1] if anchored else others:
        found = path.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return not anchored or (path.endswith(others[-1]) and len(path) - len(others[-1]) >= place)
