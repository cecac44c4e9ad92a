"""Work on a Ray cluster: one that runs, or one of this machine that is started and stopped."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.interruption import stop_requested
from windtunnel.core.option_names import option
from windtunnel.engine.executors import Executor
from windtunnel.engine.jobs import Advance, I, Job, Sent
from windtunnel.engine.process_start import start_uninterruptible
from windtunnel.engine.ray_driver import DRAIN, Orders, Packed, drive
from windtunnel.engine.ray_worker import Setup

# How long a cluster may take to answer, to start on this machine and to stop.
ANSWER_SECONDS = 5
START_SECONDS = 60
STOP_SECONDS = 20
# How soon a request to stop is passed on while the cluster says nothing.
POLL_SECONDS = 0.5


class Ray(Executor):
    """Workers are Ray actors; a process of its own talks to the cluster."""

    name = "ray"
    help = "Workers on a Ray cluster; without an address, on a Ray of this machine for this command."
    extra = "ray"
    takes_address = True

    def worker_count(self, asked: int | None, address: str | None) -> int:
        """As many as asked, or as many as the cluster has CPUs."""
        _check_address(address)
        if asked or address is None:
            return asked or os.cpu_count() or 1
        with _driver(Orders(address)) as pipe:
            return max(1, int(_received(pipe, address, "cpus")[1]))

    def work(
        self, job: Job[I], items: Sequence[I], workers: int, advance: Advance, address: str | None
    ) -> Iterator[tuple[I, Any]]:
        """Do the items on the cluster; an item whose worker is lost is tried up to three times."""
        _check_address(address)
        # Objects of the caller's script are sent by value: workers do not have the script.
        dumps = load_extra("ray.cloudpickle", "The executor ray").dumps
        needs = job.needs
        setup = Setup(
            Sent.packed(job, needs.includes, dumps),
            needs.inputs,
            needs.output,
            needs.versions,
            os.getcwd(),  # noqa: PTH109 (text)
            tuple(sys.path),
        )
        packed = tuple(Packed(item.name, item.description, dumps(item)) for item in items)
        count = min(workers, len(packed))
        if not packed:
            return
        with _driver(Orders(address, count, setup, packed)) as pipe:
            left, draining = len(packed), False
            while left:
                while not pipe.poll(POLL_SECONDS) and not (stop_requested() and not draining):
                    pass
                if stop_requested() and not draining:
                    draining = True
                    pipe.send(DRAIN)
                    continue
                message, content = _received(pipe, address, "progress", "done", "drained")
                if message == "drained":
                    return
                if message == "progress":
                    advance(*content)
                else:
                    place, result = content
                    left -= 1
                    yield items[place], pickle.loads(result)


def _check_address(address: str | None) -> None:
    """Refuse an address that Ray would misunderstand; it is not repeated, as it may contain a password."""
    load_extra("ray", "The executor ray")
    if address is not None and (not address or "@" in address or "://" in address):
        raise UserError(
            f"{option('address')} must be auto or HOST:PORT, as `ray start` prints it, without a "
            "protocol or a password."
        )
    if address is not None:
        _check_answers(address)


def _check_answers(address: str) -> None:
    """Refuse a host and port where nothing answers: Ray itself tries for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"Nothing answers at {option('address', address)} ({error}); give the address that "
            "`ray start` printed on the head node."
        ) from error


def _received(pipe: Connection, address: str | None, *expected: str) -> tuple[str, Any]:
    """The next message of the driver; an error is raised."""
    try:
        message, content = pipe.recv()
    except (EOFError, OSError) as error:
        where = f"at {address}" if address else "of this machine"
        raise RunFailed(f"the Ray cluster {where} is gone") from error
    if message not in expected:
        raise content
    return message, content


@contextmanager
def _driver(orders: Orders) -> Iterator[Connection]:
    """Start the process that talks to the cluster, and stop it in the end."""
    context = multiprocessing.get_context("spawn")
    parent_pipe, driver_pipe = context.Pipe()
    process = context.Process(target=drive, args=(driver_pipe, orders), daemon=True)
    start_uninterruptible(process)
    driver_pipe.close()
    connected = False
    try:
        connected = parent_pipe.poll(START_SECONDS)
        if not connected:
            where = f"The Ray cluster at {orders.address} does" if orders.address else "Ray does"
            raise UserError(f"{where} not answer within {START_SECONDS} s; see `ray status`.")
        _received(parent_pipe, orders.address, "connected")
        yield parent_pipe
    finally:
        parent_pipe.close()
        process.join(STOP_SECONDS if connected else 0)
        process.kill()
        process.join()


ray = Ray()
