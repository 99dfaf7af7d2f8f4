from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.training import Quiet
from experiments import parallel
from experiments.parallel import MakeWatch, Task, do_all


@pytest.fixture
def _in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of tasks is the same in threads, which start at once."""
    monkeypatch.setattr(parallel, "_pool", ThreadPoolExecutor)


def leave(path: Path, watch: MakeWatch) -> list[str]:
    """Work that leaves a file and tells which were there before."""
    watch("auc")
    before = sorted(p.name for p in path.parent.iterdir())
    path.write_text("", encoding="utf-8")
    return before


def fail(_watch: MakeWatch) -> None:
    raise ValueError("cannot")


def quiet(_name: str, _metric: str) -> Quiet:
    return Quiet()


def number_of_process(_watch: MakeWatch) -> int:
    return os.getpid()


def test_several_jobs_are_processes() -> None:
    ((_, number),) = do_all([Task("it", number_of_process)], 2, quiet)
    assert number != os.getpid()


def test_who_watches_is_asked_by_name_and_metric(tmp_path: Path) -> None:
    asked = []

    def watch(name: str, metric: str) -> Quiet:
        asked.append((name, metric))
        return Quiet()

    assert list(do_all([Task("it", partial(leave, tmp_path / "1"))], 1, watch)) == [("it", [])]
    assert asked == [("it", "auc")]


@pytest.mark.usefixtures("_in_threads")
def test_one_that_fails_leaves_the_others(tmp_path: Path) -> None:
    tasks = [Task("bad", fail), Task("good", partial(leave, tmp_path / "good"))]
    done = []
    with pytest.raises(DiffmgError, match="1 failed: bad: cannot"):
        done.extend(do_all(tasks, 2, quiet))
    assert done == [("good", [])]
    assert [p.name for p in tmp_path.iterdir()] == ["good"]


def test_one_by_one_the_first_that_fails_ends_it(tmp_path: Path) -> None:
    tasks = [Task("bad", fail), Task("good", partial(leave, tmp_path / "good"))]
    with pytest.raises(ValueError, match="cannot"):
        list(do_all(tasks, 1, quiet))
    assert not list(tmp_path.iterdir())


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    monkeypatch.setattr(parallel.torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(parallel.torch, "set_num_threads", threads.append)
    for jobs in (2, 3, 20):
        parallel.share_cores(jobs)
    assert threads == [4, 2, 1]
