"""Columns of numbers to predict: their losses and scores, the scale in which they are learned, and checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from diffmg.core import DiffmgError
from diffmg.core.arrow import numbers
from diffmg.tasks.metrics import mae, r2, rmse

Floats = NDArray[np.float64]
Loss = Literal["mae", "huber", "mse"]
LOSSES: dict[str, Callable[..., Tensor]] = {"mae": F.l1_loss, "huber": F.huber_loss, "mse": F.mse_loss}
"""On standardised numbers."""
SCORES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"mae": mae, "rmse": rmse, "r2": r2}
"""In the user's units."""


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of each column on the training part, (T,) in double precision."""

    mean: Tensor
    std: Tensor

    @classmethod
    def of(cls, values: Floats, names: Sequence[str]) -> Scale:
        """Of finite training values (m, T); raises where a column does not vary.

        Sums are exact, so the scale is the same for any order of the rows.
        """
        means, stds = [], []
        for name, column in zip(names, values.T, strict=True):
            mean, std = _moments(column)
            if column.min() == column.max() or not 0 < std < math.inf:
                raise DiffmgError(
                    f"the training values of {name!r} must vary, within what double precision can hold, but got "
                    f"{column.min():g} to {column.max():g} in {len(column)} nodes; look at the column and the split"
                )
            means.append(mean)
            stds.append(std)
        return cls(torch.tensor(means, dtype=torch.float64), torch.tensor(stds, dtype=torch.float64))

    def to(self, device: torch.device | str) -> Scale:
        """The same on another device."""
        return Scale(self.mean.to(device), self.std.to(device))

    def standardised(self, values: Tensor) -> Tensor:
        """What a network learns, in single precision."""
        return ((values - self.mean) / self.std).float()

    def restored(self, outputs: Tensor) -> Tensor:
        """Outputs of a network in the user's units, in double precision."""
        return outputs.double() * self.std + self.mean

    def describe(self) -> str:
        """Mean and standard deviation of each column."""
        pairs = zip(self.mean.tolist(), self.std.tolist(), strict=True)
        return ", ".join(f"{mean:.12g} ± {std:.12g}" for mean, std in pairs)


def _moments(column: Floats) -> tuple[float, float]:
    """Mean and standard deviation; infinite where sums overflow."""
    try:
        mean = math.fsum(column) / len(column)
        with np.errstate(over="ignore"):
            squares = (column - mean) ** 2
        return mean, math.sqrt(math.fsum(squares) / len(column))
    except OverflowError:
        return math.inf, math.inf


def as_rows(values: ArrayLike) -> Floats:
    """Numbers as (n, T) in double precision; infinite ones are refused."""
    given = np.asarray(values)
    if given.ndim not in (1, 2) or not given.size or given.dtype.kind not in "iufb":
        raise DiffmgError(f"numbers must be (n,) or (n, T), but got {given.dtype} of shape {given.shape}")
    rows = given.astype(np.float64).reshape(len(given), -1)
    infinite = np.flatnonzero(np.isinf(rows).any(axis=1))
    if len(infinite):
        raise DiffmgError(
            f"numbers must be finite (or NaN where unknown), but got infinite ones in {len(infinite)} rows, such as "
            f"{infinite[:3].tolist()}; leave them empty or mend them"
        )
    return rows


def check_names(names: Sequence[str], count: int) -> None:
    """One name for each of `count` columns."""
    if len(names) != count or len(set(names)) != count:
        raise DiffmgError(f"every column of numbers needs a name of its own, {count} in all, but got {list(names)}")


def check_known(values: Floats, names: Sequence[str]) -> None:
    """Every column must have some number."""
    for name, column in zip(names, values.T, strict=True):
        if np.isnan(column).all():
            raise DiffmgError(
                f"the label column {name!r} must have numbers, but got none in {len(column)} rows; take another column"
            )


def check_varies(values: Floats, names: Sequence[str]) -> None:
    """R² has no meaning on a validation part (m, T) with one value."""
    constant = [name for name, column in zip(names, values.T, strict=True) if column.min() == column.max()]
    if constant:
        raise DiffmgError(
            f"r2 needs validation values that vary, but got one value of {constant} in {len(values)} nodes; "
            "choose by mae or rmse, or take a larger validation part"
        )


def side_by_side(columns: Sequence[pa.ChunkedArray], names: Sequence[str]) -> Floats:
    """Columns of numbers side by side, NaN where there is none."""
    return np.stack([numbers(c, f"the label column {n!r}") for c, n in zip(columns, names, strict=True)], axis=1)


def strata(values: Floats) -> NDArray[np.int64]:
    """One stratum of the rows with all their numbers."""
    return np.where(np.isnan(values).any(axis=1), -1, 0)
