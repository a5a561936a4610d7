import pytest

import gcnlimit as gl


@pytest.fixture(scope="session")
def data() -> gl.CSBM:
    return gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)


@pytest.fixture(scope="session")
def instance(data) -> gl.Instance:
    return gl.sample(data, nodes=1200, degree=30, seed=3)
