"""Screenshots: what the browser is told, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from experiments import ROOT, screenshots
from experiments.screenshots import SHOTS, Shot, take


def browser(tmp_path: Path, size: int) -> Path:
    """A program that writes so many bytes where a screenshot is wanted, and its arguments beside it."""
    script = tmp_path / "browser"
    script.write_text(
        "#!/bin/sh\nfor word; do case $word in --screenshot=*) out=${word#--screenshot=};; esac; done\n"
        f'head -c {size} /dev/zero > "$out"\necho "$@" > "{tmp_path}/told"\n'
    )
    script.chmod(0o755)
    return script


@pytest.fixture
def report(tmp_path: Path) -> Path:
    (tmp_path / "report.html").write_text("<p>it</p>")
    return tmp_path / "report.html"


def test_the_browser_is_told_size_and_colours(tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screenshots, "browser", lambda: str(browser(tmp_path, 9)))
    assert take(report, tmp_path / "it.png", Shot(400, 900, dark=True)).stat().st_size == 9
    told = (tmp_path / "told").read_text()
    assert "--window-size=400,900" in told
    assert "--force-dark-mode" in told


def test_a_picture_that_is_too_large_is_refused(tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screenshots, "browser", lambda: str(browser(tmp_path, 150_001)))
    with pytest.raises(DiffmgError, match="150000 bytes at most, but got 150001"):
        take(report, tmp_path / "it.png", Shot(400, 900))


def test_what_is_missing_is_named(tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screenshots, "BROWSERS", ("no-such-browser",))
    with pytest.raises(DiffmgError, match="got none of no-such-browser"):
        take(report, tmp_path / "it.png", Shot(1, 1))
    with pytest.raises(DiffmgError, match=r"but got no .*nowhere"):
        take(tmp_path / "nowhere" / "report.html", tmp_path / "it.png", Shot(1, 1))


def test_those_of_the_guide_are_there_and_small() -> None:
    for name in SHOTS:
        assert 10_000 < (ROOT / "docs" / "figures" / name).stat().st_size <= screenshots.MOST_BYTES
