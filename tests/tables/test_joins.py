from __future__ import annotations

from diffmg.tables.catalogue import DatabaseTable, ForeignKey, Kind
from diffmg.tables.database import linked_to, nodes_of, relations_of
from diffmg.tables.description import NodeTable, RelationTable

NOTHING: frozenset[str] = frozenset()


def table(name: str, columns: str, primary: str = "", **foreign: str) -> DatabaseTable:
    """Foreign keys as `column="table.column"`; several columns are joined by `__`."""
    keys = []
    for own, refers in foreign.items():
        other, _, there = refers.partition(".")
        keys.append(ForeignKey(tuple(own.split("__")), other, tuple(there.split("__"))))
    kinds: dict[str, Kind] = dict.fromkeys(columns.split(), "text")
    return DatabaseTable(name, kinds, tuple(primary.split()), tuple(keys))


def catalogue(*tables: DatabaseTable) -> dict[str, DatabaseTable]:
    return {t.name: t for t in tables}


PERSON = table("person", "id age", "id")
CLUB = table("club", "city no", "city no")


def test_a_foreign_key_is_a_relation_from_its_table_to_the_other() -> None:
    tables = catalogue(PERSON, table("pet", "id name owner_id", "id", owner_id="person.id"))
    assert nodes_of(tables, "person", NOTHING) == {
        "person": NodeTable("person", ("id",), ("age",)),
        "pet": NodeTable("pet", ("id",), ("name",)),
    }
    assert relations_of(tables, "person") == {"owner": RelationTable("pet", ("pet", "id"), ("person", "owner_id"))}


def test_a_table_of_two_keys_is_a_relation_between_the_two() -> None:
    link = table("member", "person_id city no", "person_id city no", person_id="person.id", city__no="club.city__no")
    tables = catalogue(PERSON, CLUB, link)
    assert list(nodes_of(tables, "person", NOTHING)) == ["person", "club"]
    assert relations_of(tables, "person") == {
        "member": RelationTable("member", ("person", "person_id"), ("club", "city", "no"))
    }


def test_an_id_of_its_own_does_not_make_a_link_a_thing() -> None:
    link = table("knows", "id one other", "id", one="person.id", other="person.id")
    assert relations_of(catalogue(PERSON, link), "person") == {
        "knows": RelationTable("knows", ("person", "one"), ("person", "other"))
    }


def test_a_link_that_says_more_or_is_referred_to_or_asked_about_is_a_node_type() -> None:
    keys = {"person_id": "person.id", "city__no": "club.city__no"}
    more = table("member", "person_id city no fee", "person_id city no", **keys)
    assert nodes_of(catalogue(PERSON, CLUB, more), "person", NOTHING)["member"].features == ("fee",)
    bare = table("member", "id person_id city no", "id", **keys)
    bill = table("bill", "id sum member_id", "id", member_id="member.id")
    assert "member" in nodes_of(catalogue(PERSON, CLUB, bare, bill), "person", NOTHING)
    assert "member" in nodes_of(catalogue(PERSON, CLUB, bare), "member", NOTHING)


def test_a_key_within_a_table_is_a_relation_within_its_type() -> None:
    tables = catalogue(table("person", "id bossId", "id", bossId="person.id"))
    assert relations_of(tables, "person") == {"boss": RelationTable("person", ("person", "id"), ("person", "bossId"))}


def test_names_are_short_where_they_are_unique() -> None:
    tables = catalogue(
        PERSON,
        table("pet", "id owner_id vet_id x", "id", owner_id="person.id", vet_id="person.id"),
        table("car", "id owner_id x", "id", owner_id="person.id"),
        table("owner", "id person_id x", "id", person_id="person.id"),
    )
    assert list(relations_of(tables, "person")) == ["pet_owner", "vet", "car_owner", "person"]


def test_names_stay_unique_whatever_the_columns_are_called() -> None:
    both = DatabaseTable(
        "pet",
        {"id": "text", "x": "text", "rev_x": "text"},
        ("id",),
        tuple(ForeignKey((c,), t, ("id",)) for c, t in [("x", "person"), ("x", "club"), ("rev_x", "person")]),
    )
    tables = catalogue(PERSON, table("club", "id", "id"), both)
    names = list(relations_of(tables, "person"))
    assert names == ["pet_x", "pet_x_2", "rev_x"]
    assert not {f"rev_{n}" for n in names} & {*names}


def test_a_column_that_is_all_suffix_keeps_its_name() -> None:
    tables = catalogue(
        PERSON, table("pet", "_id x", "x", _id="person.id"), table("car", "paid x", "x", paid="person.id")
    )
    assert list(relations_of(tables, "person")) == ["_id", "paid"]


def test_a_table_without_a_key_numbers_its_rows_or_takes_the_key_that_others_use() -> None:
    tables = catalogue(
        PERSON,
        table("visit", "person_id day", person_id="person.id"),
        table("city", "name size"),
        table("house", "id city_name person_id", "id", city_name="city.name", person_id="person.id"),
    )
    tables["house"] = DatabaseTable("house", {**tables["house"].columns, "x": "text"}, ("id",), tables["house"].foreign)
    nodes = nodes_of(tables, "person", NOTHING)
    assert nodes["visit"] == NodeTable("visit", ("row number",), ("day",))
    assert nodes["city"] == NodeTable("city", ("name",), ("size",))
    assert relations_of(tables, "person")["visit_person"].source == ("visit", "row number")


def test_a_key_to_another_unique_column_is_followed_to_the_id() -> None:
    person = table("person", "id mail", "id")
    tables = catalogue(person, table("letter", "id person_mail x", "id", person_mail="person.mail"))
    assert relations_of(tables, "person") == {
        "person_mail": RelationTable("letter", ("letter", "id"), ("person", "person_mail.id"))
    }


def test_columns_of_a_key_take_the_order_of_the_id() -> None:
    tables = catalogue(CLUB, table("party", "id n c x", "id", n__c="club.no__city"))
    assert relations_of(tables, "club")["club"].target == ("club", "c", "n")


def test_hidden_columns_of_the_target_are_no_features_and_others_stay() -> None:
    tables = catalogue(
        table("person", "id age sick", "id"), table("pet", "id sick owner_id", "id", owner_id="person.id")
    )
    nodes = nodes_of(tables, "person", frozenset({"sick"}))
    assert nodes["person"].features == ("age",)
    assert nodes["pet"].features == ("sick",)


def test_what_can_be_no_feature_is_none() -> None:
    tables = catalogue(DatabaseTable("a", {"id": "integer", "photo": "other", "size": "number"}, ("id",)))
    assert nodes_of(tables, "a", NOTHING)["a"].features == ("size",)


def test_only_tables_that_keys_link_to_the_target_are_taken() -> None:
    tables = catalogue(
        PERSON,
        table("pet", "id owner_id", "id", owner_id="person.id"),
        table("toy", "id pet_id", "id", pet_id="pet.id"),
        table("log", "id what", "id"),
        table("entry", "id log_id", "id", log_id="log.id"),
    )
    assert list(linked_to("person", tables)) == ["person", "pet", "toy"]
    assert list(linked_to("log", tables)) == ["log", "entry"]
