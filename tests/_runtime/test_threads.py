"""Threads change the time and nothing else; processes side by side have one each."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import gcnlimit as gl
from gcnlimit._runtime import threads as _threads
from gcnlimit._runtime.processes import process_pool, run
from gcnlimit.real import ensemble
from gcnlimit.simulation.infer import likelihood
from gcnlimit.simulation.train.products import training_rows

FILTERS = [gl.Diffusion([0.7, -1.2]), gl.Polynomial([[1.0, 0.5, 0.3], [0.0, 1.0, 2.0]])]


@pytest.fixture
def with_threads(monkeypatch):
    """Function that sets the number of threads, for work of any size."""
    monkeypatch.setattr(_threads, "LARGE", 1)
    return lambda count: monkeypatch.setenv("GCNLIMIT_THREADS", str(count))


@pytest.fixture(scope="module", params=[0.05, 0.7], ids=["few labels", "many labels"])
def instance(request):
    return gl.sample(
        gl.CSBM(alpha=2, lam=1.0, mu=2.0, rho=request.param), nodes=700, degree=20, seed=3
    )


@pytest.mark.parametrize("symmetrize", [True, False])
@pytest.mark.parametrize("filter", FILTERS, ids=lambda f: type(f).__name__)
def test_the_numbers_do_not_depend_on_the_threads(instance, filter, symmetrize, with_threads):
    operator, X = instance.observation.operator(symmetrize), instance.features
    each = filter.ravel((250, 2))[:250]

    def all_three():
        yield filter.apply(operator, X, radius=operator.radius)
        yield each.apply_each(operator, X[:, :250], radius=operator.radius)
        yield training_rows(instance.observation, operator, filter)

    with_threads(1)
    with _threads.single_threaded_blas():  # as there is where threads share the work
        serial = list(all_three())
    for count in (2, 7):
        with_threads(count)
        for one, many in zip(serial, all_three(), strict=True):
            assert np.array_equal(one, many)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, ValueError])
def test_an_interruption_does_not_wait_for_blocks_that_run(stop, with_threads):
    """An error does, since what runs holds memory that the next attempt needs."""
    with_threads(2)
    begun, caught, ended = (threading.Event() for _ in range(3))

    def work(_):
        begun.set()
        caught.wait(0.5 if stop is ValueError else 30)
        ended.set()

    def blocks():
        yield 0
        assert begun.wait(30)
        raise stop

    with pytest.raises(stop):
        list(_threads.ordered_map(work, blocks(), size=1))
    assert ended.is_set() == (stop is ValueError)
    caught.set()


def test_as_many_blocks_run_at_once_as_there_are_threads(with_threads):
    with_threads(3)
    together = threading.Barrier(3, timeout=30)  # passed by three at once only
    _threads.over_blocks(lambda _: together.wait(), range(6), size=1)
    pair = threading.Barrier(2, timeout=30)
    _threads.over_blocks(lambda _: pair.wait(), range(2), size=1)
    with_threads(1)
    seen = set()
    _threads.over_blocks(lambda _: seen.add(threading.get_ident()), range(6), size=1)
    assert len(seen) == 1


def test_small_work_and_a_single_block_stay_where_they_are(monkeypatch):
    monkeypatch.setenv("GCNLIMIT_THREADS", "3")
    seen = set()
    _threads.over_blocks(lambda _: seen.add(threading.get_ident()), range(6), size=100)
    _threads.over_blocks(lambda _: seen.add(threading.get_ident()), range(1), size=1 << 30)
    assert seen == {threading.get_ident()}


@pytest.mark.parametrize("count", [1, 3])
def test_the_first_error_is_raised_and_the_rest_is_dropped(count, with_threads):
    with_threads(count)
    begun = []

    def fail(k):
        begun.append(k)
        time.sleep(0.01)
        if k in {2, 3}:
            raise ValueError(f"block {k}")

    with pytest.raises(ValueError, match="block 2"):
        _threads.over_blocks(fail, range(100), size=1)
    assert len(begun) < 50


def test_an_error_in_a_series_reaches_the_caller(with_threads):
    with_threads(2)
    with pytest.raises(gl.ParameterError, match="diverges"):
        gl.PageRank(0.9).apply(3.0 * np.eye(40), np.ones((40, 250)))


def test_an_interruption_reaches_the_caller(with_threads):
    with_threads(2)
    begun = []

    def interrupt(k):
        begun.append(k)
        if k == 3:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        _threads.over_blocks(interrupt, range(100), size=1)
    assert len(begun) < 50


def test_threads_see_how_the_caller_treats_overflow(with_threads):
    with_threads(2)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        _threads.over_blocks(lambda _: np.full(3, 1e300) * 1e300, range(4), size=1)


@pytest.mark.parametrize("workers", [1, 2])
def test_processes_side_by_side_have_one_thread_each(workers, monkeypatch):
    for name in ("GCNLIMIT_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "3")
    assert (
        run([_threads.threads] * 2, workers) == [3 if workers == 1 else 1] * 2
    )  # one process need not share
    with process_pool(workers) as processes:
        assert processes.submit(_threads.threads).result() == 1
        assert processes.submit(os.getenv, "OPENBLAS_NUM_THREADS").result() == "1"
    assert _threads.threads() == 3
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5"])
def test_a_number_of_threads_that_is_none_is_named(given, monkeypatch):
    monkeypatch.setenv("GCNLIMIT_THREADS", given)
    with pytest.raises(gl.ParameterError, match=f"GCNLIMIT_THREADS = '{given}'"):
        _threads.threads()


def test_a_fit_and_an_estimate_use_one_thread_for_linear_algebra(monkeypatch):
    """Threads that wait for a busy core spin; afterwards there are as many as before."""

    def most():
        return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

    seen = []
    for home, name in ((ensemble.Fitted, "of"), (likelihood, "amp")):
        usual = getattr(home, name)

        def noting(*args, usual=usual, **options):
            seen.append(most())
            return usual(*args, **options)

        monkeypatch.setattr(home, name, noting)
    instance = gl.sample(gl.CSBM(4, 1.0, 2.0, 0.3), nodes=60, degree=5, seed=0)
    X, A = instance.features, instance.adjacency
    y = np.where(instance.train_mask, instance.labels > 0, -1)
    with threadpool_limits(2):
        gl.GraphClassifier().fit(X, y, graph=A)
        fits = len(seen)
        gl.estimate(X, y, A, method="likelihood")
        assert most() == 2
    assert 0 < fits < len(seen)
    assert set(seen) == {1}
