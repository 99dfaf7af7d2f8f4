"""Connecting to a Ray cluster: one that is started for a race and stopped after it, or one that runs already."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from uuid import uuid4

import diffmg
from diffmg.core import DiffmgError

SCHEME = "ray://"
CONNECT_SECONDS = 5.0
"""How long an address may take to answer; Ray itself waits for minutes."""
ANSWER_SECONDS = 60.0
"""How long the nodes may take to start a first worker."""
QUIET = {"logging_level": logging.ERROR, "log_to_driver": False}
SHORT = Path("/tmp")
"""Ray's folder has to be short: it holds sockets, whose paths may have about 100 characters."""


def ray_package(name: str = "ray") -> ModuleType:
    """Ray, or a package that comes with it; imported only where it is used."""
    try:
        return import_module(name)
    except ImportError as error:
        raise DiffmgError(f"a race on Ray needs Ray, but got: {error}; pip install 'diffmg[ray]'") from error


@contextmanager
def connected(address: str | None, workers: int | None = None) -> Iterator[ModuleType]:
    """Ray, connected to the cluster at an address, or to a new one on this machine with so many workers.

    Whatever happens inside, a cluster that was started here is stopped, and a connection made here is closed. A program
    that is connected already keeps its connection.
    """
    ray = ray_package()
    if ray.is_initialized():
        if address is not None:
            raise DiffmgError(f"this program is connected to Ray already, but got {address!r}; leave the address out")
        check_nodes(ray)
        yield ray
        return
    with _started(ray, workers) if address is None else _joined(ray, address):
        check_nodes(ray)
        yield ray


@contextmanager
def _started(ray: ModuleType, workers: int | None) -> Iterator[None]:
    """A new cluster on this machine, which reports nothing to anybody and leaves no files."""
    folder = TemporaryDirectory(prefix="diffmg-", dir=SHORT if SHORT.is_dir() else None, ignore_cleanup_errors=True)
    with _environment(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_TOKEN=_token()), folder as name:
        try:
            ray.init(address="local", num_cpus=workers, include_dashboard=False, _temp_dir=name, **QUIET)
            yield
        finally:
            ray.shutdown()


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set these variables for a while, except those that are set already."""
    added = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@cache
def _token() -> str:
    """What lets this program, and nobody else, into the clusters it starts; else Ray keeps one in the home folder."""
    return uuid4().hex


@contextmanager
def _joined(ray: ModuleType, address: str) -> Iterator[None]:
    check_address(address)
    try:
        try:
            ray.init(address=address, **QUIET)
        except (ConnectionError, RuntimeError, ValueError) as error:
            first = (str(error).splitlines() or [""])[0]
            raise DiffmgError(
                f"Ray must be able to join the cluster at {address!r}, but got: {first}; one that asks for a token "
                f"needs RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
            ) from error
        yield
    finally:
        ray.shutdown()


def check_address(address: str, seconds: float = CONNECT_SECONDS) -> None:
    """Raise unless something that speaks Ray's protocol (gRPC) answers soon."""
    target = address.removeprefix(SCHEME)
    host, _, port = target.rpartition(":")
    if not host or not port.isdecimal():
        raise DiffmgError(f"a cluster's address is HOST:PORT or {SCHEME}HOST:PORT, but got {address!r}")
    grpc = ray_package("grpc")
    with grpc.insecure_channel(target, options=(("grpc.enable_http_proxy", 0),)) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=seconds)
        except grpc.FutureTimeoutError as error:
            raise DiffmgError(
                f"a Ray cluster must answer at {address!r}, but got no answer in {seconds:g} s; "
                f"start one with `ray start --head`, or use `ray` for one on this machine"
            ) from error


def check_nodes(ray: ModuleType) -> None:
    """Raise unless there are nodes to work on, and all of them have this version of the package."""

    def installed() -> str:  # sent by value, so a node without the package can answer too
        try:
            import diffmg
        except ImportError:
            return "none"
        return diffmg.__version__

    nodes = {n["NodeID"]: n["NodeManagerAddress"] for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU")}
    if not nodes:
        raise DiffmgError(f"a cluster needs a node with a CPU, but got {len(ray.nodes())} nodes without")
    pinned = ray_package("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    ask = ray.remote(installed)
    asked = [ask.options(num_cpus=0, scheduling_strategy=pinned(node, soft=True)).remote() for node in nodes]
    try:
        versions = ray.get(asked, timeout=ANSWER_SECONDS)
    except ray.exceptions.GetTimeoutError as error:
        raise DiffmgError(
            f"the nodes of a cluster must answer within {ANSWER_SECONDS:g} s, but got no answer of all of {len(nodes)}"
        ) from error
    others = [f"{v} on {where}" for where, v in zip(nodes.values(), versions, strict=True) if v != diffmg.__version__]
    if others:
        raise DiffmgError(
            f"every node must have diffmg {diffmg.__version__}, but got {', '.join(others[:3])}; "
            f"pip install diffmg=={diffmg.__version__} there"
        )
