"""Pages read as a browser would, and runs of every task to make reports of."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from diffmg.core.details import Beside, Bin, Certainty, ClassScore, Confusion, Details, Recommended, Residuals
from diffmg.core.metagraph import MetaGraph
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.run import Candidate, Data, Run, Trained
from diffmg.core.schema import Relation

VOID = {"meta", "br", "hr", "img", "link", "input"}
METAGRAPH = MetaGraph("author", ((Relation("paper", "by", "author"),),))
CLASSES = {"train": {"x": 6, "y": 4}, "val": {"x": 3, "y": 2}, "test": {"x": 12, "y": 8}}
CURVE = ((0.0, 0.0), (0.2, 0.7), (1.0, 1.0))
BINS = (Bin(0.2, 0.1, 10), Bin(0.8, 0.9, 10))
EXAMPLE = Recommended("ann", ("lamp", "rug"), (True, False), ("lamp",), ("chair",))
DETAILS = {
    "classification": Details(
        (ClassScore("x", 0.75, 0.8, 0.775, 12), ClassScore("y", 0.5, 0.6, 0.55, 8)),
        Confusion(("x", "y"), ((10, 2), (3, 5))),
        {"roc": CURVE, "precision_recall": CURVE},
        BINS,
        "y",
    ),
    "regression": Details(
        residuals=(
            Residuals("price", ((1.0, 1.5), (2.0, 1.75)), {"2.5": -1.0, "25": -0.5, "50": 0.0, "75": 0.5, "97.5": 1.0}),
        )
    ),
    "recommendation": Details(curves={"roc": CURVE}, calibration=BINS, of="a pair being chosen", examples=(EXAMPLE,)),
    "ranking": Details(
        curves={"recall": ((1.0, 0.2), (20.0, 0.6)), "ndcg": ((1.0, 0.2), (20.0, 0.4))}, examples=(EXAMPLE,)
    ),
}
METRIC = {"classification": "macro_f1", "regression": "mae", "recommendation": "auc", "ranking": "ndcg"}


class Page(HTMLParser):
    """A page as a reader sees it; tags that are not closed in order are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag is opened."""
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag is empty."""
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        """A tag is closed: the last one that was opened."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Text that is shown."""
        if not self.open or self.open[-1] != "style":
            self.texts.append(data.strip())

    @property
    def words(self) -> str:
        """All that can be read, in one line."""
        return " ".join(" ".join(self.texts).split())

    def values(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [value or "" for key, value in self.attributes if key == name]


def run_of(task: str, **changes: Any) -> Run:
    """A finished run of a task, with everything that its report can show."""
    types = ("author",) if task in ("classification", "regression") else ("user", "item")
    metagraphs = tuple(MetaGraph(t, ((Relation("paper", "by", t),),)) for t in types)
    metric = METRIC[task]
    facts = {"nodes": {"paper": 1500, **dict.fromkeys(types, 40)}, "edges": {f"paper -by-> {t}": 99 for t in types}}
    facts["labels"] = CLASSES if task == "classification" else {"train": {"pairs": 9}, "test": {"pairs": 4}}
    values: dict[str, Any] = {
        "status": "done",
        "plan": Plan(MethodSpec("diffmg", {"depth": 1}), Source("academic:120"), seed=7),
        "data": Data(task, metric, types, "ab12cd34", {"numbers": "price"} if task == "regression" else {}, facts),
        "versions": {"diffmg": "0.2", "commit": None},
        "device": "cpu",
        "seconds": {"train-0": 1.25},
        "candidates": (Candidate(metagraphs, 0.75),),
        "trained": (Trained(0, 4, 2, {metric: 0.75}, {metric: 0.625}),),
        "certainty": Certainty(0.05, 20, types[0], 400, 0.25, "", above_chance=True),
        "details": DETAILS[task],
        "beside": (
            Beside("mlp", "features only", {metric: 0.5}, {metric: 0.5}, 0.04, 0.125, 0.05, 0.99),
            Beside("gat", "attention", refused="it reads the whole network at once"),
        ),
        "notes": ("paper.year: number", "leak: paper.field is the label of 99 % of nodes"),
    }
    return Run(**values | changes)
