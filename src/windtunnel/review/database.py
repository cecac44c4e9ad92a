"""The review database: SQLite in the project, or PostgreSQL by URL; one writer that groups commits."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, insert, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from windtunnel.core.errors import RunFailed, UserError, first_line
from windtunnel.core.extras import load_extra
from windtunnel.core.option_names import option
from windtunnel.review.tables import METADATA, SCHEMA, facts

T = TypeVar("T")
# An operation and the future that its caller waits for.
_Waiting = tuple[Callable[[Connection], Any], Future[Any]]
REVIEW_FOLDER = "review"
DATABASE_FILE = f"{REVIEW_FOLDER}/review.sqlite"
AUDIT_FILE = f"{REVIEW_FOLDER}/audit.jsonl"
# At most this many waiting writes are committed together.
GROUP = 200
BUSY_SECONDS = 30
# Pause between the parts of long work: another process that waits for SQLite asks every 0.1 s at the latest.
PAUSE_SECONDS = 0.12
# Key of the advisory lock under which tables are created in PostgreSQL.
CREATION_LOCK = 7_305_193
# Key of the advisory lock that every writing transaction holds: several processes write one after the other.
WRITING_LOCK = 7_305_194


class DatabaseLost(UserError):
    """The file of a database in use was removed or replaced."""


class Database:
    """Connections to a review database; close it after use.

    Args:
        engine: of its connections.
        file: of SQLite; nothing is read or acknowledged once another file, or none, is in its place.
    """

    def __init__(self, engine: Engine, file: Path | None = None) -> None:
        self._engine = engine
        self._refuse_lost = _lost_check(file)
        self._writer = _Writer(engine, self._refuse_lost)
        # SQLite shows a transaction one state by itself.
        one_state = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
        self._readers = engine.execution_options(**one_state)
        self._local = threading.local()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database: that of `one_state`, if the thread is in it."""
        self._refuse_lost()
        kept: Connection | None = getattr(self._local, "connection", None)
        if kept is not None:
            yield kept
            return
        with self._readers.connect() as connection:
            yield connection

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Let everything that this thread reads see the same state of the database."""
        with self.reading() as connection:
            self._local.connection = connection
            try:
                yield
            finally:
                self._local.connection = None

    def write(self, operation: Callable[[Connection], T]) -> T:
        """Run an operation in a transaction of the writer; returns when it is committed.

        Operations that wait at the same time share a transaction. One that raises is rolled back alone.
        """
        return self._writer.submit(operation).result()

    def write_parts(self, operations: Iterable[Callable[[Connection], T]]) -> Iterator[T]:
        """Run operations one after the other, each in its own transaction; others write in between."""
        for number, operation in enumerate(operations):
            if number:
                time.sleep(PAUSE_SECONDS)
            yield self.write(operation)

    def close(self) -> None:
        """End the writer after the operations that wait, and close all connections."""
        self._writer.close()
        self._engine.dispose()


class _Writer:
    """A thread that runs operations one after the other and commits them in groups."""

    def __init__(self, engine: Engine, refuse_lost: Callable[[], None]) -> None:
        self._engine = engine.execution_options(immediate=True)
        self._refuse_lost = refuse_lost
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, operation: Callable[[Connection], T]) -> Future[T]:
        result: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RunFailed("The review database is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="review writer", daemon=True)
                self._thread.start()
            self._waiting.put((operation, result))
        return result

    def close(self) -> None:
        with self._lock:
            self._closed = True
            thread = self._thread
            self._waiting.put(None)
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            group = [first]
            ended = False
            while len(group) < GROUP and not self._waiting.empty():
                following = self._waiting.get()
                if following is None:
                    ended = True
                    break
                group.append(following)
            self._commit(group)
            if ended:
                return

    def _commit(self, group: Sequence[_Waiting]) -> None:
        """Run operations in one transaction and tell their callers; alone, one needs no savepoint."""
        try:
            self._refuse_lost()
            with self._engine.begin() as connection:
                _lock_writing(connection)
                if len(group) == 1:
                    outcomes: list[tuple[Any, Exception | None]] = [(group[0][0](connection), None)]
                else:
                    outcomes = [_nested(connection, operation) for operation, _ in group]
            self._refuse_lost()
        except BaseException as error:
            # Nothing of the group is stored for good: nothing of it may be acknowledged.
            for _, future in group:
                future.set_exception(error)
            return
        for (_, future), (result, raised) in zip(group, outcomes, strict=True):
            if raised is None:
                future.set_result(result)
            else:
                future.set_exception(raised)


def _lock_writing(connection: Connection) -> None:
    """Wait until no other process writes; SQLite does so by itself."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITING_LOCK})")
        # An acknowledged event is on the disk, whatever the server's default is.
        connection.exec_driver_sql("SET LOCAL synchronous_commit = on")


def _nested(connection: Connection, operation: Callable[[Connection], Any]) -> tuple[Any, Exception | None]:
    """The result of an operation, or what it raised; then only its own changes are rolled back."""
    try:
        with connection.begin_nested():
            return operation(connection), None
    except OperationalError:  # the connection or the disk failed, and with it the whole transaction
        raise
    except Exception as error:
        return None, error


def open_database(project: Path, url: str | None, *, create: bool) -> Database:
    """The review database of a project.

    Args:
        project: the project's folder.
        url: of a PostgreSQL database; None for SQLite in the project.
        create: whether to create it if there is none.
    """
    engine = _postgresql(url) if url else _sqlite(project, create=create)
    try:
        _prepare(engine, project, create=create)
    except DBAPIError as error:
        engine.dispose()
        raise UserError(
            f"The review database {shown(engine)} cannot be used: {first_line(error)}; check "
            f"{option('database')}."
        ) from error
    except UserError:
        engine.dispose()
        raise
    return Database(engine, None if url else project / DATABASE_FILE)


def _lost_check(file: Path | None) -> Callable[[], None]:
    """A function that raises `DatabaseLost` if the file is not the present one any more."""

    def present() -> tuple[int, int] | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def refuse_lost() -> None:
        if present() != opened:
            raise DatabaseLost(
                f"The review database {path} was removed or replaced while it was in use; put it back, or "
                "restore a copy and start again. Nothing was saved meanwhile."
            )

    if file is None:
        return lambda: None
    path = file.resolve()
    opened = present()
    return refuse_lost


def shown(engine: Engine) -> str:
    """The address of a database without its password."""
    return engine.url.render_as_string(hide_password=True)


def _sqlite(project: Path, *, create: bool) -> Engine:
    file = project / DATABASE_FILE
    if not file.is_file() and not create:
        raise UserError(f"{project} has no review; windtunnel review create makes one.")
    audit = project / AUDIT_FILE
    if not file.is_file() and audit.exists():
        raise UserError(
            f"{file} is missing, but {audit} shows that there was a review; restore the database, give "
            f"another one with {option('database')}, or move {audit.name} away to begin a new review."
        )
    file.parent.mkdir(exist_ok=True)
    engine = create_engine(
        f"sqlite:///{file.resolve()}",
        connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        pool_size=8,
        max_overflow=56,
    )

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        # An acknowledged event is on the disk: the log is synchronised at each commit.
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        # A transaction that reads and then writes would fail if another process wrote in between.
        immediate = connection.get_execution_options().get("immediate")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine


def _postgresql(url: str) -> Engine:
    load_extra("psycopg", "A PostgreSQL database")
    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() != "postgresql":
        raise UserError(
            f"{option('database')} is no PostgreSQL URL; give postgresql://USER@HOST/NAME, or leave it out "
            "for SQLite in the project."
        )
    return create_engine(
        parsed.set(drivername="postgresql+psycopg"), pool_size=8, max_overflow=24, pool_pre_ping=True
    )


def _prepare(engine: Engine, project: Path, *, create: bool) -> None:
    """Create the tables if asked to; refuse the database of another project or schema."""
    name = project.resolve().name
    with engine.execution_options(immediate=True).begin() as connection:
        if create:
            if engine.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({CREATION_LOCK})")
            METADATA.create_all(connection)
        elif not engine.dialect.has_table(connection, facts.name):
            raise UserError(
                f"The review database {shown(engine)} is empty; windtunnel review create fills it."
            )
        stored = {row.name: row.value for row in connection.execute(select(facts))}
        if not stored and create:
            rows = [{"name": "schema", "value": str(SCHEMA)}, {"name": "project", "value": name}]
            connection.execute(insert(facts), rows)
            return
    if stored.get("schema") != str(SCHEMA):
        raise UserError(
            f"The review database {shown(engine)} has schema {stored.get('schema')}; this windtunnel reads "
            f"schema {SCHEMA}."
        )
    if engine.dialect.name == "postgresql" and stored.get("project") != name:
        raise UserError(
            f"The review database {shown(engine)} belongs to the project {stored.get('project')}; give "
            f"another one with {option('database')}."
        )
