"""Random examples are not timed, and no progress is told: how long one takes depends on what else the machine does."""

import signal

import pytest
from hypothesis import settings

from gcnlimit._runtime import progress
from gcnlimit.numerics import leave_one_out

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
progress.FIRST = 1e6
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in a background job, for all it starts too
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def few_trees(monkeypatch):
    """A forest of eight trees, where what a fit accepts counts and not how good it is: trees take most of a small fit."""
    monkeypatch.setattr(leave_one_out, "TREES", 8)
