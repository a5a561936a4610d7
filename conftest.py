"""Which modules are left alone where their optional package is not installed: their doctests would import it."""

import importlib.util

HOMES = {
    "torch": [
        "src/gcnlimit/nn/*",
        "src/gcnlimit/simulation/backend/torch_backend.py",
    ],
    "torch_geometric": ["src/gcnlimit/pyg.py"],
}
collect_ignore_glob = [
    home for package, homes in HOMES.items() if importlib.util.find_spec(package) is None for home in homes
]
