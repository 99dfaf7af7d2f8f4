"""Families of members, one file each: a registry finds the files by itself."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Generic, TypeVar

from diffmg.core.errors import DiffmgError, unknown

M = TypeVar("M")


class Registry(Generic[M]):
    """Members of one family by name. Every module of the family's package is imported at the first look-up."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._members: dict[str, M] = {}
        self._complete = False

    def add(self, name: str) -> Callable[[M], M]:
        """Decorator that registers a member under `name`."""

        def register(member: M) -> M:
            if name in self._members:
                raise DiffmgError(f"every {self.kind} has a name of its own, but got {name!r} twice")
            self._members[name] = member
            return member

        return register

    def get(self, name: str) -> M:
        """The member called `name`; an unknown name raises with the nearest known one."""
        self._discover()
        if name not in self._members:
            raise unknown(self.kind, name, self._members)
        return self._members[name]

    def name_of(self, member: M) -> str:
        """The name a member is registered under."""
        return next(name for name, known in self.items() if known is member)

    def items(self) -> Iterator[tuple[str, M]]:
        """All members in order of name."""
        self._discover()
        return iter(sorted(self._members.items()))

    def _discover(self) -> None:
        if not self._complete:
            package = import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                if not module.name.startswith("_"):
                    import_module(f"{self._package}.{module.name}")
            self._complete = True
