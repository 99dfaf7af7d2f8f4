from __future__ import annotations

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.method import METHODS, MethodSpec
from diffmg.core.settings import Settings
from diffmg.methods.baselines._paths import AlongPaths, spelled
from small_networks import small_recommendation

NAMES = [name for name, kind in METHODS.items() if issubclass(kind, AlongPaths)]
SETTINGS = Settings(dim=8)


def test_the_methods_of_the_paper_that_take_meta_paths():
    assert {"han", "magnn", "metapath2vec"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_given_paths_are_sorted_by_target(name):
    problem = small_recommendation()
    one, other = problem.task.target_types
    derived = MethodSpec(name).make().by_target(problem)
    assert set(derived) == {one, other}
    texts = [spelled(path) for paths in derived.values() for path in paths]
    assert MethodSpec(name, {"paths": texts}).make().by_target(problem) == derived


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("options", "words"),
    [({"paths": ["nowhere -> b"]}, "nowhere"), ({"paths": 3}, "paths"), ({"longest": 0}, "longest")],
)
def test_bad_paths_are_named_before_anything_is_built(name, options, words):
    with pytest.raises(DiffmgError, match=words):
        MethodSpec(name, options).make().network(small_recommendation(), SETTINGS, 0)
