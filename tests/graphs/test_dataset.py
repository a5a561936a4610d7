"""Files of arrays, which may declare or hold anything: a data set, or one sentence, and never more memory than there is."""

import time
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

import gcnlimit as gl

FIELDS = {"indptr": np.array([0, 1, 2]), "indices": np.array([1, 0]), "labels": np.array([0, 1])}
SPARSE = {"x_indptr": np.array([0, 1, 2]), "x_indices": np.array([0, 0]), "x_data": np.ones(2)}


@pytest.mark.parametrize("name", ["indptr", "something else"])
@pytest.mark.parametrize("read", [gl.real.read, gl.Instance.load])
def test_what_a_file_would_unpack_to_is_bounded_before_it_is_unpacked(
    name, read, tmp_path, monkeypatch
):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, **FIELDS | {name: np.zeros(10**7)})
    assert path.stat().st_size < 10**5
    monkeypatch.setenv("GCNLIMIT_MEMORY", "0.05")
    tracemalloc.start()
    with pytest.raises(
        gl.ParameterError, match=r"needs about 0.08 GB of memory, of 0.05 GB available"
    ):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6


@pytest.mark.parametrize("read", [gl.real.read, gl.Instance.load])
def test_an_entry_that_is_no_array_is_refused(read, tmp_path):
    path = tmp_path / "words.npz"
    np.savez(path, indices=FIELDS["indices"])
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("indptr.npy", b"hello")
    with pytest.raises(gl.ParameterError, match="its entry 'indptr' is not an array"):
        read(path)


WIDER = {
    "indices": np.zeros(10**6, np.int8),
    "weights": np.zeros(10**6, np.float16),
    "x_dense": np.zeros((2, 5 * 10**5), bool),
    "train": np.zeros((10**6, 1), np.uint8),
    "names": np.array(["a" * 10**6] * 2, bytes),
}


@pytest.mark.parametrize("name", WIDER)
def test_numbers_of_one_byte_are_counted_as_what_they_become(name, tmp_path, monkeypatch):
    path = tmp_path / "narrow.npz"
    np.savez_compressed(path, **FIELDS | {name: WIDER[name]})
    monkeypatch.setenv("GCNLIMIT_MEMORY", "0.005")
    tracemalloc.start()
    with pytest.raises(gl.ParameterError, match=r"reading it needs about 0.0(16|2) GB of memory"):
        gl.real.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7e6


def test_an_array_alone_is_refused_before_it_is_read(tmp_path):
    """A file of zeros takes no place on a disk, and much memory when it is read."""
    path = tmp_path / "alone.npz"
    with open(path, "wb") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": (10**8,)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 10**8)
    tracemalloc.start()
    with pytest.raises(gl.ParameterError, match="it holds one array instead of the fields"):
        gl.real.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6


def test_very_many_entries_are_refused_and_one_name_is_read_once(tmp_path):
    path = tmp_path / "many.npz"
    with zipfile.ZipFile(path, "w") as file:
        for k in range(2000):
            file.writestr(f"{k:01024}.npy", b"")
    with pytest.raises(
        gl.ParameterError, match=r"list of its entries takes .* write fewer entries"
    ):
        gl.real.read(path)
    np.savez_compressed(path, **FIELDS)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there already
        for _ in range(500):
            file.writestr("z.npy", b"")
        with file.open("z.npy", "w") as entry:
            np.lib.format.write_array(entry, np.zeros(10**7, np.uint8))
    began = time.process_time()
    assert gl.real.read(path).nodes == 2
    assert time.process_time() - began < 2


@pytest.mark.parametrize("text", ["[" * 10**5, '{"kind": "CSBM", "alpha": ' + "9" * 10**4 + "}"])
def test_a_model_that_is_none_is_a_short_sentence(text, tmp_path):
    path = tmp_path / "model.npz"
    gl.sample(gl.CSBM(4, 1, 2, 0.1), nodes=40, degree=6).save(path)
    with np.load(path) as file:
        np.savez(path, **{**file, "model": np.array(text)})
    with pytest.raises(gl.ParameterError, match="cannot be read as a model") as refused:
        gl.real.read(path)
    assert len(str(refused.value)) < 2000


@pytest.mark.parametrize(
    "shape", [[1e308, 2.0], [2**63 - 1, 2**63 - 1], [-1, 2], [2, 2**40], [2.5, 1], ["2", "1"], [2]]
)
def test_a_shape_out_of_range_is_refused(shape, tmp_path):
    path = tmp_path / "shape.npz"
    np.savez(path, **FIELDS, **SPARSE, x_shape=np.array(shape))
    with pytest.raises(gl.ParameterError, match=r"shape\.npz' cannot be read as a graph"):
        gl.real.read(path)


@pytest.mark.parametrize(
    "name",
    ["indptr", "indices", "labels", "x_dense", "names", "train", "centroid", "model", "degree"],
)
@pytest.mark.parametrize("dtype", ["M8[D]", "U3", "c16", "V3"])
def test_a_field_of_dates_or_words_is_a_data_set_or_a_sentence(name, dtype, tmp_path):
    path = tmp_path / "field.npz"
    gl.sample(gl.CSBM(4, 1, 2, 0.1), nodes=40, degree=6).save(path)
    with np.load(path) as file:
        fields = dict(file)
    for shape in ((40,), (40, 1), fields.get(name, np.zeros((40, 3))).shape):
        np.savez(path, **fields | {name: np.zeros(shape, dtype)})
        for read in (gl.real.read, gl.Instance.load):
            try:
                read(path)
            except gl.ParameterError:
                continue
            assert name in {"labels", "names", "x_dense", "train"}


@pytest.mark.parametrize("y", [[1, -1, 0, 1], ["b", "", "a", "b"]])
def test_the_text_counts_nodes_that_have_a_class(y):
    data = gl.real.Dataset(graph=np.ones((4, 4)) - np.eye(4), X=None, y=np.array(y))
    assert "no features, 3 labelled (2 classes), 0 splits" in repr(data)


@pytest.mark.parametrize("far", [2**60, -(2**60)])
def test_classes_that_no_float_holds_are_refused(far):
    with pytest.raises(gl.ParameterError, match=f"y reaches {far}; use classes within"):
        gl.real.Dataset(graph=np.ones((2, 2)), X=None, y=np.array([0, far]))
