"""The schema of the review database: one for SQLite and PostgreSQL.

`events` is the record of everything that people decide; rows are only added. The columns `verdicts`,
`outcome` and `decided` of `items`, `judged` of `queue`, and the table `present` are derived from it in the
same transaction, and `rebuild.py` computes them again.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA = 1
METADATA = MetaData()

facts = Table(
    "facts",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
tasks = Table(
    "tasks",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("recipe", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
)
items = Table(
    "items",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("task", ForeignKey("tasks.id"), nullable=False),
    Column("code", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("media", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Column("answer", Text),
    Column("explanation", Text, nullable=False),
    Column("verdicts", Integer, nullable=False, default=0),
    Column("outcome", Text, nullable=False, default="open"),
    Column("decided", Boolean, nullable=False, default=False),
    UniqueConstraint("task", "code"),
    UniqueConstraint("task", "role", "number"),
    Index("items_by_verdicts", "task", "role", "verdicts"),
    Index("items_by_outcome", "task", "role", "outcome", "decided"),
)
people = Table(
    "people",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("code", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("token_hash", Text, unique=True),
    Column("created", BigInteger, nullable=False),
)
sessions = Table(
    "sessions",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("person", ForeignKey("people.id"), nullable=False),
    Column("expires", BigInteger, nullable=False),
)
queue = Table(
    "queue",
    METADATA,
    Column("task", ForeignKey("tasks.id"), primary_key=True),
    Column("person", ForeignKey("people.id"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("item", ForeignKey("items.id"), nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("judged", Boolean, nullable=False, default=False),
    UniqueConstraint("item", "person"),
    Index("queue_by_judged", "task", "person", "judged", "place"),
)
cursors = Table(
    "cursors",
    METADATA,
    Column("task", ForeignKey("tasks.id"), primary_key=True),
    Column("person", ForeignKey("people.id"), primary_key=True),
    Column("position", Integer, nullable=False),
)
events = Table(
    "events",
    METADATA,
    Column("seq", Integer, primary_key=True),
    Column("event", Text, nullable=False, unique=True),
    Column("task", ForeignKey("tasks.id"), nullable=False),
    Column("item", ForeignKey("items.id"), nullable=False),
    Column("person", ForeignKey("people.id"), nullable=False),
    Column("channel", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("verdict", Text),
    Column("target", Text),
    Column("client_time", BigInteger, nullable=False),
    Column("server_time", BigInteger, nullable=False),
    Column("seconds", Float),
    Index("events_by_item", "item", "channel", "person"),
    Index("events_by_person", "task", "person", "seq"),
)
present = Table(
    "present",
    METADATA,
    Column("item", ForeignKey("items.id"), primary_key=True),
    Column("channel", Text, primary_key=True),
    Column("person", ForeignKey("people.id"), primary_key=True),
    Column("task", ForeignKey("tasks.id"), nullable=False),
    Column("event", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Index("present_by_task", "task", "channel", "person"),
)
