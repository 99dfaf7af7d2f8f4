from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core import codec
from diffmg.core.codec import (
    check_format,
    check_names,
    from_plain,
    read_json,
    read_toml,
    register,
    structure_fields,
    to_plain,
    to_toml,
)
from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.datasets import DATASETS

PLANTED = DATASETS.get("academic").planted


@dataclass(frozen=True)
class Leaf:
    number: int
    rate: float = 0.5
    switch: bool = False
    name: str | None = None


@dataclass(frozen=True)
class Tree:
    top: Leaf
    leaves: tuple[Leaf, ...] = ()
    named: dict[str, Leaf] = field(default_factory=dict)
    side: Literal["left", "right"] = "left"
    words: tuple[str, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    three: tuple[float, float, float] = (0.0, 0.0, 0.0)
    any: tuple[Any, ...] | None = None
    metagraphs: tuple[MetaGraph, ...] = ()


numbers = st.floats(allow_nan=False, allow_infinity=False)
leaves = st.builds(Leaf, st.integers(), numbers, st.booleans(), st.none() | st.text(max_size=5))
trees = st.builds(
    Tree,
    leaves,
    st.lists(leaves, max_size=3).map(tuple),
    st.dictionaries(st.text(max_size=3), leaves, max_size=3),
    st.sampled_from(["left", "right"]),
    st.lists(st.text(max_size=5), max_size=3).map(tuple),
    st.dictionaries(st.text(max_size=3), numbers, max_size=3),
    st.tuples(numbers, numbers, numbers),
    st.none() | st.lists(st.integers() | st.text(max_size=3), max_size=3).map(tuple),
    st.sampled_from([(), PLANTED]),
)


class Shape:
    """A kind that is written in a way of its own."""


@dataclass(frozen=True)
class Circle(Shape):
    radius: float


@dataclass(frozen=True)
class Picture:
    shape: Shape


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(codec, "_HOOKS", list(codec._HOOKS))
    yield
    monkeypatch.undo()
    codec._converter.cache_clear()


def read(data: object) -> Tree:
    return from_plain(Tree, data, "the tree")


@given(trees)
def test_nested_values_come_back_from_json(tree: Tree) -> None:
    assert read(json.loads(json.dumps(to_plain(tree)))) == tree


def test_what_is_written_equals_what_is_read() -> None:
    plain = to_plain(Tree(Leaf(1), words=("a",), metagraphs=PLANTED))
    assert json.loads(json.dumps(plain)) == plain
    assert plain["metagraphs"] == [m.to_dict() for m in PLANTED]


def test_what_is_left_out_has_its_default() -> None:
    assert read({"top": {"number": 3}}) == Tree(Leaf(3))


def test_one_name_alone_is_a_list_of_one() -> None:
    assert read({"top": {"number": 3}, "words": "a b"}).words == ("a b",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"top": {}}, "the tree, top: `number` must be given"),
        ({"top": {"numbr": 1}}, "the tree, top: unknown field 'numbr'; did you mean 'number'"),
        ({"leafs": []}, "the tree: unknown field 'leafs'; did you mean 'leaves'"),
        ({"top": 3}, "the tree, top: .* but got 3"),
        ({"top": {"number": "5"}}, "the tree, top.number: .*whole number, but got '5'"),
        ({"top": {"number": 5.0}}, "the tree, top.number: .*whole number, but got 5.0"),
        ({"top": {"number": True}}, "the tree, top.number: .* but got True"),
        ({"top": {"number": None}}, "the tree, top.number: .* but got None"),
        ({"top": {"number": 1, "rate": True}}, "the tree, top.rate: .* but got True"),
        ({"top": {"number": 1, "rate": "0.5"}}, "the tree, top.rate: .* but got '0.5'"),
        ({"top": {"number": 1, "switch": 1}}, "the tree, top.switch: .*true or false, but got 1"),
        ({"top": {"number": 1, "switch": "true"}}, "the tree, top.switch: .* but got 'true'"),
        ({"top": {"number": 1, "name": 5}}, "the tree, top.name: .*5"),
        ({"leaves": [{"number": 1}, {"number": "2"}]}, "the tree, leaves.*number: .* but got '2'"),
        ({"leaves": 3}, "the tree, leaves: "),
        ({"named": {"a": {"nmber": 1}}}, "the tree, named.*did you mean 'number'"),
        ({"named": []}, "the tree, named: "),
        ({"side": "up"}, "the tree, side: .*up"),
        ({"words": [1]}, r"the tree, words: .* but got \[1\]"),
        ({"words": 5}, "the tree, words: .* but got 5"),
        ({"scores": {"a": "1"}}, "the tree, scores.*'1'"),
        ({"three": [1, 2]}, "the tree, three: "),
        ({"three": [1, 2, "x"]}, "the tree, three.*'x'"),
        ({"metagraphs": [{"target": "a"}]}, "the tree, metagraphs: a meta graph is "),
    ],
    ids=str,
)
def test_nothing_is_coerced_and_the_place_is_told(change: dict[str, Any], words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        read({"top": {"number": 1}} | change)


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_what_is_no_table_is_told(data: object) -> None:
    with pytest.raises(DiffmgError, match=r"the tree: .*table"):
        read(data)


def test_rules_of_a_value_are_told_with_the_place() -> None:
    @dataclass(frozen=True)
    class Ruled:
        rate: float

        def __post_init__(self) -> None:
            if self.rate < 0:
                raise DiffmgError(f"`rate >= 0` must hold, but got {self.rate}")

    with pytest.raises(DiffmgError, match=r"it: `rate >= 0` must hold, but got -1"):
        from_plain(Ruled, {"rate": -1}, "it")


def test_a_kind_may_be_written_in_a_way_of_its_own_and_so_are_its_members(hooks: None) -> None:
    register(
        Shape, lambda shape: {"radius of a circle": shape.radius}, lambda data, _: Circle(data["radius of a circle"])
    )
    assert to_plain(Picture(Circle(2.0))) == {"shape": {"radius of a circle": 2.0}}
    assert from_plain(Picture, {"shape": {"radius of a circle": 2.0}}, "it") == Picture(Circle(2.0))
    assert structure_fields(Circle, {"radius": 3.0}) == Circle(3.0)
    with pytest.raises(DiffmgError, match="did you mean 'radius'"):
        structure_fields(Circle, {"radus": 3.0})


def test_names_are_checked_against_fields() -> None:
    check_names(["number", "rate"], Leaf, "field")
    with pytest.raises(DiffmgError, match="did you mean 'rate'"):
        check_names(["number", "rat"], Leaf, "option of a leaf:")


@pytest.mark.parametrize("data", [{"format": 2, "a": 1}, {"a": 1, "format": 2}])
def test_the_format_is_checked_and_taken_off(data: dict[str, int]) -> None:
    assert check_format(data, 2, "it") == {"a": 1}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"format": 3}, "it must have format 2, but got 3; update"),
        ({"format": 1}, "got 1; fit again"),
        ({"format": "2"}, "got '2'; fit again"),
        ({}, "got None; fit again"),
        ([], "got None"),
        (None, "got None"),
    ],
)
def test_another_format_is_told_with_what_to_do(data: object, words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        check_format(data, 2, "it")


texts = st.text(max_size=8)
scalars = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=10
)


def tables_only(value: object) -> bool:
    """Whether no list holds a table: the writer's files have none."""
    if isinstance(value, dict):
        return all(map(tables_only, value.values()))
    return not isinstance(value, list) or not any(map(holds_table, value))


def holds_table(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(holds_table, value)))


@given(st.dictionaries(texts, values, max_size=4).filter(tables_only))
def test_toml_comes_back(data: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(data)) == data


def test_a_toml_file_is_written_and_read(tmp_path: Path) -> None:
    data = {"format": 1, "nodes": {"a": {"file": "a.csv"}, "b": {}}, "on": True}
    (tmp_path / "it.toml").write_text(to_toml(data), encoding="utf-8")
    assert read_toml(tmp_path / "it.toml", "it") == data
    assert (tmp_path / "it.toml").read_text() == 'format = 1\non = true\n\n[nodes.a]\nfile = "a.csv"\n\n[nodes.b]\n'


@pytest.mark.parametrize(("read_file", "kind"), [(read_json, "JSON"), (read_toml, "TOML")])
def test_a_file_that_cannot_be_read_is_named(read_file: Any, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"{ not [ this")
    with pytest.raises(DiffmgError, match=rf"the notes must be {kind}, but got '.*it', which is not"):
        read_file(path, "the notes")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DiffmgError, match="UTF-8"):
        read_file(path, "the notes")
    with pytest.raises(DiffmgError, match=r"no file at '.*gone'"):
        read_file(tmp_path / "gone", "the notes")
    with pytest.raises(DiffmgError, match=r"file that can be read"):
        read_file(tmp_path, "the notes")


def test_json_nested_beyond_reason_is_bad_input_and_no_fault(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(DiffmgError, match="must have at most 100 lists"):
        read_json(tmp_path / "deep.json", "it")
