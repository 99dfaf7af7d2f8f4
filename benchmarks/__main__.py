"""`python -m benchmarks`: measure the engine beside the naive reference, growth, the product, scores, own tables."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.printing import engine_table, growth_table, product_table, scores_table
from benchmarks.words import SeveralWords, run_app
from diffmg.cli import common
from diffmg.cli.common import console, say
from diffmg.core.errors import DiffmgError

NAME = "python -m benchmarks"
SIZES = ("1e4", "1e5", "1e6")

Out = Annotated[Path | None, typer.Option("--out", help="The JSON file to write.", show_default="none")]
WarmUp = Annotated[int, typer.Option("--warm-up", help="Epochs before any is timed.")]
Threads = Annotated[
    int | None, typer.Option("--threads", help="Threads that compute on the host.", show_default="torch's choice")
]


app = typer.Typer(
    help="Measure seconds and peak memory, and render what was measured.",
    epilog="Exit codes: 0 done, 1 a fault of the program or an outdated document, 2 bad input, 3 missing data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command(cls=SeveralWords)
def engine(
    data: Annotated[
        list[str], typer.Option("--data", metavar="DATA...", help="Data sets, as in `fit`: one or several words.")
    ],
    out: Out = None,
    device: common.Device = "auto",
    epochs: Annotated[int, typer.Option("--epochs", help="Timed epochs of each program.")] = 20,
    block: Annotated[int, typer.Option("--block", help="Epochs until the other program has its turn.")] = 5,
    warm_up: WarmUp = 3,
    yardstick: Annotated[
        bool, typer.Option("--yardstick/--no-yardstick", help="Measure the naive reference too.")
    ] = True,
    whole: Annotated[
        bool, typer.Option("--whole/--no-whole", help="Also time whole jobs: searches of 100 epochs, trainings of 200.")
    ] = False,
    seed: common.Seed = 0,
    data_root: common.DataRoot = None,
    threads: Threads = None,
) -> None:
    """Time searching and retraining beside the naive reference, in one process, taking turns."""
    from benchmarks.engine import EngineOptions, measure_engine
    from benchmarks.floor import ceilings
    from benchmarks.measure import machine
    from diffmg.engine.device import resolve_device
    from diffmg.runs.sources import published_for

    options = EngineOptions(epochs, block, warm_up, yardstick, whole, seed)
    where = resolve_device(device)
    for name in data:
        published_for(name)
    _set_threads(threads)
    about = machine(where) | ceilings(where)
    results: dict[str, Any] = {}
    what = "seconds per epoch and peak memory of searching and retraining: this package and the naive reference"
    command = _command("engine", data=data, device=where.type, threads=threads, **vars(options))
    for name in data:
        say(f"{name} ...", common.errors)
        results[name] = measure_engine(name, where, options, data_root)
        _write(out, what, command, about, results)
    console.print(engine_table(results))


@app.command(cls=SeveralWords)
def growth(
    data: Annotated[str, typer.Option("--data", help="Made data: academic or shop.")] = "academic",
    sizes: Annotated[
        list[str] | None,
        typer.Option("--sizes", metavar="SIZE...", help="Nodes: one or several words.", show_default=" ".join(SIZES)),
    ] = None,
    out: Out = None,
    device: common.Device = "auto",
    epochs: Annotated[int, typer.Option("--epochs", help="Timed epochs at each size.")] = 10,
    warm_up: WarmUp = 2,
    seed: common.Seed = 0,
    threads: Threads = None,
) -> None:
    """Time searching on made data of several sizes, and say how time and memory grow."""
    from benchmarks.growth import GrowthOptions, checked_sizes, exponents, measure_size
    from benchmarks.measure import machine
    from diffmg.engine.device import resolve_device

    options = GrowthOptions(epochs, warm_up, seed)
    where = resolve_device(device)
    numbers = checked_sizes(data, sizes or SIZES)
    _set_threads(threads)
    about = machine(where)
    points: list[dict[str, Any]] = []
    what = f"seconds per search epoch and peak memory on {data} of several sizes"
    command = _command("growth", data=[data], sizes=numbers, device=where.type, threads=threads, **vars(options))
    for size in numbers:
        say(f"{data}:{size} ...", common.errors)
        points.append(measure_size(data, size, where, options))
        _write(out, what, command, about, {"points": points, "exponents": exponents(points)})
    console.print(growth_table(points, exponents(points)))


@app.command()
def product(
    out: Out = None,
    nodes: Annotated[str, typer.Option("--nodes", help="Rows and columns of the matrix.")] = "1e7",
    degree: Annotated[int, typer.Option("--degree", help="Entries per row.")] = 20,
    dim: Annotated[int, typer.Option("--dim", help="Columns of what it is multiplied with.")] = 64,
    repeats: Annotated[int, typer.Option("--repeats", help="Timed products.")] = 20,
    seed: common.Seed = 0,
    device: common.Device = "auto",
) -> None:
    """Time the fused sparse product beside the library's on a GPU."""
    from benchmarks.measure import machine
    from benchmarks.product import ProductOptions, measure_product
    from diffmg.engine.device import resolve_device

    where = resolve_device(device)
    options = ProductOptions(_whole(nodes), degree, dim, repeats, seed)
    results = measure_product(options, where)
    what = "sparse product with a random matrix of constant degree: the fused kernel and the library's"
    _write(out, what, _command("product", device=where.type, **vars(options)), machine(where), results)
    console.print(product_table(results))


@app.command(cls=SeveralWords)
def scores(
    data: Annotated[
        list[str], typer.Option("--data", metavar="DATA...", help="Data sets of the paper: one or several words.")
    ],
    out: Out = None,
    device: common.Device = "auto",
    repeats: Annotated[int, typer.Option("--repeats", help="Trainings of each variant.")] = 10,
    seed: common.Seed = 0,
    data_root: common.DataRoot = None,
    threads: Threads = None,
) -> None:
    """Train the authors' meta graphs with and without each optimisation, and compare the scores."""
    from benchmarks.measure import machine
    from benchmarks.scores import ScoresOptions, measure_scores
    from diffmg.engine.device import resolve_device

    options = ScoresOptions(repeats, seed)
    where = resolve_device(device)
    _set_threads(threads)
    about = machine(where)
    results: dict[str, Any] = {}
    what = "test scores of the authors' meta graphs with and without each optimisation, from the same seeds"
    command = _command("scores", data=data, device=where.type, threads=threads, **vars(options))
    for name in data:
        say(f"{name} ...", common.errors)
        results[name] = measure_scores(name, where, options, data_root)
        _write(out, what, command, about, results)
    console.print(scores_table(results, repeats))


@app.command(cls=SeveralWords)
def candidates(
    data: Annotated[
        list[str], typer.Option("--data", metavar="DATA...", help="Data sets, as in `fit`: one or several words.")
    ],
    out: Out = None,
    number: Annotated[int, typer.Option("--candidates", help="Random meta graphs of a batch.")] = 64,
    epochs: Annotated[int, typer.Option("--epochs", help="Epochs of each training.")] = 200,
    device: common.Device = "auto",
    seed: common.Seed = 0,
    data_root: common.DataRoot = None,
) -> None:
    """Really trained candidates in a second: a race's executor beside trainings of their own."""
    from benchmarks.candidates import measure
    from benchmarks.measure import machine
    from diffmg.engine.device import resolve_device

    where = resolve_device(device)
    about, results = machine(where), {}
    what = "really trained candidates in a second: by a race's executor, and as trainings of their own"
    command = _command("candidates", data=data, device=where.type, candidates=number, epochs=epochs, seed=seed)
    for name in data:
        results[name] = measure(name, data_root, number, epochs, seed, device)
        _write(out, what, command, about, results)
        say(f"{name}: {max(results[name]['per_second']):.2f} a second by a race's executor")


@app.command()
def tables(
    out: Out = None,
    edges: Annotated[str, typer.Option("--edges", help="Rows of the table of edges.")] = "1e7",
    ids: Annotated[str, typer.Option("--ids", help="What ids are: numbers or text.")] = "numbers",
) -> None:
    """Time reading a network from own tables, Parquet files of random edges."""
    from benchmarks.measure import machine
    from benchmarks.tables import TablesOptions, measure_tables
    from diffmg.engine.device import resolve_device

    options = TablesOptions(_whole(edges), ids)  # type: ignore[arg-type]  # checked by the options
    about = machine(resolve_device("cpu"))
    found = measure_tables(options)
    what = "random edges of users and items, from Parquet files to a network"
    _write(out, what, _command("tables", **vars(options)), about, found)
    say(f"{options.edges:,} edges: {found['seconds']} s, peak {found['peak_gb']} GB")


@app.command()
def dated(
    out: Out = None,
    rows: Annotated[str, typer.Option("--rows", help="Dated rows.")] = "1e7",
    entities: Annotated[str, typer.Option("--entities", help="Entities that they share.")] = "1e5",
    predictions: Annotated[str, typer.Option("--predictions", help="Predictions at moments.")] = "1e6",
) -> None:
    """Time making a network of dated rows, with windows into predictions, from Parquet files."""
    from benchmarks.dated_rows import DatedOptions, measure_dated
    from benchmarks.measure import machine
    from diffmg.engine.device import resolve_device

    options = DatedOptions(_whole(rows), _whole(entities), _whole(predictions))
    about = machine(resolve_device("cpu"))
    found = measure_dated(options)
    what = "dated rows and predictions with windows into them, from Parquet files to a network"
    _write(out, what, _command("dated", **vars(options)), about, found)
    say(f"{options.rows:,} rows, {options.predictions:,} predictions: {found['seconds']} s, peak {found['peak_gb']} GB")


@app.command()
def recommend(
    out: Out = None,
    users: Annotated[str, typer.Option("--users", help="Users, all of whom are answered.")] = "1e6",
    items: Annotated[str, typer.Option("--items", help="Items, all of which are scored.")] = "1e5",
    k: Annotated[int, typer.Option("-k", help="Items per user.")] = 20,
    dim: Annotated[int, typer.Option("--dim", help="Columns of the made vectors.")] = 64,
    seed: common.Seed = 0,
    device: common.Device = "auto",
    threads: Threads = None,
) -> None:
    """Time recommending to many users, from made vectors to a Parquet file."""
    from benchmarks.measure import machine
    from benchmarks.recommend import RecommendOptions, measure_recommend
    from diffmg.engine.device import resolve_device

    where = resolve_device(device)
    _set_threads(threads)
    options = RecommendOptions(_whole(users), _whole(items), k, dim, seed)
    about = machine(where)
    found = measure_recommend(options, where)
    what = "the best items of every user, from representations drawn at random to a Parquet file"
    given = {"users": options.users, "items": options.items, "dim": dim, "seed": seed}
    command = _command("recommend", device=where.type, threads=threads, **given) + f" -k {k}"
    _write(out, what, command, about, found)
    peak = "unknown" if found["peak_bytes"] is None else f"{found['peak_bytes'] / 1e9:.2f} GB"
    say(f"{options.users:,} users, {options.items:,} items, k = {k}: {found['seconds']:.1f} s, peak {peak} more")


@app.command()
def serve(
    out: Out = None,
    data: Annotated[str, typer.Option("--data", help="Data that a model is fitted on, for a few epochs.")] = "yelp",
    clients: Annotated[int, typer.Option("--clients", help="Clients that ask at the same time.")] = 64,
    seconds: Annotated[float, typer.Option("--seconds", help="How long they ask.")] = 30.0,
    method: Annotated[str, typer.Option("--method", help="The method of the model.")] = "lightgcn",
    epochs: Annotated[int, typer.Option("--epochs", help="Epochs of its training.")] = 3,
    seed: common.Seed = 0,
    data_root: common.DataRoot = None,
) -> None:
    """Ask a served model from many clients on the loopback: errors, and percentiles of the time until an answer."""
    from benchmarks.measure import machine
    from benchmarks.serve import ServeOptions, measure_serve
    from diffmg.engine.device import resolve_device

    options = ServeOptions(data, clients, seconds, method, epochs, seed=seed)
    found = measure_serve(options, data_root)
    what = "a served model asked by clients on the loopback, each of which asks again as soon as it has an answer"
    command = _command("serve", data=data, clients=clients, seconds=seconds, method=method, epochs=epochs, seed=seed)
    _write(out, what, command, machine(resolve_device("cpu")), found)
    waited = ", ".join(f"{name.removesuffix('_ms')} {found[name]:.0f} ms" for name in ("p50_ms", "p95_ms", "p99_ms"))
    rate = f"{found['requests_per_second']:.0f} a second"
    say(f"{found['requests']:,} requests, {found['errors']} errors, {rate}: {waited}")


@app.command()
def render(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a document is outdated.")
    ] = False,
) -> None:
    """Fill the tables of speed in README.md and docs/performance.md from the result files."""
    from benchmarks.render import render_documents

    outdated = render_documents(check)
    for path in outdated:
        say(f"{path.name} is outdated; run: {NAME} render" if check else f"{path.name} was updated")
    raise typer.Exit(int(check and bool(outdated)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run_app(app, NAME, arguments)


def _whole(text: str) -> int:
    """A whole number, which may be written 1e7."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number.is_integer() or number < 1:
        raise DiffmgError(f"a size is a whole number such as 1e7, but got {text!r}")
    return int(number)


def _set_threads(threads: int | None) -> None:
    import torch

    if threads is not None:
        if threads < 1:
            raise DiffmgError(f"`threads >= 1` must hold, but got threads={threads}")
        torch.set_num_threads(threads)


def _command(name: str, **options: Any) -> str:
    """The command that measures the same again: files and folders, which differ from machine to machine, left out."""
    words = [*NAME.split(), name]
    for key, value in options.items():
        flag = key.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None:
            words += [f"--{flag}", *map(str, value if isinstance(value, list) else [value])]
    return shlex.join(words)


def _write(out: Path | None, what: str, command: str, about: dict[str, Any], results: dict[str, Any]) -> None:
    """Write what is known so far."""
    from benchmarks.files import write_result
    from benchmarks.measure import report

    if out is not None:
        write_result(out, report(what, command, about, results))


if __name__ == "__main__":
    main()
