"""The command that serves models, or shows the runs in a folder, over HTTP."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffmg.cli import common, output
from diffmg.cli.common import say
from diffmg.cli.use import At, Data, load_model
from diffmg.core import DiffmgError
from diffmg.core.run import RUN
from diffmg.serve.limits import Limits

if TYPE_CHECKING:
    from diffmg.serve.service import Service

WHAT = "Runs, each as FOLDER or NAME=FOLDER; or one folder that holds runs, to look at them."
HOST = "Address to listen on; any other than this machine's own lets others ask."
CHECK = "Load everything, say what would be served, and stop."
OPEN = (
    "warning: {host} is not this machine's own address: whoever can reach it can ask these models; there is no "
    "password and no encryption, so put a proxy that has both before it"
)
NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
What = Annotated[list[str], typer.Argument(metavar="RUN...", help=WHAT)]
Host = Annotated[str, typer.Option("--host", help=HOST)]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 for a free one.")]
Body = Annotated[int, typer.Option("--max-body", help="Bytes of a request.")]
Batch = Annotated[int, typer.Option("--max-batch", help="Ids of a request.")]
MaxK = Annotated[int, typer.Option("--max-k", help="Items for each user.")]
Explained = Annotated[int, typer.Option("--max-explained", help="Answers of a request that are explained.")]
Seconds = Annotated[float, typer.Option("--timeout", help="Seconds until an answer.")]
Threads = Annotated[int, typer.Option("--threads", help="Threads that compute answers.")]
Check = Annotated[bool, typer.Option("--check", help=CHECK, show_default="no")]
DEFAULT = Limits()


def serve(
    what: What,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    body: Body = DEFAULT.body,
    batch: Batch = DEFAULT.batch,
    k: MaxK = DEFAULT.k,
    explained: Explained = DEFAULT.explained,
    seconds: Seconds = DEFAULT.seconds,
    threads: Threads = DEFAULT.threads,
    data: Data = None,
    at: At = None,
    data_root: common.DataRoot = None,
    check: Check = False,
) -> output.Value:
    """Serve models over HTTP, with the report and a box to ask; or show the runs in a folder as a table."""
    _check_installed()
    from diffmg.serve.app import LOCAL, models_app, runs_app
    from diffmg.serve.listen import address_of, bound, is_loopback, listen
    from diffmg.serve.shelf import Shelf

    limits = Limits(body, batch, k, explained, seconds, threads=threads)
    hosts = (*LOCAL, host.lower()) if is_loopback(host) else ()
    folder = _folder(what)
    services = [] if folder else _services(what, limits, data, at, data_root)
    app = runs_app(Shelf(folder), limits, hosts) if folder else models_app(services, limits, hosts)
    with bound(host, port) as listener:
        address = address_of(listener)
        if not hosts:
            say(OPEN.format(host=host), common.errors)
        say(f"serving {folder or ', '.join(service.name for service in services)} at {address} (Ctrl-C stops)")
        sys.stdout.flush()
        if not check:
            listen(app, listener)
    return {"address": address, "folder": folder, "models": [service.about() for service in services]}


def _check_installed() -> None:
    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise DiffmgError(f"serving needs FastAPI and uvicorn, but got no {missing[0]}; pip install 'diffmg[serve]'")


def _folder(what: list[str]) -> Path | None:
    """The folder of runs, if one is meant: it exists and is no run itself."""
    path = Path(what[0])
    return path if len(what) == 1 and path.is_dir() and not (path / RUN).exists() else None


def _services(
    what: list[str], limits: Limits, data: str | None, at: str | None, data_root: Path | None
) -> list[Service]:
    from diffmg.serve.service import Service

    named = [_named(one) for one in what]
    names = [name for name, _ in named]
    for name in names:
        if not NAME.fullmatch(name) or names.count(name) > 1:
            raise DiffmgError(
                f"models need different names of letters, digits, dots and dashes, but got {name!r}; give NAME=RUN"
            )
    if len(named) > 1 and (data or at):
        raise DiffmgError(f"--data and --at are for a single model, but got {len(named)}: {', '.join(names)}")
    return [Service(name, load_model(path, data, data_root, at=at), path, limits) for name, path in named]


def _named(word: str) -> tuple[str, Path]:
    """A name and a run: those given, or the run alone with the name of its folder."""
    name, equals, path = word.partition("=")
    if not equals or Path(word).exists():
        return Path(word).resolve().name.removesuffix(".safetensors"), Path(word)
    return name, Path(path)
