from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
import torch

from diffmg.core.arrow import as_column, decoded, plain
from diffmg.core.errors import DiffmgError


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([1, None, 3], [1, None, 3]),
        ([1.5, float("nan"), None], [1.5, None, None]),
        (("x", None), ["x", None]),
        (np.array([1.0, np.nan]), [1.0, None]),
        (np.array(["x", None], object), ["x", None]),
        (range(3), [0, 1, 2]),
        (torch.tensor([2, 1]), [2, 1]),
        (pa.array([1, None]), [1, None]),
        (pa.chunked_array([[1], [None]]), [1, None]),
        ([True, None], [True, None]),
        ([datetime.date(2020, 1, 2), None], [datetime.date(2020, 1, 2), None]),
    ],
)
def test_a_column_may_be_given_as_anything(given, wanted):
    assert as_column(given, "it").to_pylist() == wanted


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_series(library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    assert as_column(frames.Series(["x", None]), "it").to_pylist() == ["x", None]
    assert as_column(frames.Series([1.0, None]), "it").to_pylist() == [1.0, None]


@pytest.mark.parametrize("given", [[1, "x"], "text", 5, np.ones((2, 2)), None, iter([1])])
def test_what_is_no_column(given):
    with pytest.raises(DiffmgError, match="it must hold one value a row, all of one"):
        as_column(given, "it")


def test_dictionaries_are_unpacked_in_all_chunks():
    values = pa.chunked_array([pa.array(["x", None]).dictionary_encode(), pa.array(["y"]).dictionary_encode()])
    assert decoded(values).to_pylist() == ["x", None, "y"]
    assert decoded(values).type == pa.string()


def test_plain_keeps_what_is_neither_text_nor_number():
    values = pa.chunked_array([[datetime.date(2020, 1, 2)]])
    assert plain(values) == values
