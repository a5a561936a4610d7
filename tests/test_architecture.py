"""What holds the house together: the public names, the floors, and a core that needs NumPy and SciPy only."""

import subprocess
import sys

from importlinter.cli import lint_imports
from reference import ROOT

import gcnlimit as gl

PUBLIC = """
BestFilter CSBM Comparison ConvergenceError Diffusion Filter FilterCeiling Fit GCN GCNLimitError GapMap Hinge
Inference Instance Logistic Loss Measurement Observation OrderFunctions OrderParameters Oversmoothing PageRank
ParameterError Performance Polynomial Prediction Residual Square Status TuneStatus Tuned __version__ amp
bayes_optimal best_filter compare filter_ceiling fit free_entropy gap_map integral_residuals large_reg_expansion
learning_rate limits one_layer_rate order_functions oversmoothing pca_rate predict resolvents sample simulate
sweep tune tune_losses
"""


def test_public_names_are_pinned():
    assert sorted(gl.__all__) == sorted(PUBLIC.split())
    for name in gl.__all__:
        assert getattr(gl, name) is not None


def test_every_public_object_is_documented():
    for name in gl.__all__:
        if name != "__version__":
            assert getattr(gl, name).__doc__, name


def test_import_floors():
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml")) == 0


def test_core_needs_numpy_and_scipy_only():
    optional = ["click", "rich", "matplotlib", "xarray", "pandas", "distributed", "networkx", "h5py", "sklearn"]
    code = f"import sys, gcnlimit; print([m for m in {optional!r} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
