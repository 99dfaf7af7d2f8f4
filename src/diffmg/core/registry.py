"""Registries: members live in one file each and are discovered in this package and in installed plugins."""

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar, cast

from diffmg.core.errors import DiffmgError, unknown

M = TypeVar("M")
N = TypeVar("N")


class Registry(Generic[M]):
    """Members of one family by name.

    The first look-up imports every module of the family's packages and every entry point of its group: another
    package adds a member with `[project.entry-points."diffmg.methods"]`.
    """

    def __init__(self, kind: str, *places: str, group: str) -> None:
        """`places` are modules, or packages whose public modules define members."""
        self.kind, self.group = kind, group
        self._places = places
        self._members: dict[str, M] = {}
        self._complete = False

    def add(self, name: str) -> Callable[[N], N]:
        """Decorator that registers a member under `name`; its static type is unchanged."""

        def register(member: N) -> N:
            if self._members.get(name, member) is not member:
                raise DiffmgError(f"every {self.kind} has a name of its own, but got {name!r} twice")
            self._members[name] = cast("M", member)
            return member

        return register

    def get(self, name: str) -> M:
        """The member called `name`; the error for an unknown name suggests the nearest known one."""
        self._discover()
        if name not in self._members:
            raise unknown(self.kind, name, self._members)
        return self._members[name]

    def name_of(self, member: M) -> str:
        """The name a member is registered under."""
        for name, known in self.items():
            if known is member:
                return name
        raise DiffmgError(
            f"a {self.kind} must be registered to have a name, but got {member!r}; decorate it with `add`"
        )

    def names(self) -> list[str]:
        """The names of all members, sorted."""
        return [name for name, _ in self.items()]

    def items(self) -> Iterator[tuple[str, M]]:
        """All members, sorted by name."""
        self._discover()
        return iter(sorted(self._members.items()))

    def _discover(self) -> None:
        if self._complete:
            return
        self._complete = True
        for place in self._places:
            module = import_module(place)
            for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
                if not found.name.startswith("_"):
                    import_module(f"{place}.{found.name}")
        for entry in entry_points(group=self.group):
            try:
                self.add(entry.name)(entry.load())
            except (ImportError, AttributeError) as error:
                self._complete = False
                raise DiffmgError(
                    f"the {self.kind} {entry.name!r} of an installed package must be importable, "
                    f"but got {entry.value!r}: {error}"
                ) from error
