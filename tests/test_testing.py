"""Each check of the public kit lets a sound method pass and finds the fault it is there for."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from diffmg import testing
from diffmg.core.settings import Settings
from diffmg.engine.randomness import generator as seeded
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import Baseline
from diffmg.nn.dropout import dropout
from diffmg.tasks.problem import Problem
from diffmg.testing import CHECKS, problems

PROBLEMS = problems()
BUILT = itertools.count()


class Network(nn.Module):
    """A learned vector for every target node, with dropout."""

    def __init__(self, problem: Problem, settings: Settings, seed: int) -> None:
        super().__init__()
        task, counts = problem.task, problem.graph.num_nodes
        width = task.outputs or settings.dim
        draw = self.stream(seed)
        self.p, self.problem = settings.dropout, problem
        self.tables = nn.ParameterList(self.drawn((counts[t], width), draw) for t in task.target_types)

    def stream(self, seed: int) -> torch.Generator:
        return seeded("cpu", seed, "parameters")

    def drawn(self, shape: tuple[int, int], draw: torch.Generator) -> Tensor:
        return torch.randn(shape, generator=draw)

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        return tuple(self.changed(self.drop(t, generator)) for t in self.tables)

    def drop(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        return dropout(h, self.p, generator) if self.training else h

    def changed(self, h: Tensor) -> Tensor:
        """Where most faults are put."""
        return h


class Sound(Baseline):
    summary = "for tests"
    kind: type[Network] = Network

    def model(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        return self.kind(problem, settings, seed)


class RowMissing(Network):
    def changed(self, h):
        return h[:-1]


class WrongColumns(Network):
    """One class too many, or users with more columns than items."""

    def forward(self, graph, generator=None):
        first, *rest = super().forward(graph, generator)
        return torch.cat([first, first[:, :1]], dim=1), *rest


class NotFinite(Network):
    def changed(self, h):
        return h / (h - h[0])


class DeadParameter(Network):
    def __init__(self, *given):
        super().__init__(*given)
        self.dead = nn.Parameter(torch.ones(3))


class NoGradientAtAll(Network):
    def changed(self, h):
        return h * 0


class GradientNotFinite(Network):
    def changed(self, h):
        return h + (h * 0).sqrt()


class AmbientParameters(Network):
    def drawn(self, shape, draw):
        return torch.randn(shape)


class ParametersFromNumpy(Network):
    def drawn(self, shape, draw):
        return torch.from_numpy(np.random.standard_normal(shape)).float()  # noqa: NPY002


class SeedNotRead(Network):
    def stream(self, seed):
        return seeded("cpu", 0, "parameters")


class OtherOutputsEachTime(Network):
    def __init__(self, *given):
        super().__init__(*given)
        self.number = next(BUILT)

    def changed(self, h):
        return h + self.number


class AmbientDropout(Network):
    def drop(self, h, generator):
        return nn.functional.dropout(h, self.p, self.training)


class AmbientStreamTouched(Network):
    """Drops as it should, and draws something else."""

    def changed(self, h):
        torch.rand(1)
        return h


class RandomEvaluation(Network):
    def changed(self, h):
        noise = 0 if self.training else float(np.random.random())  # noqa: NPY002
        return h + noise


class ParameterNotStored(Network):
    def state_dict(self, *given, **named):
        state = super().state_dict(*given, **named)
        state.pop("tables.0")
        return state


class ReadsTestPart(Network):
    def __init__(self, problem, settings, seed):
        super().__init__(problem, settings, seed)
        self.seen = problem.task.parts["test"]


class ReadsTestPartLater(Network):
    def changed(self, h):
        return h + 0 * self.problem.task.size("test")


class AsksForTestPart(Network):
    def __init__(self, problem, settings, seed):
        super().__init__(problem, settings, seed)
        self.seen = problem.task.parts.get("test")


class GoesUphill(Network):
    def changed(self, h):
        if h.requires_grad:
            h.register_hook(lambda gradient: -gradient)
        return h


class StandsStill(Network):
    def changed(self, h):
        return h.detach() + h * 0


BROKEN: list[tuple[Callable[..., None], type[Network], str]] = [
    (testing.gives_outputs_of_the_right_shape, RowMissing, "one row per target node"),
    (testing.gives_outputs_of_the_right_shape, WrongColumns, "equally many columns|one column per class"),
    (testing.gives_outputs_of_the_right_shape, NotFinite, "every output must be a finite number"),
    (testing.has_a_gradient_for_every_parameter, DeadParameter, r"every parameter .* \['dead'\] got none"),
    (testing.has_a_gradient_for_every_parameter, NoGradientAtAll, "some gradient must not be zero"),
    (testing.has_a_gradient_for_every_parameter, GradientNotFinite, "gradients must be finite"),
    (testing.follows_from_its_seed, AmbientParameters, "must not touch torch's own random stream"),
    (testing.follows_from_its_seed, ParametersFromNumpy, "the same seed must give the same parameters"),
    (testing.follows_from_its_seed, SeedNotRead, "another seed must give other parameters"),
    (testing.follows_from_its_seed, OtherOutputsEachTime, "the same seed must give the same outputs"),
    (testing.draws_dropout_from_the_given_stream, AmbientDropout, "the same stream must drop the same entries"),
    (testing.draws_dropout_from_the_given_stream, AmbientStreamTouched, "dropout must come from the given stream"),
    (testing.draws_dropout_from_the_given_stream, RandomEvaluation, "evaluation must not be random"),
    (testing.can_be_stored, ParameterNotStored, "every parameter must be part of the state"),
    (testing.can_be_stored, OtherOutputsEachTime, "a stored and loaded model must give the same outputs"),
    (testing.never_reads_test_labels, ReadsTestPart, "the test part must not be read"),
    (testing.never_reads_test_labels, ReadsTestPartLater, "the test part must not be read"),
    (testing.learns, GoesUphill, "the loss must fall in training"),
    (testing.learns, StandsStill, "the loss must fall in training"),
]


def broken(network: type[Network]) -> Sound:
    baseline = Sound()
    baseline.kind = network
    return baseline


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_sound_method_passes(problem: Problem) -> None:
    for check in CHECKS:
        check(Sound(), problem)


@pytest.mark.parametrize(
    ("check", "network", "words"), BROKEN, ids=[n.__name__ + "-" + c.__name__ for c, n, _ in BROKEN]
)
def test_a_fault_is_found(check, network: type[Network], words: str) -> None:
    for problem in PROBLEMS.values():
        with pytest.raises(AssertionError, match=words):
            check(broken(network), problem)


def test_asking_for_the_test_part_is_found() -> None:
    with pytest.raises(AssertionError, match="the test part must not be read"):
        testing.never_reads_test_labels(broken(AsksForTestPart), PROBLEMS["classification"])


class UsesEveryLabel(Network):
    """Labels of all nodes, without asking for a part."""

    def changed(self, h):
        labels = self.problem.task.labels[: len(h)].clamp(min=0).to(h.dtype)
        return h + torch.nn.functional.pad(labels, (0, len(h) - len(labels))).unsqueeze(1)


def test_labels_of_the_test_part_that_change_anything_are_found() -> None:
    with pytest.raises(AssertionError, match="test labels must not change training or"):
        testing.never_reads_test_labels(broken(UsesEveryLabel), PROBLEMS["classification"])


def test_every_check_has_a_method_that_breaks_it() -> None:
    assert {check for check, _, _ in BROKEN} == set(CHECKS)
    assert set(CHECKS) == {
        f
        for f in vars(testing).values()
        if callable(f)
        and getattr(f, "__module__", "") == testing.__name__
        and not f.__name__.startswith("_")
        and f is not problems
    }


@pytest.mark.parametrize(
    "network", dict.fromkeys(n for _, n, _ in BROKEN if n is not OtherOutputsEachTime), ids=lambda n: n.__name__
)
def test_a_fault_is_found_by_the_check_that_names_it(network: type[Network]) -> None:
    """A fault is not found everywhere: checks look at different things."""
    passed = 0
    for check in CHECKS:
        try:
            check(broken(network), PROBLEMS["classification"])
        except (AssertionError, RuntimeError, IndexError):
            continue
        passed += 1
    assert 0 < passed < len(CHECKS)


def test_the_problems_hold_what_is_awkward() -> None:
    assert {kind: len(problem.task.target_types) for kind, problem in PROBLEMS.items()} == {
        "classification": 1,
        "ranking": 2,
        "recommendation": 2,
        "regression": 1,
    }
    assert all(problem.task.kind == kind for kind, problem in PROBLEMS.items())
    for problem in PROBLEMS.values():
        graph = problem.graph
        assert "term" not in graph.features
        assert any(r.source == r.target for r in graph.schema.relations)
        linked = {t: set() for t in graph.schema.node_types}
        for relation in graph.schema.relations:
            sources, targets = graph.edge_index(relation).tolist()
            linked[relation.source] |= set(sources)
            linked[relation.target] |= set(targets)
        assert all(len(nodes) < graph.num_nodes[t] for t, nodes in linked.items())


def test_the_problems_are_the_same_each_time() -> None:
    for one, other in zip(problems().values(), PROBLEMS.values(), strict=True):
        order = {t: np.arange(n) for t, n in one.graph.num_nodes.items()}
        assert one.task.digests(order) == other.task.digests(order)
        assert all((one.graph.edge_index(r) == other.graph.edge_index(r)).all() for r in one.graph.schema.relations)
