from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from run_files import fit


@pytest.fixture(scope="session")
def classified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a classification; not to be changed."""
    return fit(tmp_path_factory.mktemp("cli") / "classified")


@pytest.fixture(scope="session")
def recommended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a recommendation; not to be changed."""
    return fit(tmp_path_factory.mktemp("cli") / "recommended", "shop:160")


@pytest.fixture
def copy(classified: Path, tmp_path: Path) -> Path:
    """A finished run of a classification that may be changed."""
    return shutil.copytree(classified, tmp_path / "copy")
