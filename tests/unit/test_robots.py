"""Rules of robots.txt, checked against the examples of RFC 9309."""

from __future__ import annotations

import time

import pytest

from windtunnel.curate.robots import read_robots

RFC_5_1 = b"""
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""


@pytest.mark.parametrize(
    ("agent", "target", "allowed"),
    [
        ("other/1.0", "/publications/a", True),
        ("other", "/example/a", False),
        ("other", "/a/b.gif", False),
        ("other", "/a/b.gif?size=1", True),
        ("FooBot/2.1", "/example/page.html", True),
        ("foobot", "/example/allowed.gif", True),
        ("foobot", "/example/allowed.gi", False),
        ("foobot", "/", False),
        ("barbot", "/example/page.html", False),
        ("bazbot", "/example/other.html", True),
        ("quxbot", "/example/", True),
    ],
)
def test_examples_of_the_rfc(agent: str, target: str, allowed: bool) -> None:
    assert read_robots(RFC_5_1, agent).allows(target) is allowed


def test_the_longest_rule_decides_and_allow_wins_a_tie() -> None:
    rules = ("Allow: /a/page/", "Disallow: /a/page/disallowed.gif", "Disallow: /x", "Allow: /x")
    robots = read_robots("\n".join(("User-agent: *", *rules)).encode(), "any")
    assert robots.allows("/a/page/a")
    assert not robots.allows("/a/page/disallowed.gif")
    assert robots.allows("/x/y")


def test_percent_encoded_paths_are_compared_decoded() -> None:
    assert not read_robots(b"User-agent: *\nDisallow: /a%3Cd.html\n", "any").allows("/a%3cd.html")


def test_crawl_delay_is_read_and_limited() -> None:
    assert read_robots(b"User-agent: *\nCrawl-delay: 2.5\n", "any").delay == 2.5
    assert read_robots(b"User-agent: *\nCrawl-delay: 86400\n", "any").delay == 60
    assert read_robots(b"User-agent: *\nCrawl-delay: nan?\n", "any").delay == 0


def test_hostile_rules_take_no_time() -> None:
    rules = b"User-agent: *\n" + b"Disallow: /" + b"*a" * 5000 + b"$\n"
    start = time.perf_counter()
    read_robots(rules * 20, "any").allows("/" + "a" * 4000)
    read_robots(bytes(range(256)) * 4000, "any").allows("/x")
    assert time.perf_counter() - start < 5
