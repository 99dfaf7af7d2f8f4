from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.engine import memory
from diffmg.engine.memory import COLUMNS, SPARE, Needs, fit_engine_to_memory, free_bytes, in_words, needs
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from small_networks import NODES, small_classification, small_recommendation

ROOT = Path(__file__).parents[2]
CPU, GPU = torch.device("cpu"), torch.device("cuda")
NETWORK, PARAMETERS, FIRST, OTHERS, OUTPUTS = (
    "network",
    "parameters, gradients and moments",
    "state 0 and its gradient",
    "other states",
    "outputs and scores",
)
SETTINGS = Settings(dim=8)
MEMINFO = "MemTotal:       24000000 kB\nMemFree:         1000000 kB\nMemAvailable:    2000000 kB\n"


def parts(problem: Problem, device: torch.device = CPU, *, search: bool = True, **changes: Any) -> dict[str, int]:
    """Bytes by part; `changes`: dim, depth, or switches of the engine."""
    settings, depth = Settings(dim=changes.pop("dim", 8)), changes.pop("depth", 4)
    graph = replace(problem.graph, engine=Engine(**changes))
    return dict(needs(Problem(graph, problem.task), settings, depth, device, search=search).parts)


def path_problem(nodes: int) -> Problem:
    """A network of authors and papers only, with nodes, edges and labels in proportion."""
    half = nodes // 2
    ends = np.arange(half)
    features = {t: np.ones((half, 3), np.float32) for t in ("author", "paper")}
    graph = HeteroGraph.build(
        {"author": half, "paper": half}, {("paper", "by", "author"): np.stack([ends, ends])}, features
    )
    train, val, test = np.split(ends, [half // 2, half - 1])
    return Problem(graph, NodeClassification.build("author", ends % 2, train=train, val=val, test=test))


def test_the_parts_of_a_small_network_by_hand():
    """10 nodes with 4 features, 7 with none, 4 with 4 (sparse): 15 rows of weights, 21 rows of states."""
    problem = small_classification()
    nodes, inputs, dim = sum(NODES.values()), 4 + 7 + 4, 8
    edges = sum(p.matrix.forward.values().numel() for p in problem.graph.propagation.values())
    rows = sum(NODES[r.source] + NODES[r.target] for r in problem.graph.schema.relations)
    search = parts(problem, depth=3)
    assert search[PARAMETERS] == 4 * dim * inputs * 4
    assert search[FIRST] == 4 * nodes * dim * 4
    assert search[OTHERS] == 6 * 4 * nodes * dim
    assert search[OUTPUTS] == 4 * 7 * (6 * dim + 3 * 2) + 40 * 6
    assert search[NETWORK] >= 16 * edges + 4 * rows + 4 * 10 * 4
    training = parts(problem, search=False, depth=3)
    assert training[PARAMETERS] == 4 * dim * inputs * 6
    assert training[FIRST] == 4 * nodes * dim * 6
    assert training[OTHERS] == 4 * 4 * nodes * dim


def test_every_part_is_there_and_positive(problem):
    for search, device in product((True, False), (CPU, GPU)):
        found = parts(problem, device, search=search)
        more = ["the library's workspaces"] if device == GPU else []
        assert list(found) == [NETWORK, PARAMETERS, FIRST, OTHERS, OUTPUTS, *more]
        assert all(isinstance(size, int) and size > 0 for size in found.values())
        assert Needs(found).total == sum(found.values())


@pytest.mark.parametrize("search", [True, False])
def test_twice_the_nodes_twice_the_states(search):
    one, two = (parts(path_problem(n), search=search) for n in (400, 800))
    assert {name: two[name] - one[name] for name in (FIRST, OTHERS)} == {name: one[name] for name in (FIRST, OTHERS)}
    assert two[NETWORK] == 2 * one[NETWORK]
    assert two[OUTPUTS] == pytest.approx(2 * one[OUTPUTS], rel=0.01)
    assert two[PARAMETERS] == one[PARAMETERS], "with features, weights do not grow with the nodes"


@pytest.mark.parametrize("search", [True, False])
def test_without_features_every_node_has_weights(search):
    problem = small_classification()
    bare = Problem(replace(problem.graph, features={}), problem.task)
    nodes, inputs = sum(NODES.values()), 4 + 7 + 4
    with_features, without = (parts(p, search=search) for p in (problem, bare))
    assert without[PARAMETERS] * inputs == with_features[PARAMETERS] * nodes
    assert without[NETWORK] < with_features[NETWORK]


@pytest.mark.parametrize("search", [True, False])
def test_twice_the_columns_twice_the_states_and_weights(problem, search):
    one, two = (parts(problem, search=search, dim=dim) for dim in (16, 32))
    for name in (PARAMETERS, FIRST, OTHERS):
        assert two[name] == 2 * one[name]
    rows = sum(problem.graph.num_nodes[t] for t in problem.task.target_types)
    assert two[OUTPUTS] - one[OUTPUTS] == 4 * rows * 6 * 16
    assert two[NETWORK] == one[NETWORK]


def test_each_state_more_costs_a_state_to_train_and_two_to_search(problem):
    """Its gradient, and the state itself if λ needs a gradient."""
    state = 4 * sum(problem.graph.num_nodes.values()) * 8 * len(problem.task.target_types)
    for search, more in ((True, 2), (False, 1)):
        sizes = [parts(problem, search=search, depth=depth) for depth in (1, 2, 3, 8)]
        others = [s.pop(OTHERS) for s in sizes]
        assert [b - a for a, b in pairwise(others)] == [more * state * states for states in (1, 1, 5)]
        assert all(s == sizes[0] for s in sizes)


@pytest.mark.parametrize("search", [True, False])
def test_two_towers_hold_twice_the_states_and_weights_of_one(search):
    one, two = (parts(p, search=search) for p in (small_classification(), small_recommendation()))
    for name in (PARAMETERS, FIRST, OTHERS):
        assert two[name] == 2 * one[name]
    assert two[NETWORK] == one[NETWORK]


def test_training_holds_the_best_parameters_and_dropout_search_holds_more_states(problem):
    search, training = (parts(problem, search=search, depth=4) for search in (True, False))
    assert training[PARAMETERS] == 6 * search[PARAMETERS] // 4
    assert training[FIRST] == 6 * search[FIRST] // 4
    assert training[OTHERS] == 5 * search[OTHERS] // 8
    assert {n: training[n] for n in (NETWORK, OUTPUTS)} == {n: search[n] for n in (NETWORK, OUTPUTS)}


def test_fewer_columns_at_a_time_reduce_the_other_states_alone(problem):
    for search, columns in product((True, False), (1, 4, 8)):
        whole, some = (parts(problem, search=search, dim=32, columns=c) for c in (0, columns))
        assert some.pop(OTHERS) * 32 == whole.pop(OTHERS) * columns
        assert some == whole


@pytest.mark.parametrize("search", [True, False])
def test_bfloat16_halves_the_other_states_on_a_gpu_and_nothing_on_a_cpu(problem, search):
    """On the CPU values are rounded to bfloat16 but kept in float32."""
    assert parts(problem, CPU, search=search, storage="bfloat16") == parts(problem, CPU, search=search)
    whole, half = (parts(problem, GPU, search=search, storage=s) for s in ("float32", "bfloat16"))
    assert 2 * half.pop(OTHERS) == whole.pop(OTHERS)
    assert half == whole


def test_on_a_gpu_the_fused_kernels_have_tables_of_their_own(problem):
    plain = parts(problem, GPU, fused=False)
    assert parts(problem, CPU) == parts(problem, CPU, fused=False)
    assert plain == parts(problem, CPU) | {"the library's workspaces": memory.WORKSPACES}
    edges = sum(p.matrix.forward.values().numel() for p in problem.graph.propagation.values())
    assert parts(problem, GPU)[NETWORK] - plain[NETWORK] >= 16 * edges


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, list[int]]]:
    """Estimates and measured peaks on synthetic data, with the default allocator."""
    return run_peaks("academic:4000", "shop:4000")


def run_peaks(*cases: str, **environment: str) -> dict[str, dict[str, list[int]]]:
    command = [sys.executable, str(ROOT / "tests" / "peaks.py"), *cases]
    places = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    surroundings = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": places} | environment
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=surroundings)
    found = json.loads(done.stdout)
    if any(peak is None for works in found.values() for _, peak in works.values()):
        pytest.skip("this system does not tell a process's peak memory")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("work", ["search", "training"])
@pytest.mark.parametrize("name", ["academic:4000", "shop:4000"])
def test_no_more_is_held_than_estimated_and_not_much_less(measured, name, work):
    estimate, peak = measured[name][work]
    assert peak <= estimate <= 4 * peak


@pytest.mark.slow
def test_tensors_never_hold_more_than_estimated_when_all_states_are_as_large_as_the_network():
    """Every tensor is freed at once, so that the peak has no fragmentation."""
    found = run_peaks("one-type:5000", "one-type:5000/8", MALLOC_MMAP_THRESHOLD_="65536")
    for works in found.values():
        for estimate, peak in works.values():
            assert peak <= estimate <= 4 * peak


def meminfo(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    """Fake the system's free memory; None for unknown."""

    def read(path: Path, encoding: str | None = None) -> str:
        assert path == Path("/proc/meminfo")
        if text is None:
            raise FileNotFoundError(path)
        return text

    monkeypatch.setattr(Path, "read_text", read)


def test_the_free_memory_of_a_cpu_is_what_the_system_says_is_available(monkeypatch):
    meminfo(monkeypatch, MEMINFO)
    assert free_bytes(CPU) == 2_000_000 * 1024


@pytest.mark.parametrize("text", [None, "", "MemTotal: 24000000 kB\nMemFree: 1000000 kB\n"])
def test_the_free_memory_is_unknown_where_the_system_does_not_say(monkeypatch, text):
    meminfo(monkeypatch, text)
    assert free_bytes(CPU) is None


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="this system has no /proc/meminfo")
def test_the_free_memory_here_is_some_and_less_than_there_is():
    free = free_bytes(CPU)
    assert free is not None
    assert 1e6 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_the_free_memory_of_a_gpu_is_its_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (123, 456))
    assert free_bytes(GPU) == 123


def short_of(monkeypatch: pytest.MonkeyPatch, free: float | None) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda device: free)


def total(problem: Problem, dim: int, *, search: bool, columns: int) -> int:
    return sum(parts(problem, search=search, dim=dim, columns=columns).values())


@pytest.mark.parametrize("free", [None, 1e12])
def test_with_plenty_or_unknown_memory_all_columns_are_kept(problem, monkeypatch, free):
    short_of(monkeypatch, free)
    for search in (True, False):
        assert fit_engine_to_memory(problem, Settings(), 4, CPU, search=search, training=not search) == Engine()


@pytest.mark.parametrize("search", [True, False])
def test_where_memory_is_short_as_many_columns_as_fit_are_taken(problem, monkeypatch, search):
    """Just enough for this many columns, including the reserve; a little less gives fewer."""

    def fitted(free: float) -> Engine:
        short_of(monkeypatch, free)
        return fit_engine_to_memory(problem, Settings(dim=64), 4, CPU, search=search, training=not search)

    enough = {columns: total(problem, 64, search=search, columns=columns) / SPARE for columns in COLUMNS}
    for columns in COLUMNS:
        assert fitted(enough[columns] + 2) == Engine(columns=columns)
    for columns, fewer in pairwise(COLUMNS):
        assert fitted(enough[columns] - 2).columns == fewer
    with pytest.raises(DiffmgError, match="must fit"):
        fitted(enough[COLUMNS[-1]] - 2)


def test_the_other_switches_stay_as_they_are(classification, monkeypatch):
    given = Engine(fused=False, capture=False, storage="bfloat16")
    short_of(monkeypatch, total(classification, 64, search=True, columns=16) / SPARE + 2)
    problem = classification.to(CPU, given)
    assert fit_engine_to_memory(problem, Settings(dim=64), 4, CPU, search=True, training=False) == replace(
        given, columns=16
    )


def test_no_more_columns_are_tried_than_there_are(classification, monkeypatch):
    short_of(monkeypatch, 0.99 * total(classification, 16, search=True, columns=0) / SPARE)
    assert fit_engine_to_memory(classification, Settings(dim=16), 4, CPU, search=True, training=False).columns == 8


def test_given_columns_are_kept_whatever_the_memory(classification, monkeypatch):
    problem = classification.to(CPU, Engine(columns=16))
    short_of(monkeypatch, 1e12)
    assert fit_engine_to_memory(problem, Settings(dim=64), 4, CPU, search=True, training=False).columns == 16
    short_of(monkeypatch, total(classification, 64, search=True, columns=8) / SPARE + 2)
    with pytest.raises(DiffmgError, match="even with 16 columns at a time"):
        fit_engine_to_memory(problem, Settings(dim=64), 4, CPU, search=True, training=False)


@pytest.mark.parametrize(("search", "word"), [(True, "search"), (False, "training")])
def test_what_does_not_fit_is_said_with_estimate_memory_and_ways_out(classification, monkeypatch, search, word):
    short_of(monkeypatch, 12_345)
    with pytest.raises(DiffmgError) as raised:
        fit_engine_to_memory(classification, Settings(dim=64), 3, CPU, search=search, training=not search)
    said = str(raised.value)
    estimate = Needs(parts(classification, search=search, dim=64, depth=3, columns=COLUMNS[-1]))
    assert said.startswith(f"the {word} must fit into 12.3 kB of free memory (cpu), but got an estimate of ")
    assert f"{in_words(estimate.total)} even with 4 columns at a time ({estimate!s});" in said
    assert "lower dim (64) or the depth (3), give types without features a few, or use a device with more" in said


def test_of_few_columns_all_are_named(classification, monkeypatch):
    short_of(monkeypatch, 1000)
    with pytest.raises(DiffmgError, match="even with 3 columns at a time"):
        fit_engine_to_memory(classification, Settings(dim=3), 4, CPU, search=True, training=False)


def test_the_problem_itself_is_not_changed(classification, monkeypatch):
    before = classification.graph
    short_of(monkeypatch, total(classification, 64, search=True, columns=16) / SPARE + 2)
    fit_engine_to_memory(classification, Settings(dim=64), 4, CPU, search=True, training=False)
    assert classification.graph is before
    assert before.engine == Engine()


def test_bytes_in_words():
    said = {
        0: "0.0 kB",
        1: "0.0 kB",
        1500: "1.5 kB",
        999_999: "1000.0 kB",
        10**6: "1.0 MB",
        123_456_789: "123.5 MB",
        10**9: "1.0 GB",
        23_456_000_000: "23.5 GB",
        10**13: "10000.0 GB",
    }
    assert {size: in_words(size) for size in said} == said


def test_parts_are_explained_in_words():
    assert str(Needs({"network": 1500, "other states": 2 * 10**9})) == "network 1.5 kB, other states 2.0 GB"


def test_ten_million_nodes_do_not_fit_into_a_gigabyte_and_the_estimate_needs_none_of_them(monkeypatch):
    """The estimate reads sizes only: a network that claims to be large is refused at once."""
    problem = load_dataset("academic:120")
    short_of(monkeypatch, 10**9)
    graph = replace(problem.graph, num_nodes=dict.fromkeys(problem.graph.num_nodes, 5 * 10**6))
    task = replace(problem.task, labels=torch.zeros(1, dtype=torch.int64).expand(5 * 10**6))
    with pytest.raises(DiffmgError, match=re.escape("GB even with 4 columns at a time")):
        fit_engine_to_memory(Problem(graph, task), Settings(), 4, CPU, search=True, training=False)


def test_sparse_features_are_held_in_both_directions():
    problem = small_classification()
    matrix = sp.random(NODES["a"], 40, density=0.5, format="csr", random_state=0)
    features = dict(problem.graph.features) | {"a": FixedMatrix.from_scipy(matrix)}
    sparse = Problem(replace(problem.graph, features=features), problem.task)
    plain = Problem(replace(problem.graph, features=dict(features) | {"a": torch.zeros(0, 40)}), problem.task)
    assert parts(sparse)[NETWORK] - parts(plain)[NETWORK] == 16 * matrix.nnz + 4 * sum(matrix.shape)


def test_more_columns_than_there_are_is_all_of_them(problem):
    assert parts(problem, columns=1000) == parts(problem)


def test_both_phases_must_fit(problem, monkeypatch):
    """Training needs more than a search where states are few columns wide."""
    sizes = [needs(problem, Settings(dim=64), 4, CPU, search=search).total for search in (True, False)]
    monkeypatch.setattr(memory, "free_bytes", lambda device: min(sizes) / 0.9)
    both = fit_engine_to_memory(problem, Settings(dim=64), 4, CPU, search=True, training=True)
    assert both.columns > 0
    fewest = max(sizes) / 0.9
    monkeypatch.setattr(memory, "free_bytes", lambda device: fewest)
    assert fit_engine_to_memory(problem, Settings(dim=64), 4, CPU, search=True, training=True).columns == 0
