"""Opening problems (a data set by name, a description of tables, or a database) and making default plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffmg.core import METHODS, DiffmgError, Engine, Method, MethodSpec, Plan, Settings, Source
from diffmg.core.budget import Budget
from diffmg.core.plan import Refit
from diffmg.core.rivals import check_rivals
from diffmg.core.trust import named_by_user
from diffmg.runs.data_names import check_no_tables

if TYPE_CHECKING:
    from diffmg.datasets import Published
    from diffmg.tables import Description
    from diffmg.tasks.problem import Problem

DEFAULT_METHOD = "auto"
DEFAULT_BUDGET = Budget(seconds=120.0)


def open_problem(
    source: Source | str, *, root: Path | None = None, encoders: Mapping[str, Any] | None = None
) -> Problem:
    """Open the network and the task of a data set, a description, or a database.

    `root` is the folder of the data sets. `encoders` are the fitted encoders of a model, for user tables.
    """
    if isinstance(source, str):
        named_by_user(source)
        source = Source(source)
    if not source.name:
        raise DiffmgError("data must have a name to be opened, but got a network that was built in Python; give it")
    if not source.is_described:
        from diffmg.datasets import load_dataset

        check_no_tables(source.name)
        _check_plain(source)
        return replace(load_dataset(source.name, root=root, seed=source.seed), source=source)
    from diffmg.tables.problem import problem_from_tables, read_tables

    description = describe(source.located())
    folder = Path() if source.is_database else Path(source.name).parent
    problem = problem_from_tables(description, read_tables(description, folder), encoders)
    return replace(problem, source=source.located())


def describe(source: Source) -> Description:
    """The description of a source: read from a TOML file, or derived from a database and its target."""
    from diffmg.tables import read_description

    _check_no_password(source.name)
    if not source.is_database:
        if source.predictions is not None:
            raise _no_predictions(source)
        if source.target or source.as_of:
            raise DiffmgError(f"a target and a time are for databases, but got {_said(source)} for {source.name!r}")
        check_no_tables(source.name)
        description = read_description(Path(source.name))
    else:
        from diffmg.tables.database import describe_database
        from diffmg.tables.predictions import describe_predictions

        if source.predictions is not None:
            _check_one_question(source)
            return _with_unknown(describe_predictions(source.name, source.predictions), source)
        if not source.target:
            raise DiffmgError(
                f"a database needs a target TABLE.COLUMN to predict, or a table of predictions, but got none for "
                f"{source.name!r}; use --target or --task"
            )
        description = describe_database(source.name, source.target, as_of=source.as_of or None)
    return _with_unknown(description, source)


def _with_unknown(description: Description, source: Source) -> Description:
    if source.on_unknown is None:
        return description
    return replace(description, on_unknown=source.on_unknown)  # type: ignore[arg-type]  # checked by the description


def _check_one_question(source: Source) -> None:
    if source.target or source.as_of:
        raise DiffmgError(
            f"a table of predictions has its own label and moments, but got {_said(source)} too; leave that out"
        )


def published_for(source: Source | str) -> Published | None:
    """What the paper's authors published for a data set, or None."""
    source = Source(source) if isinstance(source, str) else source
    if source.is_described or not source.name:
        return None
    from diffmg.datasets import DATASETS, parse_name

    check_no_tables(source.name)
    name = parse_name(source.name)[0]
    return DATASETS.get(name)(name).published()


def make_plan(
    source: Source,
    method: Method | str | None = None,
    options: Mapping[str, Any] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    repeats: int = 1,
    seed: int = 0,
    device: str = "auto",
    engine: Engine | None = None,
    budget: Budget | str | int | None = None,
    batch: int | None = None,
    single: bool = False,
    refit: Refit = "no",
    beside: Sequence[str] | str = (),
) -> Plan:
    """Make the plan of a method on data; the only place that knows the defaults.

    Methods with a meta graph default to the options and settings that the paper's authors published for the data set,
    if any; all others to this package's defaults. `options` require a method given by name; `settings` are either
    complete or override some defaults. `beside`: methods to compare with, or `usual`; none unless they are asked for.
    """
    if isinstance(method, Method):
        if options:
            raise DiffmgError(f"options are for a method by name, but got {dict(options)} for {method.name!r}")
        spec = method.spec()
    else:
        spec = MethodSpec(method or DEFAULT_METHOD, _options(source, method or DEFAULT_METHOD, options or {}))
    if budget is None and METHODS.get(spec.name).races:
        budget = DEFAULT_BUDGET
    if not isinstance(settings, Settings | Mapping | None):
        raise DiffmgError(f"settings are `Settings` or names and values, but got {settings!r}; see `diffmg list`")
    if not isinstance(settings, Settings):
        settings = _settings(source, spec.name, raced=budget is not None).changed(settings or {})
    if budget is not None and repeats > 1:
        raise DiffmgError(f"a race trains its finalists again by itself, but got repeats={repeats}; leave it out")
    if budget is None and (single or batch is not None or refit != "no"):
        given = {"single": single, "batch": batch, "refit": refit}
        raise DiffmgError(f"`single`, `batch` and `refit` are for a race, but got {given} without a budget")
    rivals = check_rivals((beside,) if isinstance(beside, str) else tuple(beside))
    race = (None if budget is None else Budget.parse(budget), batch, single, refit)
    plan = Plan(spec, source.located(), settings, repeats, seed, device, engine or Engine(), *race, rivals)
    spec.make()
    return plan


def _options(source: Source, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a method by name: the published ones it has, overridden by those given."""
    published = published_for(source)
    known = set(getattr(METHODS.get(name), "__dataclass_fields__", {}))
    start = {} if published is None else {k: v for k, v in published.search.items() if k in known}
    kind = METHODS.get(name)
    return (start if kind.has_metagraph and not kind.races else {}) | dict(given)


def _settings(source: Source, name: str, *, raced: bool) -> Settings:
    kind = METHODS.get(name)
    published = published_for(source) if kind.has_metagraph and not raced else None
    return Settings(**kind.default_settings) if published is None else Settings(**published.train)


def _no_predictions(source: Source) -> DiffmgError:
    return DiffmgError(
        f"a table of predictions is for a database, but got {source.predictions and source.predictions.table!r} for "
        f"{source.name!r}; leave out --task"
    )


def _check_plain(source: Source) -> None:
    if source.predictions is not None:
        raise _no_predictions(source)
    odd = _said(source)
    if odd:
        raise DiffmgError(f"a target, a time and unknown ids are for own tables, but got {odd} for {source.name!r}")


def _said(source: Source) -> str:
    """What was said of the data beside their name, as on the command line."""
    given = [("--target", source.target), *(("--as-of", f"{table}={time}") for table, time in source.as_of.items())]
    return ", ".join(f"{name} {value}" for name, value in (*given, ("--on-unknown", source.on_unknown)) if value)


def _check_no_password(data: str) -> None:
    """Addresses are written to run files and messages, so they must not contain a password."""
    from diffmg.tables.connecting import without_password

    bare = without_password(data)
    if bare != data:
        raise DiffmgError(
            f"an address must be without a password, which would be written into files, but got one for {bare!r}; "
            "give it in PGPASSWORD or ~/.pgpass"
        )
