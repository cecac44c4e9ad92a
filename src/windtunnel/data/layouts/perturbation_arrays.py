"""Arrays of clips, as CIFAR-10-P is published."""

from __future__ import annotations

from windtunnel.data.layouts import PrecomputedLayout
from windtunnel.data.precomputed_clip_arrays import clip_array_shelf


class PerturbationArrays(PrecomputedLayout):
    """`<perturbation>.npy`, five axes each."""

    name = "perturbation-arrays"
    help = "perturbation sequences as arrays, such as CIFAR-10-P"
    form = "a folder with <perturbation>.npy, uint8 (images, frames, height, width, 3)"
    priority = 80


perturbation_arrays = PerturbationArrays(clip_array_shelf)
