"""One thread for linear algebra, and modules left alone where their optional package is not installed."""

import importlib.util
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the Makefile, before NumPy reads it

# their doctests would import the package
HOMES = {
    "torch": [
        "src/gcnlimit/nn/*",
        "src/gcnlimit/simulation/torch_backend.py",
    ],
    "torch_geometric": ["src/gcnlimit/pyg.py"],
}
collect_ignore_glob = [
    home
    for package, homes in HOMES.items()
    if importlib.util.find_spec(package) is None
    for home in homes
]
collect_ignore_glob.append("tests/cheats_at_import.py")  # its import forges scores in this process
