"""Producers for the tests of sweeps, in a module that worker processes can import."""

import os
import signal
import time
from pathlib import Path

import numpy as np


def draw(x: float, seed: int, trials: int = 4) -> dict[str, float]:
    """A stand-in for a simulation: mean and standard error of noisy trials."""
    sample = x + np.random.default_rng(seed).standard_normal(trials)
    return {
        "mean": float(sample.mean()),
        "mean_standard_error": float(sample.std() / np.sqrt(trials)),
    }


def slow_draw(x: float, seed: int, pause: float = 0.05) -> dict[str, float]:
    time.sleep(pause)
    return draw(x, seed)


def pid_draw(x: float, seed: int, folder: str, pause: float = 0.05) -> dict[str, float]:
    """Leave a file named after the process, to see who worked."""
    (Path(folder) / str(os.getpid())).touch()
    return slow_draw(x, seed, pause)


def dying_draw(x: float, seed: int, folder: str) -> dict[str, float]:
    """At x = 3 the process dies the first time, at x = 5 every time."""
    marker = Path(folder) / "died"
    if x == 5 or (x == 3 and not marker.exists()):
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(x, seed)


def picky(x: float) -> dict[str, float]:
    if x == 2:
        raise ZeroDivisionError("two is too many")
    return {"half": x / 2}
