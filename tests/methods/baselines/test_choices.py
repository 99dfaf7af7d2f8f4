from __future__ import annotations

import numpy as np
import pytest

from baseline_checks import CHOICES, shop
from diffmg.core.errors import DiffmgError
from diffmg.methods.baselines._choices import observed_choices


def test_choices_are_counted_once_whatever_the_relation_direction_and_weight():
    found = observed_choices(shop()).toarray()
    assert {(int(u), int(i)) for u, i in zip(*np.nonzero(found), strict=True)} == CHOICES
    assert set(np.unique(found)) == {0.0, 1.0}


def test_a_network_without_choices_is_refused():
    with pytest.raises(DiffmgError, match="relation between 'u' and 'i', but got only"):
        observed_choices(shop({("u", "knows", "u"): np.array([[0], [1]])}))
