"""What tests of several rooms do alike: run the command line, compare numbers, watch processes."""

import time
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from gcnlimit.cli.app import app


def run(*words):
    """Result of the command line."""
    return CliRunner().invoke(app, list(map(str, words)))


def answer(*words):
    """Output of a command that succeeds."""
    done = run(*words)
    assert done.exit_code == 0, done.output
    return done.stdout


def close(a, b, tol=1e-11):
    """Assert that numbers agree, relative to them where they are large."""
    assert np.all(np.abs(np.asarray(a) - b) <= tol * (1.0 + np.abs(b)))


def alive(pid):
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition, seconds=30.0):
    """Wait until a condition holds, and fail if it takes too long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)
