"""Cost of importing gcnlimit beside that of the packages it stands on: ``python -m benchmarks.imports``."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

STATEMENTS = {
    "numpy, scipy.linalg, scipy.sparse, scipy.special": "import numpy, scipy.linalg, scipy.sparse, scipy.special",
    "import gcnlimit": "import gcnlimit",
    "every public name of gcnlimit": "from gcnlimit import *",
}
CLOCK = "import time; start = time.process_time(); {}; print(time.process_time() - start)"


def cost(statement: str) -> float:
    """Processor time of a statement in a new interpreter, in seconds; compiled modules are kept."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    return float(
        subprocess.check_output(
            [sys.executable, "-c", CLOCK.format(statement)], text=True, env=environment
        )
    )


def main(repeat: int = 15) -> None:
    """Print the medians, taken in turn after one run that compiles, and their ratios to the first."""
    rounds = [[cost(statement) for statement in STATEMENTS.values()] for _ in range(repeat + 1)][1:]
    times = [statistics.median(column) for column in zip(*rounds, strict=True)]
    for name, time in zip(STATEMENTS, times, strict=True):
        print(f"{name}: {time * 1e3:.0f} ms, ratio {time / times[0]:.2f}")


if __name__ == "__main__":
    main()
