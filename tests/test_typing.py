"""What users import is understood by a type checker: a small program passes in strict mode; nothing in it is Any."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import diffmg

PROGRAM = """
from pathlib import Path

import diffmg
from diffmg import (
    DiffMG, HeteroGraph, MetaGraphClassifier, MetaGraphRecommender, Model, NodeClassification, Problem, Settings,
    Source, load_dataset, make_plan, open_problem, read_run, run,
)

problem = load_dataset("academic:120")
reveal_type(problem)
reveal_type(problem.graph.num_nodes)
graph = HeteroGraph.build({"a": 2}, {("a", "knows", "a"): [[0], [1]]})
reveal_type(graph)
task = NodeClassification.build("a", [0, 1], train=[0, 1], val=[0])
reveal_type(task)
reveal_type(Problem(graph, task).task)
method = DiffMG(epsilon=0.3, depth=2)
reveal_type(method.epsilon)
plan = make_plan(Source("academic:120"), method, settings=Settings(dim=8), seed=1)
reveal_type(plan)
reveal_type(plan.settings.dim)
done, model = run(plan, problem)
reveal_type(done)
reveal_type(done.scores("test"))
reveal_type(done.metagraphs)
reveal_type(model)
reveal_type(model.answers())
reveal_type(model.scores())
reveal_type(Model.load(Path("run")).problem)
classifier = MetaGraphClassifier(method=method, settings={"dim": 8}).fit(problem)
reveal_type(classifier)
reveal_type(classifier.predict_proba())
reveal_type(classifier.score())
reveal_type(classifier.run_.candidates)
recommender = MetaGraphRecommender(method="lightgcn").fit(open_problem("shop"))
reveal_type(recommender.recommend(k=3)[1])
reveal_type(read_run(Path("run")).plan.method.options)
reveal_type(diffmg.METHODS.get("gcn"))
reveal_type(diffmg.__version__)
"""


def mypy(tmp_path: Path, text: str) -> str:
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_program_of_a_user_is_typed_throughout(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    told = mypy(tmp_path, PROGRAM + "\ndiffmg.no_such_name\nDiffMG(epsilom=0.3)\n")
    revealed = re.findall(r'Revealed type is "(.*)"', told)
    assert len(revealed) == PROGRAM.count("reveal_type(")
    untyped = [kind for kind in revealed if kind == "Any" or kind.startswith("Any ")]
    assert not untyped
    errors = re.findall(r"program\.py:\d+: error: .*", told)
    assert len(errors) == 2, told
    assert '"no_such_name"' in errors[0]
    assert '"epsilom"' in errors[1]


def test_every_name_that_is_offered_is_there() -> None:
    for name in diffmg.__all__:
        assert getattr(diffmg, name) is not None
    assert dir(diffmg) == sorted(diffmg.__all__)


def test_checkers_and_python_see_the_same_names() -> None:
    stub = Path(diffmg.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert set(re.findall(r"^from \S+ import \w+ as (\w+)$", stub, re.MULTILINE)) | {"__version__"} == set(
        diffmg.__all__
    )
