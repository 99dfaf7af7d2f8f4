"""Checks that every method passes; run them on your own: `for check in CHECKS: check(method, problem)`.

Each check raises AssertionError with what was expected. `problems()` makes small problems with awkward features:
isolated nodes, a type without features, relations within one type, one and two target types.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from diffmg.core import Method, Part, Settings
from diffmg.engine.randomness import generator
from diffmg.graph.network import HeteroGraph
from diffmg.nn.fitted import Fitted
from diffmg.tasks import ItemRanking, NodeClassification, NodeRegression, Recommendation
from diffmg.tasks.problem import Problem
from diffmg.training.fitted import training_of

SETTINGS = Settings(dim=8, max_epochs=3, patience=None, dropout=0.3)
NODES = {"author": 14, "paper": 20, "venue": 4, "term": 6}


def problems() -> dict[str, Problem]:
    """Each kind of task on small networks; some nodes are isolated, terms have no features."""
    labelled = {"classification": _classification(), "regression": _regression()}
    return labelled | {"ranking": _ranking(), "recommendation": _recommendation()}


def gives_outputs_of_the_right_shape(method: Method, problem: Problem) -> None:
    """Logits or numbers for every node of the labelled type, or user and item embeddings of equal width."""
    outputs = _outputs(_build(method, problem), problem)
    rows = [problem.graph.num_nodes[t] for t in problem.task.target_types]
    assert [len(z) for z in outputs] == rows, f"one row per target node must come out, {rows}, not {outputs}"
    widths = {z.shape[1] for z in outputs}
    assert len(widths) == 1, f"users and items need equally many columns, not {widths}"
    assert problem.task.outputs in (0, *widths), f"one column per class or number must come out, not {widths}"
    assert all(z.isfinite().all() for z in outputs), "every output must be a finite number"


def has_a_gradient_for_every_parameter(method: Method, problem: Problem) -> None:
    """Every parameter must affect the loss."""
    model = _build(method, problem).train()
    if isinstance(model, Fitted):
        assert not list(model.parameters()), "a network that is fitted at once must have no parameters"
        return
    problem.task.loss(model(problem.graph, generator=generator("cpu", 0, "dropout")), "train").backward()  # type: ignore[no-untyped-call]
    without = [name for name, p in model.named_parameters() if p.grad is None]
    assert not without, f"every parameter must get a gradient, but {without} got none"
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters()), "gradients must be finite"
    assert any(p.grad is not None and p.grad.any() for p in model.parameters()), "some gradient must not be zero"


def follows_from_its_seed(method: Method, problem: Problem) -> None:
    """Equal seeds give equal models, other seeds other ones; torch's global generator is never used."""
    before = torch.get_rng_state()
    one, same, other = (_build(method, problem, seed) for seed in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state()), "building a model must not touch torch's own random stream"
    first, second = one.state_dict(), same.state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first), "the same seed must give the same parameters"
    for a, b in zip(_outputs(one, problem), _outputs(same, problem), strict=True):
        assert torch.equal(a, b), "the same seed must give the same outputs"
    if sum(p.numel() for p in one.parameters()) > 1:
        third = other.state_dict()
        assert any(not torch.equal(first[name], third[name]) for name in first), (
            "another seed must give other parameters"
        )


def draws_dropout_from_the_given_stream(method: Method, problem: Problem) -> None:
    """In training, the same generator state gives the same outputs; evaluation is deterministic."""
    model, before = _build(method, problem).train(), torch.get_rng_state()
    one, same = (model(problem.graph, generator=generator("cpu", 3, "dropout")) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one, same, strict=True)), "the same stream must drop the same entries"
    assert torch.equal(before, torch.get_rng_state()), "dropout must come from the given stream"
    evaluated = (_outputs(model, problem) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(*evaluated, strict=True)), "evaluation must not be random"


def can_be_stored(method: Method, problem: Problem) -> None:
    """A state dict loaded into another model with the same seed gives the same outputs."""
    model, other = _build(method, problem, 1), _build(method, problem, 1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.01)
    parameters = {name for name, _ in model.named_parameters()}
    assert parameters <= set(model.state_dict()), "every parameter must be part of the state"
    other.load_state_dict(model.state_dict())
    for a, b in zip(_outputs(model, problem), _outputs(other, problem), strict=True):
        assert torch.equal(a, b), "a stored and loaded model must give the same outputs"


def never_reads_test_labels(method: Method, problem: Problem) -> None:
    """Changing the test labels changes nothing, and training never accesses the test part."""
    histories: list[list[Any]] = []
    for task in (problem.task, problem.task.with_other_test_labels()):
        sealed = replace(task, parts=_Sealed(task.parts))  # type: ignore[type-var, attr-defined]
        sealed_problem = Problem(problem.graph, sealed)
        training = training_of(sealed_problem, _build(method, sealed_problem), SETTINGS, 0)
        histories.append([])
        while not training.done:
            histories[-1] += [(r.train_loss, r.val_loss, r.val_score) for r in training.advance()]
        histories[-1] += [z.tolist() for z in _outputs(training.model, sealed_problem)]
    assert histories[0] == histories[1], "test labels must not change training or outputs"


def learns(method: Method, problem: Problem) -> None:
    """Training lowers the loss (of networks that are not fitted at once)."""
    settings = replace(SETTINGS, max_epochs=30, dropout=0.0, weight_decay=0.0)
    network = _build(method, problem, settings=settings)
    if isinstance(network, Fitted):
        return
    training = training_of(problem, network, settings, 0)
    before = _loss(_build(method, problem, settings=settings), problem)
    while not training.done:
        training.advance()
    after = _loss(training.model, problem)
    assert after < before, f"the loss must fall in training, but went from {before} to {after}"


CHECKS = (
    gives_outputs_of_the_right_shape,
    has_a_gradient_for_every_parameter,
    follows_from_its_seed,
    draws_dropout_from_the_given_stream,
    can_be_stored,
    never_reads_test_labels,
    learns,
)


class _Sealed(dict[Part, Any]):
    """Parts of a split that fail on access to the test part."""

    def __getitem__(self, part: Part) -> Any:
        assert part != "test", "the test part must not be read before every choice was made"
        return super().__getitem__(part)

    def get(self, part: Part, default: Any = None) -> Any:
        """Like `[]`."""
        assert part != "test", "the test part must not be read before every choice was made"
        return super().get(part, default)


def _build(method: Method, problem: Problem, seed: int = 0, settings: Settings = SETTINGS) -> nn.Module:
    """Search and build the network of the result, with the same seed; fitted, if it is fitted at once."""
    method.check(problem, settings)
    search = method.search(problem, settings, seed)
    while not search.done:
        search.advance()
    network = method.network(problem, settings, seed, search.found())
    if isinstance(network, Fitted):
        network.fit(problem, seed)
    return network


@torch.no_grad()
def _outputs(model: nn.Module, problem: Problem) -> tuple[Tensor, ...]:
    outputs: tuple[Tensor, ...] = model.eval()(problem.graph)
    return outputs


@torch.no_grad()
def _loss(model: nn.Module, problem: Problem) -> float:
    """The training loss, against the same draws each time."""
    return float(problem.task.loss(_outputs(model, problem), "train"))


def _network(rng: np.random.Generator, exclude: set[tuple[int, int]]) -> HeteroGraph:
    """The last node of every type is isolated; papers cite papers, authors know each other."""

    def edges(source: str, target: str, count: int) -> list[list[int]]:
        pairs = {(int(rng.integers(NODES[source] - 1)), int(rng.integers(NODES[target] - 1))) for _ in range(count)}
        return [list(row) for row in zip(*sorted(pairs - exclude), strict=True)]

    writes, known, cites = edges("author", "paper", 40), edges("author", "author", 12), edges("paper", "paper", 20)
    published, mentions = edges("venue", "paper", 25), edges("term", "paper", 30)
    relations: Mapping[tuple[str, str, str], Any] = {
        ("author", "writes", "paper"): writes,
        ("paper", "written_by", "author"): writes[::-1],
        ("author", "knows", "author"): [known[0] + known[1], known[1] + known[0]],
        ("paper", "cites", "paper"): cites,
        ("venue", "publishes", "paper"): published,
        ("paper", "published_in", "venue"): published[::-1],
        ("term", "mentioned_in", "paper"): mentions,
        ("paper", "mentions", "term"): mentions[::-1],
    }
    features = {t: rng.standard_normal((n, 5), dtype=np.float32) for t, n in NODES.items() if t != "term"}
    return HeteroGraph.build(NODES, relations, features)


def _classification() -> Problem:
    rng = np.random.default_rng(0)
    labels = np.arange(NODES["author"]) % 3
    train, val, test = [0, 1, 2, 3, 4, 13], [5, 6, 7, 8], [9, 10, 11]
    return Problem(_network(rng, set()), NodeClassification.build("author", labels, train=train, val=val, test=test))


def _regression() -> Problem:
    rng = np.random.default_rng(2)
    numbers = 100 + 5 * rng.standard_normal((NODES["author"], 2)) * [1, 3]
    train, val, test = [0, 1, 2, 3, 4, 12, 13], [5, 6, 7, 8], [9, 10, 11]
    return Problem(_network(rng, set()), NodeRegression.build("author", numbers, train=train, val=val, test=test))


def _recommendation() -> Problem:
    rng = np.random.default_rng(1)
    shape = (NODES["author"], NODES["paper"])
    order = rng.permutation(shape[0] * shape[1])[:60]
    pairs = np.stack(np.divmod(order, shape[1]), axis=1)
    positive: dict[Part, Any] = {"train": pairs[:12], "val": pairs[12:20], "test": pairs[20:28]}
    negative: dict[Part, Any] = {"train": pairs[28:40], "val": pairs[40:48], "test": pairs[48:]}
    graph = _network(rng, {(int(a), int(b)) for a, b in pairs})
    return Problem(graph, Recommendation.build("author", "paper", shape, positive, negative))


def _ranking() -> Problem:
    rng = np.random.default_rng(2)
    shape = (NODES["author"], NODES["paper"])
    order = rng.permutation(shape[0] * shape[1])[:60]
    pairs = np.stack(np.divmod(order, shape[1]), axis=1)
    liked: dict[Part, Any] = {"val": pairs[:10], "test": pairs[10:20]}
    disliked: dict[Part, Any] = {"train": pairs[20:30], "val": pairs[30:33], "test": pairs[33:36]}
    graph = _network(rng, {(int(a), int(b)) for a, b in pairs})
    written = next(r for r in graph.schema.relations if r.name == "writes")
    liked["train"] = graph.edge_index(written).T
    return Problem(graph, ItemRanking.build("author", "paper", shape, liked, disliked=disliked, k=5))
