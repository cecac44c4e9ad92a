"""WebDataset shards of corrupted images, as windtunnel writes them."""

from __future__ import annotations

from windtunnel.data.layouts import PrecomputedLayout
from windtunnel.data.precomputed_shards import shard_shelf


class CorruptionShards(PrecomputedLayout):
    """`<corruption>/<severity>/<number>.tar` with a manifest."""

    name = "corruption-shards"
    help = "corrupted images in WebDataset shards, made with --layout webdataset"
    form = "a folder of `windtunnel make` with <corruption>/<severity>/<number>.tar"
    priority = 55


corruption_shards = CorruptionShards(shard_shelf)
