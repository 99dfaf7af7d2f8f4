"""Reading and writing values as JSON and TOML, with errors that give the rule, the value and the nearest name.

Dataclasses are converted by cattrs. Nothing is coerced: a number written as text is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_origin, get_type_hints

from diffmg.core.errors import DiffmgError
from diffmg.core.files import read_text
from diffmg.core.options import check_names, fits, spelled
from diffmg.core.parse import parse_json, parse_toml

if TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")
_HOOKS: list[tuple[type, Callable[[Any], Any], Callable[[Any, type], Any]]] = []


def register(kind: type, to_plain: Callable[[Any], Any], from_plain: Callable[[Any, type], Any]) -> None:
    """Register the two functions that write and read values of `kind` and its subclasses."""
    _HOOKS.append((kind, to_plain, from_plain))
    _converter.cache_clear()


def to_plain(value: Any) -> Any:
    """Convert to dicts, lists, strings and numbers, ready for JSON."""
    return _tuples_to_lists(_converter().unstructure(value))


def from_plain(kind: type[T], data: object, what: str) -> T:
    """Read what `to_plain` wrote; `what` names it in the error."""
    try:
        return _converter().structure(data, kind)
    except Exception as error:
        place, problem = _first_error(error)
        raise DiffmgError(f"{what}{f', {place}' if place else ''}: {problem}") from error


def structure_fields(kind: type[T], data: dict[str, Any]) -> T:
    """Build a dataclass from plain field values, ignoring any functions registered for its kind."""
    value: T = _dataclass_hook(_converter(), kind)(data, kind)
    return value


def read_json(path: Path, what: str) -> Any:
    """Plain values from a JSON file; `what` names the file in the error."""
    return parse_json(read_text(path, what), what, str(path))


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Plain values from a TOML file; `what` names the file in the error."""
    return parse_toml(read_text(path, what), what, str(path))


def to_toml(data: dict[str, Any]) -> str:
    """Plain values as TOML text."""
    import tomlkit

    return tomlkit.dumps(data)


def check_format(data: object, known: int, what: str) -> dict[str, Any]:
    """Return the content of a versioned file without its `format`; raise if this package cannot read that format."""
    found = data.get("format") if isinstance(data, dict) else None
    if not isinstance(data, dict) or found != known:
        newer = isinstance(found, int) and found > known
        advice = "update diffmg to read it" if newer else "fit again to have it in the present format"
        raise DiffmgError(f"{what} must have format {known}, but got {found!r}; {advice}")
    return {name: value for name, value in data.items() if name != "format"}


@cache
def _converter() -> Converter:
    from cattrs import Converter

    converter = Converter(forbid_extra_keys=True)
    for primitive in (int, float, str, bool):
        converter.register_structure_hook(primitive, _strict)
    converter.register_structure_hook_func(_is_literal, _strict)
    converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _names)
    converter.register_structure_hook_factory(_is_plain_dataclass, lambda kind: _dataclass_hook(converter, kind))
    for kind, write, read in _HOOKS:
        matches = partial(_is_subclass, kind)
        converter.register_unstructure_hook_func(matches, write)
        converter.register_structure_hook_func(matches, read)
    return converter


def _dataclass_hook(converter: Converter, kind: type) -> Callable[[Any, type], Any]:
    """Check names before values, so that a misspelt field is reported by its name."""
    hints = get_type_hints(kind)
    known = {f.name: f for f in fields(kind) if f.init}
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]

    def read(data: Any, _: type) -> Any:
        if not isinstance(data, dict):
            raise DiffmgError(f"must be a table of settings, but got {data!r}")
        check_names(data, kind, "field")
        for name in needed:
            if name not in data:
                raise DiffmgError(f"`{name}` must be given, but got only {', '.join(map(str, data)) or 'nothing'}")
        values = {}
        for name, value in data.items():
            try:
                values[name] = converter.structure(value, hints[name])
            except Exception as error:
                raise _InField(name, error) from error
        return kind(**values)

    return read


class _InField(Exception):  # noqa: N818  (internal: it carries the field name of another error)
    """An error with the name of the field it occurred in."""

    def __init__(self, name: str, cause: Exception) -> None:
        super().__init__(name)
        self.name, self.inner = name, cause


def _first_error(error: BaseException) -> tuple[str, str]:
    """The field path and the message of the first error in a tree of nested errors."""
    names = []
    while True:
        if isinstance(error, _InField):
            names.append(error.name)
            error = error.inner
        elif isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        else:
            break
    message = str(error) if isinstance(error, DiffmgError) else f"must be what diffmg wrote, but got: {error!r}"
    return ".".join(names), message


def _strict(value: Any, kind: type) -> Any:
    if not fits(value, kind):
        raise DiffmgError(f"must be {spelled(kind)}, but got {value!r}")
    return value


def _names(value: Any, _: type) -> tuple[str, ...]:
    """A list of names; a single name may be given without a list."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise DiffmgError(f"must be a name or a list of names, but got {value!r}")
    return tuple(names)


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal


def _is_plain_dataclass(kind: Any) -> bool:
    hooked = isinstance(kind, type) and any(issubclass(kind, base) for base, _, _ in _HOOKS)
    return isinstance(kind, type) and is_dataclass(kind) and not hooked


def _is_subclass(kind: type, found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, kind)


def _tuples_to_lists(value: Any) -> Any:
    """Replace tuples by lists, so that plain values equal those read back from JSON."""
    if isinstance(value, dict):
        return {name: _tuples_to_lists(v) for name, v in value.items()}
    return [_tuples_to_lists(v) for v in value] if isinstance(value, list | tuple) else value
