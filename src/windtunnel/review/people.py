"""People: personal links, sessions. Secrets are stored as hashes only."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.review.kinds import refuse_unstorable
from windtunnel.review.records import PERSON_ROLES, Person, now_ms
from windtunnel.review.tables import people, sessions

# 256 bits: nobody guesses them, so that a fast hash is sufficient.
SECRET_BYTES = 32
SESSION_DAYS = 30
NAME_CHARACTERS = 100
# What reports call all people together.
MAJORITY = "majority"
RESERVED_NAMES = (MAJORITY,)


def plain_name(name: str) -> str:
    """A person's name with single spaces only."""
    return re.sub(r"\s+", " ", name).strip()


def refuse_name(name: str) -> None:
    """Refuse a name that nobody may have."""
    refuse_unstorable(name)
    if not 1 <= len(name) <= NAME_CHARACTERS:
        raise UserError(f"A person's name has 1 to {NAME_CHARACTERS} characters; '{name[:40]}' does not.")
    if name.lower() in RESERVED_NAMES:
        raise UserError(f"Nobody may have the name {name}, which reports use; choose another one.")


def add_person(connection: Connection, name: str, role: str) -> tuple[Person, str]:
    """Store a person; returns the person and the secret of the link, which is not stored."""
    name = plain_name(name)
    refuse_name(name)
    if role not in PERSON_ROLES:
        raise UserError(f"The role is '{role}'; give {' or '.join(PERSON_ROLES)}.")
    if connection.execute(select(people.c.id).where(people.c.name == name)).first():
        raise UserError(
            f"There is a person {name} already; choose another name, or renew the link of this person."
        )
    token = secrets.token_urlsafe(SECRET_BYTES)
    row = {"code": secrets.token_hex(6), "name": name, "role": role, "created": now_ms()}
    made = connection.execute(insert(people).values(row | {"token_hash": hashed(token)}))
    (id_,) = made.inserted_primary_key or (0,)
    return Person(int(id_), str(row["code"]), name, role), token


def renew_link(connection: Connection, name: str) -> tuple[Person, str]:
    """Give a person a new link; the old one and all sessions end."""
    person = find_person(connection, name)
    token = secrets.token_urlsafe(SECRET_BYTES)
    connection.execute(update(people).where(people.c.id == person.id).values(token_hash=hashed(token)))
    connection.execute(delete(sessions).where(sessions.c.person == person.id))
    return person, token


def revoke_link(connection: Connection, name: str) -> Person:
    """End a person's link and sessions; the verdicts stay."""
    person = find_person(connection, name)
    connection.execute(update(people).where(people.c.id == person.id).values(token_hash=None))
    connection.execute(delete(sessions).where(sessions.c.person == person.id))
    return person


def list_people(connection: Connection) -> list[Person]:
    """Everybody, in the order in which they were added."""
    return [_person(row) for row in connection.execute(select(people).order_by(people.c.id))]


def find_person(connection: Connection, name: str) -> Person:
    """The person of that name; refuses an unknown one."""
    row = connection.execute(select(people).where(people.c.name == plain_name(name))).first()
    if row is None:
        raise unknown_name("person", name, [person.name for person in list_people(connection)])
    return _person(row)


def link_person(connection: Connection, token: str) -> Person | None:
    """The person of the secret of a link; None if no person has it."""
    row = connection.execute(select(people).where(people.c.token_hash == hashed(token))).first()
    return None if row is None else _person(row)


def begin_session(connection: Connection, token: str) -> tuple[Person, str] | None:
    """Exchange the secret of a link for that of a session; None if no person has it."""
    person = link_person(connection, token)
    if person is None:
        return None
    now = now_ms()
    session = secrets.token_urlsafe(SECRET_BYTES)
    expires = now + SESSION_DAYS * 86_400_000
    connection.execute(delete(sessions).where(sessions.c.expires < now))
    connection.execute(insert(sessions).values(hash=hashed(session), person=person.id, expires=expires))
    return person, session


def session_person(connection: Connection, session: str) -> Person | None:
    """The person of a session; None for an unknown or ended one."""
    row = connection.execute(
        select(people)
        .join(sessions, sessions.c.person == people.c.id)
        .where(sessions.c.hash == hashed(session), sessions.c.expires > now_ms())
    ).first()
    return None if row is None else _person(row)


def end_session(connection: Connection, session: str) -> None:
    """End a session."""
    connection.execute(delete(sessions).where(sessions.c.hash == hashed(session)))


def hashed(secret: str) -> str:
    """The hash under which a secret is stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _person(row: Any) -> Person:
    return Person(row.id, row.code, row.name, row.role)
