"""Small Ray clusters on this machine for tests: several nodes, each a raylet of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

OBJECT_STORE_BYTES = 80 * 2**20
NODE = {"num_cpus": 1, "object_store_memory": OBJECT_STORE_BYTES, "dashboard_agent_listen_port": None}


@contextmanager
def ray_cluster(nodes: int) -> Iterator[Any]:
    """A cluster of nodes with one CPU each; the first is the head, where drivers connect."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(**NODE)
        yield cluster
    finally:
        cluster.shutdown()


def stop(cluster: Any) -> None:
    """Kill every process of a cluster, as if the machines were switched off."""
    for node in [*cluster.worker_nodes, cluster.head_node]:
        if node is not None:
            node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)
    cluster.worker_nodes.clear()
    cluster.head_node = None
