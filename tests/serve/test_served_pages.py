"""Pages: the report with its box, the endpoints, the table of runs. Nothing from elsewhere, nothing unescaped."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from diffmg.serve.app import runs_app
from diffmg.serve.limits import Limits
from diffmg.serve.refused import RefusedError
from diffmg.serve.shelf import Shelf
from reports import Page
from run_files import edit_plan

Serve = Callable[..., TestClient]
HTML = {"accept": "text/html"}


@pytest.fixture
def folder(runs: Path, tmp_path: Path) -> Path:
    """Runs, and what looks like one."""
    for name in ("authors", "shop", "plain"):
        shutil.copytree(runs / name, tmp_path / "inner" / name)
    folder = tmp_path / "inner"
    (folder / "empty").mkdir()
    (folder / "torn").mkdir()
    (folder / "torn" / "run.json").write_text('{"format": 2')
    shutil.copytree(runs / "plain", tmp_path / "elsewhere")
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "half").mkdir()
    (folder / "half" / "run.json").symlink_to(tmp_path / "elsewhere" / "run.json")
    (folder / "<b>&bold").mkdir()
    return folder


@pytest.fixture
def client(folder: Path) -> TestClient:
    return TestClient(runs_app(Shelf(folder), Limits()), base_url="http://127.0.0.1")


def test_the_report_has_a_box_whose_script_alone_may_run(serve: Serve) -> None:
    reply = serve("authors").get("/")
    (script,) = re.findall(r"<script>(.*?)</script>", reply.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = reply.headers["content-security-policy"]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "connect-src 'self'" in policy
    assert "default-src 'none'" in policy
    assert "innerHTML" not in script
    seen = Page(reply.text)
    assert {"ask", "answer", "reads"} <= set(seen.values("id"))
    assert "id of author" in seen.words
    assert len(reply.content) < 1_000_000


@pytest.mark.parametrize("path", ["/", "/docs", "/models/shop", "/models/authors"])
def test_pages_ask_for_nothing_from_elsewhere(path: str, serve: Serve) -> None:
    text = serve("authors", "shop").get(path).text
    assert not re.findall(r"""(?:src|href|action)\s*=\s*["']?(?:https?:)?//""", text)
    assert "<link" not in text
    assert "@import" not in text


@pytest.mark.parametrize("path", ["/", "/docs", "/models/shop"])
def test_boxes_that_are_reached_by_keyboard_have_a_name(path: str, serve: Serve) -> None:
    boxes = re.findall(r"<div[^>]*tabindex[^>]*>", serve("authors", "shop").get(path).text)
    assert boxes
    assert all(re.search(r'aria-label="[^"]+"', box) for box in boxes)


def test_the_page_of_endpoints_names_every_one(serve: Serve) -> None:
    client = serve("authors")
    described = client.get("/openapi.json").json()
    words = Page(client.get("/docs").text).words
    for path, methods in described["paths"].items():
        for method, about in methods.items():
            assert {path, method.upper()} <= set(words.split())
            for one in about.get("parameters", ()):
                assert one["name"] in words
    assert "exclude_seen" in words


def test_the_table_has_every_run_and_why_a_folder_is_none(client: TestClient) -> None:
    seen = Page(client.get("/").text)
    for name in ("authors", "shop", "plain"):
        assert f"/runs/{name}" in seen.values("href")
    assert {"authors", "shop", "plain"} == set(seen.values("value"))
    assert "empty it has no run.json" in seen.words
    assert "link it is a link that leads out of the folder" in seen.words
    assert "half its run.json is a link that leads out of the folder" in seen.words
    assert "torn the run.json of a run folder must be JSON" in seen.words
    assert "<b>&bold it has no run.json" in seen.words
    assert "b" not in seen.tags


def test_the_button_comes_after_what_is_ticked(client: TestClient) -> None:
    (form,) = re.findall(r"<form.*?</form>", client.get("/", headers=HTML).text, re.DOTALL)
    assert form.rindex('type="checkbox"') < form.index("<button")


def test_the_list_for_programs_says_the_same(client: TestClient) -> None:
    found = {one["name"]: one for one in client.get("/runs").json()["runs"]}
    assert (found["plain"]["method"], found["plain"]["status"], found["plain"]["metric"]) == ("gcn", "done", "macro_f1")
    assert found["shop"]["scores"]["test"]["auc"] > 0
    assert found["empty"] == {"name": "empty", "reason": "it has no run.json"}


def test_a_run_is_opened_by_its_name_and_nothing_else_is(client: TestClient) -> None:
    opened = client.get("/runs/plain")
    assert "academic" in Page(opened.text).words
    assert '<a href="/">all runs</a>' in opened.text
    for name in ("..%2felsewhere", "%2fetc", "plain%2f..%2f..%2felsewhere", "plain/run.json", "%00", "no"):
        assert client.get(f"/runs/{name}").status_code == 404, name
    for name in ("link", "half", "torn", "empty"):
        assert client.get(f"/runs/{name}").status_code == 409


@pytest.mark.parametrize("name", ["..", ".", "", "plain/", "plain/../plain", "../elsewhere", "/etc", "\0"])
def test_paths_are_no_names(name: str, folder: Path) -> None:
    with pytest.raises(RefusedError, match="a run must be in the folder"):
        Shelf(folder).find(name)


def test_chosen_runs_are_compared(client: TestClient) -> None:
    seen = Page(client.get("/compare?run=plain&run=authors").text)
    assert "2 runs: the class of author" in seen.words
    mixed = client.get("/compare?run=plain&run=shop", headers=HTML)
    assert mixed.status_code == 422
    assert "runs are compared by one score of one task" in Page(mixed.text).words
    assert "two or more runs" in client.get("/compare?run=plain&run=plain").json()["error"]
    assert client.get("/compare").status_code == 422
    assert client.get("/compare?run=plain&run=link").status_code == 409


def test_a_run_that_changes_is_read_again(client: TestClient, folder: Path) -> None:
    assert {one["method"] for one in client.get("/runs").json()["runs"] if "method" in one} == {"gcn", "diffmg"}
    edit_plan(folder / "plain", method={"name": "mlp"})
    os.utime(folder / "plain" / "run.json", ns=(1, 1))
    found = {one["name"]: one.get("method") for one in client.get("/runs").json()["runs"]}
    assert found["plain"] == "mlp"
    shutil.rmtree(folder / "plain")
    assert client.get("/runs/plain").status_code == 404


def test_a_folder_that_is_gone_is_told(client: TestClient, folder: Path) -> None:
    shutil.rmtree(folder)
    reply = client.get("/runs")
    assert (reply.status_code, "must be readable" in reply.json()["error"]) == (404, True)
