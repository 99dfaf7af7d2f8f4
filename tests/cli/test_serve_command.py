"""The command `serve`: what it takes, what it says, and a server in another process."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from run_files import diffmg, refused

CHECK = ("--check", "--port", "0")


def test_a_single_model_has_the_name_of_its_folder(classified: Path) -> None:
    answer = diffmg("serve", classified, *CHECK, "--json")
    found = json.loads(answer.out)
    assert [model["name"] for model in found["models"]] == ["classified"]
    assert found["folder"] is None
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", found["address"])
    assert "serving classified at http://127.0.0.1:" in answer.err


def test_several_models_by_name(classified: Path, recommended: Path) -> None:
    found = json.loads(diffmg("serve", f"a={classified}", f"b={recommended}", *CHECK, "--json").out)
    assert [(model["name"], model["verb"]) for model in found["models"]] == [("a", "predict"), ("b", "recommend")]


def test_a_folder_with_an_equals_sign_is_a_folder(classified: Path, tmp_path: Path) -> None:
    run = shutil.copytree(classified, tmp_path / "x=y")
    assert "letters, digits, dots and dashes, but got 'x=y'" in refused("serve", run, *CHECK)
    assert diffmg("serve", f"name={run}", *CHECK).code == 0


def test_a_model_file_is_served_too(classified: Path) -> None:
    found = json.loads(diffmg("serve", classified / "model.safetensors", *CHECK, "--json").out)
    assert [model["name"] for model in found["models"]] == ["model"]


def test_a_folder_of_runs(classified: Path) -> None:
    found = json.loads(diffmg("serve", classified.parent, *CHECK, "--json").out)
    assert (found["folder"], found["models"]) == (str(classified.parent), [])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a=RUN", "a=RUN"], "different names"),
        (["a/b=RUN"], "letters, digits"),
        (["RUN", "b=RUN", "--data", "x"], "single model"),
        (["RUN", "--max-k", "0"], "`k >= 1` must hold, but got k=0"),
        (["RUN", "--timeout", "0"], "`seconds > 0` must hold"),
        (["RUN/nothing"], "a model must be"),
        (["RUN", "--host", "192.0.2.1"], "that are free, but got 192.0.2.1"),
    ],
)
def test_what_cannot_be_served_is_told(arguments: list[str], told: str, classified: Path) -> None:
    given = [word.replace("RUN", str(classified)) for word in arguments]
    answer = diffmg("serve", *given, *CHECK)
    assert answer.code == 2
    assert told in answer.err


def test_a_port_in_use_is_told(classified: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert f"127.0.0.1:{port}" in refused("serve", classified, "--check", "--port", port)


def test_any_other_address_than_this_machines_own_is_told_loudly(classified: Path) -> None:
    answer = diffmg("serve", classified, "--host", "0.0.0.0", *CHECK)
    assert answer.code == 0
    assert "warning: 0.0.0.0 is not this machine's own address" in answer.err
    assert "warning" not in diffmg("serve", classified, "--host", "localhost", *CHECK).err


def test_without_the_extra_it_says_what_to_install(classified: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffmg.cli.serve.find_spec", lambda name: None if name == "uvicorn" else name)
    assert "got no uvicorn; pip install 'diffmg[serve]'" in refused("serve", classified, *CHECK)


@pytest.mark.slow
def test_a_server_answers_until_it_is_interrupted(classified: Path) -> None:
    words = [sys.executable, "-m", "diffmg", "serve", str(classified), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = re.search(r"http://\S+", process.stdout.readline())[0]
        with urllib.request.urlopen(f"{address}predict?id=3", timeout=20) as reply:
            (row,) = json.load(reply)["rows"]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert row["author"] == 3
    assert process.returncode in (0, 130)
    assert "Traceback" not in err
