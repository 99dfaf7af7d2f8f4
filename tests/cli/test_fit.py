from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from diffmg.core.metagraph import MetaGraph
from diffmg.core.run import metagraphs_to_dict
from diffmg.core.schema import Relation
from run_files import TINY, content, diffmg, fit, read

LONG = ("--search-seeds", 2, "--repeats", 2, "--save-every", 0, "-o", "epochs=40", "-s", "max_epochs=40")
"""Arguments of a fit that lasts long enough for a signal to hit it; it has five phases."""
DATA = "academic:400"
SLOWLY = Path(__file__).parent.parent / "slowly.py"
TINY_TRAIN = ("-s", "max_epochs=3", "-s", "dim=8")


def test_the_same_command_gives_the_same_files(classified: Path, tmp_path: Path) -> None:
    assert content(fit(tmp_path / "run")) == content(classified)


def test_fit_shows_meta_graph_scores_and_folder(tmp_path: Path) -> None:
    answer = diffmg("fit", "academic:120", "--out", tmp_path / "run", *TINY)
    run = read(tmp_path / "run")
    assert "meta graph for 'author', 4 states" in answer.out
    assert f"{run['scores']['test']['macro_f1']['mean']:.4f}" in answer.out
    assert f"run folder: {tmp_path / 'run'}\n" in answer.out
    assert "search-0" in answer.err


def test_options_and_settings_are_in_the_plan(tmp_path: Path) -> None:
    arguments = ["-o", "epochs=1", "-o", "coin=tower", "-s", "max_epochs=1", "-s", "patience=null", "--depth", 2]
    arguments += ["--search-seeds", 1, "--repeats", 1, "--seed", 5, "--data-seed", 6, "--device", "cpu"]
    plan = read(fit(tmp_path / "run", "academic:120", *arguments))["plan"]
    assert plan["strategy_options"] == {"epochs": 1, "coin": "tower"}
    assert (plan["train"]["max_epochs"], plan["train"]["patience"]) == (1, None)
    assert (plan["depth"], plan["seed"], plan["data_seed"], plan["device"]) == (2, 5, 6, "cpu")


@pytest.mark.parametrize("data", ["academic:120", "shop:160"])
def test_a_baseline_is_trained_instead_of_a_meta_graph(data: str, tmp_path: Path) -> None:
    options = ("--baseline", "gcn", "--baseline-option", "layers=1", "--repeats", 2)
    answer = diffmg("fit", data, *options, "--out", tmp_path / "run", *TINY_TRAIN)
    run = read(tmp_path / "run")
    assert answer.code == 0
    assert (run["plan"]["baseline"], run["plan"]["baseline_options"]) == ("gcn", {"layers": 1})
    assert (run["status"], run["candidates"], len(run["trained"])) == ("done", [], 2)
    assert json.loads((tmp_path / "run" / "metagraph.json").read_text()) == {"metagraphs": []}
    assert f"{run['scores']['test'][run['metric']]['mean']:.4f}" in answer.out
    assert f"run folder: {tmp_path / 'run'}\n" in answer.out
    assert "meta graph" not in answer.out
    assert "search" not in answer.err
    assert (tmp_path / "run" / "report.html").exists()


def test_options_of_a_baseline_and_the_seed_change_the_run(tmp_path: Path) -> None:
    same, again, other, seed = (
        content(fit(tmp_path / str(n), "academic:120", "--baseline", "gcn", *given, *TINY_TRAIN))
        for n, given in enumerate([(), (), ("--baseline-option", "layers=3"), ("--seed", 1)])
    )
    assert same == again
    assert len({run["model.safetensors"] for run in (same, other, seed)}) == 3


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        (["fit", "academic:120", "--strategy", "features", "--seed", "3"], "runs/academic-120-features-seed3"),
        (["train", "academic:120", "--metagraph", "m.json"], "runs/academic-120-given-seed0"),
        (["fit", "academic:120", "--baseline", "gcn", "--seed", "2"], "runs/academic-120-gcn-seed2"),
    ],
    ids=["fit", "train", "baseline"],
)
def test_a_folder_is_named_after_what_is_done(
    command: list[str], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.json").write_text(json.dumps(MetaGraph.features_only("author").to_dict()))
    assert diffmg(*command, *TINY_TRAIN).code == 0
    assert read(Path(folder))["status"] == "done"


def bad(path: Path, *metagraphs: MetaGraph) -> Path:
    path.write_text(json.dumps(metagraphs_to_dict(metagraphs)))
    return path


MISSPELT = MetaGraph("author", ((Relation("paper", "writen_by", "author"),),))
BAD_INPUT = [
    (["fit", "acadmic"], "unknown data set 'acadmic'; did you mean 'academic'?"),
    (["fit", "academic:abc"], "a data set is written NAME or NAME:SIZE with a whole number of nodes, but got"),
    (["fit", "academic:inf"], "a data set is written NAME or NAME:SIZE with a whole number of nodes, but got"),
    (["fit", "academic:1.5"], "a data set is written NAME or NAME:SIZE with a whole number of nodes, but got"),
    (["fit", "academic:10"], "`size >= 80` must hold for made data, but got size=10"),
    (["fit", "dblp:100"], "only made data sets have a size, but got dblp:100"),
    (["fit", "yelp:100"], "only made data sets have a size, but got yelp:100"),
    (["fit", "academic:120", "--strategy", "difmg"], "unknown strategy 'difmg'; did you mean 'diffmg'?"),
    (["fit", "academic:120", "-o", "epoch=3"], "unknown option of strategy 'diffmg': 'epoch'; did you mean 'epochs'?"),
    (
        ["fit", "academic:120", "--strategy", "random", "-o", "epochs=3"],
        "option of strategy 'random': 'epochs'",
    ),
    (["fit", "academic:120", "-o", "epochs"], "an option is written KEY=VALUE, but got 'epochs'"),
    (["fit", "academic:120", "-o", "epochs=0"], "`epochs >= 1` must hold"),
    (["fit", "academic:120", "-o", "epochs=abc"], "epochs"),
    (["fit", "academic:120", "-o", "coin=heads"], "`coin` must be one of 'link', 'tower', but got coin='heads'"),
    (["fit", "academic:120", "-s", "max_epoch=3"], "unknown training setting 'max_epoch'; did you mean 'max_epochs'?"),
    (["fit", "academic:120", "-s", "dim=0"], "`dim >= 1` must hold"),
    (["fit", "academic:120", "-s", "dim=abc"], "dim"),
    (["fit", "academic:120", "-s", "=3"], "an option is written KEY=VALUE, but got '=3'"),
    (["fit", "academic:120", "--depth", "0"], "`depth >= 1` must hold (K, the number of states), but got depth=0"),
    (["fit", "academic:120", "--search-seeds", "0"], "`search_seeds >= 1` must hold, but got search_seeds=0"),
    (["fit", "academic:120", "--repeats", "0"], "`repeats >= 1` must hold, but got repeats=0"),
    (["fit", "academic:120", "--data-seed", "-1"], "seed"),
    (["fit", "academic:120", "--device", "gpu"], "unknown device 'gpu'"),
    (
        ["fit", "academic:120", "--metagraph", "gone.json"],
        "a meta graph file must exist, but got no file at 'gone.json'",
    ),
    (["fit", "academic:120", "--metagraph", "text.json"], "a meta graph file must be JSON, but got 'text.json'"),
    (["fit", "academic:120", "--metagraph", "."], "a meta graph file must be a file, but got the folder '.'"),
    (
        ["fit", "academic:120", "--metagraph", "misspelt.json"],
        "unknown relation 'paper -writen_by-> author'; did you mean 'paper -written_by-> author'?",
    ),
    (
        ["train", "academic:120", "--metagraph", "venue.json"],
        "the task needs one meta graph for each of ['author'], but got ['venue']",
    ),
    (
        ["train", "academic:120", "--metagraph", "published"],
        "'published' needs a data set of the paper, but got 'academic:120'; give a meta graph file",
    ),
    (
        ["fit", "academic:120", "--baseline", "metapth2vec"],
        "unknown baseline 'metapth2vec'; did you mean 'metapath2vec'?",
    ),
    (
        ["fit", "academic:120", "--baseline", "gcn", "--baseline-option", "layer=3"],
        "unknown option of baseline 'gcn': 'layer'; did you mean 'layers'?",
    ),
    (
        ["fit", "academic:120", "--baseline", "gcn", "--baseline-option", "layers=0"],
        "`layers >= 1` must hold",
    ),
    (
        ["fit", "academic:120", "--baseline", "gcn", "--baseline-option", "layers=two"],
        "`layers` must be a whole number, but got layers='two'",
    ),
    (
        ["fit", "academic:120", "--baseline", "gcn", "--baseline-option", "layers"],
        "an option is written KEY=VALUE, but got 'layers'",
    ),
    (
        ["fit", "academic:120", "--baseline", "popularity"],
        "'popularity' can do Recommendation, but got NodeClassification; see `diffmg list`",
    ),
    *(
        (["fit", "academic:120", "--baseline", method, "--baseline-option", f"heads={heads}"], f"and heads={heads};")
        for method in ("gat", "han", "hgt", "magnn", "simple_hgn")
        for heads in (7, 128)
    ),
    *(
        (["fit", "academic:120", "--baseline", method, "--baseline-option", f'paths=["{path}"]'], words)
        for method in ("han", "magnn", "metapath2vec")
        for path, words in {
            "author -> actor -> author": "unknown node type 'actor'; did you mean 'author'?",
            "author -> venue -> author": "a meta path must follow relations of the network, but got 'author -> venue'",
            "paper -> author -> paper": "a meta path must start and end at the same target type, one of ['author']",
        }.items()
    ),
    (["fit", "academic:120", "--baseline", "magnn", "-s", "dim=9", "--baseline-option", "heads=3"], "must be even"),
    (
        ["fit", "academic:120", "--baseline", "gcn", "--metagraph", "venue.json"],
        "a baseline has no meta graph, but got 'gcn' and 1 of them",
    ),
    (["search", "academic:120", "--depth", "0"], "`depth >= 1` must hold"),
    (["search", "acadmic"], "unknown data set 'acadmic'; did you mean 'academic'?"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD_INPUT, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_bad_input_is_named(arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.json").write_text("this is not JSON")
    bad(Path("misspelt.json"), MISSPELT)
    bad(Path("venue.json"), MetaGraph.features_only("venue"))
    answer = diffmg(*arguments, "--out", "run")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert words in answer.err
    assert not Path("run").exists()


def test_cuda_without_a_gpu_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    answer = diffmg("fit", "academic:120", "--device", "cuda", "--out", tmp_path / "run")
    assert answer.code == 2
    assert "error: device 'cuda' needs a GPU" in answer.err
    assert fit(tmp_path / "run").is_dir()


@pytest.mark.parametrize(
    "command", [["fit", "academic:120"], ["train", "academic:120", "--metagraph", "M"], ["repeat"]]
)
def test_a_folder_that_exists_is_not_written_over(command: list[str], classified: Path) -> None:
    if command == ["repeat"]:
        command = ["repeat", str(classified)]
    before = content(classified)
    answer = diffmg(*(str(classified / "metagraph.json") if c == "M" else c for c in command), "--out", classified)
    assert answer.code == 2
    assert f"a run needs a new or empty folder, but got '{classified}', which exists already" in answer.err
    assert content(classified) == before


def test_a_folder_that_cannot_be_made_is_named() -> None:
    answer = diffmg("fit", "academic:120", "--out", "/proc/run", *TINY)
    assert answer.code == 2
    assert "could not write '/proc/run'" in answer.err


@pytest.mark.parametrize("name", ["dblp", "acm", "imdb", "amazon", "yelp", "douban"])
def test_data_that_is_not_there_is_missing(name: str, tmp_path: Path) -> None:
    answer = diffmg("fit", name, "--metagraph", "published", "--data-root", tmp_path, "--out", tmp_path / "run")
    assert answer.code == 3
    assert "must be under --data-root, DIFFMG_DATA or the user's cache, but got none in" in answer.err
    assert str(tmp_path) in answer.err
