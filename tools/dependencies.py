"""`python -m tools.dependencies`: licences of what is installed, a software bill of materials, the lock file."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Annotated, Any

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
APART = ("torch",)
"""What is installed apart, by the builds for this or that card: neither locked nor tried in its lowest version."""
HEAD = """\
# Everything that development needs, torch apart, as tested: for Linux on x86-64 with Python {version}.
# Written by `make lock`. Install with: pip install torch; pip install --no-deps --require-hashes -r {name}
"""
LOCK = ROOT / "requirements-dev.lock"
app = typer.Typer(help="Look after what the package depends on.", add_completion=False, no_args_is_help=True)
Extras = Annotated[list[str] | None, typer.Option("--extra", help="An extra of the package. May be repeated.")]


@dataclass(frozen=True)
class Package:
    """A package that is installed."""

    name: str
    version: str
    licence: str


def requirements(extras: Sequence[str] = ()) -> list[Requirement]:
    """What `pyproject.toml` asks for, with some of its extras; those may name others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = [Requirement(line) for line in project["dependencies"]]
    for extra in extras:
        for asked in map(Requirement, project["optional-dependencies"][extra]):
            found += requirements(sorted(asked.extras)) if asked.name == project["name"] else [asked]
    return list({str(asked): asked for asked in found}.values())


def installed(extras: Sequence[str] = ()) -> list[Package]:
    """All packages that are installed because of this one, by name."""
    found: dict[str, Package] = {}
    waiting = requirements(extras)
    seen: set[str] = set()
    while waiting:
        asked = waiting.pop()
        if str(asked) in seen or not _applies(asked, ""):
            continue
        seen.add(str(asked))
        try:
            about = distribution(asked.name)
        except PackageNotFoundError:
            continue
        found[canonicalize_name(asked.name)] = Package(about.name, about.version, licence_of(about))
        waiting += _asked_by(about, asked.extras)
    return [found[name] for name in sorted(found)]


def _asked_by(about: Distribution, extras: set[str]) -> Iterator[Requirement]:
    for asked in map(Requirement, about.requires or ()):
        if any(_applies(asked, extra) for extra in ("", *extras)):
            asked.marker = None
            yield asked


def _applies(asked: Requirement, extra: str) -> bool:
    return asked.marker is None or asked.marker.evaluate({"extra": extra})


def licence_of(about: Distribution) -> str:
    """The licence that a package declares, in a few words."""
    meta = about.metadata
    kinds = [c.rsplit(" :: ", 1)[-1] for c in meta.get_all("Classifier") or () if c.startswith("License ::")]
    plain = (meta.get("License") or "").strip().split("\n")[0]
    return meta.get("License-Expression") or ", ".join(kinds) or plain[:60] or "not declared"


def bill(packages: Sequence[Package]) -> dict[str, Any]:
    """A bill of materials in CycloneDX's format."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = {"type": "library", "name": project["name"], "version": project["version"]}
    parts = [
        {
            "type": "library",
            "name": one.name,
            "version": one.version,
            "purl": f"pkg:pypi/{canonicalize_name(one.name)}@{one.version}",
            "licenses": [{"license": {"name": one.licence}}],
        }
        for one in packages
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own},
        "components": parts,
    }


@app.command()
def licences(extra: Extras = None) -> None:
    """List the licences of all that is installed because of this package."""
    for one in installed(extra or ()):
        typer.echo(f"{one.name:28} {one.version:16} {one.licence}")


@app.command()
def bom(
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("bom.json"), extra: Extras = None
) -> None:
    """Write a software bill of materials (CycloneDX, JSON)."""
    out.write_text(json.dumps(bill(installed(extra or ())), indent=1) + "\n", encoding="utf-8")
    typer.echo(f"written to {out}")


@app.command()
def lock() -> None:
    """Write the lock file: the versions that are installed here, with the hashes of their files."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        packages = installed(("dev", "docs"))
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
        wanted = [f"{one.name}=={one.version}" for one in packages if canonicalize_name(one.name) not in APART]
        subprocess.run([*pip, "--report", str(report), *wanted], check=True)
        LOCK.write_text(locked(json.loads(report.read_text(encoding="utf-8"))), encoding="utf-8")
    typer.echo(f"written to {LOCK.name}")


def locked(report: dict[str, Any]) -> str:
    """The text of a lock file from a report of pip."""
    lines = []
    for one in report["install"]:
        name, digest = (
            canonicalize_name(one["metadata"]["name"]),
            one["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        lines.append(f"{name}=={one['metadata']['version']} --hash=sha256:{digest}\n")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return HEAD.format(version=version, name=LOCK.name) + "".join(sorted(lines))


if __name__ == "__main__":
    app()
