"""Arrays of corrupted images, as CIFAR-10-C is published."""

from __future__ import annotations

from windtunnel.data.layouts import PrecomputedLayout
from windtunnel.data.precomputed_arrays import array_shelf


class CorruptionArrays(PrecomputedLayout):
    """`<corruption>.npy` next to `labels.npy`."""

    name = "corruption-arrays"
    help = "corrupted images as arrays, such as CIFAR-10-C"
    form = "a folder with labels.npy and <corruption>.npy, five severities one after another"
    priority = 70


corruption_arrays = CorruptionArrays(array_shelf)
