from __future__ import annotations

import numpy as np

from column_checks import encoded, encoder_of, features, fitted
from diffmg.tables.columns.words import Words

COLUMNS = Words().columns
TEXTS = ["the cat sat down", "A cat sat up there", None, "", "no word of these at all"]


def test_text_is_hashed_words():
    assert encoder_of(TEXTS) == Words()
    matrix, note = encoded(TEXTS)
    assert note == f"text, words hashed into {COLUMNS} columns, 1 missing (which is a feature too)"
    assert matrix.shape == (5, COLUMNS + 1)
    assert matrix[0, :COLUMNS] @ matrix[1, :COLUMNS] > matrix[0, :COLUMNS] @ matrix[4, :COLUMNS]
    assert not matrix[2:4, :COLUMNS].any()


def test_rows_not_seen_at_fitting_are_hashed_alike():
    matrix, _ = encoded(TEXTS)
    assert np.array_equal(features(fitted(TEXTS), TEXTS[1::-1]), matrix[1::-1])
