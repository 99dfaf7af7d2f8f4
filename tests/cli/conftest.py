from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from diffmg.datasets import load_dataset
from diffmg.tables.export import export_tables
from run_files import fit


@pytest.fixture(scope="session")
def classified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a classification; not to be changed."""
    return fit(tmp_path_factory.mktemp("cli") / "classified")


@pytest.fixture(scope="session")
def recommended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a recommendation; not to be changed."""
    return fit(tmp_path_factory.mktemp("cli") / "recommended", "shop:160")


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network and the task of `classified` as a folder of tables; not to be changed."""
    return export_tables(load_dataset("academic:120"), tmp_path_factory.mktemp("cli") / "tables").parent


@pytest.fixture
def copy(classified: Path, tmp_path: Path) -> Path:
    """A finished run of a classification that may be changed."""
    return shutil.copytree(classified, tmp_path / "copy")


@pytest.fixture
def tables(exported: Path, tmp_path: Path) -> Path:
    """A folder of tables that may be changed."""
    return shutil.copytree(exported, tmp_path / "tables")
