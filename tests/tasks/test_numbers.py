from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.arrow import as_column
from diffmg.core.errors import DiffmgError
from diffmg.tasks.numbers import Scale, as_rows, check_names, check_varies, side_by_side, strata

different = {"min_size": 3, "max_size": 20, "unique_by": (lambda row: row[0], lambda row: row[1])}
pairs = st.tuples(st.integers(-(10**9), 10**9).map(lambda n: n / 1000), st.integers(-50, 50))
rows = st.lists(pairs, **different).map(lambda several: np.array(several, float))


@given(rows)
def test_training_values_get_mean_0_and_standard_deviation_1(values):
    scale = Scale.of(values, ["a", "b"])
    np.testing.assert_allclose(scale.mean, values.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(scale.std, values.std(axis=0), rtol=1e-6)
    scaled = scale.standardised(torch.from_numpy(values))
    assert scaled.dtype == torch.float32
    torch.testing.assert_close(
        scale.restored(scaled), torch.from_numpy(values), rtol=1e-5, atol=1e-5 * values.std() + 1e-5
    )


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_makes_no_difference(values, random):
    order = list(range(len(values)))
    random.shuffle(order)
    one, other = Scale.of(values, ["a", "b"]), Scale.of(values[order], ["a", "b"])
    assert torch.equal(one.mean, other.mean)
    assert torch.equal(one.std, other.std)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0], [1.0]], "the training values of 'x' must vary, .* but got 1 to 1 in 2 nodes"),
        ([[3.0]], "but got 3 to 3 in 1 nodes"),
        ([[-1.7e308], [1.7e308], [1.7e308]], "but got -1.7e\\+308 to 1.7e\\+308 in 3 nodes"),
    ],
)
def test_values_without_a_scale_are_refused(values, message):
    with pytest.raises(DiffmgError, match=message):
        Scale.of(np.array(values), ["x"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.inf, np.nan, -np.inf], r"but got infinite ones in 2 rows, such as \[1, 3\]"),
        (["1", "2"], "numbers must be"),
        ([], "but got float64 of shape"),
        (np.zeros((2, 2, 2)), r"but got float64 of shape \(2, 2, 2\)"),
    ],
)
def test_what_are_no_numbers_is_refused(values, message):
    with pytest.raises(DiffmgError, match=message):
        as_rows(values)


def test_whole_numbers_and_one_column_are_rows_of_floats():
    assert as_rows([1, 2]).tolist() == [[1.0], [2.0]]
    assert as_rows([[1, 2]]).dtype == np.float64


def test_columns_side_by_side_are_nan_where_there_is_no_number():
    columns = [as_column([1, None, 3], "a"), as_column([0.5, 1.5, None], "b")]
    found = side_by_side(columns, ["a", "b"])
    np.testing.assert_array_equal(found, [[1, 0.5], [np.nan, 1.5], [3, np.nan]])
    assert strata(found).tolist() == [0, -1, -1]
    with pytest.raises(DiffmgError, match="the label column 'a' must be numbers, but got string"):
        side_by_side([as_column(["x"], "a")], ["a"])


def test_every_column_has_a_name_of_its_own():
    check_names(["a", "b"], 2)
    for names in (["a"], ["a", "a"]):
        with pytest.raises(DiffmgError, match=r"a name of its own, 2 in all, but got \["):
            check_names(names, 2)


def test_r2_needs_values_that_vary():
    check_varies(np.array([[1.0], [2.0]]), ["x"])
    with pytest.raises(DiffmgError, match=r"but got one value of \['y'\] in 2 nodes; choose by mae"):
        check_varies(np.array([[1.0, 2.0], [2.0, 2.0]]), ["x", "y"])
