"""Command lines: any options with any values, on made data and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from fuzz import odd
from fuzz.case import Answer, Case
from fuzz.library import library
from fuzz.oracles import QUICK, RUN, finite_scores
from fuzz.writers import NET, as_csv

GOOD = ("academic:80", "shop:80", NET)
BAD = (
    "academic:0", "academic:-1", "academic:x", "academic:1e400", "academic:nan", "shop@x", "acm", "no", "none.toml",
    ".", "/", "", "authors.csv", "postgresql://user:secret@127.0.0.1:1/x", "sqlite:///x", "net.toml@1",
    "academic:99999999999",
)  # fmt: skip
SOURCE = ("--target", "--as-of", "--on-unknown", "--data-seed", "--data-root")
TIMED = ("--task", "--label", "--metric", "--by")
PLANNED = ("-s", "-o", "--engine", "--device", "--method", "--depth")
OPTIONS = {
    "fit": (
        "--seed", "--search-seeds", "--repeats", "--batch", "--budget", "--refit", "--metagraph", "--save-every",
        "--single", *SOURCE, *TIMED, *PLANNED, *PLANNED,
    ),
    "describe": ("--target", "--as-of", "--out", *TIMED),
    "plan": (*SOURCE, *PLANNED),
    "export": SOURCE,
    "datasets": ("--data-root",),
    "show": ("--format", "--out"),
    "predict": ("--id", "--at", "--data", "--out"),
    "recommend": ("--id", "-k", "--data", "--out"),
    "list": (),
    "fti": ("--seed",),
}  # fmt: skip
KEYS = (
    "max_epochs", "dim", "lr", "patience", "dropout", "weight_decay", "depth", "epochs", "x", "", "activation", "norm",
    "fused",
)  # fmt: skip
SMALL = (
    "0", "-1", "1", "2", "nan", "inf", "null", "true", "[]", "x", "", "0.5", "1e400", "9" * 400, "[" * 3000,
)  # fmt: skip
COUNTS = ("0", "-1", "1", "2", "x", "", "99999999999999999999", "1.5")
SPENT = ("0", "-1", "1", "x", "0s", "nan", "inf s", "1e400s", "s", "", "-5m")


def cases(seed: int) -> Case:
    """A command with up to three options, most of them odd."""
    rng = Random(f"command {seed}")
    files, _ = as_csv(library(rng))
    command = rng.choice(("fit", "fit", "fit", "describe", "plan", "plan", *OPTIONS))
    words = [command, *([rng.choice(GOOD if rng.random() < 0.75 else BAD)] if rng.random() < 0.95 else [])]
    if command == "fit":
        words += ["--method", rng.choice(("mlp", "mlp", "random", "diffmg", "gcn", "features", "popularity")), *QUICK]
        words += ["-o", "epochs=1"] if "diffmg" in words else []
        words += ["--out", RUN if rng.random() < 0.9 else rng.choice(("authors.csv", "no/such/run", ""))]
    elif command == "export":
        words.append(rng.choice(("exported", "exported", "authors.csv", ".")))
    for _ in range(rng.choice((0, 1, 1, 2))):
        if OPTIONS[command]:
            option = rng.choice(OPTIONS[command])
            words += [option] if option == "--single" else [option, _value(option, rng)]
    return Case(" ".join(words)[:200], files, (tuple(words),), _told, terminal=rng.random() < 0.2)


def _value(option: str, rng: Random) -> str:
    if option in ("-s", "-o", "--engine"):
        return f"{rng.choice(KEYS)}={rng.choice(SMALL)}"
    if option in ("--depth", "--search-seeds", "--repeats", "--batch", "-k"):
        return rng.choice(COUNTS)
    if option == "--budget":
        return rng.choice(SPENT)
    if option in ("--as-of", "--by"):
        return (
            f"{rng.choice(('authors.age', 'time', 'split', 'horizon', 'x', ''))}={rng.choice(odd.DATES + odd.PERIODS)}"
        )
    text = rng.choice((odd.name(rng), rng.choice(odd.NUMBERS), rng.choice(odd.DATES)))
    return text.replace("\x00", "0")  # no argument of a process holds a zero byte


def _told(answers: Sequence[Answer]) -> Iterator[str]:
    """A password is never shown; what was fitted has scores."""
    if any("secret" in answer.out + answer.err for answer in answers):
        yield "a password is shown"
    if answers[-1].code == 0 and "run folder: run\n" in answers[-1].out:
        yield from finite_scores(answers)
