"""Gradient boosting on a flattened network: the rival that most people would try first."""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import METHODS, Count, NotNegative, Positive, Settings, derive_seed
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._fitted import FittedOnLabels
from diffmg.methods.baselines._flattened import KnownLabels, flattened, projections
from diffmg.methods.baselines._growing import Growth, Library, grow, lightgbm
from diffmg.methods.baselines._labels import TrainingLabels
from diffmg.methods.baselines._trees import Trees
from diffmg.nn.fitted import Fitted
from diffmg.tasks.problem import Problem


@METHODS.add("boosting")
@dataclass(frozen=True)
class Boosting(FittedOnLabels):
    """Gradient-boosted trees on one table: own features, and counts and means along short paths of relations.

    For every path of up to `hops` relations the table has the logarithm of the number of walks, the mean of the
    features at the other end and, where the path leads back to the labelled type, the mean of training labels there. A
    training node is told labels of other folds only. (Leaving out just its own would let trees read it off: of two
    nodes with the same neighbours, the one with the smaller mean has the larger label.) Where edges have weights, means
    go by them, and the logarithm of the total weight is a column too. Features of more than `columns` columns are
    compressed by a truncated SVD. Numbers are learned with the task's loss; scikit-learn's trees take the squared error
    in place of Huber's.
    """

    hops: Count = 2
    labels: bool = True
    """Whether means of training labels are columns."""
    columns: Count = 32
    """Maximum number of feature columns of a type."""
    library: Library = "sklearn"
    """What grows the trees; LightGBM must be installed."""
    rounds: Count = 100
    """Trees per class, or per number."""
    rate: Positive = 0.1
    """Learning rate of the boosting."""
    leaves: Count = 8
    """Maximum number of leaves of a tree."""
    penalty: NotNegative = 0.0
    """L2 penalty on the values of leaves."""
    asked: Count = 512
    """Columns of the table that trees may ask for; of more, those that a few quick trees ask for are taken."""

    timed = True
    weighs_classes: ClassVar = True
    summary = "gradient-boosted trees on features, counts and means of neighbours in one table"
    tunable: ClassVar = {
        "hops": (1, 2, 3, 4), "labels": (True, False), "columns": (16, 32, 64), "rounds": (50, 100, 300),
        "rate": (0.03, 0.1), "leaves": (4, 8, 16, 31), "penalty": (0.0, 1.0, 10.0),
    }  # fmt: skip

    def rules(self) -> dict[str, bool]:
        """A tree must be able to split."""
        return {"leaves >= 2": self.leaves >= 2}

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also require the library."""
        super().check(problem, settings)
        if self.library == "lightgbm":
            lightgbm()


@Boosting.builds
class _Network(Fitted):
    def __init__(self, options: Boosting, problem: Problem, settings: Settings, seed: int) -> None:  # noqa: ARG002
        super().__init__()
        (self.target,), self.options = problem.task.target_types, options

    def fit(self, problem: Problem, seed: int) -> None:
        """Fix the columns of the table, then grow trees on its training rows."""
        labels, rng = TrainingLabels.of(problem.task), np.random.default_rng(derive_seed(seed, "boosting"))
        types = list(problem.graph.schema.node_types)
        for node_type, projection in projections(problem.graph, self.options.columns, rng).items():
            self.keep(**{f"projection{types.index(node_type)}": torch.from_numpy(projection)})
        known = KnownLabels.draw(labels.nodes.numpy(), labels.marks.numpy(), rng)
        self.keep(nodes=labels.nodes, marks=labels.marks, folds=torch.from_numpy(known.folds))
        x = self.table(problem.graph)[labels.nodes.numpy()]
        options = self.options
        growth = Growth(options.rounds, options.rate, options.leaves, options.penalty, options.asked)
        self.keep(**grow(x, labels, options.library, growth, derive_seed(seed, "trees")).buffers())

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Logits or numbers of the labelled type."""
        trees = Trees(*(self.kept(f.name) for f in fields(Trees)))
        return (trees.scores(torch.from_numpy(self.table(graph)).to(self.device)).float(),)

    def table(self, graph: HeteroGraph) -> NDArray[np.float32]:
        """The flattened network; single precision, so that rounding errors are no differences to split at."""
        names = {t: f"projection{number}" for number, t in enumerate(graph.schema.node_types)}
        projected = {t: self.kept(name).numpy(force=True) for t, name in names.items() if name in self._buffers}
        known = KnownLabels(*(self.kept(name).numpy(force=True) for name in ("nodes", "marks", "folds")))
        labels = known if self.options.labels else None
        blocks = flattened(graph, self.target, self.options.hops, projected, labels)
        return np.hstack([*blocks.values(), np.zeros((graph.num_nodes[self.target], 1))]).astype(np.float32)
