"""The page `docs/gallery.md`: what each method found on a made network, and what was found on each data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.documents import fill
from diffmg.core.codec import from_plain
from diffmg.core.importance import PathImportance
from diffmg.core.metagraph import MetaGraph
from diffmg.core.method import METHODS
from diffmg.datasets import DATASETS
from diffmg.viz import draw_all
from diffmg.viz.meaning import meaning_of
from experiments import RESULTS
from experiments.cells import Cell
from experiments.gallery import DEFAULT, GALLERY, TRAININGS
from experiments.jsonl import read_lines
from experiments.steady import Line
from experiments.tables import Sheet

PAGE = "docs/gallery.md"
FITTED = 1100
"""Pictures up to this width are still readable when they are shrunk to that of a page; others scroll."""
Cells = Mapping[tuple[str, str], Cell]


def gallery_files(root: Path, searched: Cells, folder: Path = RESULTS) -> dict[Path, str]:
    """The expected content of the page and its pictures; nothing where there is no such page.

    `searched`: whole pipelines on the paper's networks, of which the default's are drawn.
    """
    page = root / PAGE
    if not page.is_file():
        return {}
    lines = [line for line in read_lines(folder / GALLERY) if "error" not in line]
    pictures = {page.parent / "figures" / name: svg for name, svg in gallery_figures(lines, searched).items()}
    return {page: fill(page.read_text(encoding="utf-8"), gallery_tables(lines, searched)), **pictures}


def gallery_tables(lines: Sequence[Line], searched: Cells) -> dict[str, Callable[[], str]]:
    """The parts of the page by name."""
    return {
        "gallery_made": partial(_shown, [line for line in lines if line["method"] == DEFAULT], "data"),
        "gallery_methods": partial(_shown, _drawn(lines), "method"),
        "gallery_rivals": partial(_rivals, [line for line in lines if not line["metagraphs"]]),
        "gallery_paper": partial(_paper, searched),
    }


def gallery_figures(lines: Sequence[Line], searched: Cells) -> dict[str, str]:
    """The pictures by file name."""
    drawn = {_file(line): draw_all(_metagraphs(line), "svg", importances=_importances(line)) for line in _all(lines)}
    return drawn | {f"gallery-{data}.svg": draw_all(c.metagraphs, "svg") for data, c in _found(searched).items()}


def _image(file: str, metagraphs: Sequence[MetaGraph], importances: Sequence[PathImportance] = ()) -> str:
    """A picture with its sentence; one that is a little too wide for the page is made to fit."""
    svg = draw_all(metagraphs, "svg", importances=importances)
    width = int(svg.partition(' width="')[2].partition('"')[0])
    fit = "{ .fit }" if width <= FITTED else ""
    return f"![{meaning_of(metagraphs, importances).sentence}](figures/{file}){fit}"


def _all(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if line["metagraphs"]]


def _drawn(lines: Sequence[Line]) -> list[Line]:
    """Lines of single methods with a meta graph."""
    return [line for line in _all(lines) if line["method"] != DEFAULT]


def _found(searched: Cells) -> dict[str, Cell]:
    return {data: cell for (row, data), cell in searched.items() if row == DEFAULT and cell.metagraphs}


def _shown(lines: Sequence[Line], by: str) -> str:
    return "\n\n".join(_section(line, line[by]) for line in lines) or _missing()


def _section(line: Line, head: str) -> str:
    """A heading, what it is, the score, the picture, and the command."""
    name = head.partition(":")[0]
    about = METHODS.get(name).summary if head == line["method"] else DATASETS.get(name).summary
    score = f"Test {line['metric']} {line['test']:.3f}, {line['seconds']:.0f} s: `{_command(line)}`"
    image = _image(_file(line), _metagraphs(line), _importances(line))
    return f"### `{name}`\n\n{_capital(about)}. {score}\n\n{image}"


def _paper(searched: Cells) -> str:
    """What the default found on the paper's networks, beside what its authors published."""
    parts = []
    for data, cell in _found(searched).items():
        scores = f"{_mean(cell.single):.1f} % of the single model, {_mean(cell.ensemble):.1f} % of the ensemble"
        score = f"Test {cell.metric}, mean over {len(cell.runs)} runs: {scores}."
        parts += [
            f"### `{data}`\n\n{_capital(DATASETS.get(data).summary)}. {score}",
            "Found by the first of these runs, a race of 300 trainings:",
            _image(f"gallery-{data}.svg", cell.metagraphs),
            "Published by the paper's authors:",
            _image(f"published-{data}.svg", _published(data)),
        ]
    return "\n\n".join(parts) or _missing()


def _rivals(lines: Sequence[Line]) -> str:
    """Methods without a meta graph: nothing to draw, but a score."""
    rows = [
        (f"[`{line['method']}`](methods.md#{line['method']})", line["data"], line["metric"], f"{line['test']:.3f}")
        for line in sorted(lines, key=lambda line: (line["data"], -line["test"]))
    ]
    return Sheet("", ("method", "data", "score", "test"), tuple(rows)).markdown() if rows else _missing()


def _mean(scores: Sequence[float]) -> float:
    return 100 * sum(scores) / len(scores)


def _metagraphs(line: Line) -> tuple[MetaGraph, ...]:
    return tuple(MetaGraph.from_dict(m) for m in line["metagraphs"]["metagraphs"])


def _published(data: str) -> tuple[MetaGraph, ...]:
    found = DATASETS.get(data)(data).published()
    return found.metagraphs if found is not None else ()


def _importances(line: Line) -> tuple[PathImportance, ...]:
    return tuple(from_plain(PathImportance, plain, "an importance") for plain in line["importances"])


def _command(line: Line) -> str:
    options = "".join(f" -o {name}={value}" for name, value in line["options"].items())
    method = f" --budget {TRAININGS}" if line["method"] == DEFAULT else f" --method {line['method']}"
    return f"diffmg fit {line['data']}{method}{options}"


def _file(line: Line) -> str:
    return f"gallery-{line['method']}-{line['data'].partition(':')[0]}.svg"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _missing() -> str:
    return "*Not run yet: `python -m experiments gallery`.*"
