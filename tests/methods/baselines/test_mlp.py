from __future__ import annotations

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.methods.baselines.mlp import MLP
from diffmg.tasks.problem import Problem


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_is_the_formula_on_the_targets_own_features(problem: Problem, layers: int) -> None:
    model = MLP(layers=layers).network(problem, Settings(dim=8), 3).eval()
    state, types = model.state_dict(), problem.task.target_types
    for number, (target, got) in enumerate(zip(types, model(problem.graph), strict=True)):
        x = problem.graph.features.get(target, torch.eye(problem.graph.num_nodes[target]))
        h = x @ state[f"projections.{number}.weight"] + state[f"projections.{number}.bias"]
        for layer in range(layers - 1):
            h = h.relu() @ state[f"layers.{layer}.weight"] + state[f"layers.{layer}.bias"]
        wanted = h @ state["head.weight"] + state["head.bias"] if problem.task.outputs else h
        torch.testing.assert_close(got, wanted)


def test_other_types_have_no_parameters(problem: Problem) -> None:
    names = MLP().network(problem, Settings(dim=8), 0).state_dict()
    assert {n.split(".")[1] for n in names if n.startswith("projections")} == {
        str(n) for n in range(len(problem.task.target_types))
    }


def test_there_is_a_layer() -> None:
    with pytest.raises(DiffmgError, match="layers >= 1"):
        MLP(layers=0)
