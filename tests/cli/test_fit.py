from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from diffmg.core.metagraph import MetaGraph
from diffmg.core.run import metagraphs_to_dict
from diffmg.core.schema import Relation
from run_files import TINY, content, diffmg, fit, read, refused

TINY_TRAIN = ("-s", "max_epochs=3", "-s", "dim=8")


def test_the_same_command_gives_the_same_files_and_shows_what_came_out(classified: Path, tmp_path: Path) -> None:
    answer = diffmg("fit", "academic:120", "--out", tmp_path / "run", *TINY)
    assert answer.code == 0
    assert content(tmp_path / "run") == content(classified)
    assert "author (own features)" in answer.out
    assert f"{read(classified)['scores']['test']['macro_f1']:.4f}" in answer.out
    assert f"run folder: {tmp_path / 'run'}\n" in answer.out
    assert "search-0" in answer.err


def test_options_and_settings_are_in_the_plan(tmp_path: Path) -> None:
    arguments = ["--method", "diffmg", "-o", "epochs=1", "-o", "coin=tower", "--depth", 2]
    arguments += ["-s", "max_epochs=1", "-s", "patience=null"]
    arguments += ["--search-seeds", 1, "--repeats", 1, "--seed", 5, "--data-seed", 6, "--device", "cpu"]
    plan = read(fit(tmp_path / "run", "academic:120", *arguments))["plan"]
    options = {"epochs": 1, "coin": "tower", "depth": 2, "search_seeds": 1}
    assert plan["method"] == {"name": "diffmg", "options": options}
    assert (plan["settings"]["max_epochs"], plan["settings"]["patience"]) == (1, None)
    assert (plan["source"]["name"], plan["source"]["seed"]) == ("academic:120", 6)
    assert (plan["repeats"], plan["seed"], plan["device"]) == (1, 5, "cpu")


@pytest.mark.parametrize("data", ["academic:120", "shop:160"])
def test_a_baseline_is_trained_instead_of_a_meta_graph(data: str, tmp_path: Path) -> None:
    options = ("--method", "gcn", "-o", "layers=1", "--repeats", 2)
    answer = diffmg("fit", data, *options, "--out", tmp_path / "run", *TINY_TRAIN)
    run = read(tmp_path / "run")
    assert answer.code == 0
    assert run["plan"]["method"] == {"name": "gcn", "options": {"layers": 1}}
    assert (run["status"], [c["metagraphs"] for c in run["candidates"]], len(run["trained"])) == ("done", [[]], 2)
    assert f"{run['scores']['test'][run['data']['metric']]:.4f}" in answer.out
    assert f"run folder: {tmp_path / 'run'}\n" in answer.out
    assert "meta graph" not in answer.out
    assert "search" not in answer.err
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "history.jsonl",
        "model.safetensors",
        "report.html",
        "run.json",
    ]


def test_options_of_a_baseline_and_the_seed_change_the_run(tmp_path: Path) -> None:
    same, again, other, seed = (
        content(fit(tmp_path / str(n), "academic:120", "--method", "gcn", *given, *TINY_TRAIN))
        for n, given in enumerate([(), (), ("-o", "layers=3"), ("--seed", 1)])
    )
    assert same == again
    assert len({run["model.safetensors"] for run in (same, other, seed)}) == 3


def write(path: Path, *metagraphs: MetaGraph) -> Path:
    path.write_text(json.dumps(metagraphs_to_dict(metagraphs)))
    return path


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (["--method", "features", "--seed", "3"], "runs/academic-120-features-seed3"),
        (["--metagraph", "m.json"], "runs/academic-120-given-seed0"),
        (["--method", "gcn", "--seed", "2"], "runs/academic-120-gcn-seed2"),
    ],
    ids=["search", "given", "baseline"],
)
def test_a_folder_is_named_after_what_is_done(
    arguments: list[str], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("m.json"), MetaGraph.features_only("author"))
    assert diffmg("fit", "academic:120", *arguments, *TINY_TRAIN).code == 0
    assert read(Path(folder))["status"] == "done"


SIZE = "a data set is written NAME or NAME:SIZE with a whole number of nodes, but got"
BAD_DATA = {
    "acadmic": "unknown data set 'acadmic'; did you mean 'academic'?",
    "academic:abc": SIZE,
    "academic:inf": SIZE,
    "academic:1.5": SIZE,
    "academic:10": "`size >= 80` must hold for made data, but got size=10",
    "dblp:100": "only made data sets have a size, but got dblp:100",
    "yelp:100": "only made data sets have a size, but got yelp:100",
    "academic:120 --data-seed -1": "seed",
    "academic:120 --target author.field": "own tables",
    "gone.toml": "a description must exist, but got no file at",
}
BAD_OPTIONS = {
    "--method difmg": "unknown method 'difmg'; did you mean 'diffmg'?",
    "--method metapth2vec": "unknown method 'metapth2vec'; did you mean 'metapath2vec'?",
    "--method diffmg -o epoch=3": "unknown option of method 'diffmg': 'epoch'; did you mean 'epochs'?",
    "--method random -o epochs=3": "unknown option of method 'random': 'epochs'",
    "--method gcn -o layer=3": "unknown option of method 'gcn': 'layer'; did you mean 'layers'?",
    "--method features --search-seeds 2": "unknown option of method 'features': 'search_seeds'",
    "--method everything -o search_seeds=2": "unknown option of method 'everything': 'search_seeds'",
    "-o epochs": "an option is written KEY=VALUE, but got 'epochs'",
    "--method diffmg -o epochs=0": "`epochs >= 1` must hold, but got epochs=0",
    "--method diffmg -o epochs=abc": "epochs: must be a whole number, but got 'abc'",
    "--method diffmg -o coin=heads": "coin: must be one of 'link', 'tower', but got 'heads'",
    "--depth 0": "`1 <= depth <= 64` must hold, but got depth=0",
    "--method diffmg --search-seeds 0": "`search_seeds >= 1` must hold, but got search_seeds=0",
    "--method gcn -o layers=0": "`layers >= 1` must hold, but got layers=0",
    "--method gcn -o layers=two": "layers: must be a whole number, but got 'two'",
    "--method popularity": "'popularity' serves 2 target types, but got a task on author",
    "--method magnn -s dim=9 -o heads=3": "must be even",
}
BAD_SETTINGS = {
    "-s max_epoch=3": "unknown option of the settings: 'max_epoch'; did you mean 'max_epochs'?",
    "-s dim=0": "`dim >= 1` must hold, but got dim=0",
    "-s dim=abc": "`dim` must be a whole number, but got dim='abc'",
    "-s =3": "an option is written KEY=VALUE, but got '=3'",
    "--repeats 0": "`repeats >= 1` must hold, but got repeats=0",
    "--device gpu": "unknown device 'gpu'",
}
BAD_METAGRAPHS = {
    "--metagraph gone.json": "a meta graph file must exist, but got no file at 'gone.json'",
    "--metagraph text.json": "a meta graph file must be JSON, but got 'text.json'",
    "--metagraph .": "a meta graph file must be a file that can be read, but got '.'",
    "--metagraph misspelt.json": (
        "unknown relation 'paper -writen_by-> author'; did you mean 'paper -written_by-> author'?"
    ),
    "--metagraph venue.json": "the task needs one meta graph for each of ['author'], but got ['venue']",
    "--method given": "the task needs one meta graph for each of ['author'], but got []",
    "--metagraph published": "'published' needs a data set of the paper, but got 'academic:120'",
    "--metagraph venue.json --method gcn": "--metagraph is trained as it is, but got --method 'gcn' too",
    "--metagraph author.json -o epochs=3": "'epochs'",
    "--metagraph author.json --depth 3": "'depth'",
}
BAD_INPUT = BAD_DATA | {
    f"academic:120 {arguments}": words
    for arguments, words in {
        **BAD_OPTIONS,
        **BAD_SETTINGS,
        **BAD_METAGRAPHS,
        **{f"--method {m} -o heads=7": "and heads=7;" for m in ("gat", "han", "hgt", "magnn", "simple_hgn")},
    }.items()
}
BAD_PATHS = [
    ("han", "author -> actor -> author", "unknown node type 'actor'; did you mean 'author'?"),
    ("magnn", "author -> venue -> author", "follow relations of the network, but got 'author -> venue'"),
    ("metapath2vec", "paper -> author -> paper", "start and end at the same target type, one of ['author']"),
]


@pytest.mark.parametrize("arguments", BAD_INPUT)
def test_bad_input_is_named_and_leaves_no_folder(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.json").write_text("this is not JSON")
    write(Path("misspelt.json"), MetaGraph("author", ((Relation("paper", "writen_by", "author"),),)))
    write(Path("venue.json"), MetaGraph.features_only("venue"))
    write(Path("author.json"), MetaGraph.features_only("author"))
    before = sorted(tmp_path.iterdir())
    assert BAD_INPUT[arguments] in refused("fit", *arguments.split(), "--out", "new/run")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(("method", "path", "words"), BAD_PATHS)
def test_a_bad_meta_path_is_named_and_leaves_no_folder(method: str, path: str, words: str, tmp_path: Path) -> None:
    arguments = ("fit", "academic:120", "--method", method, "-o", f'paths=["{path}"]')
    assert words in refused(*arguments, "--out", tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_cuda_without_a_gpu_is_named_and_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    answer = refused("fit", "academic:120", "--device", "cuda", "--out", tmp_path / "run")
    assert "device 'cuda' needs a GPU" in answer
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["fit", "given", "repeat"])
def test_a_folder_that_exists_is_not_written_over(command: str, classified: Path) -> None:
    before = content(classified)
    arguments = {
        "fit": ("fit", "academic:120"),
        "given": ("fit", "academic:120", "--metagraph", classified / "metagraph.json"),
        "repeat": ("repeat", classified),
    }[command]
    words = refused(*arguments, "--out", classified)
    assert f"a run needs a new or empty folder, but got '{classified}', which exists already" in words
    assert content(classified) == before


def test_a_folder_that_cannot_be_made_is_named() -> None:
    assert "could not write '/proc/run'" in refused("fit", "academic:120", "--out", "/proc/run", *TINY)


@pytest.mark.parametrize("name", ["dblp", "yelp"])
def test_data_that_is_not_there_is_missing(name: str, tmp_path: Path) -> None:
    answer = diffmg("fit", name, "--metagraph", "published", "--data-root", tmp_path, "--out", tmp_path / "run")
    assert answer.code == 3
    assert "must be under --data-root, DIFFMG_DATA or the user's cache, but got none in" in answer.err
    assert str(tmp_path) in answer.err
    assert not list(tmp_path.iterdir())
