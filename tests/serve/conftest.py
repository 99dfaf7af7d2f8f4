from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from fastapi.testclient import TestClient

from diffmg.runs.model import Model
from diffmg.serve.app import models_app
from diffmg.serve.limits import Limits
from diffmg.serve.service import Service
from run_files import fit

HOME = "http://127.0.0.1"


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three finished runs; not to be changed."""
    folder = tmp_path_factory.mktemp("serve")
    fit(folder / "authors")
    fit(folder / "shop", "shop:160")
    fit(folder / "plain", "academic:120", "--method", "gcn", "-s", "max_epochs=2", "-s", "dim=8")
    return folder


@pytest.fixture(scope="session")
def models(runs: Path) -> dict[str, Model]:
    """The models of these runs, computed once."""
    return {name: Model.load(runs / name) for name in ("authors", "shop", "plain")}


Serve = Callable[..., TestClient]


@pytest.fixture
def serve(runs: Path, models: dict[str, Model]) -> Iterator[Serve]:
    """Clients of servers of some of the models."""
    opened: list[TestClient] = []

    def started(*names: str, **limits: float) -> TestClient:
        allowed = Limits(**limits)  # type: ignore[arg-type]
        services = [Service(name, models[name], runs / name, allowed) for name in names]
        client = TestClient(models_app(services, allowed), base_url=HOME)
        opened.append(client.__enter__())
        return client

    yield started
    for client in opened:
        client.__exit__()
