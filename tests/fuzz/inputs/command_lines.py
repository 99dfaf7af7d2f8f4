"""Command lines: any options with any values, on made data and files."""

from __future__ import annotations

from random import Random

from fuzz import odd
from fuzz.case import Case
from fuzz.library import library
from fuzz.oracles import QUICK, RUN
from fuzz.writers import NET, as_csv

DATA = ("academic:60", "shop:60", "academic:0", "academic:-1", "academic:x", "academic:1e400", "academic:nan", "shop@x", "acm", "no",
        NET, "none.toml", ".", "/", "", "authors.csv", "postgresql://user:secret@127.0.0.1:1/x", "sqlite:///x", "net.toml@1")  # fmt: skip
COMMANDS = ("fit", "describe", "plan", "export", "datasets", "show", "score", "predict", "recommend", "report", "resume", "repeat",
            "list", "ask", "demo", "explain", "serve", "fti", "")  # fmt: skip
OPTIONS = ("--seed", "--depth", "--search-seeds", "--repeats", "--batch", "--budget", "--refit", "--metagraph", "--target", "--task",
           "--label", "--metric", "--by", "--as-of", "--on-unknown", "--data-seed", "--save-every", "-s", "-o", "--engine",
           "--device", "--method", "--id", "-k", "--at", "--format", "--data")  # fmt: skip
KEYS = ("max_epochs", "dim", "lr", "patience", "dropout", "weight_decay", "depth", "epochs", "x", "", "activation", "norm", "fused")
BIG = ("1000000000", "99999999999999999999", "1e9")
"""Sizes that would be planned, not tried."""


def cases(seed: int) -> Case:
    """A command with one to three options, most of them odd."""
    rng = Random(f"command {seed}")
    files, _ = as_csv(library(rng))
    command, data = rng.choice(COMMANDS[:4] * 3 + COMMANDS), rng.choice(DATA[:2] * 3 + DATA)
    words = [command, *([data] if rng.random() < 0.95 else [])]
    if command == "fit":
        words += ["--method", rng.choice(("mlp", "mlp", "random", "diffmg", "gcn", "features", "popularity")), *QUICK]
        words += ["--out", rng.choice((RUN, RUN, RUN, "authors.csv", "no/such/folder/run", ""))]
    elif command == "plan" and rng.random() < 0.5:
        words[1:] = [f"academic:{rng.choice(BIG)}"]
    elif command == "export":
        words.append(rng.choice(("exported", "exported", "authors.csv", ".")))
    for _ in range(rng.randint(0, 3) if command == "fit" else rng.randint(0, 2)):
        words += [(option := rng.choice(OPTIONS)), _value(option, rng)]
    return Case(" ".join(words)[:200], files, (tuple(words),), terminal=rng.random() < 0.2)


def _value(option: str, rng: Random) -> str:
    if option in ("-s", "-o", "--engine"):
        key = rng.choice(KEYS)
        small = ("0", "-1", "1", "2", "nan", "inf", "null", "true", "[]", "x", "", "0.5", "1e400", "9" * 400, "[" * 3000)
        return f"{key}={rng.choice(small)}"
    if option in ("--depth", "--search-seeds", "--repeats", "--batch", "-k"):
        return rng.choice(("0", "-1", "1", "2", "x", "", "99999999999999999999", "1.5"))
    if option == "--budget":
        return rng.choice(("0", "-1", "1", "x", "0s", "nan", "inf s", "1e400s", "s", "", "-5m"))
    if option in ("--as-of", "--by"):
        return f"{rng.choice(('authors.age', 'time', 'split', 'horizon', 'x', ''))}={rng.choice(odd.DATES + odd.PERIODS)}"
    return _shellable(rng.choice((odd.name(rng), rng.choice(odd.NUMBERS), rng.choice(odd.DATES))))


def _shellable(text: str) -> str:
    """No argument of a process holds a zero byte."""
    return text.replace("\x00", "0")
