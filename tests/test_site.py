"""The pages of the site: their code runs, their links lead somewhere, their tables name everything registered.

A Python block without a title runs, and so does every command of a `bash` block; a block with a title is a file of that
name. `text title="output"` is what the block before it prints. Comments before a block say more: `not run: WHY`,
`exit code: N`. All blocks of a page run in one process and one folder, on small data.
"""

from __future__ import annotations

import doctest
import importlib.util
import io
import os
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import typer

import diffmg
from diffmg.cli import app
from diffmg.core.budget import Budget
from diffmg.core.details import Beside, Bin, Certainty, ClassScore, Confusion, Details, Recommended, Residuals
from diffmg.core.method import METHODS
from diffmg.core.plan import Plan, Source
from diffmg.core.registry import Registry
from diffmg.core.run import FORMAT, Candidate, Data, Evidence, Finalist, Run, Share, Trained
from diffmg.core.task import TASKS
from diffmg.datasets import DATASETS
from diffmg.graph.network import CONVERTERS
from diffmg.methods.search._base import SearchMethod
from diffmg.tables.columns import COLUMN_TYPES
from diffmg.viz import DRAWINGS
from run_files import diffmg as command

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REGISTRIES: tuple[Registry, ...] = (METHODS, TASKS, DATASETS, COLUMN_TYPES, DRAWINGS, CONVERTERS)
ELSEWHERE = {"own_tables.md", "results.md", "search.md", "performance.md", "gallery.md"}
"""Pages whose blocks other tests run, or whose commands are those of the repository."""
COLUMNS = 92
SMALLER = {"academic": "academic:120", "shop": "shop:160"}
QUICKER_PYTHON = {
    "search_seeds=1))": "search_seeds=1), settings={'max_epochs': 8})",
    'budget="60s"': "budget=4, settings={'max_epochs': 8}",
}
QUICKER = ("-s", "max_epochs=8", "-s", "dim=8")
BLOCK = re.compile(
    r"(?:<!-- (?P<mark>[^\n]*?) -->\n)?"
    r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]*)\")?[^\n]*\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    title: str
    body: str
    mark: str

    @property
    def code(self) -> int:
        """The exit code that its last command has."""
        return int(self.mark.removeprefix("exit code: ")) if self.mark.startswith("exit code: ") else 0


def blocks(page: Path) -> list[Block]:
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(b["language"], b["title"] or "", b["body"], b["mark"] or "") for b in found]


def pages() -> list[str]:
    """The pages of the nav, in order."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return re.findall(r"^ +- (?:[^:\n]+: )?([\w/]+\.md)$", nav, re.MULTILINE)


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    """The hook that fills in the tables."""
    spec = importlib.util.spec_from_file_location("site_tables", DOCS / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where pages run; what they register or import is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    modules, members = set(sys.modules), [dict(registry.items()) for registry in REGISTRIES]
    yield tmp_path
    for registry, before in zip(REGISTRIES, members, strict=True):
        registry._members, registry._complete = before, True
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


class Page:
    """Writes the files of a page, then runs its other blocks one after another."""

    def __init__(self, found: list[Block]) -> None:
        self.names: dict[str, object] = {"__name__": "page"}
        self.output = ""
        for block in found:
            if block.title and block.title != "output":
                path = Path(block.title)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.body, encoding="utf-8")
        if Path("pyproject.toml").exists():
            install()

    def run(self, block: Block) -> None:
        if block.mark.startswith("not run: "):
            return
        if block.title == "output":
            assert doctest.OutputChecker().check_output(block.body, self.output, LIKE), self.output
        elif block.language == "python" and not block.title:
            self.python(block.body)
        elif block.language == "bash":
            self.commands(block)

    def python(self, body: str) -> None:
        for name, smaller in SMALLER.items():
            body = body.replace(f'load_dataset("{name}")', f'load_dataset("{smaller}")')
        for slow, quick in QUICKER_PYTHON.items():
            body = body.replace(slow, quick)
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(body, "<page>", "exec", dont_inherit=True), self.names)
        self.output = out.getvalue()

    def commands(self, block: Block) -> None:
        lines = block.body.replace("\\\n", " ").splitlines()
        self.output = ""
        commands = [words for line in lines if (words := shlex.split(line, comments=True))]
        for number, words in enumerate(commands, 1):
            code = self.command(words)
            assert code == (block.code if number == len(commands) else 0), (words, self.output)

    def command(self, words: list[str]) -> int:
        """Run one command; what it prints is added to the output."""
        name, *rest = words
        if name == "diffmg":
            answer = command(*quicker(rest), columns="120")
            self.output += answer.out + answer.err * (answer.code != 0)
            return answer.code
        if name == "python":
            runpy.run_path(rest[0], run_name="__main__")
        elif name == "cat":
            self.output += Path(rest[0]).read_text(encoding="utf-8")
        elif name == "mv":
            shutil.move(*rest)
        elif name == "cd":
            os.chdir(rest[0])
        else:
            raise AssertionError(f"a page may run diffmg, python, cat, mv and cd, but got {words}")
        return 0


def quicker(words: list[str]) -> list[str]:
    """The same command on smaller data, with fewer epochs; a race with few trainings."""
    words = [SMALLER.get(word, word) for word in words]
    if words[0] != "fit":
        return words
    raced = "--budget" in words or not {"-m", "--method", "--metagraph"} & set(words)
    return [*words, *QUICKER, *(("--budget", "4") if raced else ())]


def install() -> None:
    """What installing the package of this folder does for its entry points: written down, and looked up anew."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = Path(f"{project['name'].replace('-', '_')}-{project['version']}.dist-info")
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {place}" for name, place in members.items())])
        for group, members in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups) + "\n")
    for registry in REGISTRIES:
        registry._complete = False


@pytest.mark.parametrize("name", [name for name in pages() if name not in ELSEWHERE and "/" not in name])
def test_the_code_of_a_page_runs(name: str, folder: Path) -> None:
    found = blocks(DOCS / name)
    page = Page(found)
    for block in found:
        page.run(block)


def not_run() -> list[list[str]]:
    """The `diffmg` commands of blocks that are not run."""
    skipped = [
        b for page in pages() for b in blocks(DOCS / page) if b.language == "bash" and b.mark.startswith("not run")
    ]
    lines = [shlex.split(line) for block in skipped for line in block.body.replace("\\\n", " ").splitlines()]
    return [words[1:] for words in lines if words[0] == "diffmg"]


@pytest.mark.parametrize("words", not_run(), ids=" ".join)
def test_commands_that_are_not_run_exist(words: list[str]) -> None:
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    name = next(word for word in words if word in known)
    shown = ""
    for answer in (command("--help"), command(name, "--help")):
        assert answer.code == 0, answer.err
        shown += answer.out
    for option in (word for word in words if word.startswith("--")):
        assert option in shown


def test_blocks_of_a_page_are_found() -> None:
    """A page whose blocks were not found would pass the test above."""
    kinds = [(b.language, b.title) for b in blocks(DOCS / "nouns.md")]
    assert kinds.count(("python", "")) >= 10
    assert kinds.count(("text", "output")) >= 5
    for page in DOCS.rglob("*.md"):
        assert page.read_text(encoding="utf-8").count("\n```") >= 2 * len(blocks(page))


def test_code_fits_the_width_of_a_page() -> None:
    for page in DOCS.glob("*.md"):
        for block in blocks(page):
            assert max(map(len, block.body.splitlines())) <= COLUMNS, (page.name, block.body)


def test_every_page_is_in_the_nav_and_exists() -> None:
    written = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert len(pages()) == len(set(pages()))
    assert set(pages()) == written


def anchors(text: str) -> set[str]:
    """Ids of the headings of a page: those given, or as the site makes them."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    given = {found[1] for head in heads if (found := re.search(r"\{#([\w-]+)\}", head))}
    return given | {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", head).strip().lower()) for head in heads}


def test_links_lead_somewhere(tables: ModuleType) -> None:
    seen = 0
    prose = {page: FENCED.sub("", tables.filled(page)) for page in DOCS.rglob("*.md")}
    for page, text in prose.items():
        for link in LINK.findall(text):
            if "://" in link:
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.is_relative_to(DOCS), f"{page.name}: {link} leaves the site"
            assert target.is_file(), f"{page.name}: {link}"
            assert not anchor or anchor in anchors(prose[target]), f"{page.name}: {link}"
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_every_registered_name_is_in_a_table(registry: Registry, tables: ModuleType) -> None:
    text = "\n".join(tables.filled(DOCS / name) for name in ("methods.md", "reference/registered.md"))
    assert registry.names()
    for name in registry.names():
        assert re.search(rf"^\| \[?`{name}`", text, re.MULTILINE), f"{registry.kind} {name!r} is in no table"


def test_every_option_of_a_method_is_in_its_table(tables: ModuleType) -> None:
    text = tables.filled(DOCS / "methods.md")
    for name, kind in METHODS.items():
        section = text.partition(f"{{#{name}}}")[2].partition("\n##")[0]
        for option in fields(kind):
            assert f"| `{option.name}` |" in section, (name, option.name)


def test_every_public_name_is_in_the_reference() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    for name in diffmg.__all__:
        if not name.startswith("_"):
            found = re.findall(rf"^::: (diffmg\.[\w.]+)\.{name}$", text, re.MULTILINE)
            assert found, f"{name} is not in the reference"
            assert getattr(import_module(found[0]), name) is getattr(diffmg, name)


def test_every_command_is_on_its_page() -> None:
    from diffmg.cli import app

    commands = {c.name or (c.callback.__name__ if c.callback else "") for c in app.registered_commands}
    commands |= {group.name or "" for group in app.registered_groups}
    text = (DOCS / "command_line.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## `(\w+)`$", text, re.MULTILINE)) == commands
    for name in commands:
        assert re.search(rf"^diffmg {name}\b", text, re.MULTILINE), f"{name} has no example"


def test_every_field_of_a_run_file_is_on_its_page() -> None:
    text = (DOCS / "run_folder.md").read_text(encoding="utf-8")
    heads = r"^## run.json, format 2$|^`plan`:$|^`data`:$|^`evidence`:$"
    _, whole, plan, data, evidence = re.split(heads, text, flags=re.MULTILINE)
    assert f"| `format` | {FORMAT};" in whole
    parts = {Run: whole, Candidate: whole, Trained: whole, Plan: plan, Source: plan, Budget: plan, Data: data}
    judged = (Certainty, Beside, Details, ClassScore, Confusion, Bin, Residuals, Recommended)
    for kind, part in (parts | dict.fromkeys((Evidence, Finalist, Share, *judged), evidence)).items():
        for name in (field.name for field in fields(kind)):
            assert f"`{name}`" in part, f"{kind.__name__}.{name}"


def test_pages_ask_for_tables_that_there_are(tables: ModuleType) -> None:
    asked = {name for page in DOCS.rglob("*.md") for name in tables.PLACE.findall(page.read_text(encoding="utf-8"))}
    assert asked == set(tables.TABLES)


def test_a_table_says_what_stands_below_a_field_and_those_it_extends(tables: ModuleType) -> None:
    said, inherited = tables.field_docs(diffmg.DiffMG), tables.field_docs(SearchMethod)
    assert said["depth"] == inherited["depth"] != ""
    assert said["epsilon"]
    assert "epsilon" not in inherited
