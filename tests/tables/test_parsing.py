"""Questions are read from text by a grammar of their own."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core import DiffmgError
from diffmg.tables.parsing import parse_question
from diffmg.tables.question import Aggregate, Comparison, Formula, Junction, aggregates, is_yes_no

ORDERS = Aggregate("count", "orders")
EITHER = Junction("or", (Comparison("b", "==", "it's"), Comparison("c", "!=", 2.0)))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("count(orders)", ORDERS),
        ("COUNT ( orders )>=1", Formula(">=", ORDERS, 1.0)),
        ("exists(orders)", Aggregate("exists", "orders")),
        ("avg(orders.amount)", Aggregate("mean", "orders", "amount")),
        ("count distinct(orders.kind)", Aggregate("distinct", "orders", "kind")),
        ('sum("my orders".`the sum`)', Aggregate("sum", "my orders", "the sum")),
        ("count(orders by buyer)", Aggregate("count", "orders", key="buyer")),
        (
            "count(orders where a > -1.5e1 and (b = 'it''s' or c <> 2))",
            Aggregate("count", "orders", where=Junction("and", (Comparison("a", ">", -15.0), EITHER))),
        ),
        ("count(orders) - 1 - 2", Formula("-", Formula("-", ORDERS, 1.0), 2.0)),
        ("1 + count(orders) * 2 == 3", Formula("==", Formula("+", 1.0, Formula("*", ORDERS, 2.0)), 3.0)),
        ("(1 + count(orders)) / 2", Formula("/", Formula("+", 1.0, ORDERS), 2.0)),
        ("-count(orders)", Formula("-", 0.0, ORDERS)),
    ],
)
def test_what_a_question_means(text, meaning):
    assert parse_question(text) == meaning


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a number or one of count, .* at its end"),
        ("count(orders) >", "at its end"),
        ("count(orders", r"expected '\)' at its end"),
        ("count orders", r"expected '\(' at 'orders' after 'count '"),
        ("count(orders) > 0 > 1", "expected the end at '>' after"),
        ("count(orders) % 2", "no such sign at '%' after"),
        ("cuont(orders)", "unknown function of a question: 'cuont'; did you mean 'count'"),
        ("__import__('os')", "unknown function of a question: '__import__'"),
        ("count(orders where amount)", "expected one of ==, .* at '\\)'"),
        ("count(orders where amount > other)", "expected a number or a 'text' at 'other'"),
        ("sum(orders)", r"sum is of a column, sum\(orders.COLUMN\)"),
        ("sum(distinct orders.a)", r"count\(distinct TABLE.COLUMN\)"),
        ("exists(orders.a)", r"exists is of rows, .* use count\(orders.a\) > 0"),
        ("1 + 2", "which names no table"),
        ("(" * 5000 + "count(orders)", "at most 30 brackets"),
        ("-" * 5000 + "1", "at most 30 brackets"),
        ("count(orders where " + "(" * 5000, "at most 30 brackets"),
        ("count(orders) > 1e", "no such sign at '1'"),
    ],
)
def test_what_is_no_question(text, words):
    with pytest.raises(DiffmgError, match=words):
        parse_question(text)


@given(st.text(alphabet="count(orders)where ab.'\"`<>=!+-*/01e,%", max_size=40))
def test_any_text_is_a_question_or_refused(text):
    try:
        found = parse_question(text)
    except DiffmgError:
        return
    assert list(aggregates(found))


def written(part):
    """A question as text, with all its brackets."""
    if isinstance(part, Formula):
        return f"({written(part.left)} {part.sign} {written(part.right)})"
    return repr(part) if isinstance(part, float) else f"{part.function}({part.table}.{part.column})"


sums = st.recursive(
    st.floats(0, 1e9).map(abs)
    | st.builds(Aggregate, st.sampled_from(["sum", "min", "count"]), st.just("t"), st.just("c")),
    lambda inner: st.builds(Formula, st.sampled_from("+-*/"), inner, inner),
    max_leaves=8,
)


@given(sums)
def test_a_question_that_is_written_is_read_again(expression):
    text = f"{written(expression)} > 0 * count(t)"
    found = parse_question(text)
    assert isinstance(found, Formula)
    assert found.left == expression
    assert is_yes_no(found)
    assert not is_yes_no(found.right)
    assert math.isclose(found.right.left, 0)
