"""Whatever stands in data, nothing that is printed for a person controls the terminal or vanishes as markup."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path
from unittest import mock

import pytest
from rich.table import Table

from diffmg.cli.console import SafeConsole, emit, say
from library import TOML, library, write_library
from run_files import TINY, diffmg

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
NAMES = ["[/x]", "[red]", "[link=http://x]y", ":smile:", "\x1b[2J", "a\rb", "\x9b2J", "a\u202eb"]


def shown(what: object) -> str:
    """What a console with colours prints."""
    file = io.StringIO()
    where = SafeConsole(file=file, force_terminal=True, color_system=None, width=200)
    if isinstance(what, str):
        say(what, where)
    else:
        where.print(what)
    return file.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_texts_and_tables_show_names_as_they_are(name: str) -> None:
    table = Table(f"head {name}", title=f"title {name}")
    table.add_row(f"cell {name}")
    for output in (shown(f"text {name}"), shown(table)):
        assert not {"\x1b", "\r", "\x07", "\x9b", "\u202e"} & {*output}
        if name.isascii() and name.isprintable():
            assert name in output


def test_describing_a_hostile_description_controls_nothing(tmp_path: Path) -> None:
    toml = TOML.replace("nodes.paper", 'nodes."[/x]\\u001b[31m"').replace(
        '["paper", "paper"]', '["[/x]\\u001b[31m", "paper"]'
    )
    toml = toml.replace("relations.wrote", 'relations."[red]\\u001b]0;wrote"')
    path = write_library(tmp_path, toml)
    answer = diffmg("describe", path)
    assert answer.code == 0, answer
    assert "\x1b" not in answer.out + answer.err
    assert "[/x]\\x1b[31m" in answer.out
    assert "[red]\\x1b]0;wrote" in answer.out


def test_a_fit_on_hostile_tables_controls_nothing(tmp_path: Path) -> None:
    """Names of tables and columns, ids and classes, in notes and results."""
    papers = library()["papers"]["paper"]
    (tmp_path / "run").mkdir()
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f'CREATE TABLE "author{ESCAPE}" (id TEXT PRIMARY KEY, "[/age]{ESCAPE}" INTEGER, field TEXT)')
        connection.execute(
            f'CREATE TABLE paper (id INTEGER PRIMARY KEY, by TEXT REFERENCES "author{ESCAPE}", year INT)'
        )
        authors = [(f"a{i}{ESCAPE}", i, ("[red]" + ESCAPE, "blue")[i % 2]) for i in range(12)]
        connection.executemany(f'INSERT INTO "author{ESCAPE}" VALUES (?, ?, ?)', authors)
        rows = [(int(paper), f"a{i % 12}{ESCAPE}", 1990 + i) for i, paper in enumerate(papers)]
        connection.executemany("INSERT INTO paper VALUES (?, ?, ?)", rows)
    connection.close()
    target = f"author{ESCAPE}.field"
    answer = diffmg("fit", path, "--target", target, "--out", tmp_path / "run", *TINY)
    assert answer.code == 0, answer
    assert "\x1b]0" not in answer.out + answer.err
    assert "\x07" not in answer.out + answer.err
    assert "[/age]" in answer.out
    bad = diffmg("fit", path, "--target", target + "x", "--out", tmp_path / "no")
    assert (bad.code, "\x1b" in bad.err) == (2, False)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_data_go_to_a_terminal_cleaned_and_to_a_pipe_as_they_are() -> None:
    text = f"id{ESCAPE},é\r\n"
    with mock.patch("sys.stdout", Terminal()) as terminal:
        emit(text)
    assert not {"\x1b", "\r", "\x07"} & {*terminal.getvalue()}
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="\r\n")
    with mock.patch("sys.stdout", pipe):
        emit(text)
    assert pipe.buffer.getvalue() == text.encode()


@pytest.mark.parametrize("command", ["datasets", "fit", "show"])
@pytest.mark.parametrize("address", ["postgresql://user:hush-7@127.0.0.1:1/x", "postgresql://u@h/x?sslpassword=hush-7"])
def test_no_message_has_the_password_of_an_address(command: str, address: str) -> None:
    answer = diffmg(command, address)
    assert answer.code != 0
    assert "hush-7" not in answer.out + answer.err
