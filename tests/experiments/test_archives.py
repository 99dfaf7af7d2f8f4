from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from experiments.data.archives import read_members


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.zip"


def write(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("folder", ["", "gtn-dblp/", "a/b/"])
def test_wanted_files_are_read_wherever_they_are(folder: str, path: Path) -> None:
    write(path, {f"{folder}x.pkl": b"x", f"{folder}y.pkl": b"yy", "other": b"z", "__MACOSX/._x.pkl": b"?"})
    assert read_members(path, ["x.pkl", "y.pkl"]) == {"x.pkl": b"x", "y.pkl": b"yy"}
    assert [p.name for p in path.parent.iterdir()] == ["a.zip"]


@pytest.mark.parametrize("name", ["../x.pkl", "a/../../x.pkl", "/etc/x.pkl", "..\\x.pkl", "C:/x.pkl", "c:\\x.pkl"])
def test_a_member_that_escapes_its_folder_is_refused(name: str, path: Path) -> None:
    write(path, {"x.pkl": b"x", name: b"evil"})
    with pytest.raises(DiffmgError, match=r"but got '.*x.pkl'"):
        read_members(path, ["x.pkl"])
    assert [p.name for p in path.parent.iterdir()] == ["a.zip"]


def test_a_member_that_is_a_link_is_refused(path: Path) -> None:
    link = zipfile.ZipInfo("x.pkl")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DiffmgError, match=r"must stay in their folder, but got 'x.pkl'"):
        read_members(path, ["x.pkl"])


def test_a_member_that_is_missing_is_named(path: Path) -> None:
    write(path, {"x.pkl": b"", "y.pkl/": b""})
    with pytest.raises(DiffmgError, match=r"but got \['x.pkl', 'y.pkl/'\]"):
        read_members(path, ["x.pkl", "y.pkl", "z.pkl"])


def test_a_member_that_is_there_twice_is_named(path: Path) -> None:
    write(path, {"a/x.pkl": b"1", "b/x.pkl": b"2"})
    with pytest.raises(DiffmgError, match=r"but got 'x.pkl' twice"):
        read_members(path, ["x.pkl"])


def test_an_archive_that_unpacks_to_too_much_is_refused(path: Path) -> None:
    write(path, {"x.pkl": bytes(10**6), "y.pkl": b""})
    assert path.stat().st_size < 3000
    with pytest.raises(DiffmgError, match=r"but got 1000000"):
        read_members(path, ["x.pkl", "y.pkl"], limit=10_000)
    assert read_members(path, ["y.pkl"], limit=10_000) == {"y.pkl": b""}


def test_an_archive_that_lies_about_its_size_is_refused(path: Path) -> None:
    """The directory at the end of the archive says that a million zeros are ten."""
    write(path, {"x.pkl": bytes(10**6)})
    data = path.read_bytes()
    path.write_bytes(data.replace((10**6).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(DiffmgError, match=r"zip file|must have 10 bytes"):
        read_members(path, ["x.pkl"], limit=10_000)


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "changed", "absent", "locked"])
def test_a_damaged_archive_is_named(damage: str, path: Path) -> None:
    write(path, {"x.pkl": bytes(range(256)) * 99})
    data = path.read_bytes()
    locked = bytearray(data)
    locked[data.index(b"PK\1\2") + 8] |= 1
    changes = {"empty": b"", "text": b"not a zip", "cut": data[:-9], "changed": data[:60] + b"\0" * 9 + data[69:]}
    path.write_bytes((changes | {"locked": bytes(locked)}).get(damage, data))
    if damage == "absent":
        path.unlink()
    with pytest.raises(DiffmgError, match=r"but got '.*a.zip'"):
        read_members(path, ["x.pkl"])
