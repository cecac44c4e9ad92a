"""Sphinx configuration: MyST pages, Furo, and a reference generated from the installed package."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "windtunnel"
author = "the windtunnel authors"
copyright = author
release = installed_version("windtunnel")
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "generated_pages",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# Docstrings are plain text with `code` in backticks.
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# windtunnel.train imports torch; its signatures do not need it.
autodoc_mock_imports = ["torch"]
# Types in signatures are not linked: most belong to other packages. Links in the pages are all checked.
nitpick_ignore_regex = [(r"py:.*", r".*")]

html_theme = "furo"
html_title = "windtunnel"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
