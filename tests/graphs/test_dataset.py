"""Files of arrays, which may declare or hold anything: a data set, or one sentence, and never more memory than there is."""

import tracemalloc
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
