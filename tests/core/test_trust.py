from __future__ import annotations

from pathlib import Path

import pytest

from diffmg.core import trust
from diffmg.core.errors import DiffmgError
from diffmg.core.trust import (
    allow_outside,
    check_inside,
    check_server,
    is_secret,
    named_by_file,
    named_by_user,
    server_of,
    trust_server,
    without_secrets,
)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the start of a program, with a password."""
    monkeypatch.setattr(trust, "_named_by_files", set())
    monkeypatch.setattr(trust, "_trusted", set())
    monkeypatch.setenv("PGPASSWORD", "hunter2")


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("postgresql://me@Shop.org:5433/db", "shop.org:5433"),
        ("postgresql://me:p%40ss@shop.org/db", "shop.org"),
        ("postgresql+psycopg://shop.org", "shop.org"),
        ("postgresql://shop.org/db?host=evil.org", "shop.org&host=evil.org"),
        ("postgresql://shop.org/db?sslmode=require", "shop.org"),
        ("postgresql:///db?service=prod", "&service=prod"),
    ],
)
def test_the_server_of_an_address(address: str, server: str) -> None:
    assert server_of(address) == server


def test_a_server_that_only_a_file_names_gets_no_password() -> None:
    check_server("postgresql://shop.org/db")
    named_by_file("postgresql://shop.org/db")
    with pytest.raises(DiffmgError, match=r"--trust-server 'shop\.org'") as error:
        check_server("postgresql://you@shop.org/other")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("address", ["postgresql://shop.org/db?host=evil.org", "postgresql://shop.org:99/db"])
def test_trust_in_one_server_is_not_trust_in_another(address: str) -> None:
    named_by_user("postgresql://shop.org/db")
    named_by_file(address)
    with pytest.raises(DiffmgError, match="from a file"):
        check_server(address)


def test_a_server_that_the_user_names_gets_it() -> None:
    for trusted in (lambda: named_by_user("postgresql://shop.org/db"), lambda: trust_server("SHOP.org")):
        trust._trusted.clear()
        named_by_file("postgresql://shop.org/db")
        trusted()
        check_server("postgresql://shop.org/db")


def test_without_a_password_there_is_nothing_to_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.delenv("PGSERVICE", raising=False)
    named_by_file("postgresql://shop.org/db")
    check_server("postgresql://shop.org/db")
    named_by_file("postgresql://evil.org/db?service=prod")
    with pytest.raises(DiffmgError, match="of a service"):
        check_server("postgresql://evil.org/db?service=prod")


def test_files_and_names_are_no_servers() -> None:
    for name in ("academic", "shop.db", "a/b.toml", None):
        named_by_file(name)
    named_by_user("academic")
    assert (trust._named_by_files, trust._trusted) == (set(), set())


@pytest.mark.parametrize("name", ["../a.csv", "/etc/passwd", "b/../../a.csv", "link/a.csv"])
def test_files_outside_of_a_folder_are_refused_unless_allowed(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(DiffmgError, match=r"inside its own folder .*--allow-outside"):
        check_inside(name, folder)
    allow_outside()
    try:
        check_inside(name, folder)
    finally:
        allow_outside(False)


@pytest.mark.parametrize("name", ["a.csv", "b/a.csv", "b/../a.csv", "./a.csv", "."])
def test_files_inside_are_fine(name: str, tmp_path: Path) -> None:
    check_inside(name, tmp_path)


@pytest.mark.parametrize(
    ("name", "secret"),
    [("password", True), ("sslpassword", True), ("%70assword", True), ("motherduck_token", True), ("sslmode", False)],
)
def test_secrets_are_known_by_their_names(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


@pytest.mark.parametrize("stroke", ["/", "//"])
def test_the_password_of_an_address_is_not_told_even_if_it_was_taken_for_a_path(stroke: str) -> None:
    told = without_secrets(
        f"but got nothing at 'postgresql:{stroke}user:sec:ret@127.0.0.1:1/x?token=abc&a=1'; try again"
    )
    assert told == f"but got nothing at 'postgresql:{stroke}user:***@127.0.0.1:1/x?token=***&a=1'; try again"


@pytest.mark.parametrize("text", ["C:/data/ratings: 3 rows", "at 12:30, mail a@b.org", "https://example.org/a@b"])
def test_other_text_is_told_as_it_is(text: str) -> None:
    assert without_secrets(text) == text


def test_a_name_with_a_zero_character_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match="has no zero character"):
        check_inside("a\0b.csv", tmp_path)
