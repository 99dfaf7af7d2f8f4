from __future__ import annotations

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph
from diffmg.core.schema import Relation
from diffmg.datasets.shop import Shop
from diffmg.methods.given import Given
from diffmg.training import Training


def test_they_are_found_at_once_in_the_order_of_the_target_types(recommendation, quick):
    search = Given(Shop.planted[::-1]).search(recommendation, quick, 0)
    assert search.done
    assert search.found() == tuple(Shop.planted)
    assert Given(Shop.planted).searches == 1


def test_the_network_is_that_of_their_training(recommendation, quick):
    network = Given(Shop.planted).network(recommendation, quick, 3, Shop.planted)
    wanted = Training(recommendation, Shop.planted, quick, 3).model.state_dict()
    assert network.state_dict().keys() == wanted.keys()
    assert all(torch.equal(p, wanted[name]) for name, p in network.state_dict().items())


def test_the_depth_is_that_of_the_deepest():
    shallow, deep = MetaGraph("a", ((IDENTITY,),)), MetaGraph("b", ((IDENTITY,),) * 6)
    assert Given((shallow, deep)).depth == 3
    assert Given().depth == 0


STRANGE = Relation("user", "no_such_relation", "user")


@pytest.mark.parametrize(
    "metagraphs",
    [
        (),
        Shop.planted[:1],
        (*Shop.planted, Shop.planted[0]),
        (MetaGraph("user", ((STRANGE,),)), Shop.planted[1]),
        (MetaGraph("user", ((EMPTY,),)), Shop.planted[1]),
    ],
    ids=["none", "one too few", "one too many", "an unknown relation", "nothing reaches the target"],
)
def test_what_does_not_fit_is_refused_before_anything_is_computed(recommendation, quick, metagraphs):
    with pytest.raises(DiffmgError):
        Given(metagraphs).check(recommendation, quick)


def test_they_survive_a_file():
    assert Given(Shop.planted).spec().make() == Given(Shop.planted)
