"""What notebooks show."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from diffmg import DiffMG, HeteroGraph, Model, Run, load_dataset, make_plan, run
from diffmg.core.pictured import PICTURES
from diffmg.core.settings import Settings
from hard_pictures import LONG, LONG_RELATIONS
from pictures import PLANTED, SCHEMA


@pytest.fixture(scope="module")
def done() -> tuple[Run, Model]:
    problem = load_dataset("academic:120")
    plan = make_plan(problem.source, DiffMG(epochs=1, search_seeds=1), settings=Settings(dim=4, max_epochs=1))
    return run(plan, problem)


def test_values_are_pictures_of_their_own() -> None:
    for value in (PLANTED, SCHEMA):
        assert ElementTree.fromstring(value._repr_svg_()).get("class") == "diffmg"
        assert "<svg" in value._repr_html_()
    assert "An author is judged by" in PLANTED._repr_html_()


def test_runs_models_and_networks_show_words_and_a_picture(done: tuple[Run, Model]) -> None:
    found, model = done
    for noun in (found, model):
        shown = noun._repr_html_()
        assert shown.startswith("<pre>")
        assert re.search("An author is judged (mostly )?by", shown)
        assert shown.count("<svg") == 2
    assert f"macro_f1 {found.scores('test')['macro_f1']:.4f}" in found._repr_html_()
    network = model.problem.graph._repr_html_()
    assert "nodes of 5 types" in network
    assert network.count("<svg") == 1


def test_a_network_is_printed_in_few_signs_whatever_its_names() -> None:
    wide = [f"{n}" + "w" * 300 for n in range(50)]
    edges = {r.triple: [[0], [0]] for r in LONG_RELATIONS}
    edges |= {(one, "r" * 200, other): [[0], [0]] for one, other in pairwise(wide)}
    graph = HeteroGraph.build(dict.fromkeys([*LONG, *wide], 3), edges)
    assert len(repr(graph)) < 800
    assert "\n  ... " in repr(graph)
    assert "<script>" not in graph._repr_html_()


def test_every_picture_has_a_name() -> None:
    wanted = ["metagraph.html", "metagraph.svg", "model.html", "network.html", "run.html", "schema.html", "schema.svg"]
    assert PICTURES.names() == wanted
