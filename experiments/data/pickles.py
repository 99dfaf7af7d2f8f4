"""Reads arrays and sparse matrices out of a pickle without running anything that the pickle names.

The few names that numpy and scipy write are replaced by the plain values below; any other name is refused.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from diffmg.core.errors import DiffmgError

DEPTH = 8
"""Lists within lists that are followed."""
FAULTS = (
    *(pickle.UnpicklingError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError),
    *(MemoryError, RecursionError, OverflowError),
)
"""What a damaged pickle may raise."""


def load_pickle(data: bytes, what: str) -> Any:
    """Lists, dictionaries, numbers, arrays and CSR matrices in a pickle; `what` names it in errors."""
    try:
        return _plain(_Reader(io.BytesIO(data), encoding="latin1").load(), DEPTH)
    except FAULTS as error:
        raise DiffmgError(f"{what} must be a pickle of arrays and sparse matrices, but got: {error}") from error


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ADMITTED:
            raise pickle.UnpicklingError(f"the name '{module}.{name}', which is refused; nothing of it was run")
        return ADMITTED[module, name]


class _Dtype:
    """Stands for `numpy.dtype`: numbers of a fixed size only."""

    def __init__(self, code: str, *_: object) -> None:
        if not re.fullmatch(r"b1|[iu][1248]|f[248]", code):
            raise DiffmgError(f"arrays in a pickle must be of numbers, but got the type {code!r}")
        self.value = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] in ("<", ">"):
            self.value = self.value.newbyteorder(state[1])


class _Array:
    """Stands for `numpy.ndarray`."""

    value: NDArray[Any] | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, fortran, raw = state
        self.value = _filled(raw, dtype, shape, "F" if fortran else "C")


class _Matrix:
    """Stands for a sparse matrix of scipy: keeps what was stored."""

    make: ClassVar[Callable[..., Any]]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = {str(key): _plain(value, 2) for key, value in state.items()}

    def to_csr(self) -> sp.csr_matrix:
        """The matrix, checked."""
        found = self.state
        shape = tuple(int(n) for n in found["_shape"])
        if "indptr" in found:
            matrix = type(self).make((found["data"], found["indices"], found["indptr"]), shape=shape)
            matrix.check_format(full_check=True)
        else:
            ends = found["coords"] if "coords" in found else (found["row"], found["col"])
            matrix = type(self).make((found["data"], tuple(ends)), shape=shape)
        return sp.csr_matrix(matrix)


class _Csr(_Matrix):
    make = sp.csr_matrix


class _Csc(_Matrix):
    make = sp.csc_matrix


class _Coo(_Matrix):
    make = sp.coo_matrix


def _filled(raw: Any, dtype: Any, shape: Any, order: Any) -> NDArray[Any]:
    if not isinstance(dtype, _Dtype) or not isinstance(raw, bytes | bytearray | str):
        got = f"{type(raw).__name__} of type {type(dtype).__name__}"
        raise DiffmgError(f"an array in a pickle must be bytes of a type, but got {got}")
    data = bytearray(raw.encode("latin1") if isinstance(raw, str) else raw)
    return np.frombuffer(data, dtype.value).reshape(shape, order="F" if order == "F" else "C")


def _start_array(*_: object) -> _Array:
    return _Array()


def _scalar(dtype: Any, raw: Any) -> int | float:
    value: int | float = _filled(raw, dtype, (), "C").item()
    return value


def _latin1(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise DiffmgError(f"bytes in a pickle must be written as latin1, but got {encoding!r}")
    return str(text).encode("latin1")


def _no_bytes() -> bytes:
    return b""


ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Array,
    ("_codecs", "encode"): _latin1,
    ("builtins", "bytes"): _no_bytes,
    ("__builtin__", "bytes"): _no_bytes,
}
for _core in ("numpy.core", "numpy._core"):
    ADMITTED[f"{_core}.multiarray", "_reconstruct"] = _start_array
    ADMITTED[f"{_core}.multiarray", "scalar"] = _scalar
    ADMITTED[f"{_core}.numeric", "_frombuffer"] = _filled
for _kind, _stand in (("csr", _Csr), ("csc", _Csc), ("coo", _Coo)):
    for _module in ("scipy.sparse", f"scipy.sparse.{_kind}", f"scipy.sparse._{_kind}"):
        ADMITTED[_module, f"{_kind}_matrix"] = _stand


def _plain(value: Any, depth: int) -> Any:
    """The same with arrays and matrices in place of what stood for them."""
    if depth < 0:
        raise DiffmgError(f"lists in a pickle must not lie within one another so deeply, but got more than {DEPTH}")
    if isinstance(value, _Array):
        if value.value is None:
            raise DiffmgError("an array in a pickle must have values, but got none")
        return value.value
    if isinstance(value, _Matrix):
        return value.to_csr()
    if isinstance(value, dict):
        return {key: _plain(v, depth - 1) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, depth - 1) for v in value]
    return value
