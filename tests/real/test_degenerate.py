"""Tables that say little or nothing: every one is answered by probabilities, and never by a crash."""

import contextlib

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

import gcnlimit as gl
from gcnlimit.numerics import leave_one_out, ridge
from gcnlimit.real import bank, views
from gcnlimit.real.bank import Fitted

N = 40


def features(kind, width, rng):
    """Rows of one kind, degenerate in one way or another."""
    plain = rng.standard_normal((N, width))
    return {
        "plain": plain,
        "duplicated": np.repeat(plain[:4], N // 4, axis=0),
        "equal": np.repeat(plain[:1], N, axis=0),
        "zero rows": plain * (np.arange(N) % 3 == 0)[:, None],
        "zero": np.zeros((N, width)),
        "rank one": np.outer(rng.standard_normal(N), plain[0]),
        "nearly parallel": plain[0] + 1e-8 * plain,
        "a huge column": plain * np.append(1e30, np.ones(width - 1)),
        "tiny": 1e-40 * plain,
        "far from 0": 1e12 + plain,
        "counts": rng.poisson(0.2, (N, width)).astype(float),
        "sparse": sparse.csr_array(plain * (rng.random((N, width)) < 0.1)),
        "none": None,
    }[kind]


def graph(kind, rng):
    """Adjacency matrix, or None."""
    A = (rng.random((N, N)) < 0.1).astype(float)
    np.fill_diagonal(A, 0.0)
    star = np.zeros((N, N))
    star[0, 1:] = star[1:, 0] = 1.0
    edge = np.zeros((N, N))
    edge[0, 1] = edge[1, 0] = 1.0
    return {
        "plain": np.maximum(A, A.T),
        "directed": A,
        "complete": np.ones((N, N)) - np.eye(N),
        "one edge": edge,
        "star": star,
        "pairs": np.kron(np.eye(N // 2), [[0.0, 1.0], [1.0, 0.0]]),
        "weights": np.maximum(A, A.T) * 1e-6,
        "none": None,
    }[kind]


def labelling(kind, rng):
    """Class of each node, -1 where it is unknown."""
    classes = rng.integers(3, size=N)
    few = np.full(N, -1)
    few[:2] = [0, 1]
    return {
        "half": np.where(np.arange(N) < N // 2, classes % 2, -1),
        "one of each": few,
        "three classes": np.where(np.arange(N) < 30, np.arange(N) % 3, -1),
        "one alone": np.where(np.arange(N) < 30, (np.arange(N) == 0).astype(int), -1),
        "all": classes % 2,
    }[kind]


KINDS = {
    "kind": [
        "plain",
        "duplicated",
        "equal",
        "zero rows",
        "zero",
        "rank one",
        "nearly parallel",
        "a huge column",
        "tiny",
        "far from 0",
        "counts",
        "sparse",
        "none",
    ],
    "edges": ["plain", "directed", "complete", "one edge", "star", "pairs", "weights", "none"],
    "known": ["half", "one of each", "three classes", "one alone", "all"],
}


@settings(max_examples=25, deadline=None)
@given(
    **{name: st.sampled_from(values) for name, values in KINDS.items()},
    width=st.sampled_from([1, 2, 7, 60]),
    scale=st.sampled_from(["auto", "rows", "columns", None]),
    single=st.booleans(),
    seed=st.integers(0, 100),
)
def test_a_degenerate_table_has_an_answer(kind, edges, known, width, scale, single, seed):  # noqa: PLR0917
    """`single`: as many nodes were large, in single precision, through landmarks and iterated."""
    if edges == "none" and (kind == "none" or known != "all"):
        return
    rng = np.random.default_rng(seed)
    X, A, y = features(kind, width, rng), graph(edges, rng), labelling(known, rng)
    with pytest.MonkeyPatch.context() as patch:
        for module in (ridge, bank, views) if single else ():
            patch.setattr(module, "LARGE", 5)
        patch.setattr(leave_one_out, "TREES", 8)
        if single:
            patch.setattr(bank, "LANDMARKS", 8)
            patch.setattr(bank, "HELD", 5)
        with pytest.warns(UserWarning, match="no graph") if A is None else contextlib.nullcontext():
            model = gl.GraphClassifier(scale=scale).fit(X, y, graph=A)
        p = model.predict_proba()
        if A is not None:
            other = model.predict_proba(X, graph=A[::-1, ::-1])
            assert np.allclose(other.sum(axis=1), 1.0)
    assert p.shape == (N, np.unique(y[y >= 0]).size)
    assert np.isfinite(p).all()
    assert np.allclose(p.sum(axis=1), 1.0)
    assert sum(row.weight for row in model.table_) == pytest.approx(1.0)
    for row in model.table_:  # what is left out has no accuracy, and says why
        assert np.isfinite(row.loo_accuracy) or (row.weight == 0.0 and ": left out, " in row.member)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("least", [5e-324, 1e-300, 1e-200])
def test_weights_that_are_nothing_beside_the_others_leave_numbers_finite(least):
    rng = np.random.default_rng(0)
    X, A, y = features("plain", 7, rng), graph("plain", rng), labelling("half", rng)
    model = gl.GraphClassifier().fit(X, y, graph=A * np.where(rng.random(A.shape) < 0.5, least, 1))
    assert not any("left out" in row.member for row in model.table_)
    weighted = gl.describe(X, y, 1e40 * A * np.where(np.arange(N) < N // 2, least, 1.0))
    assert "times the smallest" in str(weighted)
    assert "inf" not in str(weighted)


def test_a_member_that_cannot_be_trained_is_left_out_and_said_so(monkeypatch):
    rng = np.random.default_rng(0)
    X, A, y = features("plain", 7, rng), graph("plain", rng), labelling("half", rng)
    usual = gl.GraphClassifier().fit(X, y, graph=A)
    trained = Fitted.of

    def failing(member, *rest):
        if member.name == "neighbourhood kernel":
            raise np.linalg.LinAlgError("its eigenvalues did not converge")
        return trained(member, *rest)

    monkeypatch.setattr(Fitted, "of", failing)
    model = gl.GraphClassifier().fit(X, y, graph=A)
    assert len(model.table_) == len(usual.table_)
    row = model.table_[-1]
    assert row.member == "neighbourhood kernel: left out, its eigenvalues did not converge"
    assert row.weight == 0.0
    assert np.isnan(row.loo_accuracy)
    assert np.isfinite(model.predict_proba()).all()


def test_columns_that_are_not_finite_are_left_out(monkeypatch):
    rng = np.random.default_rng(0)
    X, A, y = features("plain", 7, rng), graph("plain", rng), labelling("half", rng)
    monkeypatch.setattr(views.Views, "degree_profile", lambda self: np.full((N, 4), np.nan))
    model = gl.GraphClassifier().fit(X, y, graph=A)
    assert model.table_[-1].member.startswith("neighbourhood kernel: left out, ")
    assert np.isfinite(model.predict_proba()).all()
