"""A few hundred fuzzed inputs: refused in one clear message, or right by every oracle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzz.__main__ import rendered
from fuzz.campaign import Done, campaign, counts, run_one
from fuzz.case import GOOD, Case, Result
from fuzz.faults import MUTANTS
from fuzz.inputs import INPUTS, generator
from fuzz.mutants import find
from fuzz.running import run_case
from fuzz.telling import PAGE, RESULTS

pytest.importorskip("duckdb")
BLOCK = 8
BLOCKS = dict.fromkeys(INPUTS, 2) | dict.fromkeys(("descriptions", "metagraphs", "questions", "command_lines"), 4)
"""Blocks of cases for each input; quick ones have more."""
QUICK_MUTANTS = ("two ids change places", "the last edge is lost", "a question counts a day too many")


@pytest.mark.parametrize("block", [f"{name} {n}" for name, count in BLOCKS.items() for n in range(count)])
def test_fuzzed_inputs(block: str, tmp_path: Path) -> None:
    name, number = block.split()
    failed = {}
    for seed in range(BLOCK * int(number), BLOCK * (int(number) + 1)):
        result = run_one(name, seed, tmp_path)
        if result.outcome not in GOOD:
            failed[seed] = f"{result.outcome}: {result.detail}"
    assert not failed


@pytest.mark.parametrize("name", INPUTS)
def test_a_seed_gives_the_same_case_every_time(name: str) -> None:
    one, other = generator(name)(5), generator(name)(5)
    assert one.what == other.what
    assert [step for step in one.steps if isinstance(step, tuple)] == [s for s in other.steps if isinstance(s, tuple)]
    text = [file for file in one.files if file.endswith((".csv", ".toml", ".json"))]
    assert all(one.files[file] == other.files[file] for file in text)


@pytest.mark.parametrize("fault", QUICK_MUTANTS)
def test_oracles_find_a_fault(fault: str) -> None:
    (mutant,) = (m for m in MUTANTS if m.fault == fault)
    assert find(mutant, 20) is not None


def test_outcomes(tmp_path: Path) -> None:
    """What a case does is told apart."""

    def endless() -> None:
        while True:
            pass

    def greedy() -> None:
        bytearray(2**36)

    def wrong() -> None:
        raise KeyError("x")

    steps = {"hang": endless, "memory": greedy, "traceback": wrong}
    for outcome, step in steps.items():
        assert run_case(Case("", {}, (step,)), tmp_path / outcome, seconds=0.3).outcome == outcome
    assert run_case(Case("", {}, (("list",),)), tmp_path / "ok").outcome == "ok"
    assert run_case(Case("", {}, (("show", "none"),)), tmp_path / "refused").outcome == "refused"
    assert run_case(Case("", {}, (), lambda _: ["odd"]), tmp_path / "wrong").outcome == "silent wrong"


def test_a_refused_command_leaves_nothing(tmp_path: Path) -> None:
    def half_done() -> None:
        from diffmg.core import DiffmgError

        Path("half").mkdir()
        raise DiffmgError("`x` must hold, but got y")

    result = run_case(Case("", {}, (half_done,)), tmp_path / "case")
    assert result == Result("silent wrong", "a refused command changed ['half']", result.seconds)


@pytest.mark.slow
def test_a_campaign_counts_every_case(tmp_path: Path) -> None:
    done = [*campaign(len(INPUTS), tmp_path, workers=1)]
    assert sorted(one.input for one in done) == sorted(INPUTS)
    assert sum(map(sum, (found.values() for found in counts(done).values()))) == len(INPUTS)


def test_counts() -> None:
    found = counts([Done("routes", 0, Result("ok")), Done("routes", 1, Result("hang"))])
    assert (found["routes"]["ok"], found["routes"]["hang"], found["reuse"]["ok"]) == (1, 1, 0)


def test_the_page_shows_the_committed_tables() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert rendered(page) == page
    found = json.loads((RESULTS / "mutants.json").read_text(encoding="utf-8"))["mutants"]
    assert [row["fault"] for row in found] == [mutant.fault for mutant in MUTANTS]
    assert all(row["input"] for row in found)
