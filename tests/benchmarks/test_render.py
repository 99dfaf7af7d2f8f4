from __future__ import annotations

import re

import pytest

from benchmarks.render import DOCUMENTS, ROOT, render_documents
from benchmarks.speed_tables import TABLES

MARK = "<!-- table: ratios_cpu -->\n{}<!-- end -->\n"


@pytest.fixture
def root(tmp_path):
    """A repository whose documents have a table each."""
    for name in DOCUMENTS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(MARK.format("old\n"))
    return tmp_path


def test_documents_are_filled_in_and_then_up_to_date(root):
    paths = [root / name for name in DOCUMENTS]
    assert render_documents(True, root) == paths
    assert paths[0].read_text() == MARK.format("old\n")
    assert render_documents(False, root) == paths
    assert paths[0].read_text() == MARK.format(TABLES["ratios_cpu"]() + "\n")
    assert render_documents(True, root) == []


def test_the_documents_show_what_the_result_files_hold():
    assert render_documents(check=True) == [], "run: python -m benchmarks render"


def test_every_table_is_in_the_page_on_performance():
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- table: (\w+) -->", text)) == set(TABLES)
