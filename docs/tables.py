"""Tables of what is registered; a page asks for one with `<!-- registered: NAME -->`.

mkdocs fills them in (a hook) from the registries, so that they cannot go stale.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

PLACE = re.compile(r"<!-- registered: ([\w ]+) -->")
FAMILIES = {"search": "Searches", "given": "Given meta graphs", "baseline": "Baselines"}
SERVES = {
    (1,): "classification, regression",
    (2,): "recommendation",
    (1, 2): "all",
    (): "none alone",
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What mkdocs calls for every page."""
    return PLACE.sub(lambda found: TABLES[found[1]](), markdown)


def method_tables() -> str:
    """Every method by family: a line on each, then the options of each."""
    from diffmg.core.method import METHODS

    parts = []
    for family in sorted({kind.family for _, kind in METHODS.items()}, key=_place):
        members = [
            (name, kind) for name, kind in METHODS.items() if kind.family == family
        ]
        parts.append(f"## {FAMILIES.get(family, family.capitalize())}")
        rows = [
            (f"[`{n}`](#{n})", SERVES.get(tuple(k.towers), "all"), k.summary)
            for n, k in members
        ]
        parts.append(_table(("method", "task", "what it does"), rows))
        for name, kind in members:
            parts += [
                f"### `{name}` {{#{name}}}",
                _module_words(kind),
                options_table(kind),
            ]
    return "\n\n".join(parts)


def task_table() -> str:
    """Every task, and the settings of its `[task]`."""
    from diffmg.core.task import TASKS

    rows = [
        (
            f"`{name}`",
            task.summary,
            ", ".join(f"`{m}`" for m in task.metrics),
            f"`{task.verb}`",
            f"`{task.estimator}`",
        )
        for name, task in TASKS.items()
    ]
    parts = [
        _table(
            ("task", "what it is", "metrics that can choose", "command", "estimator"),
            rows,
        )
    ]
    for name, task in TASKS.items():
        parts += [
            f"### `[task]` of `{name}`",
            _first_words(task.spec),
            options_table(task.spec),
        ]
    return "\n\n".join(parts)


def dataset_table() -> str:
    """Every data set with its size."""
    from diffmg.datasets import DATASETS

    rows = []
    for name, kind in DATASETS.items():
        card = kind(name).card()
        size = f"{sum(card.nodes.values()):,}", f"{sum(card.edges.values()):,}"
        rows.append((f"`{name}`", kind.summary, *size, "yes" if card.files else "no"))
    return _table(("data set", "what it is", "nodes", "edges", "needs files"), rows)


def column_table() -> str:
    """Every column type, in the order in which they are asked."""
    from diffmg.tables.columns import COLUMN_TYPES

    members = sorted(COLUMN_TYPES.items(), key=lambda pair: pair[1].rank)
    return _table(
        ("type", "rank", "becomes"),
        [(f"`{n}`", kind.rank, _first_words(kind)) for n, kind in members],
    )


def drawing_table() -> str:
    """Every form of drawing."""
    from diffmg.viz import DRAWINGS

    rows = [
        (f"`{name}`", _first_words(sys.modules[form.__module__]))
        for name, form in DRAWINGS.items()
    ]
    return _table(("format", "what it is"), rows)


def converter_table() -> str:
    """Every converter of networks."""
    from diffmg.graph.network import CONVERTERS

    return _table(
        ("converter", "what it does"),
        [(f"`{n}`", _first_words(made)) for n, made in CONVERTERS.items()],
    )


def settings_table() -> str:
    """How any model is trained."""
    from diffmg.core.settings import Settings, Switches

    return options_table(Settings, {f.name for f in fields(Switches)})


def switches_table() -> str:
    """Switches of a meta graph's encoder."""
    from diffmg.core.settings import Switches

    return options_table(Switches)


def engine_table() -> str:
    """Switches of the engine."""
    from diffmg.core.engine import Engine

    return options_table(Engine)


def options_table(kind: type, without: Collection[str] = ()) -> str:
    """The fields of a dataclass with type, default and what its source says of each."""
    said, hints = field_docs(kind), get_type_hints(kind)
    rows = [
        (f"`{f.name}`", _type(hints[f.name]), _default(f), said.get(f.name, ""))
        for f in fields(kind)
        if f.name not in without
    ]
    return (
        _table(("option", "type", "default", "meaning"), rows)
        if rows
        else "It has no options."
    )


def field_docs(kind: type) -> dict[str, str]:
    """What stands below each field of a dataclass and of those it extends."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("diffmg"):
            (body,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            assert isinstance(body, ast.ClassDef)
            for field, below in zip(body.body, body.body[1:], strict=False):
                text = _string(below)
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and text
                ):
                    found[field.target.id] = _one_line(text.split("\n\n")[0])
    return found


TABLES: dict[str, Callable[[], str]] = {
    "methods": method_tables,
    "tasks": task_table,
    "data sets": dataset_table,
    "column types": column_table,
    "drawings": drawing_table,
    "converters": converter_table,
    "settings": settings_table,
    "switches": switches_table,
    "engine": engine_table,
}


def filled(page: Path) -> str:
    """A page as the site shows it."""
    return on_page_markdown(page.read_text(encoding="utf-8"))


def _place(family: str) -> tuple[int, str]:
    known = list(FAMILIES)
    return (known.index(family) if family in known else len(known), family)


def _table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    heads = list(heads)
    lines = [
        heads,
        ["---"] * len(heads),
        *([str(c).replace("|", "\\|") for c in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _string(node: ast.stmt) -> str:
    plain = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return str(node.value.value) if plain else ""  # type: ignore[attr-defined]


def _module_words(kind: type) -> str:
    """What the file of a method says of it."""
    return inspect.cleandoc(sys.modules[kind.__module__].__doc__ or "")


def _first_words(thing: object) -> str:
    return _one_line((inspect.getdoc(thing) or "").split("\n\n")[0])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _type(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(hint))
    if isinstance(hint, UnionType):
        return " or ".join(_type(part) for part in get_args(hint))
    if hint is type(None):
        return "`null`"
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        each = "meta graph" if "MetaGraph" in str(parts[0]) else _type(parts[0])
        return f"list of {each}" if parts[-1] is Ellipsis else f"{len(parts)} × {each}"
    return str(getattr(hint, "__name__", hint)).replace("Any", "value")


def _default(field: Field[Any]) -> str:
    if field.default is MISSING:
        return (
            "required"
            if field.default_factory is MISSING
            else f"`{field.default_factory()!r}`"
        )
    words = {True: "true", False: "false", None: "null", (): "none", "": "none"}
    known = (
        field.default in words
        if isinstance(field.default, bool | tuple | str | None)
        else False
    )
    return f"`{words[field.default] if known else field.default}`"
