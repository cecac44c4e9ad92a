"""Folders of clips, as ImageNet-P is published."""

from __future__ import annotations

from windtunnel.data.layouts import PrecomputedLayout
from windtunnel.data.precomputed_clips import clip_folder_shelf


class PerturbationFolders(PrecomputedLayout):
    """`<perturbation>/<class>/<name>.mp4`, or folders of frames."""

    name = "perturbation-folders"
    help = "perturbation sequences as videos or frames, such as ImageNet-P"
    form = "a folder with <perturbation>/<class>/<name>.mp4, or frames <name>/000.png ..."
    priority = 60


perturbation_folders = PerturbationFolders(clip_folder_shelf)
