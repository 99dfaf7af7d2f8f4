"""What files of others may make this program do: nothing outside of their folder, and no login to a server of theirs.

A description, a run folder or a model may come from anyone. Addresses that the user gives are trusted.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from diffmg.core.errors import DiffmgError

PASSWORD = re.compile(r"(?<=:/)(/?[^\s:/@?'\"]*):[^\s@'\"]*(?=@)")
"""After the user of an address, anywhere in a text; an address that was taken for a path has one stroke."""
SETTING = re.compile(r"(?<=[?&])([^\s=&'\"]+)=[^\s&'\"]*")
SECRETS = re.compile(r"pass|pwd|secret|token|credential", re.IGNORECASE)
"""Names of settings of an address that hold a secret, or say where one is."""
_named_by_files: set[str] = set()
_trusted: set[str] = set()
_outside: list[bool] = [False]


def server_of(address: str) -> str:
    """The server of an address: host and port, and whatever in its query names another one."""
    rest = address.partition("://")[2]
    place, _, query = rest.partition("?")
    host = unquote(place.rpartition("@")[2].partition("/")[0]).lower()
    other = [f"{n}={v}" for n, v in sorted(parse_qsl(query)) if n.lower() in ("host", "hostaddr", "port", "service")]
    return "&".join([host, *other])


def named_by_file(address: str | None) -> None:
    """Remember that a file named this address, so it gets no password before the user has named it too."""
    if address is not None and "://" in address:
        _named_by_files.add(server_of(address))


def named_by_user(address: str) -> None:
    """Let the server of an address that the user gave have the user's password; files and names are no servers."""
    if "://" in address:
        _trusted.add(server_of(address))


def trust_server(server: str) -> None:
    """Let a server, HOST or HOST:PORT, have the user's password."""
    _trusted.add(server.lower())


def check_server(address: str) -> None:
    """Raise if connecting would give PGPASSWORD to a server that only a file has named."""
    server = server_of(address)
    known = [name for name in ("PGPASSWORD", "PGSERVICE") if os.environ.get(name)]
    if server in _named_by_files - _trusted and (known or "service=" in server):
        raise DiffmgError(
            f"your password ({' and '.join(known) or 'of a service'}) goes only to servers that you name yourself, but "
            f"got {server!r} from a file; if you trust it: diffmg --trust-server '{server}' ..."
        )


def allow_outside(allowed: bool = True) -> None:
    """Let descriptions name files outside of their folder."""
    _outside[0] = allowed


def check_inside(name: str, folder: Path) -> None:
    """Raise if a file that a description names is outside of the description's folder."""
    if "\0" in name:
        raise DiffmgError(f"the name of a file has no zero character, but got {name!r}")
    place, root = (folder / name).resolve(), folder.resolve()
    if not _outside[0] and not place.is_relative_to(root):
        raise DiffmgError(
            f"a description names files inside its own folder {str(root)!r}, but got {name!r}; move it there, or allow "
            "it: diffmg --allow-outside ..."
        )


def without_secrets(text: str) -> str:
    """A text in which the passwords of addresses, and settings of theirs that hold a secret, are starred out."""
    text = PASSWORD.sub(r"\1:***", text)
    return SETTING.sub(lambda found: f"{found[1]}=***" if is_secret(found[1]) else found[0], text)


def is_secret(name: str) -> bool:
    """Whether a setting of an address holds a secret, by its name."""
    return SECRETS.search(unquote(name)) is not None
