"""Whatever a file or a caller brings is refused in a sentence, or counts for what it says: nothing crashes, nothing is silent."""

import json
import math

import numpy as np
import pytest
from scipy import linalg, sparse

import gcnlimit as gl
from gcnlimit.simulation.data.features import StreamedFeatures

NETWORK = gl.GCN(gl.Diffusion(0.7))
VALUES = [
    math.nan,
    math.inf,
    -math.inf,
    -5,
    -1,
    0,
    0.5,
    1,
    2,
    7,
    39,
    40,
    41,
    10**6,
    2**31 - 1,
    2**63,
    1e300,
    1e-300,
]
TYPES = ["f4", "f8", "i1", "i8", "u8", "?", "c16", "U5", "S3", "M8[s]", "V4", ">f8", ">i4", "f2"]


def graph(kind):
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.3, directed=kind != "undirected")
    drawn = gl.sample(data, 40, 6, seed=5, streamed=kind == "streamed")
    if kind != "weighted":
        return drawn
    weighted = drawn.adjacency.copy()
    weighted.data = np.random.default_rng(0).random(weighted.nnz)
    labels = np.where(np.arange(40) < 35, drawn.labels, np.nan)
    return gl.Instance.of(weighted, drawn.features, labels, drawn.train_mask & ~np.isnan(labels))


def mutate(stored, rng):
    """Change one field of a saved instance: an entry, the type, the shape, or all of it."""
    name = rng.choice(sorted(stored))
    field = stored[name].copy()
    kind = rng.integers(6)
    if kind == 0 and field.size:
        value = VALUES[rng.integers(len(VALUES))]
        if not np.can_cast(np.min_scalar_type(value), field.dtype) and rng.random() < 0.5:
            field = field.astype(float)
        with np.errstate(all="ignore"):
            field.reshape(-1)[rng.integers(field.size)] = np.array(value).astype(field.dtype)
    elif kind == 1:
        try:
            with np.errstate(all="ignore"):
                field = field.astype(TYPES[rng.integers(len(TYPES))])
        except (TypeError, ValueError):
            field = np.array(["x"])
    elif kind == 2:
        shapes = [
            field.reshape(1, -1),
            field.ravel()[:-1],
            np.append(field, field.ravel()[:1]),
            np.atleast_1d(field)[..., :0],
            field.T,
        ]
        field = shapes[rng.integers(len(shapes))]
    elif kind == 3:
        field = np.full_like(field, 7) if field.dtype.kind != "b" else ~field
    elif kind == 4:
        field = rng.permutation(field.ravel()).reshape(field.shape)
    else:
        return {key: value for key, value in stored.items() if key != name}
    return stored | {name: field}


def dense_outputs(stored):
    """Outputs of the network from the fields of a file, by dense matrices and none of the library's checks."""
    mask, labels = stored["train_mask"], stored["labels"].astype(float)
    nodes, degree = mask.size, float(stored["degree"])
    weights = np.array(stored.get("weights", np.ones(stored["indices"].size)), float)
    A = sparse.csr_array(
        (weights, stored["indices"], stored["indptr"]), shape=(nodes, nodes)
    ).toarray()
    A /= np.abs(A).max() or 1.0
    A /= np.sum(A**2) / np.sum(A) if A.any() else 1.0
    centred = (A - degree / nodes) / np.sqrt(degree / nodes * (1 - degree / nodes))
    if json.loads(str(stored["model"]))["directed"]:
        centred = (centred + centred.T) / np.sqrt(2)
    g = linalg.expm(0.7 * centred / np.sqrt(nodes))
    if "features" in stored:
        X = stored["features"]
    else:
        spike = stored["spike"].astype(
            np.float32 if stored["spike"].dtype == np.float32 else np.float64
        )
        X = np.asarray(StreamedFeatures(int(stored["key"]), labels[:, None], spike))
    return g @ X @ (X.T @ (g.T @ np.where(mask, labels, 0.0))) / nodes


@pytest.mark.parametrize("kind", ["directed", "undirected", "weighted", "streamed"])
def test_a_changed_field_is_refused_or_counts_for_what_it_says(kind, tmp_path):
    path, rng = tmp_path / "i.npz", np.random.default_rng(0)
    graph(kind).save(path)
    with np.load(path) as file:
        stored = {name: file[name] for name in file.files}
    refused = 0
    for _ in range(60):
        changed = mutate(stored, rng)
        np.savez(path, **changed)
        try:
            loaded = gl.Instance.load(path)
            outputs = gl.fit(loaded, NETWORK).outputs
            if loaded.data.rho:
                gl.amp(loaded, max_iterations=3)
        except gl.ParameterError:
            refused += 1
            continue
        expected = dense_outputs(changed)
        assert np.allclose(outputs, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    assert 16 < refused < 56


def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path):
    path, rng = tmp_path / "i.npz", np.random.default_rng(1)
    graph("directed").save(path)
    whole, expected = path.read_bytes(), gl.fit(graph("directed"), NETWORK).outputs
    for _ in range(150):
        flipped = bytearray(whole)
        flipped[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(flipped[: rng.integers(len(whole))] if rng.random() < 0.2 else flipped)
        try:
            outputs = gl.fit(gl.Instance.load(path), NETWORK).outputs
        except gl.ParameterError:
            continue
        assert np.array_equal(outputs, expected)


def test_a_missing_degree_is_named(tmp_path):
    path = tmp_path / "i.npz"
    gl.sample(gl.CSBM(4, 1.0, 2.0, 0.3), nodes=40, degree=6, seed=0).save(path)
    with np.load(path) as file:
        np.savez(path, **(dict(file) | {"degree": np.array(np.nan)}))
    with pytest.raises(gl.ParameterError, match="degree contains NaN"):
        gl.Instance.load(path)


def test_one_saved_array_is_no_instance(tmp_path):
    np.save(tmp_path / "i.npy", np.ones(3))
    with pytest.raises(gl.ParameterError, match="one array instead of the fields"):
        gl.Instance.load(tmp_path / "i.npy")


@pytest.mark.parametrize("path", [3, None, "a\0b", b"i.npz", "absent.npz"])
def test_a_path_names_a_file(path):
    with pytest.raises(gl.ParameterError, match="path = "):
        gl.Instance.load(path)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize("part", ["adjacency", "features"])
@pytest.mark.parametrize("index", [40, 10**6, 2**31 - 1, -5])
def test_indices_that_lead_outside_of_a_sparse_matrix_are_refused(form, part, index):
    i = graph("directed")
    given = {
        "adjacency": i.adjacency,
        "features": sparse.csr_array(i.features),
        "labels": i.labels,
        "train_mask": i.train_mask,
    }
    attributes = (
        ("coords",) if form == "coo" else ("indices",) if index == 40 else ("indices", "indptr")
    )
    for attribute in attributes:
        broken = given[part].asformat(form).copy()
        array = getattr(broken, attribute)
        (array[1] if form == "coo" else array)[2] = index
        with pytest.raises(gl.ParameterError, match=f"{part} is a broken sparse matrix"):
            gl.Instance.of(**given | {part: broken})


def test_row_pointers_that_return_to_zero_are_refused():
    broken = sparse.csr_array((3, 3))
    broken.indptr[1] = 2
    with pytest.raises(gl.ParameterError, match="row pointers decrease"):
        gl.Instance.of(broken, np.ones((3, 1)), [1, -1, 1], [True, True, False])


@pytest.mark.parametrize("part", ["features", "labels", "train_mask"])
def test_masked_entries_are_refused(part):
    i = graph("directed")
    given = {
        "adjacency": i.adjacency,
        "features": i.features,
        "labels": i.labels,
        "train_mask": i.train_mask,
    }
    masked = np.ma.masked_array(given[part], mask=False)
    gl.Instance.of(**given | {part: masked})
    masked[0] = np.ma.masked
    with pytest.raises(gl.ParameterError, match=f"{part} has masked entries"):
        gl.Instance.of(**given | {part: masked})


@pytest.mark.parametrize("part", ["adjacency", "features", "labels", "train_mask"])
def test_what_the_caller_changes_later_does_not_change_the_instance(part):
    i = graph("directed")
    given = {
        "adjacency": i.adjacency.copy(),
        "features": i.features.copy(),
        "labels": i.labels.copy(),
        "train_mask": i.train_mask.copy(),
    }
    mine = gl.Instance.of(**given)
    before = gl.fit(mine, NETWORK).outputs
    changed = given[part].data if part == "adjacency" else given[part]
    changed[:10] = changed[10:20].copy() * 0
    assert np.array_equal(
        gl.fit(gl.Instance(mine.observation, mine.latents), NETWORK).outputs, before
    )
    assert np.array_equal(
        mine.labels[mine.train_mask], mine.observation.train_labels[mine.train_mask]
    )


@pytest.mark.parametrize(
    "content", [b"", b"x", b"\x80\x04N.", b"PK\x03\x04", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'}"]
)
def test_a_file_that_is_not_of_arrays_is_refused_without_unsafe_advice(tmp_path, content):
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    for load in (gl.Instance.load, gl.real.read):
        with pytest.raises(gl.ParameterError, match="cannot be read") as caught:
            load(path)
        assert "pickle" not in str(caught.value)
