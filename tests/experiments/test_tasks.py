from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.reproduction.tasks import Task, do_all
from diffmg.training import Quiet


def leave(path: Path, text: str, watch) -> None:
    """Work that leaves a file, after one that must be there."""
    watch("auc")
    path.write_text(text + "".join(p.name for p in sorted(path.parent.iterdir())), encoding="utf-8")


def fail(_watch) -> None:
    raise ValueError("cannot")


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_comes_after_another_finds_it_done(tmp_path: Path, jobs: int) -> None:
    tasks = [
        Task("first", partial(leave, tmp_path / "1", "")),
        Task("second", partial(leave, tmp_path / "2", "sees "), after="first"),
    ]
    assert list(do_all(tasks, jobs, lambda _name, _metric: Quiet())) == ["first", "second"]
    assert (tmp_path / "2").read_text(encoding="utf-8") == "sees 1"


def test_who_watches_is_asked_by_name_and_metric(tmp_path: Path) -> None:
    asked = []

    def watch(name: str, metric: str) -> Quiet:
        asked.append((name, metric))
        return Quiet()

    assert list(do_all([Task("it", partial(leave, tmp_path / "1", ""))], 1, watch)) == ["it"]
    assert asked == [("it", "auc")]


def test_one_that_fails_stops_only_what_comes_after_it(tmp_path: Path) -> None:
    tasks = [
        Task("bad", fail),
        Task("never", partial(leave, tmp_path / "never", ""), after="bad"),
        Task("good", partial(leave, tmp_path / "good", "")),
    ]
    done = []
    with pytest.raises(DiffmgError, match="what does not need them is done and kept, but 1 failed: bad: cannot"):
        done.extend(do_all(tasks, 2, lambda _name, _metric: Quiet()))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["good"]


def test_one_by_one_the_first_that_fails_ends_it(tmp_path: Path) -> None:
    tasks = [Task("bad", fail), Task("good", partial(leave, tmp_path / "good", ""))]
    with pytest.raises(ValueError, match="cannot"):
        list(do_all(tasks, 1, lambda _name, _metric: Quiet()))
    assert not list(tmp_path.iterdir())
