"""Relations by time: a row hears from earlier rows that share a key with it, as far back as a window reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from diffmg.core import Checked, DiffmgError
from diffmg.core.options import Count
from diffmg.tables.history import Window
from diffmg.tables.times import moment, period

Staleness = Literal["frozen", "fresh"]


@dataclass(frozen=True)
class WindowTable(Checked):
    """Which earlier rows of a type a row hears from."""

    source: tuple[str, ...]
    """Node type that is heard, then the columns of its table with the key."""
    target: tuple[str, ...]
    """Node type that hears, then the columns of its table with the same key."""
    last: Count | None = None
    """How many rows back it reaches."""
    within: str | None = None
    """How far back in time it reaches, such as 30d."""
    name: str | None = None
    """Name of the relation, if not its key in the description."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.source) < 2 or len(self.source) != len(self.target):
            raise DiffmgError(
                "`source` and `target` of a window must be [node type, column, ...] with as many columns, "
                f"but got {list(self.source)} and {list(self.target)}"
            )
        if self.last is None and self.within is None:
            raise DiffmgError(f"a window has `last` or `within`, but got neither for {list(self.source)}")
        _ = self.window

    @property
    def window(self) -> Window:
        """How far back it reaches."""
        return Window(self.last, None if self.within is None else period(self.within))


@dataclass(frozen=True)
class Moments(Checked):
    """The predictions of a timed task: rows of a type that hear only what is dated before their moment."""

    target: str
    """Node type of the predictions."""
    column: str
    """Column of the moments."""
    validation: str | None = None
    """Where no column has the split: the first moment of the validation part."""
    test: str | None = None
    """Where no column has the split: the first moment of the test part."""
    history: Staleness = "fresh"
    """Whether predictions see history up to their moment (fresh), or those of validation and test up to the first
    moment of their part (frozen), and those of training lag as much: for data that end before the test part does."""
    horizon: str | None = None
    """How long after its moment a label is known."""
    query: str | None = None
    """A SELECT of the database that gives the table."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizon is not None:
            period(self.horizon)
        if (self.validation is None) != (self.test is None):
            given = {"validation": self.validation, "test": self.test}
            raise DiffmgError(f"a split by date has two dates, `validation` and `test`, but got {given}")
        if self.validation is not None and self.test is not None:
            first, second = moment(self.validation, "`validation`"), moment(self.test, "`test`")
            if first >= second:
                raise DiffmgError(f"`validation < test` must hold, but got {self.validation!r} and {self.test!r}")
