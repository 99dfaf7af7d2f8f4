import pytest

from diffmg.core.errors import DiffmgError, MissingDataError, unknown


def test_unknown_names_the_nearest_and_lists_all():
    message = str(unknown("metric", "acuracy", ["macro_f1", "accuracy"]))
    assert message == "unknown metric 'acuracy'; did you mean 'accuracy'? Known: accuracy, macro_f1."


def test_unknown_finds_a_name_in_other_case():
    assert "did you mean 'AUC'?" in str(unknown("metric", "auc", ["AUC", "f1"]))


def test_unknown_without_a_near_name_gives_no_hint():
    assert "did you mean" not in str(unknown("metric", "zzz", ["auc"]))


def test_unknown_says_so_when_nothing_is_known():
    assert str(unknown("metric", "auc", [])).endswith("Known: none.")


def test_unknown_without_a_hint_separates_its_sentences():
    assert str(unknown("metric", "zzz", ["auc"])) == "unknown metric 'zzz'. Known: auc."


@pytest.mark.parametrize("kind", [DiffmgError, MissingDataError])
def test_errors_are_value_errors(kind):
    """Code that catches ValueError for bad input also catches ours."""
    with pytest.raises(ValueError, match="rule"):
        raise kind("rule")
