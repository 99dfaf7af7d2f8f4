"""Cells of tables made by hand."""

from __future__ import annotations

from dataclasses import replace

from diffmg.core.budget import Budget
from diffmg.core.metagraph import MetaGraph
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.run import Candidate, Data, Evidence, Run, Share, Trained
from diffmg.core.settings import Settings
from diffmg.methods.baselines.gcn import GCN
from experiments.cells import Cell, StoredRun

DATA = Data("classification", "macro_f1", ("author",), "0123", {"author": "4"}, {"nodes": {"author": 4}})


def run_of(*test: float, val: tuple[float | None, ...] = (), device: str = "cpu", **seconds: float) -> Run:
    """A run with these test scores, validation scores of searches, and seconds of phases (`_` for `-`)."""
    plan = Plan(MethodSpec("gcn", {"layers": 3}), Source("acm"), Settings(**GCN.default_settings), len(test))
    trained = tuple(Trained(n, 5, 3, {"macro_f1": 0.9}, {"macro_f1": t, "micro_f1": 0.0}) for n, t in enumerate(test))
    candidates = tuple(Candidate((MetaGraph.features_only(f"author{n}"),), v) for n, v in enumerate(val))
    took = {phase.replace("_", "-"): s for phase, s in seconds.items()}
    return Run("done", plan, DATA, {"torch": "2"}, device, took, candidates, 0, trained, files={"model": "56"})


def race_of(ensemble: float, single: float, trainings: int = 30, **seconds: float) -> Run:
    """A run of a race with these test scores of its ensemble and its single model."""
    run, spent = run_of(ensemble, **seconds), Budget(trainings=trainings)
    about = Evidence(9, 0, (), (), "validation", (0.5,), 0.1, (Share(4, 1.0),), 4, 0.6, 0.7)
    alone = replace(run.trained[0], test={"macro_f1": single})
    return replace(run, plan=replace(run.plan, budget=spent), spent=spent, evidence=about, single=alone)


def cell_of(*runs: Run) -> Cell:
    return Cell(tuple(map(StoredRun, runs)))


def cell(*test: float, val: tuple[float | None, ...] = (), device: str = "cpu", **seconds: float) -> Cell:
    """A cell of one run."""
    return cell_of(run_of(*test, val=val, device=device, **seconds))
