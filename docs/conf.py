"""The documentation site: ``sphinx-build -W -b html docs build/docs``. Nothing is fetched, at build time or by the reader."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / folder) for folder in ("_ext", "scripts")]

from pictures import PICTURES

from gcnlimit import __version__

project = "gcnlimit"
author = "The gcnlimit developers"
project_copyright = author
release = version = __version__

extensions = [
    "myst_parser",  # pages in Markdown
    "sphinx.ext.autodoc",  # docstrings
    "sphinx.ext.autosummary",  # a page for each public name, written into reference/api
    "sphinx.ext.napoleon",  # the sections of docstrings
    "sphinx.ext.viewcode",  # links to the source
    "sphinx_click",  # verbs of the command line
    "mathml",  # formulas without scripts or a network
    "signatures",  # signatures as written, links from docstrings to equations
]
exclude_patterns = ["_ext", "_templates", "figures", "scripts"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = True  # what a page refers to is in the reference; types of other packages and names of parameters are not
nitpick_ignore_regex = [
    ("py:class", r"(?!gcnlimit\.).*|.*\.(Outcome|_Transposed|Backend|Form|Classes|AtDegree)"),
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
autodoc_mock_imports = ["torch", "torch_geometric"]  # not needed to read docstrings

ESTIMATOR = "members: fit, predict, predict_proba, decision_function, score"
OPTIONS = {  # where a page shows other members than all that its class defines
    "CSBM": ["members:", "exclude-members: having"],
    ("Degrees", "Gamma", "LogNormal", "Pareto"): ["members: moment, draw"],
    "GradientDescent": ["members: from_epochs"],
    ("GradientFlow", "Regularized", "nn.SymmetricOperator", "real.EstimatedCSBM"): [],
    ("Loss", "Penalty"): ["members:", "inherited-members:"],
    "GraphClassifier": [f"{ESTIMATOR}, plot, review"],
    ("FilterClassifier", "nn.MessagePassingClassifier"): [ESTIMATOR],
    ("GCNLimitError", "ParameterError", "ConvergenceError"): ["members:", "show-inheritance:"],
    ("Status", "results.TuneStatus"): ["members:", "undoc-members:"],
    "filters.Chain": ["members: polynomial"],
    "nn.MessagePassing": ["members: forward"],
    "pyg.CSBMBenchmark": ["members: exact"],
    "real.Estimate": ["members: data"],
    "results.Result": ["members: to_dataframe, to_xarray, plot"],
    "results.Calibration": ["members: temperature, signed_error, reliability, plot_reliability"],
    ("results.Prediction", "results.BayesPrediction"): ["members:", "show-inheritance:"],
    "results.Measurement": ["members:", "show-inheritance:"],
}
autosummary_context = {
    "options": {
        f"gcnlimit.{name}": options
        for names, options in OPTIONS.items()
        for name in ([names] if isinstance(names, str) else names)
    },
    "pictures": {f"gcnlimit.{name}": draw.__name__ for name, draw in PICTURES.items()},
}
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
