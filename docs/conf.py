"""The documentation site: ``sphinx-build -W -b html docs build/docs``. Nothing is fetched, at build time or by the reader."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from gcnlimit import __version__

project = "gcnlimit"
author = "The gcnlimit developers"
project_copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_click",
    "mathml",
    "signatures",
    "supported",
]
exclude_patterns = ["_ext", "figures", "scripts"]
default_role = "py:obj"
nitpicky = True  # what a page refers to is in the reference; types of other packages and names of parameters are not
nitpick_ignore_regex = [
    ("py:class", r"(?!gcnlimit\.).*|.*\.(Outcome|_Transposed|Backend|Form|Classes)"),
    (
        "py:(class|func)",
        r"gcnlimit\.simulation\..*",
    ),  # what docstrings say to readers of the source
    ("py:obj", ".*"),
]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
smartquotes_action = "q"  # two hyphens begin an option

autodoc_member_order = "bysource"
autodoc_type_aliases = {name: name for name in ("Array", "Numbers")}  # of properties
napoleon_attr_annotations = False
napoleon_use_param = False
napoleon_numpy_docstring = True
napoleon_google_docstring = False
viewcode_line_numbers = True

html_theme = "furo"
html_title = f"gcnlimit {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_show_search_summary = False  # summaries are fetched, which a page opened as a file may not do
