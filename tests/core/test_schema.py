import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation, Schema

WRITES = Relation("author", "writes", "paper")
CITES = Relation("paper", "cites", "paper")
SCHEMA = Schema(("author", "paper"), (WRITES, CITES))


def test_relation_reads_from_source_to_target():
    assert str(WRITES) == "author -writes-> paper"
    assert WRITES.triple == ("author", "writes", "paper")


@pytest.mark.parametrize("triple", [("", "r", "b"), ("a", "", "b"), ("a", "r", ""), ("a", 1, "b"), (None, "r", "b")])
def test_relation_is_of_non_empty_strings(triple):
    with pytest.raises(DiffmgError, match="non-empty strings, but got"):
        Relation(*triple)


def test_into_gives_the_relations_that_lead_to_a_type():
    assert SCHEMA.into("paper") == (WRITES, CITES)
    assert SCHEMA.into("author") == ()


def test_checks_return_what_is_known():
    assert SCHEMA.check_type("paper") == "paper"
    assert SCHEMA.check_relation(CITES) is CITES


def test_unknown_type_names_the_nearest():
    with pytest.raises(DiffmgError, match="did you mean 'paper'"):
        SCHEMA.check_type("papers")


def test_unknown_relation_names_the_nearest():
    with pytest.raises(DiffmgError, match=r"did you mean 'author -writes-> paper'"):
        SCHEMA.check_relation(Relation("author", "write", "paper"))


def test_relation_by_name():
    assert SCHEMA.relation("cites") is CITES


def test_unknown_relation_name_names_the_nearest():
    with pytest.raises(DiffmgError, match="unknown relation 'cite'; did you mean 'cites'"):
        SCHEMA.relation("cite")


def test_relation_name_of_two_relations_must_be_given_as_triple():
    schema = Schema(("a", "b"), (Relation("a", "r", "b"), Relation("b", "r", "a")))
    with pytest.raises(DiffmgError, match=r"but got 'r'.*name it by its triple"):
        schema.relation("r")


def test_relation_of_a_type_that_is_not_there():
    with pytest.raises(DiffmgError, match=r"unknown node type in relation 'author"):
        Schema(("author", "papers"), (WRITES,))


@pytest.mark.parametrize(
    ("types", "relations", "kind"),
    [(("author", "paper", "paper"), (), "node type"), (("author", "paper"), (WRITES, WRITES), "relation")],
)
def test_nothing_appears_twice(types, relations, kind):
    with pytest.raises(DiffmgError, match=f"every {kind} appears once in a schema, but got .*paper.* twice"):
        Schema(types, relations)


def test_schemas_are_values():
    assert Schema(("author", "paper"), (WRITES, CITES)) == SCHEMA
    assert hash(Schema(("author", "paper"), (WRITES, CITES))) == hash(SCHEMA)
