"""Sphinx's settings for `make docs`: the pages of docs/, the API of `netlab`, the notebooks.

The source is the root of the checkout, so that links between its folders hold.
"""

import sys
from pathlib import Path

from netlab import __version__

sys.path.insert(0, str(Path(__file__).parent))  # gallery.py

project = "netlab"
author = copyright = "The netlab developers"
release = __version__
root_doc = "docs/index"
include_patterns = ["docs/*", "native/PROTOCOL.md", "CONTRIBUTING.md", "notebooks/*.ipynb"]
exclude_patterns = [".*", "build", "data", "tests"]  # not searched

extensions = [
    "gallery",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "matplotlib.sphinxext.plot_directive",
]
plot_formats = [("png", 110)]
plot_html_show_formats = plot_html_show_source_link = False
myst_heading_anchors = 3
nb_execution_mode = "off"  # gallery.py executes
add_module_names = False  # classes that nobody imports: calls return them
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the sections of parameters have the types
autosummary_generate = False
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["netlab.css"]
html_title = "netlab"
html_theme_options = {
    "navbar_center": [],  # the sidebar has all pages, by subject
    "globaltoc_maxdepth": 2,
}
html_sidebars = {"docs/index": [], "**": ["globaltoc.html"]}
