"""A damaged store is noticed, what is left of it is used, and only the rest is computed again."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import killing
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import gcnlimit as gl
from gcnlimit import _version
from gcnlimit.sweeps import encoding, keys
from gcnlimit.sweeps import store as store_module
from gcnlimit.sweeps.compute import Columns
from gcnlimit.sweeps.encoding import decode, encode
from gcnlimit.sweeps.store import Store, StoreError


@pytest.fixture(scope="module")
def whole():
    return killing.run()


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "runs.sqlite"
    killing.run(path)
    return path.read_bytes()


@pytest.fixture
def store(tmp_path, content):
    path = tmp_path / "runs.sqlite"
    path.write_bytes(content)
    return path


@pytest.fixture
def written(monkeypatch):
    """Keys of the blocks that a sweep writes."""
    keys = []
    put = Store.put
    monkeypatch.setattr(Store, "put", lambda self, key, columns: (keys.append(key), put(self, key, columns)))
    return keys


def test_nothing_is_written_twice(store, written):
    killing.run(store)
    assert written == []


def test_a_flipped_bit_costs_its_block_only(store, written, whole):
    with sqlite3.connect(store) as connection:
        payload = bytearray(connection.execute("SELECT payload FROM blocks WHERE id = 7").fetchone()[0])
        payload[-100] ^= 1
        connection.execute("UPDATE blocks SET payload = ? WHERE id = 7", (bytes(payload),))
    connection.close()
    with pytest.warns(UserWarning, match="runs.sqlite: a block of it does not match its checksum"):
        repaired = killing.run(store)
    assert len(written) == 1
    xr.testing.assert_identical(repaired, whole)


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
def test_a_truncated_file_keeps_what_can_be_read(store, content, written, whole, kept):
    store.write_bytes(content[: int(kept * len(content))])
    with pytest.warns(UserWarning, match=r"runs\.sqlite: the file is damaged .* kept as .*damaged-1"):
        repaired = killing.run(store)
    xr.testing.assert_identical(repaired, whole)
    assert 0 < len(written) <= (1 - kept) * killing.BLOCKS + 10
    assert store.with_name("runs.sqlite.damaged-1").exists()
    written.clear()
    killing.run(store)
    assert written == []


@pytest.mark.parametrize("seed", range(6))
def test_an_overwritten_stretch_is_noticed_and_the_rest_kept(store, content, written, whole, seed):
    content = bytearray(content)
    random = np.random.default_rng(seed)
    place = int(random.integers(20_000, len(content) - 6_000))
    content[place : place + 5_000] = random.bytes(5_000)
    store.write_bytes(bytes(content))
    with pytest.warns(UserWarning, match=r"runs\.sqlite"):
        repaired = killing.run(store)
    assert 0 < len(written) < 15
    xr.testing.assert_identical(repaired, whole)


@pytest.mark.parametrize("stretch", [slice(0, 16), slice(100, 4096), slice(0, 4096)])
def test_a_lost_beginning_costs_nothing(store, content, written, whole, stretch):
    content = bytearray(content)
    content[stretch] = np.random.default_rng(0).bytes(len(content[stretch]))
    store.write_bytes(bytes(content))
    with pytest.warns(UserWarning, match=rf"{killing.BLOCKS} blocks were saved"):
        repaired = killing.run(store)
    assert written == []
    xr.testing.assert_identical(repaired, whole)


@pytest.mark.parametrize("content", [b"x,y\n1,2\n" * 100, b"\0" * 5000])
def test_a_file_that_is_no_store_is_left_alone(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"table\.csv is not a store of sweeps.*move it away"):
        Store(path)
    assert path.read_bytes() == content


def test_the_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(StoreError, match="database of another program"):
        Store(path)
    assert path.read_bytes() == content


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(StoreError, match="check that its folder exists"):
        Store(tmp_path / "no" / "runs.sqlite")


def test_a_locked_store_is_not_taken_for_a_damaged_one(store, monkeypatch):
    monkeypatch.setattr(store_module, "_PATIENCE", 0.05)
    with closing(sqlite3.connect(store)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="nobody else locks the file"):
            Store(store)
    assert sorted(path.name for path in store.parent.iterdir()) == ["runs.sqlite"]


def test_an_empty_file_is_a_new_store(tmp_path):
    (tmp_path / "runs.sqlite").touch()
    with Store(tmp_path / "runs.sqlite") as store:
        assert len(store) == 0


def test_other_numbers_of_the_library_are_not_reused(store, written, monkeypatch):
    monkeypatch.setattr(keys, "NUMERICAL_VERSION", _version.NUMERICAL_VERSION + 1)
    killing.run(store)
    assert len(written) == killing.BLOCKS


def test_failures_of_another_version_are_tried_again(tmp_path, written, monkeypatch):
    arguments = {
        "data": gl.CSBM(4, 1.0, 2.0, 0.1),
        "gcn": gl.GCN(gl.PageRank(0.1), symmetrize=True),
        "axes": {"theta": [0.1, 0.48], "symmetrize": [True, False]},
        "store": tmp_path / "runs.sqlite",
    }
    assert int((gl.sweep(gl.predict, **arguments).status == -1).sum()) == 1
    written.clear()
    gl.sweep(gl.predict, **arguments)
    assert len(written) == 0
    monkeypatch.setattr(encoding, "__version__", "next")
    gl.sweep(gl.predict, **arguments)
    assert len(written) == 1


def test_changed_code_of_your_own_function_is_not_reused(tmp_path):
    def answer(x: float) -> dict[str, float]:
        return {"y": x}

    first = gl.sweep(answer, axes={"x": [1.0]}, store=tmp_path / "runs.sqlite")

    def answer(x: float) -> dict[str, float]:
        return {"y": -x}

    second = gl.sweep(answer, axes={"x": [1.0]}, store=tmp_path / "runs.sqlite")
    assert (float(first.y[0]), float(second.y[0])) == (1.0, -1.0)


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_captured_values_are_part_of_the_key(tmp_path_factory, factor):
    path = tmp_path_factory.getbasetemp() / "captured.sqlite"
    ds = gl.sweep(lambda x: {"y": factor * x}, axes={"x": [1.0]}, store=path)
    assert float(ds.y[0]) == factor


@given(
    st.dictionaries(st.text(min_size=1), st.lists(st.floats(), min_size=3, max_size=3), min_size=1),
    st.dictionaries(st.integers(0, 2), st.text()),
)
def test_bytes_keep_every_number_and_reason(fields, errors):
    columns = Columns({name: np.array(values) for name, values in fields.items()}, errors)
    back = decode(encode(columns))
    assert back.errors == errors
    assert {name: v.tobytes() for name, v in back.fields.items()} == {n: v.tobytes() for n, v in columns.fields.items()}


def test_a_million_points_fit_in_a_hundred_megabytes(tmp_path):
    size = 4096
    columns = Columns(
        {f"field{i}": np.random.default_rng(i).random(size) for i in range(5)} | {"status": np.zeros(size, np.int8)}, {}
    )
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        for i in range(20):
            store.put(str(i).encode(), columns)
    assert path.stat().st_size / (20 * size) * 1e6 < 100e6


KEYS = [bytes([i]) * 16 for i in range(1, 9)]
COLUMNS = {key: Columns({"x": np.arange(60.0) + key[0]}, {}) for key in KEYS}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "runs.sqlite"
    with Store(path) as store:
        for key, columns in COLUMNS.items():
            store.put(key, columns)
    return path.read_bytes()


def visit(path):
    """Read every block, write those that are missing, and return their number."""
    missing = 0
    with Store(path) as store:
        for key, columns in COLUMNS.items():
            found = store.get(key)
            assert found is None or np.array_equal(found.fields["x"], columns.fields["x"])
            if found is None:
                store.put(key, columns)
                missing += 1
    return missing


@pytest.mark.filterwarnings("ignore:store")
@pytest.mark.parametrize("part", ["header", "anywhere"])
def test_any_flipped_bit_costs_no_wrong_number_and_is_repaired_in_one_visit(tmp_path, small, part):
    path = tmp_path / "runs.sqlite"
    size = 100 if part == "header" else len(small)
    for bit in np.random.default_rng(0).integers(0, 8 * size, 150):
        content = bytearray(small)
        content[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(bytes(content))
        visit(path)
        assert visit(path) == 0
        for file in tmp_path.iterdir():
            file.unlink()


@pytest.mark.parametrize("wrong", ["CAST(payload AS TEXT)", "NULL", "7", "'text'", "x''"])
@pytest.mark.parametrize("column", ["payload", "checksum"])
def test_a_cell_of_another_kind_costs_its_block_at_most(tmp_path, small, column, wrong):
    path = tmp_path / "runs.sqlite"
    path.write_bytes(small)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE blocks SET {column} = {wrong.replace('payload', column)} WHERE id = 3")
    harmless = wrong.startswith("CAST")
    with contextlib.nullcontext() if harmless else pytest.warns(UserWarning, match="does not match its checksum"):
        assert visit(path) == (0 if harmless else 1)


@pytest.mark.parametrize("content", [b"x", b"xy", b"SQLite", b"\0" * 99])
def test_a_short_file_is_not_touched(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is not a store of sweeps"):
        Store(path)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.filterwarnings("ignore:store")
def test_a_link_to_a_damaged_store_stays_a_link(tmp_path, small):
    (tmp_path / "disk").mkdir()
    real, link = tmp_path / "disk" / "runs.sqlite", tmp_path / "link.sqlite"
    real.write_bytes(small[:9000])
    link.symlink_to(real)
    visit(link)
    assert link.is_symlink()
    assert visit(real) == 0
    assert real.with_name("runs.sqlite.damaged-1").exists()


RECOVER = """
import sys, warnings
import test_store
warnings.simplefilter("ignore")
test_store.visit(sys.argv[1])
"""


def test_several_recoveries_at_once_keep_one_store(tmp_path, small):
    path = tmp_path / "runs.sqlite"
    path.write_bytes(small[:12_000])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", RECOVER, str(path)]
    processes = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * 4
    assert visit(path) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["runs.sqlite", "runs.sqlite.damaged-1"]


@pytest.mark.parametrize("loss", ["unlinked", "renamed", "emptied", "replaced"])
def test_a_store_that_disappears_in_use_is_made_again_with_a_warning(tmp_path, small, loss):
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        store.put(KEYS[0], COLUMNS[KEYS[0]])
        if loss == "unlinked":
            path.unlink()
        elif loss == "emptied":
            path.write_bytes(b"")
        else:
            path.rename(tmp_path / "other.sqlite")
        if loss == "replaced":
            path.write_bytes(small)
        with pytest.warns(UserWarning, match="was moved, removed or emptied while it was in use"):
            store.put(KEYS[1], COLUMNS[KEYS[1]])
    with Store(path) as kept:
        assert kept.get(KEYS[1]) is not None
        assert (kept.get(KEYS[0]) is None) == (loss == "emptied")


def database(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
    return path.read_bytes()


@pytest.mark.parametrize("way", ["in its place", "written over it"])
@pytest.mark.parametrize("foreign", ["table", "database"])
def test_a_foreign_file_in_the_place_of_a_store_in_use_is_left_alone(tmp_path, foreign, way):
    path, other = tmp_path / "runs.sqlite", tmp_path / "other"
    content = b"x,y\n1,2\n" * 1000 if foreign == "table" else database(other)
    with Store(path) as store:
        for key in KEYS[:3]:
            store.put(key, COLUMNS[key])
        if way == "in its place":
            other.write_bytes(content)
            other.replace(path)
        else:
            path.write_bytes(content)
        with pytest.raises(StoreError, match=r"is left as it is; .*run the same sweep again"):
            store.put(KEYS[3], COLUMNS[KEYS[3]])
    assert path.read_bytes() == content
    kept = tmp_path / "runs.sqlite.kept-1"
    assert kept.exists() == (way == "in its place")
    assert way == "written over it" or visit(kept) == len(KEYS) - 3


@pytest.mark.parametrize("name", [3, "a\0b", "", ":memory:"])
def test_what_is_no_file_name_is_refused(name):
    with pytest.raises(gl.ParameterError, match="store = "):
        Store(name)
