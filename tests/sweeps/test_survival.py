"""A sweep killed in any way resumes where it stopped and ends bit-identical."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import killing
import pytest
import sweep_producers
import xarray as xr
from helpers import alive, wait_for

import gcnlimit as gl
from gcnlimit.sweeps.store import Store

HERE = Path(__file__).parent


def python(*arguments, **options):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.getenv("PYTHONPATH")])])
    }
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)], env=environment, text=True, **options
    )


def blocks_of(store):
    with Store(store) as kept:
        return kept._execute("SELECT count(*) FROM blocks")[0]


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_bit_identical(tmp_path):
    store = tmp_path / "runs.sqlite"
    program = python(HERE / "killing.py", store, 0, stdout=subprocess.PIPE)
    kills = int(program.communicate(timeout=120)[0])
    assert kills >= 5
    assert blocks_of(store) == killing.BLOCKS
    resumed = killing.run(store)
    whole = killing.run()
    xr.testing.assert_identical(resumed, whole)
    for name in ("test_accuracy", "log_test_error"):
        assert resumed[name].values.tobytes() == whole[name].values.tobytes()


def test_a_finished_block_is_not_computed_again(tmp_path):
    calls = tmp_path / "calls"
    calls.mkdir()

    def counted(x: float, folder: str) -> dict[str, float]:
        Path(folder, f"{x}-{time.monotonic_ns()}").touch()
        return {"y": 2 * x}

    for xs in ([0.0, 1.0, 2.0], [2.0, 3.0, 1.0]):
        ds = gl.sweep(
            counted, axes={"x": xs}, fixed={"folder": str(calls)}, store=tmp_path / "runs.sqlite"
        )
        assert ds.y.values.tolist() == [2 * x for x in xs]
    assert len(list(calls.iterdir())) == 4


DRIVER = """
import sys, gcnlimit as gl, sweep_producers
if __name__ == "__main__":
    gl.sweep(sweep_producers.pid_draw, axes={"x": range(40)}, fixed={"folder": sys.argv[2], "pause": 0.02},
             store=sys.argv[1], workers=2)
"""


def driver(tmp_path, **options):
    folder = tmp_path / "workers"
    folder.mkdir(exist_ok=True)
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    return python(script, tmp_path / "runs.sqlite", folder, **options), folder


def expected_draws(tmp_path):
    fixed = {"folder": str(tmp_path / "workers"), "pause": 0.02}
    return gl.sweep(sweep_producers.pid_draw, axes={"x": range(40)}, fixed=fixed)


@pytest.mark.slow
def test_killed_with_its_workers_running_it_leaves_no_orphans_and_resumes(tmp_path):
    process, folder = driver(tmp_path)
    store = tmp_path / "runs.sqlite"
    wait_for(lambda: store.exists() and killing.blocks_in(store, running=True) >= 3)
    process.kill()
    process.wait()
    workers = [int(file.name) for file in folder.iterdir()]
    wait_for(lambda: not any(alive(pid) for pid in workers), 10.0)
    assert 2 <= blocks_of(store) < 40  # the third may have been seen before its transaction ended
    fixed = {"folder": str(folder), "pause": 0.02}
    resumed = gl.sweep(sweep_producers.pid_draw, axes={"x": range(40)}, fixed=fixed, store=store)
    xr.testing.assert_identical(resumed, expected_draws(tmp_path))


@pytest.mark.slow
def test_interrupted_from_the_keyboard_it_stops_at_once_and_says_how_to_resume(tmp_path):
    process, folder = driver(tmp_path, stderr=subprocess.PIPE)
    store = tmp_path / "runs.sqlite"
    wait_for(lambda: store.exists() and killing.blocks_in(store, running=True) >= 3)
    process.send_signal(signal.SIGINT)
    message = process.communicate(timeout=20)[1]
    assert process.returncode != 0
    assert "KeyboardInterrupt" in message
    assert (
        f"of 40 points were finished and are kept in {store}; run the same again to resume"
        in message
    )
    assert not any(alive(int(file.name)) for file in folder.iterdir())
    assert 2 <= blocks_of(store) < 40


@pytest.mark.slow
def test_a_dying_worker_costs_only_the_point_that_kills_it(tmp_path):
    fixed = {"folder": str(tmp_path)}
    axes = {"x": [0.0, 3.0, 5.0, 9.0]}
    ds = gl.sweep(
        sweep_producers.dying_draw,
        axes=axes,
        fixed=fixed,
        workers=2,
        store=tmp_path / "runs.sqlite",
    )
    assert [x for x in axes["x"] if ds.status.sel(x=x) == -1] == [5.0]
    assert "died, 3 times" in str(ds.error.sel(x=5.0).values)
    for x in (0.0, 3.0, 9.0):
        assert float(ds["mean"].sel(x=x)) == sweep_producers.draw(x, int(ds.seed.sel(x=x)))["mean"]
    assert (
        blocks_of(tmp_path / "runs.sqlite") == 3
    )  # a death may be an accident: it is tried again next time


UNGUARDED = """
import gcnlimit as gl, sweep_producers
print("script")
print(gl.sweep(sweep_producers.draw, axes={"x": range(4)}, workers=2).status.values)
def own(x):
    return {"y": x}
gl.sweep(own, axes={"x": range(4)}, workers=2)
"""


@pytest.mark.slow
def test_a_script_without_a_guard_runs_once_and_is_told_where_it_needs_one(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED)
    process = python(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, message = process.communicate(timeout=60)
    assert output.startswith("script\n[100 100 100 100]\n")
    assert (
        "needs the call to sweep under if __name__ == '__main__':"
        in message.strip().splitlines()[-1]
    )


@pytest.mark.slow
def test_two_processes_share_a_store(tmp_path):
    store = tmp_path / "runs.sqlite"
    code = f"import killing; killing.run({str(store)!r})"
    both = [python("-c", code) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert blocks_of(store) == killing.BLOCKS
    xr.testing.assert_identical(killing.run(store), killing.run())


FULL = """
import resource, sys, killing, gcnlimit as gl
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    killing.run(sys.argv[1])
except gl.GCNLimitError as error:
    print(error)
"""


def test_a_full_disk_loses_nothing(tmp_path):
    store = tmp_path / "runs.sqlite"
    process = python("-c", FULL, store, 60_000, stdout=subprocess.PIPE)
    message = process.communicate(timeout=60)[0]
    assert f"cannot use the store {store}" in message
    assert "every block written is safe, and the same sweep resumes" in message
    assert 0 < blocks_of(store) < killing.BLOCKS
    xr.testing.assert_identical(killing.run(store), killing.run())


@pytest.mark.parametrize("size", [0, 1_000, 5_000])
def test_a_store_that_could_not_be_begun_is_not_there(size, tmp_path):
    """An empty file would be refused by the next sweep that is not told to resume."""
    process = python("-c", FULL, tmp_path / "runs.sqlite", size, stdout=subprocess.PIPE)
    assert "cannot use the store" in process.communicate(timeout=60)[0]
    assert list(tmp_path.iterdir()) == []
