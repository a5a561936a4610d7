"""The two graphs that come with the examples."""

import pytest
from reference import ROOT

from gcnlimit import real

DATA = ROOT / "examples" / "data"


@pytest.fixture(scope="session")
def texas():
    return real.read(DATA / "texas.npz")


@pytest.fixture(scope="session")
def cora():
    return real.read(DATA / "cora.npz")
