"""Folders of corrupted images, as ImageNet-C is published."""

from __future__ import annotations

from windtunnel.data.layouts import PrecomputedLayout
from windtunnel.data.precomputed_folders import folder_shelf


class CorruptionFolders(PrecomputedLayout):
    """`<corruption>/<severity>/<class>/<image>`."""

    name = "corruption-folders"
    help = "corrupted images in class folders, such as ImageNet-C, ImageNet-C-bar and ImageNet-3DCC"
    form = "a folder with <corruption>/<severity>/<class>/<image>"
    priority = 50


corruption_folders = CorruptionFolders(folder_shelf)
