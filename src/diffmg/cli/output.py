"""What a command prints: words for a person, or with `--json` one document for a program.

A command says its words as it goes along and returns a value. With `--json` the value is all that reaches stdout, and
the words go to stderr; with `--quiet` there are no words.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

from diffmg.cli import common, console
from diffmg.core.jsonable import jsonable

Value = Mapping[str, Any]
"""What a command returns: names and what JSON can hold."""
JSON = "Write the result as one JSON document to stdout, words to stderr."
QUIET = "No words and no progress; errors stay, and so does what a command is asked for."
AsJson = Annotated[bool, typer.Option("--json", help=JSON, show_default="no")]
NoWords = Annotated[bool, typer.Option("--quiet", "-q", help=QUIET, show_default="no")]


@dataclass(frozen=True)
class Wanted:
    """How a command is to print; options before the command count as those after it do."""

    json: bool = False
    quiet: bool = False

    def __or__(self, other: Wanted) -> Wanted:
        return Wanted(self.json or other.json, self.quiet or other.quiet)


_WANTED: ContextVar[Wanted] = ContextVar("wanted", default=Wanted())  # noqa: B039  # frozen


def is_json() -> bool:
    """Whether only the command's value is to be printed."""
    return _WANTED.get().json


def emit(text: str) -> None:
    """Print the document that a command is asked for, such as a table or a drawing; with `--json` its value says it."""
    if not is_json():
        console.emit(text if text.endswith("\n") else f"{text}\n")


def command(function: Callable[..., Value]) -> Callable[..., None]:
    """The command with the options `--json` and `--quiet`."""

    def call(ctx: typer.Context, *, as_json: bool, quiet: bool, **given: Any) -> None:
        wanted = Wanted(as_json, quiet) | (ctx.obj or Wanted())
        with _printing(wanted):
            value = function(**given)
        if wanted.json:
            sys.stdout.write(as_text(value) + "\n")

    call.__name__, call.__doc__, call.__module__ = function.__name__, function.__doc__, function.__module__
    hints = get_type_hints(function, include_extras=True)
    given = [p.replace(annotation=hints[name]) for name, p in inspect.signature(function).parameters.items()]
    call.__signature__ = inspect.Signature([_CONTEXT, *given, *_COMMON])  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in (_CONTEXT, *given, *_COMMON)}
    return call


def as_text(value: object) -> str:
    """A value as JSON; numbers that are none (NaN, infinity) are null."""
    return json.dumps(jsonable(value), indent=1, ensure_ascii=False, allow_nan=False)


@contextmanager
def _printing(wanted: Wanted) -> Iterator[None]:
    """While a command runs: everything to stderr for `--json`, consoles silent for `--quiet`."""
    token = _WANTED.set(wanted)
    consoles = (common.console, common.errors)
    before = [each.quiet for each in consoles]
    for each in consoles:
        each.quiet = each.quiet or wanted.quiet
    try:
        with redirect_stdout(sys.stderr) if wanted.json else nullcontext():
            yield
    finally:
        for each, was in zip(consoles, before, strict=True):
            each.quiet = was
        _WANTED.reset(token)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


_CONTEXT = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
_COMMON = (_parameter("as_json", AsJson, False), _parameter("quiet", NoWords, False))
