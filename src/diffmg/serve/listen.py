"""Listening: a socket of our own, so that a port in use is told in words, and uvicorn on it."""

from __future__ import annotations

import ipaddress
import socket

import uvicorn
from fastapi import FastAPI

from diffmg.core import DiffmgError


def bound(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        raise DiffmgError(
            f"a server needs an address and a port that are free, but got {host}:{port}: {error}; choose another --port"
        ) from error


def address_of(listener: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(app: FastAPI, listener: socket.socket) -> None:
    """Answer until Ctrl-C."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=15)
    uvicorn.Server(config).run(sockets=[listener])
