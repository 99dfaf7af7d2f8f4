"""Reproduction of the paper's tables and figures: plans, runs, tables and claims. Not part of the wheel."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
TABLES = {
    "classification": "Macro F1 of every method on DBLP, ACM and IMDB.",
    "recommendation": "AUC of every method on Amazon, Yelp and Douban.",
    "cost": "Seconds that each search takes, beside a training.",
    "curves": "Validation AUC against training time, for DiffMG, HGT and GCN.",
    "architectures": "The meta graphs that a search finds, beside the authors'.",
    "pipelines": "Test scores of whole pipelines, searches included, from several seeds.",
    "search": "Whole pipelines by real training: one configuration for all six networks, rivals with the same budget.",
    "ranking": "`shop`, Amazon, Yelp and Douban split anew for ranking: recall, ndcg, coverage of 20 items.",
    "rel_f1": "A database with times: three tasks of drivers at moments, beside what others report.",
    "laptop": "What the default reaches on two cores of a CPU in one, three and ten minutes.",
    "ablation": "DiffMG with other exploration, on one level, and with all candidates.",
}
"""Names of the tables that have a plan file, with a description."""


def plan_path(name: str) -> Path:
    """The plan file of a table: one of the paper's, or one of our own."""
    folder = Path(__file__).parent / "plans"
    ours = folder / f"{name}.toml"
    return ours if ours.exists() else folder / f"ding2021_{name}.toml"
