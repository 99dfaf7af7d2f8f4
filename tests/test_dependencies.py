from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.dependencies import APART, LOCK, ROOT, bill, installed, locked, requirements

EVERYTHING = requirements(("dev", "docs"))


def pinned(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [re.match(r"([\w.-]+)==([\w.+]+)", line) for line in lines]
    return {canonicalize_name(match[1]): match[2] for match in found if match}


def bound(asked: Requirement, operator: str) -> Version | None:
    return next((Version(s.version) for s in asked.specifier if s.operator == operator), None)


@pytest.mark.parametrize("asked", EVERYTHING, ids=str)
def test_every_dependency_has_two_bounds(asked: Requirement) -> None:
    low, high = bound(asked, ">="), bound(asked, "<")
    assert low is not None
    assert high is not None
    assert low < high


def test_the_lowest_versions_are_the_lower_bounds() -> None:
    lowest = pinned("constraints-lowest.txt")
    named = {canonicalize_name(asked.name): asked for asked in EVERYTHING}
    for name, version in lowest.items():
        if name in named and name not in APART:
            assert bound(named[name], ">=") == Version(version), name
    core = {canonicalize_name(asked.name) for asked in requirements(("pyg", "sql", "ray", "lightgbm", "study"))}
    assert core <= {*lowest}


def test_the_lock_holds_what_is_asked_for() -> None:
    found = pinned(LOCK.name)
    for asked in EVERYTHING:
        name = canonicalize_name(asked.name)
        if name not in APART:
            assert asked.specifier.contains(found[name]), asked
    lines = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)


def test_a_lock_is_written_from_a_report() -> None:
    archive = {"archive_info": {"hashes": {"sha256": "ab" * 32}}}
    report = {"install": [{"metadata": {"name": "Some_Name", "version": "1.2"}, "download_info": archive}]}
    assert locked(report).splitlines()[-1] == f"some-name==1.2 --hash=sha256:{'ab' * 32}"


def test_the_bill_names_every_package_with_its_licence() -> None:
    found = bill(installed())
    parts = {part["name"].lower(): part for part in found["components"]}
    assert {"torch", "numpy", "safetensors", "markdown-it-py"} <= {*parts}, "those that dependencies ask for, too"
    assert "pytest" not in parts
    assert parts["safetensors"]["purl"] == f"pkg:pypi/safetensors@{parts['safetensors']['version']}"
    assert "BSD" in parts["numpy"]["licenses"][0]["license"]["name"]
