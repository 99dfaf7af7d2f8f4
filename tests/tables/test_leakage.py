from __future__ import annotations

import pytest

from diffmg.tables.leakage import held_back


@pytest.mark.parametrize(
    ("label", "column"),
    [
        ("churned", "churned_at"),
        ("churned", "churn_reason"),
        ("churned", "is_churned"),
        ("churned", "ChurnDate"),
        ("churned", "days_since_churn"),
        ("is_churned", "churn"),
        ("churned_next_month", "churned_at"),
        ("churn30", "churned"),
        ("cancelled", "cancellation_fee"),
        ("active", "last_activity"),
        ("sick", "sickness_id"),
        ("approved", "approval_date"),
        ("defaulted", "default_amount"),
        ("credit_risk", "credit_risks_seen"),
        ("status", "status_code"),
        ("hasFraud", "fraud-kind"),
        ("is_at", "is_at_home"),
        ("größe", "Größe_cm"),
    ],
)
def test_a_column_that_has_the_stem_of_the_label_is_held_back(label: str, column: str) -> None:
    assert held_back(label, ["age", label, column]) == (column,)


@pytest.mark.parametrize(
    ("label", "column"),
    [("churned", "age"), ("churned", "church"), ("credit_risk", "credit"), ("region", "register"), ("paid", "pay")],
)
def test_other_columns_are_not(label: str, column: str) -> None:
    assert held_back(label, [label, column]) == ()


def test_the_order_of_the_columns_stays() -> None:
    assert held_back("sold", ["sold_on", "price", "is_sold", "sold"]) == ("sold_on", "is_sold")


def test_a_label_without_words_holds_back_nothing() -> None:
    assert held_back("42", ["42", "7", "_"]) == ()
