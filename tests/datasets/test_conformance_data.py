"""What every registered data set must satisfy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.method import MethodSpec
from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS, load_dataset
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.runs.provenance import data_of

ALL = dict(DATASETS.items())
MADE = [name for name, kind in ALL.items() if kind.planted]
READ = [name for name in ALL if name not in MADE]
SIZE = 300


def digests(name: str, seed: int = 0) -> Mapping[str, str]:
    return data_of(load_dataset(f"{name}:{SIZE}", seed=seed)).digests


@pytest.mark.parametrize("name", ALL)
def test_has_a_summary_a_card_and_a_test_file_of_its_name(name):
    summary, card = ALL[name].summary, ALL[name](name).card()
    assert summary.strip() == summary != ""
    assert "\n" not in summary
    assert card.nodes
    assert {end for relation in card.edges for end in (relation.source, relation.target)} <= set(card.nodes)
    assert bool(card.files) == (name in READ)
    assert all(file["name"].startswith(f"{ALL[name].folder}/") for file in card.files)
    assert (Path(__file__).parent / f"test_{name}.py").is_file()


@pytest.mark.parametrize("name", MADE)
def test_made_data_depend_on_size_and_seed_alone(name):
    torch.manual_seed(1)
    first = digests(name)
    torch.manual_seed(2)
    assert digests(name) == first


@pytest.mark.parametrize("name", MADE)
def test_another_seed_makes_another_network(name):
    one, other = digests(name), digests(name, seed=1)
    differing = {part.partition(" ")[0] for part in one if one[part] != other.get(part)}
    assert {"edges", "features", "split,"} <= differing


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("size", [150, 1000])
def test_made_data_have_about_the_size_asked_for(name, size):
    assert sum(load_dataset(f"{name}:{size}").graph.num_nodes.values()) == pytest.approx(size, rel=0.25)


@pytest.mark.parametrize("name", MADE)
def test_made_data_have_a_size_of_their_own(name):
    assert sum(load_dataset(name).graph.num_nodes.values()) == pytest.approx(4000, rel=0.05)


@pytest.mark.parametrize("name", MADE)
def test_made_data_of_no_size(name):
    with pytest.raises(DiffmgError, match=r"but got size=5"):
        load_dataset(f"{name}:5")


@pytest.mark.parametrize("name", MADE)
def test_every_part_has_labels(name):
    task = load_dataset(f"{name}:{SIZE}").task
    assert all(task.size(part) > 0 for part in ("train", "val", "test"))


@pytest.mark.parametrize("name", MADE)
def test_planted_meta_graphs_fit(name):
    problem = load_dataset(f"{name}:{SIZE}")
    assert problem.arranged(ALL[name].planted) == ALL[name].planted


@pytest.mark.parametrize("name", MADE)
def test_made_data_carry_a_search(name):
    problem = load_dataset(f"{name}:{SIZE}")
    search = RandomMetaGraph(depth=3).search(problem, Settings(), 0)
    assert [m.target for m in search.found()] == list(problem.task.target_types)


@pytest.mark.parametrize("name", READ)
def test_files_that_are_not_there_are_named(name, tmp_path):
    with pytest.raises(MissingDataError, match=f"the file '{ALL[name].folder}/.* but got none in '{tmp_path}'"):
        load_dataset(name, root=tmp_path)


@pytest.mark.parametrize("name", READ)
def test_read_data_have_no_size(name):
    with pytest.raises(DiffmgError, match=f"only made data sets have a size, but got {name}:100"):
        load_dataset(f"{name}:100")


@pytest.mark.parametrize("name", READ)
def test_published_settings_are_options(name):
    published = ALL[name](name).published()
    assert MethodSpec("diffmg", published.search).make().depth == 4
    settings = Settings(**published.train)
    assert settings.max_epochs >= 1
    assert all(isinstance(m, MetaGraph) and m.depth == 4 for m in published.metagraphs)
    assert all(50 < score < 100 for score in published.paper.values())
