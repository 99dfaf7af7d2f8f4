from diffmg.methods.search.features import FeaturesOnly


def test_no_relation_is_used(problem, quick):
    search = FeaturesOnly().search(problem, quick, 0)
    assert search.done
    assert [m.target for m in search.found()] == list(problem.task.target_types)
    assert all(m.paths() == {()} for m in search.found())
