from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError, MissingDataError
from experiments.data import fetch as fetching
from experiments.data.fetch import Patience, Remote, address_of, fetch
from loopback import Site, serve

CONTENT = bytes(range(256)) * 4000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
QUICK = Patience(timeout=0.2, tries=3, pause=0.01)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serve({"a file.dat": CONTENT}) as found:
        yield found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.dat"


def get(
    site: Site, path: Path, *, sha256: str | None = None, size: int | None = None, name: str = "a file.dat"
) -> list:
    """Fetch the file; returns what the watch was told."""
    told: list[tuple[int, int | None]] = []
    remote = Remote(address_of(site.base, name), sha256 or hashlib.sha256(CONTENT).hexdigest(), size)
    fetch(remote, path, QUICK, lambda done, total: told.append((done, total)))
    return told


def part_of(path: Path) -> Path:
    return path.with_name("file.dat.part")


def test_a_file_is_fetched_and_progress_is_told(site: Site, path: Path) -> None:
    told = get(site, path)
    assert path.read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert os.listdir(path.parent) == ["file.dat"]  # noqa: PTH208


def test_a_file_that_is_there_is_not_fetched_again(site: Site, path: Path) -> None:
    path.write_bytes(CONTENT)
    assert get(site, path) == []
    assert site.asked == []


def test_a_file_that_is_there_but_altered_is_fetched(site: Site, path: Path) -> None:
    path.write_bytes(CONTENT[:-1])
    get(site, path)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("fault", ["cut", "stall", "slow", "drop", "503", "429"])
def test_a_broken_or_slow_answer_is_asked_for_again(fault: str, site: Site, path: Path) -> None:
    site.faults = [fault]
    get(site, path)
    assert path.read_bytes() == CONTENT
    assert len(site.asked) == 2


@pytest.mark.parametrize("fault", ["cut", "stall"])
def test_what_broke_off_is_continued(fault: str, site: Site, path: Path) -> None:
    site.faults = [fault]
    told = get(site, path)
    half = len(CONTENT) // 2
    assert [span for _, span in site.asked] == [None, f"bytes={half}-"]
    assert told[-1] == (len(CONTENT), len(CONTENT))


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(site: Site, path: Path) -> None:
    site.faults = ["cut", "503", "503"]
    with pytest.raises(MissingDataError, match=r"could not fetch .* in 3 tries: .*503.*try"):
        get(site, path)
    assert not path.exists()
    assert part_of(path).read_bytes() == CONTENT[: len(CONTENT) // 2]
    get(site, path)
    assert site.asked[-1][1] == f"bytes={len(CONTENT) // 2}-"
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("fault", ["slow", "drop"])
def test_a_server_that_never_answers_is_given_up(fault: str, site: Site, path: Path) -> None:
    site.faults = [fault] * 3
    start = time.monotonic()
    with pytest.raises(MissingDataError, match=r"could not fetch .* in 3 tries"):
        get(site, path)
    assert time.monotonic() - start < 5
    assert not path.exists()


def test_nobody_at_the_address_is_named(path: Path) -> None:
    with serve({}) as gone:
        pass
    with pytest.raises(MissingDataError, match=r"could not fetch"):
        get(gone, path)


def test_a_file_that_is_not_there_is_named_at_once(site: Site, path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"but got the answer 404 .*--base"):
        get(site, path, name="other.dat")
    assert len(site.asked) == 1


def test_an_altered_file_is_refused_and_not_kept(site: Site, path: Path) -> None:
    site.files = {"a file.dat": CONTENT[:-1] + b"!"}
    with pytest.raises(DiffmgError, match=r"but got [0-9a-f]{64}: it was altered"):
        get(site, path)
    assert list(path.parent.iterdir()) == []


def test_a_part_of_another_file_is_dropped(site: Site, path: Path) -> None:
    part_of(path).write_bytes(b"something else")
    get(site, path)
    assert path.read_bytes() == CONTENT
    assert [span for _, span in site.asked] == ["bytes=14-", None]


def test_a_part_that_is_too_long_is_dropped(site: Site, path: Path) -> None:
    part_of(path).write_bytes(CONTENT + b"more")
    get(site, path)
    assert path.read_bytes() == CONTENT


def test_a_part_that_is_whole_is_accepted(site: Site, path: Path) -> None:
    """The transfer ended, and the program before it could look."""
    part_of(path).write_bytes(CONTENT)
    get(site, path)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("fault", ["whole", "shift"])
def test_a_server_that_cannot_continue_sends_everything(fault: str, site: Site, path: Path) -> None:
    part_of(path).write_bytes(CONTENT[:100])
    site.faults = [fault]
    get(site, path)
    assert path.read_bytes() == CONTENT


def test_an_answer_without_a_length_is_taken_as_it_is(site: Site, path: Path) -> None:
    site.faults = ["nameless"]
    assert get(site, path)[-1] == (len(CONTENT), None)
    assert path.read_bytes() == CONTENT


def test_an_answer_without_end_is_cut(site: Site, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "LIMIT", 1000)
    with pytest.raises(DiffmgError, match=r"but got more; it was not kept"):
        get(site, path)
    assert list(path.parent.iterdir()) == []


def test_a_known_size_is_a_limit(site: Site, path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"'file.dat' must have 99 bytes or less"):
        get(site, path, size=99)


def test_a_place_that_is_not_writable_is_named(site: Site, path: Path) -> None:
    part_of(path).mkdir()
    with pytest.raises(DiffmgError, match=r"could not write '.*file.dat.part': Is a"):
        get(site, path)
    assert len(site.asked) == 1


def test_a_full_disk_is_named_and_not_tried_again(site: Site, path: Path) -> None:
    part_of(path).symlink_to("/dev/full")
    with pytest.raises(DiffmgError, match=r"could not write '.*file.dat.part': No space"):
        get(site, path)
    assert len(site.asked) == 1


@pytest.mark.parametrize("step", ["replace", "unlink"])
def test_a_file_that_cannot_be_put_in_place_is_named(
    step: str, site: Site, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, step, refuse)
    with pytest.raises(DiffmgError, match=r"could not write '.*file.dat': Permission"):
        get(site, path, sha256="0" * 64 if step == "unlink" else SHA256)


@pytest.mark.parametrize("base", ["", "example.org", "ftp://example.org", "file:///data", "http://"])
def test_an_address_of_another_kind_is_refused(base: str) -> None:
    with pytest.raises(DiffmgError, match=r"a base address must start with http:// or"):
        address_of(base, "a")


def test_addresses_are_escaped_and_slashes_do_not_double() -> None:
    assert address_of("http://host/data/", "a/b", "1f", "Douban Movie/x?.dat") == (
        "http://host/data/a/b/1f/Douban%20Movie/x%3F.dat"
    )
