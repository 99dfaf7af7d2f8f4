"""Meta graph files: links and operations that are wrong, many states, odd names, damaged JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from diffmg.core.metagraph import links_of
from fuzz import odd
from fuzz.case import Answer, Case, all_done
from fuzz.damage import damaged
from fuzz.library import library
from fuzz.oracles import QUICK, RUN
from fuzz.writers import NET, as_csv

RELATIONS = (
    ["author", "wrote", "paper"],
    ["paper", "rev_wrote", "author"],
    ["paper", "in", "venue"],
    ["author", "knows", "author"],
)


def cases(seed: int) -> Case:
    """A meta graph that is drawn in all forms, and sometimes trained."""
    rng = Random(f"metagraph {seed}")
    graph, word = _made(rng), "valid"
    if rng.random() < 0.8:
        word = _mutate(graph, rng)
    data = json.dumps({"format": 1, "metagraphs": [graph]} if rng.random() < 0.9 else graph).encode("utf-8", "replace")
    if rng.random() < 0.25:
        data, word = damaged(data, rng)
    form = rng.choice(("text", "dot", "mermaid", "svg"))
    show = ("show", "m.json", "--format", form)
    if rng.random() < 0.3:
        files, _ = as_csv(library(rng))
        fit = ("fit", NET, "--metagraph", "m.json", *QUICK, "--out", RUN)
        return Case(word, {**files, "m.json": data}, (fit, ("show", RUN), ("report", RUN)), terminal=rng.random() < 0.3)
    steps = (show, (*show, "--out", "drawn"))
    return Case(f"{word} as {form}", {"m.json": data}, steps, _drawn, terminal=rng.random() < 0.3)


def _made(rng: Random) -> dict[str, Any]:
    """A valid meta graph of up to eight states; some of eighteen states have too many paths to list."""
    depth = rng.choice((1, 2, 2, 3, 4, 8, 18))
    choices = [*RELATIONS, "identity", "empty"]
    links = {str(link): rng.sample(choices, rng.choice((1, 1, 2))) for link in links_of(depth)}
    return {"target": "author", "links": links}


def _mutate(graph: dict[str, Any], rng: Random) -> str:
    links = graph["links"]
    link = rng.choice([*links])
    kind: Callable[[], None] = rng.choice(
        (
            lambda: graph.update(target=odd.plain(rng)),
            lambda: graph.update(target=odd.name(rng)),
            lambda: graph.update(links=odd.plain(rng)),
            lambda: links.pop(link),
            lambda: links.update({link: odd.plain(rng)}),
            lambda: links.update({link: [["author", odd.name(rng), "author"]]}),
            lambda: links.update({link: [[odd.name(rng), "r", odd.plain(rng)]]}),
            lambda: links.update(
                {rng.choice(("9999<-0", "1<-1", "0<-0", "1<-²", "x", "", "9" * 5000 + "<-0")): ["empty"]}
            ),
            lambda: graph.update({odd.name(rng): odd.plain(rng)}),
            lambda: links.update({link: ["identity", "identity"]}),
        )
    )
    kind()
    return "one thing wrong"


def _drawn(answers: Sequence[Answer]) -> Iterator[str]:
    if all_done(answers) and not answers[0].out.strip():
        yield "an empty drawing"
