"""The same sweep on a real Dask cluster, and in any executor, gives the same numbers."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sweep_producers
import xarray as xr

import gcnlimit as gl
from gcnlimit.sweeps import execute
from gcnlimit.sweeps.producers import as_producer

AXES = {"x": np.arange(40.0)}
FIXED = {"pause": 0.05}


def test_any_executor_will_do():
    with ThreadPoolExecutor(3) as executor:
        ds = gl.sweep(sweep_producers.draw, axes=AXES, executor=executor)
    xr.testing.assert_identical(ds, gl.sweep(sweep_producers.draw, axes=AXES))


def test_a_closed_executor_is_said_to_be(tmp_path):
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(gl.GCNLimitError, match="the executor broke or was closed"):
        gl.sweep(sweep_producers.draw, axes=AXES, executor=executor)


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    distributed = pytest.importorskip("distributed")

    def refuse(address, timeout):
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", refuse)
    with pytest.raises(gl.GCNLimitError, match="no Dask scheduler answers at 'tcp://nowhere:1'"):
        gl.sweep(sweep_producers.draw, axes=AXES, scheduler="tcp://nowhere:1")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_cluster_that_loses_a_worker_gives_the_same_numbers(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        with distributed.Client(cluster) as client:
            client.wait_for_workers(2)
        killer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))
        killer.start()
        ds = gl.sweep(
            sweep_producers.slow_draw,
            axes=AXES,
            fixed=FIXED,
            scheduler=cluster.scheduler_address,
            store=tmp_path / "runs.sqlite",
        )
        killer.join()
        with pytest.raises(ProcessLookupError):
            os.kill(victim, 0)
    assert int((ds.status == 100).sum()) == 40
    expected = gl.sweep(sweep_producers.slow_draw, axes=AXES, fixed={"pause": 0.05})
    xr.testing.assert_identical(ds, expected)


@pytest.fixture
def scheduler():
    """A scheduler that has no workers."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster:
        yield cluster


@pytest.mark.filterwarnings("default")
def test_a_cluster_without_workers_is_said_to_have_none(scheduler, monkeypatch):
    monkeypatch.setattr(execute, "_START", 0.5)
    with pytest.raises(gl.GCNLimitError, match="has no workers; start some with: dask worker"):
        gl.sweep(sweep_producers.draw, axes=AXES, scheduler=scheduler.scheduler_address)


def interrupted_without_workers(cluster):
    with execute.dask_executor(cluster.scheduler_address, as_producer(sweep_producers.draw)) as (executor, _):
        cluster.scale(0)
        while cluster.workers:
            time.sleep(0.01)
        executor.submit(repr, 1)
        raise KeyboardInterrupt


@pytest.mark.filterwarnings("default")
def test_an_interrupted_sweep_ends_on_a_cluster_that_has_lost_its_workers(scheduler):
    scheduler.scale(1)
    with pytest.raises(KeyboardInterrupt):
        interrupted_without_workers(scheduler)


class Client:
    """Stands in for the client of a cluster."""

    def __init__(self, workers):
        self.workers = workers

    def scheduler_info(self):
        return {"workers": self.workers}

    def wait_for_workers(self, count, timeout):
        pass

    def submit(self, function, producer, pure):
        raise ModuleNotFoundError("No module named\n 'mine'")


def test_a_cluster_that_loses_its_workers_ends_the_sweep(monkeypatch):
    monkeypatch.setattr(execute, "_PATIENCE", -1.0)
    execute._Watch(Client({"one": {}}), "tcp://x")()
    with pytest.raises(gl.GCNLimitError, match="has lost all its workers"):
        execute._Watch(Client({}), "tcp://x")()


def test_a_function_that_the_cluster_cannot_import_is_named_before_any_point():
    with pytest.raises(gl.GCNLimitError, match=r"cannot load draw .No module named 'mine'.; install"):
        execute._check_cluster(Client({}), "tcp://x", as_producer(sweep_producers.draw))
