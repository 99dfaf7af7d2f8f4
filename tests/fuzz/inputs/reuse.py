"""A model on other data than its own: other order, same answers; other content, refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from fuzz.case import Answer, Case
from fuzz.library import World, library, rows_of
from fuzz.oracles import RUN, fit
from fuzz.writers import NET
from fuzz.writers import ROUTES_OF_FILES as WRITERS

Edit = Callable[[World, Random], None]


def cases(seed: int) -> Case:
    """Fit, predict, change the files, predict again."""
    rng = Random(f"reuse {seed}")
    write = rng.choice(WRITERS)
    world = library(rng)
    files, _ = write(world)
    edit = rng.choice((None, None, *EDITS))
    changed = world.shuffled(rng)
    if edit is not None:
        edit(changed, rng)
    later, _ = write(changed)

    def rewrite() -> None:
        for name, data in later.items():
            Path(name).write_bytes(data)

    method = rng.choice(("mlp", "features", "gcn"))
    command = rng.choice((("predict", RUN), ("predict", RUN, "--data", NET), ("score", RUN)))
    steps = (fit(NET, method=method), command, rewrite, command)
    return Case(edit.__name__ if edit else "shuffled", files, steps, _other if edit else _same)


def _same(answers: Sequence[Answer]) -> Iterator[str]:
    if answers[0].code == 0 and (answers[-1].code or answers[1].out != answers[-1].out):
        yield f"the same rows in another order: {answers[-1].err.strip() or 'other answers'}"


def _other(answers: Sequence[Answer]) -> Iterator[str]:
    if answers[0].code == 0 and answers[-1].code == 0:
        yield "a model answered on other data than its own"


def _append(world: World, rng: Random) -> None:
    """An author more."""
    authors = world.tables["authors"]
    for column, cells in authors.items():
        cells.append(max(authors["author"]) + 1 if column == "author" and isinstance(cells[0], int) else cells[0])
    if isinstance(authors["author"][0], str):
        authors["author"][-1] = "b0"


def _remove(world: World, rng: Random) -> None:
    """An edge less; edges of a repeated pair stay."""
    wrote = world.tables["wrote"]
    ends = [*zip(*(wrote[c] for c in wrote if c != "share"), strict=True)]
    gone = rng.choice(ends)
    keep = [i for i, pair in enumerate(ends) if pair != gone] or [0]
    world.tables["wrote"] = {c: [cells[i] for i in keep] for c, cells in wrote.items()}
    if len(keep) == len(ends):
        _append(world, rng)


def _rename_class(world: World, rng: Random) -> None:
    """A class has another name, or a label another number."""
    labels = world.tables["authors"]["field"]
    labels[:] = ["zoo" if v == "art" else v + 1 if isinstance(v, float) else v for v in labels]


def _swap_labels(world: World, rng: Random) -> None:
    """Two authors swap their labels."""
    labels = world.tables["authors"]["field"]
    i, j = next(
        (i, j)
        for i in range(len(labels))
        for j in range(i)
        if None not in (labels[i], labels[j]) and labels[i] != labels[j]
    )
    labels[i], labels[j] = labels[j], labels[i]


def _change_cell(world: World, rng: Random) -> None:
    """A feature has another value."""
    years = world.tables["papers"]["year"]
    place = rng.randrange(len(years))
    years[place] = 1900.0 if years[place] is None else None


def _drop_column(world: World, rng: Random) -> None:
    """A feature is gone."""
    del world.tables["authors"]["age"]


def _seed(world: World, rng: Random) -> None:
    """The split is drawn from another seed, or says something else."""
    task = world.described["task"]
    if "split" in task:
        parts = world.tables["authors"]["part"]
        parts[:] = [{"train": "test", "test": "train"}.get(v, v) for v in parts]
    else:
        task["seed"] = 1 + rng.randrange(5)


def _swap_years(world: World, rng: Random) -> None:
    """Two papers swap their years."""
    years = world.tables["papers"]["year"]
    pairs = [(i, j) for i in range(rows_of(world.tables["papers"])) for j in range(i) if years[i] != years[j]]
    i, j = rng.choice(pairs)
    years[i], years[j] = years[j], years[i]


EDITS: tuple[Edit, ...] = (
    _append,
    _remove,
    _rename_class,
    _swap_labels,
    _change_cell,
    _drop_column,
    _seed,
    _swap_years,
)
