from __future__ import annotations

import json

import pytest

from benchmarks.files import RESULTS, read_result, write_result
from diffmg.core.errors import DiffmgError

RESULT = {"what": "schön", "machine": {"gpu": None, "cores": 2}, "results": {"a": [1, 2.5], "b": {}}}


def test_a_result_comes_back_as_it_was(tmp_path):
    file = tmp_path / "new" / "folder" / "result.json"
    write_result(file, RESULT)
    assert read_result(file) == RESULT
    assert list(read_result(file)) == list(RESULT)


def test_a_result_has_a_line_for_each_field(tmp_path):
    write_result(tmp_path / "result.json", RESULT)
    lines = (tmp_path / "result.json").read_text(encoding="utf-8").splitlines()
    assert lines[0] + lines[-1] == "{}"
    assert [json.loads("{" + line.rstrip(",") + "}") for line in lines[1:-1]] == [{k: v} for k, v in RESULT.items()]
    assert "schön" in lines[1]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DiffmgError, match=r"a result file must exist.*none\.json"):
        read_result(tmp_path / "none.json")


@pytest.mark.parametrize("file", sorted(RESULTS.rglob("*.json")), ids=lambda file: file.name)
def test_the_kept_results_are_as_they_would_be_written(file, tmp_path):
    write_result(tmp_path / file.name, read_result(file))
    assert (tmp_path / file.name).read_text(encoding="utf-8") == file.read_text(encoding="utf-8")
