"""No state of a prediction depends on a row dated at or after its moment: tried, not read."""

import random
import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmg.core import METHODS, DiffmgError, MethodSpec, SearchSpace, Settings
from diffmg.methods._wide import WideSpace
from diffmg.runs.newer import with_relations
from diffmg.tables import export_tables
from diffmg.tables.building import build_network
from diffmg.tables.clock import Clock
from diffmg.tables.problem import problem_from_tables
from diffmg.tables.times import DAY, NEVER
from timed_shop import DAYS, day, described_shop, write_shop

LATER = {"orders": "ordered_at", "visits": "date"}


@pytest.fixture(scope="module")
def shop_path(tmp_path_factory):
    return write_shop(tmp_path_factory.mktemp("shop") / "shop.db", 0, customers=40, orders=300, visits=300)


@pytest.fixture(scope="module")
def shop(shop_path):
    return described_shop(shop_path)


def made_shop(seed, **options):
    with TemporaryDirectory() as folder:
        return described_shop(write_shop(Path(folder) / "shop.db", seed), **options)


def disturbed(tables, cut, rng):
    """The tables with every row dated at or after the cut deleted, or with other values; items follow their order."""
    found = dict(tables)
    for name, time in LATER.items():
        later = np.array([t is not None and t >= day(cut) for t in tables[name].column(time).to_pylist()])
        gone = later & np.array([rng.random() < 0.5 for _ in later])
        found[name] = _other_values(tables[name], later, rng).filter(pa.array(~gone))
    dates = [tables["orders"].column(c).to_pylist() for c in ("order_id", "ordered_at")]
    orders = dict(zip(*dates, strict=True))
    kept = set(found["orders"].column("order_id").to_pylist())
    items = tables["items"].column("order_id").to_pylist()
    later = np.array([orders[n] is not None and orders[n] >= day(cut) for n in items])
    found["items"] = _other_values(tables["items"], later, rng).filter(pa.array([n in kept for n in items]))
    return found


def _other_values(table, rows, rng):
    """Other amounts and other owners in these rows."""
    for name in ("amount", "quantity", "seconds", "status_code"):
        if name in table.column_names:
            values = table.column(name).to_pylist()
            other = [rng.randrange(3) if name == "status_code" else 1e3 * rng.random() for _ in values]
            mixed = [o if row else v for v, o, row in zip(values, other, rows, strict=True)]
            table = table.set_column(table.column_names.index(name), name, pa.array(mixed))
    if "customer_id" in table.column_names:
        values = table.column("customer_id").to_pylist()
        mixed = [rng.randrange(6) if row else v for v, row in zip(values, rows, strict=True)]
        table = table.set_column(table.column_names.index("customer_id"), "customer_id", pa.array(mixed, pa.int64()))
    return table


def problem_like(problem, description, tables):
    """Of other tables, with the encoders and relations of a problem, as a fitted model uses it."""
    found = problem_from_tables(description, tables, problem.graph.encoders)
    return with_relations(found, [str(relation) for relation in problem.graph.schema.relations])


def sees_until(problem_network, cut):
    """Which predictions see nothing from the day of the cut on."""
    clock = Clock.of(problem_network)
    return clock.times[clock.target] <= np.datetime64(day(cut), "us").astype(np.int64)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    cut=st.integers(23, DAYS),
    history=st.sampled_from(["fresh", "frozen"]),
    horizon=st.sampled_from([None, "3d"]),
)
def test_later_rows_change_no_output_of_a_random_meta_graph(seed, cut, history, horizon):
    rng = random.Random(seed)
    description, tables = made_shop(seed, history=history, horizon=horizon)
    before = problem_from_tables(description, tables)
    after = problem_like(before, description, disturbed(tables, cut, rng))
    early = torch.from_numpy(sees_until(build_network(description, tables), cut))
    assert early.any()
    space = WideSpace.of(before, Settings(), 4, 3)
    for candidate in (space.draw(rng) for _ in range(3)):
        one, other = (_outputs(candidate.method, candidate.settings, problem) for problem in (before, after))
        assert torch.equal(one[early], other[early]), candidate


def _outputs(method, chosen, problem):
    network = method.network(problem, chosen, 0, getattr(method, "metagraphs", ()))
    network.eval()
    with torch.no_grad():
        return network(problem.graph)[0]


@pytest.mark.parametrize("name", [name for name, kind in METHODS.items() if kind.timed and not kind.has_metagraph])
@pytest.mark.parametrize("seed", range(3))
def test_later_rows_change_no_output_of_a_rival(name, seed):
    cut, rng = 31, random.Random(seed)
    description, tables = made_shop(seed)
    before = problem_from_tables(description, tables)
    after = problem_like(before, description, disturbed(tables, cut, rng))
    early = torch.from_numpy(sees_until(build_network(description, tables), cut))
    method = MethodSpec(name).make()
    network = method.network(before, Settings(dim=8), 0)
    if hasattr(network, "fit"):
        network.fit(before, 0)
    again = method.network(after, Settings(dim=8), 0)
    again.load_state_dict(network.state_dict())
    with torch.no_grad():
        one, other = (n.eval()(p.graph)[0] for n, p in ((network, before), (again, after)))
    assert torch.allclose(one[early], other[early], atol=1e-6)


def test_other_methods_refuse_times(shop):
    problem = problem_from_tables(*shop)
    for name in ("gcn", "svd", "label_propagation", "metapath2vec", "hgt"):
        with pytest.raises(DiffmgError, match=f"{name}' reads the whole network at once, later rows too, .* auto"):
            MethodSpec(name).make().check(problem, Settings())
    with pytest.raises(DiffmgError, match="rows with a time average what they see, but got aggregate='symmetric'"):
        problem.graph.aggregated("symmetric", self_loops=True)


def test_encoders_do_not_know_what_comes_after_the_boundary(shop):
    description, tables = shop
    fitted = problem_from_tables(description, tables).graph.encoders
    changed = problem_from_tables(description, disturbed(tables, 22, random.Random(0))).graph.encoders
    assert fitted == changed
    earlier = problem_from_tables(description, disturbed(tables, 21, random.Random(0))).graph.encoders
    assert fitted != earlier


def test_who_hears_whom(shop):
    description, tables = shop
    network = build_network(description, tables)
    clock, graph = Clock.of(network), network.graph({})
    for relation, matrix in graph.adjacency.items():
        assert relation.source != "predictions"
        target, source = matrix.nonzero()
        if relation.source in graph.timed:
            assert relation.target in graph.timed
            then, now = clock.times[relation.source][source], clock.times[relation.target][target]
            assert (then != NEVER).all()
            assert (then < now).all() if relation.target == "predictions" else (then <= now).all()
    assert {r.target for r in graph.schema.relations if r.source == "items"} == {"orders", "items"}
    assert graph.timed == {"orders", "items", "visits", "predictions"}


def test_undated_rows_inherit_the_time_of_what_they_refer_to(shop):
    description, tables = shop
    clock = Clock.of(build_network(description, tables))
    orders = dict(zip(tables["orders"].column("order_id").to_pylist(), clock.times["orders"], strict=True))
    expected = [orders[n] for n in tables["items"].column("order_id").to_pylist()]
    assert description.nodes["items"].time_of == ("order",)
    assert clock.times["items"].tolist() == expected
    assert NEVER in expected


def test_past_labels_are_heard_once_they_are_known_and_those_of_test_never(shop_path):
    description, tables = described_shop(shop_path, horizon="7d")
    network = build_network(description, tables)
    graph, clock = network.graph({}), Clock.of(network)
    relation = next(r for r in graph.schema.relations if r.source == "gone before" and r.name.startswith("last 20"))
    target, source = graph.adjacency[relation].nonzero()
    assert (clock.made[source] + 7 * DAY <= clock.times["predictions"][target]).all()
    split = np.array(network.node_column("predictions", "split").to_pylist())
    assert {"train", "val"} == set(split[source])
    others = problem_from_tables(description, tables)
    changed = problem_from_tables(description, with_other_test_labels(tables))
    assert all(torch.equal(others.graph.features[t], changed.graph.features[t]) for t in ("predictions", "orders"))
    heard = np.unique(source)
    assert torch.equal(others.graph.features["gone before"][heard], changed.graph.features["gone before"][heard])


def with_other_test_labels(tables):
    churn = tables["churn"]
    split, labels = (churn.column(c).to_pylist() for c in ("split", "gone"))
    other = [1 - label if part == "test" else label for part, label in zip(split, labels, strict=True)]
    return {**tables, "churn": churn.set_column(churn.column_names.index("gone"), "gone", pa.array(other))}


def test_dates_that_were_filled_in_later_are_not_used(shop):
    description, tables = shop
    orders = tables["orders"]
    paid = [None if d is None else f"{d[:8]}28" for d in orders.column("ordered_at").to_pylist()]
    asked = [None if d is None else "2023-12-31" for d in paid]
    columns = {"paid": pa.array(paid), "asked": pa.array([*asked[:-1], None])}
    for name, values in columns.items():
        orders = orders.append_column(name, values)
    node = replace(description.nodes["orders"], features=("amount", "paid", "asked"))
    dated = replace(description, nodes={**description.nodes, "orders": node})
    graph = build_network(dated, {**tables, "orders": orders}).graph({})
    assert "orders.paid: left out (dates after the time of their row)" in graph.notes
    assert [note for note in graph.notes if note.startswith("orders.paid: ")] == [
        "orders.paid: left out (dates after the time of their row)"
    ]
    assert not any(note.startswith("orders.asked: left out (dates") for note in graph.notes)
    plain = build_network(
        replace(dated, nodes={**dated.nodes, "orders": replace(node, features=("amount", "asked"))}),
        {**tables, "orders": orders},
    ).graph({})
    assert torch.equal(graph.features["orders"], plain.features["orders"])


def test_frozen_validation_and_training_are_as_stale_as_test(shop):
    description, tables = shop
    frozen = replace(description, moments=replace(description.moments, history="frozen"))
    network = build_network(frozen, tables)
    clock, split = Clock.of(network), np.array(network.node_column("predictions", "split").to_pylist())
    lag = (clock.made - clock.times["predictions"]) / 864e8
    assert set(lag[split == "val"]) == {0.0, 3.0}
    assert set(lag[split == "test"]) == {0.0, 6.0}
    assert set(lag[split == "train"]) == {0.0, 3.0}
    fresh = Clock.of(build_network(replace(description, moments=replace(description.moments, history="fresh")), tables))
    assert (fresh.made == fresh.times["predictions"]).all()


@pytest.mark.parametrize(("last", "history"), [(40, "fresh"), (36, "fresh"), (35, "frozen"), (20, "frozen")])
def test_history_is_frozen_where_the_data_end_early(tmp_path, last, history):
    path = write_shop(tmp_path / "shop.db", 0)
    with sqlite3.connect(path) as connection:
        for table, time in LATER.items():
            connection.execute(f"UPDATE {table} SET {time} = ? WHERE {time} > ?", (day(last), day(last)))
        connection.execute("UPDATE visits SET date = ? WHERE visit_id = 0", (day(last),))
    connection.close()
    assert described_shop(path)[0].moments.history == history


def test_rows_in_another_order_give_the_same_network(shop):
    description, tables = shop
    rng = np.random.default_rng(0)
    shuffled = {name: table.take(rng.permutation(table.num_rows)) for name, table in tables.items()}
    one, other = (problem_from_tables(description, t).graph for t in (tables, shuffled))
    for relation, matrix in one.adjacency.items():
        assert (matrix != other.adjacency[relation]).nnz == 0
    assert all(torch.equal(one.features[t], other.features[t]) for t in one.features)


def test_meta_graphs_of_the_paper_fit_a_timed_network(shop):
    graph = problem_from_tables(*shop).graph
    space = SearchSpace.dag(graph.schema, "predictions", 2)
    assert all(candidates for candidates in space.candidates)


@pytest.mark.parametrize("horizon", [None, "2d"])
def test_folds_go_forward_and_know_no_label_of_their_period(shop, horizon):
    description, tables = shop
    moments = replace(description.moments, horizon=horizon)
    task = problem_from_tables(replace(description, moments=moments), tables).task
    made, late = task.when.made, 0 if horizon is None else 2 * 86_400_000_000
    folds = task.folds(2, 0)
    assert folds.forward
    assert len(folds.tasks) == 2
    for fold in folds.tasks:
        begins = made[fold.parts["val"]].min()
        assert (made[fold.parts["train"]] + late <= begins).all()
        assert len(fold.parts["train"])
    judged = folds.whole.parts["val"]
    for fold, place in zip(folds.tasks, folds.places, strict=True):
        assert judged[place].tolist() == fold.parts["val"].tolist()
    assert set(folds.tasks[-1].parts["val"].tolist()) == set(task.parts["val"].tolist())
    assert folds.tasks[-1].parts["train"].tolist() == task.parts["train"].tolist()
    assert sorted(p for place in folds.places for p in place.tolist()) == list(range(len(judged)))


def test_too_few_moments_give_no_folds(shop):
    assert problem_from_tables(*shop).task.folds(5, 0) is None


def test_a_timed_network_is_not_exported(shop, tmp_path):
    with pytest.raises(DiffmgError, match="tables of a network have no times, but got one with times of items, orders"):
        export_tables(problem_from_tables(*shop), tmp_path / "out")


def test_predictions_hear_something(shop):
    description, tables = shop
    relations = {name: r for name, r in description.relations.items() if r.target[0] != "predictions"}
    with pytest.raises(DiffmgError, match="no relation or window into 'predictions' with edges; add"):
        build_network(replace(description, windows={}, relations=relations), tables)


def test_a_later_row_does_not_make_midnights_of_dates(shop):
    description, tables = shop
    orders = tables["orders"]
    place = orders.column_names.index("ordered_at")
    dates = orders.column("ordered_at").cast(pa.timestamp("us"))
    moments = [d if d is None or d < datetime(2024, 2, 5) else d + timedelta(hours=12) for d in dates.to_pylist()]
    assert moments != dates.to_pylist()
    found = [
        Clock.of(build_network(description, {**tables, "orders": orders.set_column(place, "ordered_at", values)}))
        for values in (dates, pa.chunked_array([moments], pa.timestamp("us")))
    ]
    one, other = (clock.times["orders"] for clock in found)
    early = one < np.datetime64("2024-02-05", "us").astype(np.int64)
    assert 0 < early.sum() < len(one)
    assert one[early].tolist() == other[early].tolist()
