"""What a served model answers: the same as the model itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from diffmg import __version__
from diffmg.core.run import metagraphs_to_dict
from diffmg.runs.model import Model
from diffmg.serve.limits import Limits
from diffmg.serve.service import SINGLE_NOTE, Service
from diffmg.serve.work import Until
from diffmg.viz import draw_all
from run_files import RACE, fit

Serve = Callable[..., TestClient]
Models = dict[str, Model]


def test_predictions_are_the_models_own(serve: Serve, models: Models) -> None:
    client, model = serve("authors"), models["authors"]
    expected = [dict(zip(model.answers().columns, row, strict=True)) for row in model.answers([3, 7, 3]).rows()]
    assert client.post("/predict", json={"ids": [3, "7", 3]}).json() == {"rows": expected}
    assert client.get("/predict", params={"id": ["3", "7", "3"]}).json() == {"rows": expected}
    assert client.post("/models/authors/predict", json={"ids": [3]}).json()["rows"] == expected[:1]


@pytest.mark.parametrize("options", [{}, {"exclude_seen": False}, {"items": [1, 4, 9]}, {"k": 100}])
def test_recommendations_are_the_models_own(options: dict[str, object], serve: Serve, models: Models) -> None:
    client, model = serve("shop"), models["shop"]
    own = model.answers([0, 5], **{"k": 10, **options})
    expected = [dict(zip(own.columns, row, strict=True)) for row in own.rows()]
    assert client.post("/recommend", json={"ids": [0, 5], **options}).json() == {"rows": expected}
    named = {"id": ["0", "5"], **{name.removesuffix("s"): value for name, value in options.items()}}
    assert client.get("/recommend", params=named).json() == {"rows": expected}


def test_a_reason_is_the_models_own(serve: Serve, models: Models) -> None:
    rows = serve("shop").get("/recommend", params={"id": "5", "k": 3, "why": True}).json()["rows"]
    assert [row["why"] for row in rows] == models["shop"].answers([5], k=3, why=True)["why"].tolist()


def test_explanations_are_the_models_own(serve: Serve, models: Models) -> None:
    (found,) = serve("authors").post("/explain", json={"ids": [3], "paths": 2}).json()["explanations"]
    (own,) = models["authors"].explain([3])
    assert (found["target"], found["id"], found["answer"]) == ("author", 3, own.answer)
    assert len(found["contributions"]) == min(2, len(own.contributions))
    for told, meant in zip(found["contributions"], own.contributions, strict=False):
        assert told["share"] == pytest.approx(meant.share)
        assert told["words"] == meant.words("author")
        assert [s["id"] for s in told["sources"]] == [s.id for s in meant.sources]
    shares = sum(c["share"] for c in found["contributions"]) + found["others"]["share"]
    assert shares == pytest.approx(1, abs=1e-4)
    assert found["others"]["count"] == len(own.contributions) - len(found["contributions"])


def test_a_pair_has_two_explanations(serve: Serve) -> None:
    client = serve("shop")
    found = client.get("/explain", params={"id": 5, "item": 7}).json()["explanations"]
    assert [(each["target"], each["id"]) for each in found] == [("user", 5), ("item", 7)]
    assert client.post("/explain", json={"ids": [5], "items": [7]}).json()["explanations"] == found
    missing = client.get("/explain", params={"id": 5})
    assert missing.status_code == 422
    assert "1 ids and 0 items" in missing.json()["error"]


def test_meta_graphs_as_json_and_as_pictures(serve: Serve, models: Models) -> None:
    client, shown = serve("authors"), models["authors"].metagraphs
    assert client.get("/metagraph").json() == json.loads(json.dumps(metagraphs_to_dict(shown)))
    picture = client.get("/metagraph", params={"format": "svg"})
    assert picture.headers["content-type"] == "image/svg+xml"
    assert picture.text.startswith("<svg")
    states = client.get("/metagraph", params={"format": "text", "view": "states"})
    assert states.text == draw_all(shown, "text", "states")
    unknown = client.get("/metagraph", params={"format": "gif"})
    assert (unknown.status_code, "Known: dot" in unknown.json()["error"]) == (422, True)


def test_what_a_model_has_no_answer_for_is_refused_with_a_reason(serve: Serve) -> None:
    client = serve("plain", "shop")
    for path, word in {
        "/models/plain/recommend?id=1": "use /predict",
        "/models/shop/predict?id=1": "use /recommend",
        "/models/plain/metagraph": "meta graph",
        "/models/plain/explain?id=1": "meta graph",
    }.items():
        reply = client.get(path)
        assert reply.status_code == 409, path
        assert word in reply.json()["error"]


def test_several_models_have_names_and_no_endpoints_at_the_root(serve: Serve) -> None:
    client = serve("authors", "shop")
    assert client.get("/models/authors/predict?id=1").status_code == 200
    assert client.get("/models/shop/recommend?id=1").status_code == 200
    for path in ("/predict?id=1", "/models/other/predict?id=1", "/models"):
        reply = client.get(path)
        assert reply.status_code == 404
        assert "Not Found" in reply.json()["error"]
    assert {'href="/models/authors"', 'href="/models/shop"'} <= set(client.get("/").text.replace(">", " ").split())


def test_health_says_what_is_served(serve: Serve) -> None:
    health = serve("authors").get("/health").json()
    assert (health["status"], health["version"]) == ("ok", __version__)
    (model,) = health["models"]
    assert (model["name"], model["verb"], model["nodes"]) == ("authors", "predict", {"author": 36})


def test_a_served_model_writes_nothing(serve: Serve, runs: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("*")}
    client = serve("authors")
    for path in ("/", "/predict?id=1", "/explain?id=1", "/metagraph?format=svg", "/docs", "/openapi.json", "/metrics"):
        assert client.get(path).status_code == 200
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("*")} == before


def test_an_ensemble_of_rivals_alone_is_explained_by_the_single_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fit(tmp_path / "race", "academic:120", *RACE)
    model, single = Model.load(run), Model.load(run / "single.safetensors")
    monkeypatch.setattr("diffmg.serve.service.has_paths", lambda _: False)
    service = Service("race", model, run, Limits())
    (found,) = service.explain([3], None, 5, 20, Until(20))["explanations"]
    assert found["answer"] == single.explain([3])[0].answer
    assert found["note"].startswith(SINGLE_NOTE)
    assert service.predict([3], Until(20))["rows"][0]["class"] == model.answers([3])["class"][0]
