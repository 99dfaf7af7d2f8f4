"""How to repeat a run: the command, the settings, and where everything came from."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote

from diffmg.core import Run
from diffmg.core.codec import to_plain
from diffmg.viz.report.html import Section, code, folded, paragraph, table, text
from diffmg.viz.report.words import duration

HIDDEN = ("metagraphs", "members")
"""Options that are meta graphs, which are drawn, or models."""


def again(run: Run, folder: Path) -> Section:
    """The command, and what it depends on."""
    name = quote(folder.name or "RUN")
    command = f"diffmg repeat {name} --out {name}-again"
    note = "from its run.json alone; same data, device and versions give the same numbers"
    body = f"<pre><code>{text(command)}</code></pre>" + paragraph(
        f"In the folder that holds {name}, {note}.", kind="note"
    )
    if not run.plan.source.name:
        body = paragraph(
            "The network was built in Python: repeat it there, with the plan in ",
            code("run.json"),
            "; the hash of the data below tells whether they are the same.",
        )
    return Section("again", "How do I repeat it?", body + _what(run) + _settings(run) + _provenance(run), "Repeat")


def _what(run: Run) -> str:
    plan = run.plan
    options = ", ".join(f"{k} = {v}" for k, v in plan.method.options.items() if k not in HIDDEN)
    trainings = len(run.trained) if run.spent is None else run.spent.trainings
    how = f"method {plan.method.name}" + (f" ({options})" if options else "")
    return paragraph(f"{run.status}: {how}, {trainings} training(s), chosen by validation {run.metric}.")


def _settings(run: Run) -> str:
    plan = to_plain(run.plan)
    rows = [[key, _plain(value)] for key, value in plan["settings"].items()]
    rows += [[key, _plain(plan[key])] for key in plan if key not in ("settings", "method", "source")]
    return folded("settings", table(["setting", "value"], rows, "The plan of the run", left=2))


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _provenance(run: Run) -> str:
    rows: list[list[object]] = [
        ["data", run.plan.source.name or "from Python"],
        ["hash of the data", code(run.data.hash)],
    ]
    rows += [["seed", run.plan.seed], ["device", run.device]]
    rows += [[f"version of {k}", v] for k, v in run.versions.items()]
    rows += [[f"time, {phase}", duration(seconds)] for phase, seconds in run.seconds.items()]
    rows += [[f"sha256 of {name}", code(digest)] for name, digest in run.files.items()]
    return folded("provenance: versions, times, hashes", table([], rows, "Where it comes from", left=2))
