"""Screenshots of a run's report by headless Chromium, for the guide: on a desk, and on a phone in the dark."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diffmg.core.errors import DiffmgError
from diffmg.core.files import make_folder
from experiments import ROOT
from experiments.trained import run_command

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
MOST_BYTES = 150_000
"""The most that a picture may have, so that it can be kept in the repository."""


@dataclass(frozen=True)
class Shot:
    """A picture of the top of a page."""

    width: int
    height: int
    dark: bool = False

    def page(self, report: Path) -> str:
        """A page that shows the report in a frame: windows cannot be as narrow as a phone."""
        style = f"border:0;width:{self.width}px;height:{self.height}px"
        return (
            f'<!doctype html><body style="margin:0"><iframe style="{style}" src="{report.resolve().as_uri()}"></iframe>'
        )

    def flags(self, out: Path, profile: str) -> list[str]:
        """What the browser is told."""
        dark = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if self.dark else []
        size = f"--window-size={self.width},{self.height}"
        return [*QUIET, *dark, size, f"--user-data-dir={profile}", f"--screenshot={out.resolve()}"]


SHOTS = {"report.png": Shot(920, 1140), "report-phone.png": Shot(400, 900, dark=True)}


def take(report: Path, out: Path, shot: Shot) -> Path:
    """Take a picture of a page."""
    if not report.is_file():
        raise DiffmgError(f"a run folder with a report is wanted, but got no {str(report)!r}; fit something first")
    with tempfile.TemporaryDirectory() as folder:
        frame = Path(folder) / "frame.html"
        frame.write_text(shot.page(report), encoding="utf-8")
        command = [browser(), *shot.flags(out, f"{folder}/profile"), frame.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    if done.returncode or not out.is_file():
        raise DiffmgError(
            f"the browser must write {str(out)!r}, but got exit code {done.returncode}: {done.stderr[-300:]}"
        )
    if (size := out.stat().st_size) > MOST_BYTES:
        raise DiffmgError(
            f"a screenshot has {MOST_BYTES} bytes at most, but got {size} in {str(out)!r}; make it smaller"
        )
    return out


def browser() -> str:
    """Chromium, by whichever name it is installed."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise DiffmgError(f"screenshots need Chromium, but got none of {', '.join(BROWSERS)}; install one")
    return found


def main(arguments: Sequence[str]) -> int:
    """Take all; returns the exit code."""
    return run_command(_run, arguments)


def _run(arguments: Sequence[str]) -> str:
    parser = ArgumentParser(prog="python -m experiments screenshots", description=__doc__)
    parser.add_argument("run", type=Path, help="a run folder, such as that of: diffmg fit academic --budget 40")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    given = parser.parse_args(arguments)
    make_folder(given.out)
    written = [take(given.run / "report.html", given.out / name, shot) for name, shot in SHOTS.items()]
    return "\n".join(f"written to {path}" for path in written)
