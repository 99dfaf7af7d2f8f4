from __future__ import annotations

from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.registry import Registry

INIT = "from diffmg.core.registry import Registry\nFRUIT = Registry('fruit', '{name}')\n"
MEMBER = "from {name} import FRUIT\nFRUIT.add('{member}')({value})\n"


@pytest.fixture
def fruit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[int]:
    """A family of two members in two files, and a private file that must stay unread."""
    name = f"family_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text(INIT.format(name=name))
    (folder / "pear.py").write_text(MEMBER.format(name=name, member="pear", value=2))
    (folder / "apple.py").write_text(MEMBER.format(name=name, member="apple", value=1))
    (folder / "_private.py").write_text("raise RuntimeError('a private file was read')\n")
    monkeypatch.syspath_prepend(tmp_path)
    return __import__(name).FRUIT


def test_members_are_found_by_file(fruit):
    assert list(fruit.items()) == [("apple", 1), ("pear", 2)]


def test_member_by_name(fruit):
    assert fruit.get("pear") == 2


def test_nothing_is_imported_before_the_first_look_up(fruit):
    assert fruit._members == {}


def test_unknown_member_names_the_nearest(fruit):
    with pytest.raises(DiffmgError, match="unknown fruit 'aple'; did you mean 'apple'"):
        fruit.get("aple")


def test_add_returns_the_member():
    registry: Registry[type] = Registry("thing", "diffmg.core.registry")

    @registry.add("mine")
    class Mine:
        pass

    assert Mine.__name__ == "Mine"


def test_two_members_of_one_name_are_an_error():
    """The second would silently take the place of the first."""
    registry: Registry[int] = Registry("thing", "diffmg.core.registry")
    registry.add("mine")(1)
    with pytest.raises(DiffmgError, match="mine"):
        registry.add("mine")(2)
