"""A damaged block or file is noticed and computed again; a file that is no store is left alone."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass

import killing
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import gcnlimit as gl
from gcnlimit import _version
from gcnlimit.sweeps import store as store_module
from gcnlimit.sweeps.grid import Columns
from gcnlimit.sweeps.store import Store, StoreError, decode, describe, encode, plain


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
    monkeypatch.setattr(
        Store, "put", lambda self, key, columns: (keys.append(key), put(self, key, columns))
    )
    return keys


def test_nothing_is_written_twice(store, written):
    killing.run(store)
    assert written == []


def test_a_flipped_bit_costs_its_block_only(store, written, whole):
    with sqlite3.connect(store) as connection:
        payload = bytearray(
            connection.execute("SELECT payload FROM blocks WHERE id = 7").fetchone()[0]
        )
        payload[-100] ^= 1
        connection.execute("UPDATE blocks SET payload = ? WHERE id = 7", (bytes(payload),))
    connection.close()
    with pytest.warns(UserWarning, match="runs.sqlite: a block does not match its checksum"):
        repaired = killing.run(store)
    assert len(written) == 1
    xr.testing.assert_identical(repaired, whole)


def damaged(content, how):
    """The bytes of a store that was cut, overwritten in the middle, or overwritten in its description."""
    content = bytearray(content)
    if how == "cut":
        return bytes(content[: int(0.6 * len(content))])
    place = slice(100, 4096) if how == "description" else slice(40_000, 45_000)
    content[place] = np.random.default_rng(0).bytes(place.stop - place.start)
    return bytes(content)


@pytest.mark.parametrize("how", ["cut", "overwritten", "description"])
def test_a_damaged_file_is_set_aside_and_computed_again(store, content, written, whole, how):
    store.write_bytes(damaged(content, how))
    with pytest.warns(UserWarning, match=r"the file is damaged .* kept as .*damaged-1"):
        repaired = killing.run(store)
    xr.testing.assert_identical(repaired, whole)
    assert len(written) == killing.BLOCKS
    assert store.with_name("runs.sqlite.damaged-1").read_bytes() == damaged(content, how)
    written.clear()
    killing.run(store)
    assert written == []


def database(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (x)")
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["table", "zeros", "short", "database"])
def test_a_file_that_is_no_store_is_left_alone(tmp_path, kind):
    path = tmp_path / "file"
    texts = {"table": b"x,y\n1,2\n" * 100, "zeros": b"\0" * 5000, "short": b"SQLite"}
    content = texts[kind] if kind in texts else database(path)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is not a store of sweeps"):
        Store(path)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(StoreError, match="check that its folder exists"):
        Store(tmp_path / "no" / "runs.sqlite")


def test_a_locked_store_is_not_taken_for_a_damaged_one(store, monkeypatch):
    monkeypatch.setattr(store_module, "_PATIENCE", 0.05)
    with closing(sqlite3.connect(store)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="nobody locks the file"):
            Store(store)
    assert sorted(path.name for path in store.parent.iterdir()) == ["runs.sqlite"]


def test_an_empty_file_is_a_new_store(tmp_path):
    (tmp_path / "runs.sqlite").touch()
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.get(b"key") is None


def test_other_numbers_of_the_library_are_not_reused(store, written, monkeypatch):
    monkeypatch.setattr(store_module, "NUMERICAL_VERSION", _version.NUMERICAL_VERSION + 1)
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
    monkeypatch.setattr(store_module, "__version__", "next")
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


# st.text first reads the whole of Unicode, which takes seconds
WORDS = st.lists(st.integers(0, 0xD7FF) | st.integers(0xE000, 0x10FFFF)).map(
    lambda codes: "".join(map(chr, codes))
)


@settings(max_examples=30)
@given(
    st.dictionaries(WORDS.filter(bool), st.lists(st.floats(), min_size=3, max_size=3), min_size=1),
    st.dictionaries(st.integers(0, 2), WORDS),
)
def test_bytes_keep_every_number_and_reason(fields, errors):
    columns = Columns({name: np.array(values) for name, values in fields.items()}, errors)
    back = decode(encode(columns))
    assert back.errors == errors
    assert {name: v.tobytes() for name, v in back.fields.items()} == {
        n: v.tobytes() for n, v in columns.fields.items()
    }


def test_a_million_points_fit_in_a_hundred_megabytes(tmp_path):
    size = 4096
    columns = Columns(
        {f"field{i}": np.random.default_rng(i).random(size) for i in range(5)}
        | {"status": np.zeros(size, np.int8)},
        {},
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
def test_no_flipped_bit_gives_a_wrong_number(tmp_path, small):
    """The blocks are right or computed again, or the file is refused and left as it is."""
    path = tmp_path / "runs.sqlite"
    random = np.random.default_rng(0)
    for bit in (*random.integers(0, 800, 40), *random.integers(0, 8 * len(small), 40)):
        content = bytearray(small)
        content[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(bytes(content))
        try:
            visit(path)
            assert visit(path) == 0
        except StoreError:
            assert path.read_bytes() == bytes(content)
        for file in tmp_path.iterdir():
            file.unlink()


@pytest.mark.parametrize("wrong", ["NULL", "7", "'text'", "x''"])
def test_a_cell_of_another_kind_costs_its_block(tmp_path, small, wrong):
    path = tmp_path / "runs.sqlite"
    path.write_bytes(small)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE blocks SET payload = {wrong} WHERE id = 3")
    with pytest.warns(UserWarning, match="does not match its checksum"):
        assert visit(path) == 1


def test_a_file_written_over_a_store_in_use_is_left_alone(tmp_path):
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        store.put(KEYS[0], COLUMNS[KEYS[0]])
        path.write_bytes(b"x,y\n1,2\n" * 1000)
        with pytest.raises(StoreError, match="is not a store of sweeps"):
            store.put(KEYS[1], COLUMNS[KEYS[1]])
    assert path.read_bytes() == b"x,y\n1,2\n" * 1000


@pytest.mark.parametrize("name", [3, ""])
def test_what_is_no_file_name_is_refused(name):
    with pytest.raises(gl.ParameterError, match="store = "):
        Store(name)


@dataclass(frozen=True)
class Box:
    size: int


@dataclass(frozen=True)
class Crate:
    size: int


def test_inputs_that_differ_have_different_texts():
    """Numbers, kinds of records, functions and what they hold; equal ones have the same, whatever holds them."""
    texts = [
        json.dumps(plain(value))
        for value in (None, 1, 1.5, "1", [1, 2], {"a": 1}, Box(1), Box(2), Crate(1))
    ]
    assert len(set(texts)) == len(texts)
    assert plain(np.array([1.0, 2.0])) == plain((1.0, 2.0)) == [1.0, 2.0]
    assert plain({1: np.float64(2.0)}) == {"1": 2.0}
    one, two = (plain(lambda x, k=k: x + k) for k in (1, 1))
    assert one == two
    for bad in (np.longdouble(1), object(), Box, b"1"):
        with pytest.raises(gl.ParameterError, match="cannot store a result for"):
            plain(bad)


def test_a_function_without_a_source_is_known_by_its_code():
    one, other, again = {}, {}, {}
    for names, number in ((one, 1), (other, 2), (again, 1)):
        exec(f"def made(x): return {{'y': x + {number}}}", names)
    assert describe(one["made"]) == describe(again["made"]) != describe(other["made"])


@pytest.mark.parametrize("path", [b"s.db", "\ud800", "a\0b", "s" * 300, 3])
def test_a_store_needs_a_name_that_a_file_can_have(path):
    with pytest.raises(gl.GCNLimitError, match=r"store"):
        gl.sweep(lambda lam: lam, axes={"lam": [1.0]}, store=path)
