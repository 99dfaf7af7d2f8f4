"""Commands that measure: the engine beside the yardstick, growth with the network, the product alone."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import SeveralWords, console, say
from diffmg.core.errors import DiffmgError

SIZES = ("1e4", "1e5", "1e6")

Out = Annotated[Path | None, typer.Option("--out", help="The JSON file to write.", show_default="none")]
WarmUp = Annotated[int, typer.Option("--warm-up", help="Epochs before any is timed.")]
Threads = Annotated[
    int | None, typer.Option("--threads", help="Threads that compute on the host.", show_default="torch's choice")
]


app = typer.Typer(
    help="Measure seconds per epoch and peak memory.",
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
    yardstick: Annotated[bool, typer.Option("--yardstick/--no-yardstick", help="Measure the yardstick too.")] = True,
    whole: Annotated[
        bool,
        typer.Option("--whole/--no-whole", help="Also time whole jobs: searches of 100 epochs, trainings of 200."),
    ] = False,
    seed: common.Seed = 0,
    data_root: common.DataRoot = None,
    threads: Threads = None,
) -> None:
    """Time searching and retraining beside the paper as it would first be written, in one process, taking turns."""
    from diffmg.benchmarks.engine import EngineOptions, measure_engine
    from diffmg.benchmarks.floor import ceilings
    from diffmg.benchmarks.measure import machine
    from diffmg.engine.device import resolve_device
    from diffmg.runs.sources import published_for

    options = EngineOptions(epochs, block, warm_up, yardstick, whole, seed)
    where = resolve_device(device)
    for name in data:
        published_for(name)
    _set_threads(threads)
    about = machine(where) | ceilings(where)
    results: dict[str, Any] = {}
    what = "seconds per epoch and peak memory of searching and retraining: this package and the yardstick"
    command = _command("engine", data=data, device=where.type, threads=threads, **vars(options))
    for name in data:
        say(f"{name} ...", common.errors)
        results[name] = measure_engine(name, where, options, data_root)
        _write(out, what, command, about, results)
    console.print(_engine_table(results))


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
    from diffmg.benchmarks.growth import GrowthOptions, checked_sizes, exponents, measure_size
    from diffmg.benchmarks.measure import machine
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
    console.print(_growth_table(points, exponents(points)))


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
    from diffmg.benchmarks.measure import machine
    from diffmg.benchmarks.product import ProductOptions, measure_product
    from diffmg.engine.device import resolve_device

    where = resolve_device(device)
    options = ProductOptions(_whole(nodes), degree, dim, repeats, seed)
    results = measure_product(options, where)
    what = "sparse product with a random matrix of constant degree: the fused kernel and the library's"
    _write(out, what, _command("product", device=where.type, **vars(options)), machine(where), results)
    table = Table("way", "ms", "gathered TB/s", "of copy bandwidth", "relative error")
    for name, found in results["ways"].items():
        share, error = found["share_of_copy_bandwidth"], found["relative_error"]
        speed = found["gathered_bytes_per_second"] / 1e12
        table.add_row(name, f"{1000 * found['median']:.2f}", f"{speed:.2f}", f"{100 * share:.0f} %", f"{error:.1e}")
    console.print(table)


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
    from diffmg.benchmarks.measure import machine
    from diffmg.benchmarks.scores import ScoresOptions, measure_scores
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
    table = Table("data", *next(iter(results.values()))["variants"], title=f"mean ± std of {repeats} trainings")
    for name, result in results.items():
        cells = (f"{100 * v['mean']:.2f} ± {100 * v['std']:.2f}" for v in result["variants"].values())
        table.add_row(name, *cells)
    console.print(table)


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
    words = ["diffmg", "bench", name]
    for key, value in options.items():
        flag = key.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None:
            words += [f"--{flag}", *map(str, value if isinstance(value, list) else [value])]
    return shlex.join(words)


def _write(out: Path | None, what: str, command: str, about: dict[str, Any], results: dict[str, Any]) -> None:
    """Write what is known so far."""
    from diffmg.benchmarks.measure import report
    from diffmg.core.files import make_folder, write_json

    if out is not None:
        make_folder(out.parent)
        write_json(out, report(what, command, about, results))


def _engine_table(results: dict[str, Any]) -> Table:
    heads = ("data", "work", "ours (ms/epoch)", "yardstick (ms/epoch)", "times faster", "ours (MB)", "yardstick (MB)")
    table = Table(*heads, "whole job (s)", title="epochs: median and quartiles of blocks", title_justify="left")
    for name, result in results.items():
        for work in ("search", "retrain"):
            found = result[work]
            ours, other, ratio = found["ours"], found.get("yardstick"), found["ratio"]
            times = [_milliseconds(ours), _milliseconds(other), "-" if ratio is None else f"{ratio:.1f}"]
            whole = f"{ours['whole_median']:.2f}" if "whole_median" in ours else "-"
            table.add_row(name, work, *times, _megabytes(ours), _megabytes(other), whole)
    return table


def _growth_table(points: list[dict[str, Any]], slopes: dict[str, Any]) -> Table:
    table = Table("nodes", "edges", "ms/epoch", "MB", "exponent", title="growth of a search", title_justify="left")
    between = [None, *slopes["seconds"]["between"]]
    for point, slope in zip(points, between, strict=True):
        numbers = (f"{point[key]:,}" for key in ("nodes", "edges"))
        table.add_row(*numbers, _milliseconds(point), _megabytes(point), "-" if slope is None else f"{slope:.2f}")
    return table


def _milliseconds(found: dict[str, Any] | None) -> str:
    if found is None:
        return "-"
    middle, low, high = (1000 * found[key] for key in ("median", "low", "high"))
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def _megabytes(found: dict[str, Any] | None) -> str:
    return "-" if found is None or found["peak_bytes"] is None else f"{found['peak_bytes'] / 1e6:.0f}"
