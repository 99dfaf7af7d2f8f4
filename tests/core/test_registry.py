from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import diffmg.core.registry as module
from diffmg.core.errors import DiffmgError
from diffmg.core.registry import Registry

INIT = "from diffmg.core.registry import Registry\nFRUIT = Registry('fruit', '{name}', group='fruits')\n"
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


def install(monkeypatch: pytest.MonkeyPatch, **members: str) -> None:
    """As if a package were installed that adds these members of the family `fruits`."""
    found = {"fruits": [EntryPoint(name, value, "fruits") for name, value in members.items()]}
    monkeypatch.setattr(module, "entry_points", lambda group: found.get(group, []))


def test_members_are_found_by_file(fruit: Registry[int]) -> None:
    assert list(fruit.items()) == [("apple", 1), ("pear", 2)]
    assert fruit.get("pear") == 2


def test_nothing_is_imported_before_the_first_look_up(fruit: Registry[int]) -> None:
    assert fruit._members == {}


def test_a_place_may_be_a_single_module() -> None:
    registry: Registry[int] = Registry("thing", "diffmg.core.registry", group="things")
    registry.add("mine")(1)
    assert dict(registry.items()) == {"mine": 1}


def test_unknown_member_names_the_nearest(fruit: Registry[int]) -> None:
    with pytest.raises(DiffmgError, match="unknown fruit 'aple'; did you mean 'apple'"):
        fruit.get("aple")


def test_a_member_knows_its_name(fruit: Registry[int]) -> None:
    assert fruit.name_of(2) == "pear"
    with pytest.raises(DiffmgError, match="but got 3"):
        fruit.name_of(3)


def test_add_returns_the_member() -> None:
    registry: Registry[type] = Registry("thing", "diffmg.core.registry", group="things")

    @registry.add("mine")
    class Mine:
        pass

    assert Mine.__name__ == "Mine"


def test_two_members_of_one_name_are_an_error() -> None:
    """The second would silently take the place of the first."""
    registry: Registry[int] = Registry("thing", "diffmg.core.registry", group="things")
    registry.add("mine")(1)
    with pytest.raises(DiffmgError, match="mine"):
        registry.add("mine")(2)


def test_an_installed_package_adds_a_member(fruit: Registry[int], monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tau="math:tau")
    assert fruit.get("tau") == pytest.approx(6.2831853)
    assert [name for name, _ in fruit.items()] == ["apple", "pear", "tau"]


def test_a_module_that_registers_its_member_itself_may_be_named_too(
    fruit: Registry[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = next(path.name for path in tmp_path.iterdir())
    (tmp_path / f"{package}_more.py").write_text(f"from {package} import FRUIT\nFIG = FRUIT.add('fig')([3])\n")
    install(monkeypatch, fig=f"{package}_more:FIG")
    assert fruit.get("fig") == [3]


def test_an_installed_member_cannot_take_the_name_of_another(
    fruit: Registry[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, pear="math:tau")
    with pytest.raises(DiffmgError, match="'pear' twice"):
        fruit.get("apple")


@pytest.mark.parametrize("value", ["no_such_package:X", "math:no_such_name"])
def test_an_installed_member_that_cannot_be_imported_is_named_each_time(
    value: str, fruit: Registry[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, fig=value)
    for _ in range(2):
        with pytest.raises(DiffmgError, match=f"'fig'.* but got '{value}'"):
            fruit.get("apple")
