from __future__ import annotations

import os
import pickle
import pickletools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from diffmg.core.errors import DiffmgError
from experiments.data.pickles import load_pickle

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def load(data: bytes) -> Any:
    return load_pickle(data, "'it'")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_matrices_come_back(form: str, protocol: int) -> None:
    dense = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    found = load(pickle.dumps([sp.csr_matrix(dense).asformat(form)], protocol))[0]
    assert found.format == "csr"
    assert found.dtype == np.float32
    assert found.toarray().tolist() == dense.tolist()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.zeros((0, 4), np.float32),
        np.array([True, False]),
        np.arange(3, dtype=">i4"),
        np.array(5, np.int8),
    ],
    ids=["plain", "fortran", "empty", "bool", "big-endian", "no axis"],
)
def test_arrays_come_back(array: np.ndarray, protocol: int) -> None:
    found = load(pickle.dumps(array, protocol))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@given(hnp.arrays(hnp.integer_dtypes() | hnp.floating_dtypes() | hnp.boolean_dtypes(), hnp.array_shapes()))
def test_any_array_of_numbers_comes_back(array: np.ndarray) -> None:
    for protocol in PROTOCOLS:
        np.testing.assert_array_equal(load(pickle.dumps(array, protocol)), array)


@pytest.mark.parametrize("protocol", [0, 1, *PROTOCOLS])
def test_lists_of_numbers_come_back(protocol: int) -> None:
    rows = [[[1, 2], [np.int64(3), 4]], {"a": 0.5}, None, "text", np.float32(0.25)]
    assert load(pickle.dumps(rows, protocol)) == [[[1, 2], [3, 4]], {"a": 0.5}, None, "text", 0.25]


def renamed(data: bytes, names: dict[bytes, bytes]) -> bytes:
    """The pickle with other module names, as another version of the library wrote them."""
    for new, old in names.items():
        data = data.replace(b"c" + new, b"c" + old)
    return data


def test_names_of_older_libraries_are_known() -> None:
    data = pickle.dumps(sp.csr_matrix(np.eye(2)), 3)
    old = renamed(
        data, {b"numpy._core.multiarray": b"numpy.core.multiarray", b"scipy.sparse._csr": b"scipy.sparse.csr"}
    )
    assert b"_core" not in old
    assert b"sparse._csr" not in old
    assert load(old).toarray().tolist() == [[1, 0], [0, 1]]


def test_state_of_older_libraries_is_known() -> None:
    matrix = sp.coo_matrix(np.eye(2))
    state = {"row": matrix.row, "col": matrix.col, "data": matrix.data, "_shape": (2, 2)}
    matrix.__dict__.clear()
    matrix.__dict__.update(state)
    assert load(pickle.dumps(matrix, 3)).toarray().tolist() == [[1, 0], [0, 1]]


class Evil:
    """A value whose pickle calls something."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self.reduced = (call, arguments)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.reduced


@pytest.mark.parametrize("protocol", [0, 1, *PROTOCOLS])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_malicious_pickle_is_refused_and_runs_nothing(protocol: int, wrapped: bool, tmp_path: Path) -> None:
    mark = tmp_path / "was here"
    calls = [
        Evil(os.system, f"touch '{mark}'"),
        Evil(exec, f"open({str(mark)!r}, 'w')"),
        Evil(open, str(mark), "w"),
        Evil(subprocess.check_call, ["touch", str(mark)]),
        Evil(getattr, os, "system"),
        Evil(np.save, str(mark), 1),
        Evil(np.fromfile, str(mark)),
        Evil(Path, str(mark)),
    ]
    for call in calls:
        try:
            data = pickle.dumps([sp.eye(2, format="csr"), call] if wrapped else call, protocol)
        except (TypeError, pickle.PicklingError):
            continue  # modules cannot be pickled
        with pytest.raises(DiffmgError, match=r"'it' must be a pickle of arrays .* refused;"):
            load(data)
    assert not mark.exists()


def test_the_malicious_pickle_would_have_run(tmp_path: Path) -> None:
    """The test above could fail."""
    mark = tmp_path / "was here"
    data = pickle.dumps(Evil(exec, f"open({str(mark)!r}, 'w').close()"))
    subprocess.run([sys.executable, "-c", f"import pickle; pickle.loads({data!r})"], check=True)
    assert mark.exists()


@pytest.mark.parametrize(
    "name",
    ["builtins\neval", "os\nsystem", "numpy\nload", "numpy.core.multiarray\nfromfile", "numpy\ncore.os", "scipy\nio"],
)
def test_only_the_names_needed_are_admitted(name: str) -> None:
    with pytest.raises(DiffmgError, match=r"which is refused"):
        load(f"c{name}\n.".encode())


def test_a_name_with_dots_does_not_lead_out_of_an_admitted_one() -> None:
    data = b"\x80\x04\x8c\x0cnumpy.dtype.\x8c\x0b__globals__\x93."
    assert [op.name for op, *_ in pickletools.genops(data)][-2] == "STACK_GLOBAL"
    with pytest.raises(DiffmgError, match=r"which is refused"):
        load(data)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Evil(np.dtype, "O"), "arrays in a pickle must be of numbers, but got the type 'O'"),
        (np.array(["text"]), "arrays in a pickle must be of numbers"),
        (np.array([None]), "arrays in a pickle must be of numbers"),
    ],
)
def test_arrays_of_anything_else_are_refused(value: Any, words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        load(pickle.dumps(value, 3))


def test_bytes_in_another_code_are_refused() -> None:
    with pytest.raises(DiffmgError, match=r"must be written as latin1, but got 'zlib'"):
        load(b"c_codecs\nencode\n(Vx\nVzlib\ntR.")


def test_an_array_without_values_is_refused() -> None:
    with pytest.raises(DiffmgError, match=r"must have values, but got none"):
        load(b"cnumpy\nndarray\n)R.")


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (b"cnumpy.core.multiarray\nscalar\n(Vf8\nVx\ntR.", "str of type str"),
        (b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(Vf8\ntRI99999999999\ntR.", "int of type _Dtype"),
    ],
)
def test_an_array_that_is_no_bytes_of_a_type_is_refused(data: bytes, got: str) -> None:
    with pytest.raises(DiffmgError, match=rf"must be bytes of a type, but got {got}"):
        load(data)


def test_a_list_that_holds_itself_is_refused() -> None:
    rows: list[Any] = []
    rows.append(rows)
    with pytest.raises(DiffmgError, match=r"must not lie within one another so deeply"):
        load(pickle.dumps(rows))


@pytest.mark.parametrize("key", ["indices", "indptr", "data", "_shape"])
def test_a_matrix_that_does_not_fit_together_is_refused(key: str) -> None:
    matrix = sp.csr_matrix(np.eye(3))
    matrix.__dict__[key] = np.array([7, -1, 99, 10**6])
    with pytest.raises(DiffmgError, match=r"'it' must be a pickle"):
        load(pickle.dumps(matrix))


@given(st.data())
def test_a_damaged_pickle_is_named(data: st.DataObject) -> None:
    whole = pickle.dumps([sp.csr_matrix(np.eye(3)), np.arange(4)], data.draw(st.sampled_from(PROTOCOLS)))
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(DiffmgError, match=r"'it' must be a pickle"):
        load(whole[:cut])
