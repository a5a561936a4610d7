"""The same sweep in any executor, that of a Dask cluster included, gives the same numbers."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sweep_producers
import xarray as xr

import gcnlimit as gl

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


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_cluster_that_loses_a_worker_gives_the_same_numbers(tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster.scheduler_address) as client,
    ):
        client.wait_for_workers(2)
        victim = next(iter(cluster.workers.values())).pid
        killer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))
        killer.start()
        ds = gl.sweep(
            sweep_producers.slow_draw,
            axes=AXES,
            fixed=FIXED,
            executor=client.get_executor(),
            store=tmp_path / "runs.sqlite",
        )
        killer.join()
        with pytest.raises(ProcessLookupError):
            os.kill(victim, 0)
    assert int((ds.status == 100).sum()) == 40
    expected = gl.sweep(sweep_producers.slow_draw, axes=AXES, fixed=FIXED)
    xr.testing.assert_identical(ds, expected)
