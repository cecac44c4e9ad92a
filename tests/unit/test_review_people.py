"""People of a review: links, names and speed."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from windtunnel import UserError
from windtunnel.review import tables
from windtunnel.review.progress import hourly_rate
from windtunnel.review.review import Review


def test_nobody_has_the_name_of_the_majority(review: Review) -> None:
    with pytest.raises(UserError, match="which reports use"):
        review.add_person(" Majority ", "reviewer")


def test_links_are_exchanged_renewed_and_revoked(review: Review) -> None:
    ann, secret = review.add_person("Ann", "reviewer")
    begun = review.begin_session(secret)
    assert begun is not None
    assert begun[0] == ann
    assert review.session_person(begun[1]) == ann
    assert review.session_person(secret) is None  # the secret of the link is not that of the session
    assert review.begin_session(secret[:-1]) is None
    _, renewed = review.renew_link("Ann")
    assert review.begin_session(secret) is None
    assert review.session_person(begun[1]) is None
    assert review.begin_session(renewed) is not None
    review.revoke_link("Ann")
    assert review.begin_session(renewed) is None
    with review._database.reading() as connection:
        stored = str(connection.execute(select(tables.people)).all())
    assert secret not in stored
    assert renewed not in stored


def test_speed_leaves_pauses_out() -> None:
    minute = 60_000
    assert hourly_rate([0, minute, 2 * minute, 100 * minute, 101 * minute]) == 60
    assert hourly_rate([0]) is None
