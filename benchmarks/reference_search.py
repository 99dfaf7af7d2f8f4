"""DiffMG's search (Algorithm 1 of the paper) by the naive reference."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from benchmarks.reference import Towers
from benchmarks.reference_targets import targets_of
from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.core.space import SearchSpace
from diffmg.engine.randomness import generator
from diffmg.methods.search.diffmg import DiffMG
from diffmg.tasks.problem import Problem

Picks = tuple[int, ...]
"""For each link of a tower, the index of the sampled candidate."""


class SearchReference:
    """A search, epoch by epoch; it seeds torch's global generator and draws weights from it.

    λ and the samples are drawn as the package draws them, so that from one seed both do the same work.
    """

    def __init__(self, problem: Problem, options: DiffMG, dim: int, seed: int) -> None:
        if options.single_level or options.all_alpha:
            raise DiffmgError(
                "the reference searches on two levels, with the sample alone, "
                f"but got single_level={options.single_level}, all_alpha={options.all_alpha}"
            )
        torch.manual_seed(seed)
        self.options, self.epsilon, self.draw = options, options.epsilon, generator("cpu", seed, "sample")
        graph, task = problem.graph, problem.task
        self.spaces = [
            SearchSpace.dag(graph.schema, t, options.depth, options.identity_last) for t in task.target_types
        ]
        draw = generator("cpu", seed, "architecture")
        self.lambdas = [_start(space, draw).to(graph.device).requires_grad_() for space in self.spaces]
        self.targets = targets_of(task)
        self.model = Towers(problem, Settings(dim=dim, dropout=0.0), learned_scale=False)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=options.lr, weight_decay=options.weight_decay)
        self.arch_optimizer = torch.optim.Adam(self.lambdas, lr=options.arch_lr)

    def epoch(self) -> dict[str, float]:
        """One sample per tower, both updates on it."""
        picks = [self._sample(space, lam) for space, lam in zip(self.spaces, self.lambdas, strict=True)]
        self.epsilon *= self.options.decay
        return self.update(picks)

    def update(self, picks: Sequence[Picks]) -> dict[str, float]:
        """The weights on the training loss, then the architecture on the validation loss."""
        self.optimizer.zero_grad()
        outputs = self.outputs(picks, [a.detach() for a in self.alphas(picks)])
        train_loss = self.targets.loss(self.targets.predicted(outputs, "train"), "train")
        train_loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.arch_optimizer.zero_grad()
        predicted = self.targets.predicted(self.outputs(picks, self.alphas(picks)), "val")
        val_loss = self.targets.loss(predicted, "val")
        val_loss.backward()  # type: ignore[no-untyped-call]
        self.arch_optimizer.step()
        score = self.targets.score(predicted, "val")
        return {"train_loss": train_loss.item(), "val_loss": val_loss.item(), "val_score": score}

    def alphas(self, picks: Sequence[Picks]) -> list[Tensor]:
        """For each tower, the α of the sampled candidates."""
        return [lam.softmax(dim=1)[range(len(p)), p] for lam, p in zip(self.lambdas, picks, strict=True)]

    def outputs(self, picks: Sequence[Picks], alphas: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Outputs of the sampled meta graphs, each message multiplied by its α."""
        metagraphs = [space.metagraph(p) for space, p in zip(self.spaces, picks, strict=True)]
        outputs: tuple[Tensor, ...] = self.model(metagraphs, alphas)
        return outputs

    def _sample(self, space: SearchSpace, lam: Tensor) -> Picks:
        """The arg-max of each link, or with probability epsilon a random candidate."""
        best, counts = lam.argmax(dim=1).tolist(), torch.tensor([len(c) for c in space.candidates])
        tosses = torch.rand(len(best) if self.options.coin == "link" else 1, generator=self.draw).expand(len(best))
        anything = (torch.rand(len(best), generator=self.draw) * counts).long().tolist()
        return tuple(
            other if toss < self.epsilon else pick
            for toss, pick, other in zip(tosses.tolist(), best, anything, strict=True)
        )


def _start(space: SearchSpace, draw: torch.Generator) -> Tensor:
    """λ: a row per link, 1e-3·N(0,1) for each candidate, -∞ where a link has fewer than others."""
    counts = torch.tensor([len(c) for c in space.candidates])
    lam = 1e-3 * torch.randn(len(counts), int(counts.max()), generator=draw)
    return lam.masked_fill(torch.arange(lam.shape[1]) >= counts.unsqueeze(1), -torch.inf)
