"""How Sphinx builds the pages: ``make docs``, warnings as errors, no network."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE.parent / "src"))

import tabtap  # noqa: E402  from the folder above, installed or not

project = "tabtap"
author = "The tabtap authors"
copyright = author
version = release = tabtap.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "house_style",
    "command_line",
]
exclude_patterns = ["results/*_notes.md"]  # they are part of the pages beside them
nitpicky = True
nitpick_ignore_regex = [
    # Other packages: pages are built without a network, so nothing links to theirs.
    (r"py:.*", r"(collections|pathlib|typing|numpy|np|pandas|pd|torch)(\..*)?"),
    (r"py:.*", r"sklearn\..*"),
    # Words and labels of scikit-learn's own docstrings.
    (r"std:.*", r"meta-estimator|metadata_routing"),
    # Parts that one gets from others and never makes.
    (r"py:class", r"tabtap\.gates\.rules\.Rule"),
    (r"py:class", r"tabtap\.archive\.Archive"),
    (r"py:class", r"tabtap\.diffusion\.encoding\.(Encoding|Layout)"),
    (r"py:class", r"tabtap\.table\.distance\.DistanceScale"),
    (r"py:class", r"tabtap\.loop\.augment\.(Outcome|Progress|RunContext)"),
    (r"py:class", r"tabtap\.compare\.(store\.(Cell|Store)|runner\..*)"),
    (r"py:class", r"tabtap\.study\.(runs|protocol)\..*"),
    (r"py:class", r"tabtap\.(result\.set_aside|api\.inspection)\..*"),
    (r"py:class", r"matplotlib\..*"),
    (r"py:class", r"tabtap\.files\..*\.(Destination|TimeStyle|Spelling)"),
    (r"py:class", r"tabtap\.report\.(blocks\.Figure|verdict\.Verdict)"),
]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autosummary_generate = False
autodoc_typehints = "signature"
maximum_signature_line_length = 78
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True}
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "tabtap"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "tutorial": []}
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
}
