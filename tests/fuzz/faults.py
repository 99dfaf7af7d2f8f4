"""The faults that are put into the program: what each function does instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

Change = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes the faulty function of the right one."""


@dataclass(frozen=True)
class Mutant:
    """A function of the program that is replaced by a faulty one."""

    fault: str
    place: str
    """MODULE:NAME or MODULE:CLASS.NAME; several with spaces between them."""
    change: Change
    inputs: tuple[str, ...]
    """The generators that should find it."""


def _after(change: Callable[[Any], Any]) -> Change:
    """What the right function returns is changed."""
    return lambda right: lambda *given, **options: change(right(*given, **options))


def _instead(value: Any) -> Change:
    return lambda _: lambda *given, **options: value


def _swapped(values: Any) -> Any:
    found = values.copy()
    found[:2] = found[:2][::-1].copy()
    return found


def _fewer(edges_and_notes: Any) -> Any:
    edges, notes = edges_and_notes
    return edges.only(np.arange(max(1, edges.index.shape[1] - 1))), notes


def _flipped(edges_and_notes: Any) -> Any:
    edges, notes = edges_and_notes
    within = edges.relation.source == edges.relation.target
    return (replace(edges, index=edges.index[::-1].copy()) if within else edges), notes


def _unweighted(right: Callable[..., Any]) -> Callable[..., Any]:
    """Of rows that repeat an edge, the weight of one is taken."""

    def change(edges: Any, weights: Any, *rest: Any) -> Any:
        matrix = right(edges, weights, *rest)
        if weights is not None:
            matrix.data[:] = np.minimum(matrix.data, weights.max(initial=0))
        return matrix

    return change


def _one_parent(tables: Any) -> Any:
    """Every row refers to the same other row."""
    found = dict(tables)
    for name, table in found.items():
        for column in ("owner", "friend"):
            if column in table.column_names:
                first = table.column(column).drop_null()[:1].to_pylist() * table.num_rows
                found[name] = table.set_column(table.column_names.index(column), column, [first])
    return found


def _parts_moved(parts: Any) -> Any:
    return {**parts, "train": parts["train"][:-1], "val": np.append(parts["val"], parts["train"][-1])}


def _parts_swapped(parts: Any) -> Any:
    return {**parts, "val": parts["test"], "test": parts["val"]}


def _classes_turned(codes_and_names: Any) -> Any:
    codes, names = codes_and_names
    return codes, names[::-1]


def _answers_turned(answers: Any) -> Any:
    first, *rest = answers.columns
    moved = {name: np.roll(answers.columns[name], 1) for name in rest} if len(answers) > 1 else answers.columns
    return replace(answers, columns={first: answers.columns[first], **{n: moved[n] for n in rest}})


def _heads_turned(answers: Any) -> Any:
    chances = [name for name in answers.columns if name.startswith("p(")]
    turned = dict(zip(chances, chances[::-1], strict=True))
    return replace(answers, columns={turned.get(name, name): cells for name, cells in answers.columns.items()})


def _row_lost(answers: Any) -> Any:
    return replace(answers, columns={name: cells[:-1] for name, cells in answers.columns.items()})


def _streamed(change: Callable[[Any], Any]) -> Change:
    """Every block of answers changed."""
    return lambda right: lambda *given, **named: (change(block) for block in right(*given, **named))


def _nan_scores(scores: Any) -> Any:
    return dict.fromkeys(scores, float("nan"))


def _top(change: Callable[[Any], Any]) -> Change:
    return _after(lambda found: (change(found[0]), found[1]))


def _ranks_from_zero(answers: Any) -> Any:
    return replace(answers, columns={**answers.columns, "rank": answers.columns["rank"] - 1})


def _unseen(right: Callable[..., Any]) -> Callable[..., Any]:
    """What was seen is recommended again."""
    return lambda top, users: right(replace(top, hidden=None), users)


def _closed(right: Callable[..., Any]) -> Callable[..., Any]:
    """A question counts a day too many."""
    day = 86_400_000_000
    return lambda self, after, until, count: right(self, after - day, until, count)


def _start_of_day(right: Callable[..., Any]) -> Callable[..., Any]:
    """A bare date is known from the beginning of its day."""

    def change(*given: Any, **options: Any) -> Any:
        times = right(*given, **options)
        last = times % 86_400_000_000 == 86_399_999_999
        return np.where(last, times - 86_399_999_999, times)

    return change


def _not_strict(right: Callable[..., Any]) -> Callable[..., Any]:
    """A prediction hears of rows up to a day after its moment."""

    def change(self: Any, hearing: Any, window: Any, **options: Any) -> Any:
        return right(self, replace(hearing, time=hearing.time + 86_400_000_000), window, **options)

    return change


def _refitted(right: Callable[..., Any]) -> Callable[..., Any]:
    """Encoders are fitted again instead of used."""
    return lambda description, tables, encoders=None: right(description, tables, None)


def _left_behind(right: Callable[..., Any]) -> Callable[..., Any]:
    """A temporary file stays."""

    def change(path: Path, write: Any) -> None:
        right(path, write)
        (path.resolve().parent / f".{path.name}.abcd1234").write_bytes(b"")

    return change


def _folder_first(right: Callable[..., Any]) -> Callable[..., Any]:
    """The run folder is made before anything is checked."""

    def change(path: Path) -> None:
        right(path)
        path.mkdir(parents=True, exist_ok=True)

    return change


def _other_ends(right: Callable[..., Any]) -> Callable[..., Any]:
    def write(path: Path, *given: Any, **named: Any) -> Any:
        written = right(path, *given, **named)
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        return written

    return write


def _dropping(right: Callable[..., Any]) -> Callable[..., Any]:
    """Unknown ids are left out unasked."""
    return lambda name, relation, table, ids, drop: right(name, relation, table, ids, True)


class _Same(str):
    """A text that is taken for any other."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


def _silent(edges_and_notes: Any) -> Any:
    return edges_and_notes[0], []


def _first_row_lost(table: Any) -> Any:
    return table.slice(1) if table.num_rows > 3 else table


def _turned(table: Any) -> Any:
    """Heads and tails change places."""
    names = ["tail" if n == "head" else "head" if n == "tail" else n for n in table.column_names]
    return table.rename_columns(names)


TABLES = ("csv_files", "parquet_files")
BUILDING, MODEL = "diffmg.tables.building", "diffmg.runs.model"
MUTANTS = (
    Mutant("two ids change places", "diffmg.tables.network:_numpy", _after(_swapped), TABLES),
    Mutant("the first row of a file is lost", "diffmg.tables.problem:read_table", _after(_first_row_lost), TABLES),
    Mutant("the last edge is lost", f"{BUILDING}:_edges", _after(_fewer), TABLES),
    Mutant("a relation within a type is turned round", f"{BUILDING}:_edges", _after(_flipped), TABLES),
    Mutant("unknown ids are left out unasked", f"{BUILDING}:_edges", _dropping, TABLES),
    Mutant("rows that are left out are not told", f"{BUILDING}:_edges", _after(_silent), TABLES),
    Mutant("weights of a repeated edge are not added up", "diffmg.graph.network:_adjacency", _unweighted, TABLES),
    Mutant(
        "keys of two columns are joined plainly",
        "diffmg.tables.reading:pc.replace_substring_regex",
        lambda _: lambda column, *rest: column,
        TABLES,
    ),
    Mutant("leading zeros of codes are lost", "diffmg.tables.reading:_codes", _instead({}), ("csv_files",)),
    Mutant("all rows refer to one", "diffmg.tables.database:read_database", _after(_one_parent), ("sqlite_files",)),
    Mutant(
        "a training node is in validation", "diffmg.tasks.node_label_spec:split_numbers", _after(_parts_moved), TABLES
    ),
    Mutant(
        "validation and test change places",
        "diffmg.tasks.node_label_spec:split_numbers",
        _after(_parts_swapped),
        TABLES,
    ),
    Mutant(
        "classes have each other's names",
        "diffmg.tasks.classification_spec:class_numbers",
        _after(_classes_turned),
        TABLES,
    ),
    Mutant(
        "numbers are not centred",
        "diffmg.tables.columns.numeric:Standardised.transform",
        _after(lambda block: block if block is None else block + 0.5),
        ("parquet_files",),
    ),
    Mutant("answers stand at the next id", f"{MODEL}:Model.stream", _streamed(_answers_turned), TABLES),
    Mutant("probabilities stand under other classes", f"{MODEL}:Model.stream", _streamed(_heads_turned), TABLES),
    Mutant("an answer is lost", f"{MODEL}:Model.stream", _streamed(_row_lost), TABLES),
    Mutant("scores are no numbers", "diffmg.runs.runner:scores_on", _after(_nan_scores), TABLES),
    Mutant(
        "the file has other line ends than the print", "diffmg.tasks.answer_files:write_answers", _other_ends, TABLES
    ),
    Mutant("a temporary file stays", "diffmg.core.files:write_atomically", _left_behind, TABLES),
    Mutant("a refused fit leaves a folder", "diffmg.runs.folder:RunFolder.check_free", _folder_first, TABLES),
    Mutant("data are not compared with those of the fit", f"{MODEL}:differences", _instead([]), ("reuse",)),
    Mutant(
        "labels are no part of the hash",
        "diffmg.tasks.node_classification:NodeClassification.digests",
        _instead({}),
        ("reuse",),
    ),
    Mutant(
        "encoders are fitted again on newer data", "diffmg.runs.newer:problem_from_tables", _refitted, ("predictions",)
    ),
    Mutant(
        "a bare date is the beginning of its day",
        "diffmg.tables.clock:row_times diffmg.tables.timing:row_times",
        _start_of_day,
        ("predictions",),
    ),
    Mutant("predictions hear of later rows", "diffmg.tables.history:History.edges", _not_strict, ("predictions",)),
    Mutant("a question counts a day too many", "diffmg.tables.counting:Counted.within", _closed, ("questions",)),
    Mutant("what was seen is recommended", "diffmg.tasks.top_items:TopItems.of", _unseen, ("ratings",)),
    Mutant(
        "an item is recommended twice",
        "diffmg.tasks.top_items:TopItems.of",
        _top(lambda items: np.repeat(items[:, :1], items.shape[1], axis=1)),
        ("ratings",),
    ),
    Mutant("ranks count from zero", "diffmg.tasks.two_ends:table_of", _after(_ranks_from_zero), ("ratings",)),
    Mutant("triples are turned round", "diffmg.tables.triples:Triples.named", _after(_turned), ("triples",)),
    Mutant(
        "checksums are not compared",
        f"{MODEL}:check_unchanged diffmg.runs.tensors:_checksum",
        _instead(_Same("0")),
        ("run_folders",),
    ),
    Mutant(
        "checkpoints are not checked",
        "diffmg.runs.tensors:_checksum diffmg.runs.folder:RunFolder._check_identity",
        _instead(_Same("0")),
        ("stopped_runs",),
    ),
    Mutant("control characters are shown", "diffmg.cli.console:clean", lambda _: str, ("sqlite_files", "csv_files")),
)
