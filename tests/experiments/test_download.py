from __future__ import annotations

import errno
import gzip
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.schema import Relation
from diffmg.datasets import Card, Dataset, load_dataset
from diffmg.datasets.gtn import GtnDataset
from diffmg.datasets.hin import HinDataset
from diffmg.tasks.ratings import Ratings
from experiments.data.convert import authors_split, convert
from experiments.data.digest import content_digest, file_digest
from experiments.data.download import download, download_dataset
from experiments.data.fetch import Patience
from experiments.data.verify import verify_files
from loopback import Site, serve
from originals import archive, hin_originals, tiny_gtn
from real_data import needs_data

QUICK = Patience(timeout=0.3, tries=2, pause=0.01)
SHAPE = (6, 5)
RATED = [(u, i, 1 + (3 * u + 2 * i) % 5) for u in range(6) for i in range(5) if (u + i) % 3]
TEXT = "".join(f"{u}\t{i}\t{s}\t99\n" for u, i, s in RATED).encode()
BRANDS = b"0,0\n1,1\n2,0\n3,1\n4,0\n"
ZIP = archive(tiny_gtn(), folder="tiny/")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Small(Dataset):
    """A data set with a card of its own."""

    made: tuple[dict[str, Any], ...]
    summary = "small"

    def card(self) -> Card:
        return Card("", "", "", "", (), {}, {}, {}, "some/repository", "c0ffee", files=self.made)


def expected(folder: Path) -> tuple[str, str]:
    """Content of the two files that are computed."""
    (folder / "gtn tiny.zip").write_bytes(ZIP)
    convert(TinyGtn("tiny"), {"": folder / "gtn tiny.zip"}, folder)
    ratings = Ratings.build([r[:2] for r in RATED], [r[2] for r in RATED], SHAPE)
    np.savez(folder / "split.npz", **authors_split(ratings, (3, 4)))
    return content_digest(folder / "Tiny/graph.npz"), content_digest(folder / "split.npz")


class TinyGtn(Small, GtnDataset):
    folder = "Tiny"
    relations = (Relation("author", "PA", "paper"), Relation("paper", "AP", "author"))
    target = "author"
    classes = ("0", "1")


class TinyHin(Small, HinDataset):
    folder = "Rated"
    first_id = 0
    num_nodes: ClassVar = {"user": 6, "item": 5, "brand": 2}
    user, item = "user", "item"
    ratings, seeds = "user_item.dat.gz", (3, 4)
    observed = ("UI", "IU")
    files = ()


@pytest.fixture(autouse=True)
def cards(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, split = expected(tmp_path_factory.mktemp("expected"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    zipped = {"path": "gtn tiny.zip", "sha256": sha256(ZIP)}
    TinyGtn.made = ({"name": "Tiny/graph.npz", "sha256": "0" * 64, "content": graph, "original": zipped},)
    texts = {"user_item.dat": TEXT, "item_brand.dat": BRANDS}
    originals = {name: {"path": f"A B/{name}", "sha256": sha256(d), "size": len(d)} for name, d in texts.items()}
    TinyHin.made = (
        *({"name": f"Rated/{name}.gz", "sha256": "0" * 64, "original": one} for name, one in originals.items()),
        {"name": "Rated/split.npz", "sha256": "0" * 64, "content": split},
    )


@pytest.fixture
def site() -> Iterator[Site]:
    top = "some/repository/c0ffee"
    files = {"gtn tiny.zip": ZIP, "A B/user_item.dat": TEXT, "A B/item_brand.dat": BRANDS}
    with serve({f"{top}/{name}": data for name, data in files.items()}) as found:
        yield found


def get(dataset: Dataset, site: Site, root: Path | None) -> tuple[Path | None, list[str]]:
    told: list[str] = []
    place = download(dataset, root, base=site.base, patience=QUICK, watch=lambda name, *_: told.append(name))
    return place, list(dict.fromkeys(told))


def below(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())


def test_an_archive_is_fetched_converted_and_stored(site: Site, tmp_path: Path) -> None:
    place, told = get(TinyGtn("tiny"), site, tmp_path)
    assert place == tmp_path
    assert told == ["gtn tiny.zip", "converting"]
    assert below(tmp_path) == ["Tiny/graph.npz"]
    assert [p.name for p in tmp_path.iterdir()] == ["Tiny"]
    with np.load(tmp_path / "Tiny/graph.npz", allow_pickle=False) as file:
        assert file["node_type"].tolist() == [1, 1, 1, 0, 0]


def test_text_files_are_fetched_packed_and_split(site: Site, tmp_path: Path) -> None:
    rated = TinyHin("rated")
    _, told = get(rated, site, tmp_path)
    assert told == ["user_item.dat", "item_brand.dat", "converting"]
    assert below(tmp_path) == ["Rated/item_brand.dat.gz", "Rated/split.npz", "Rated/user_item.dat.gz"]
    assert gzip.decompress((tmp_path / "Rated/user_item.dat.gz").read_bytes()) == TEXT
    liked = sum(stars > 3 for _, _, stars in RATED)
    assert rated.load(root=tmp_path).task.seen.nnz == liked - liked // 2


@pytest.mark.parametrize("kind", [TinyGtn, TinyHin])
def test_a_second_download_finds_everything_in_place(kind: type[Small], site: Site, tmp_path: Path) -> None:
    get(kind("tiny"), site, tmp_path)
    asked = len(site.asked)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    assert get(kind("tiny"), site, tmp_path) == (None, [])
    assert len(site.asked) == asked
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before


def test_a_file_that_was_altered_is_made_again(site: Site, tmp_path: Path) -> None:
    get(TinyHin("rated"), site, tmp_path)
    (tmp_path / "Rated/item_brand.dat.gz").write_bytes(b"damaged")
    (tmp_path / "Rated/notes.txt").write_text("mine")
    assert get(TinyHin("rated"), site, tmp_path)[0] == tmp_path
    assert gzip.decompress((tmp_path / "Rated/item_brand.dat.gz").read_bytes()) == BRANDS
    assert (tmp_path / "Rated/notes.txt").read_text() == "mine"


def test_what_was_fetched_before_a_failure_is_not_fetched_again(site: Site, tmp_path: Path) -> None:
    site.faults = ["", "503", "503"]
    with pytest.raises(MissingDataError, match=r"could not fetch '.*item_brand.dat' in 2 tries"):
        get(TinyHin("rated"), site, tmp_path)
    assert below(tmp_path) == [".originals/rated/user_item.dat"]
    get(TinyHin("rated"), site, tmp_path)
    assert [path.rpartition("/")[2] for path, _ in site.asked] == ["user_item.dat"] + ["item_brand.dat"] * 3
    assert below(tmp_path) == ["Rated/item_brand.dat.gz", "Rated/split.npz", "Rated/user_item.dat.gz"]


def test_an_answer_cut_off_is_continued(site: Site, tmp_path: Path) -> None:
    site.faults = ["cut"]
    get(TinyGtn("tiny"), site, tmp_path)
    assert [span for _, span in site.asked] == [None, f"bytes={len(ZIP) // 2}-"]


def test_an_altered_original_is_refused_and_nothing_is_stored(site: Site, tmp_path: Path) -> None:
    (name,) = [path for path in site.files if path.endswith("zip")]
    site.files = {name: ZIP[:-1] + b"!"}
    with pytest.raises(DiffmgError, match=r"gtn%20tiny.zip' must have the sha256"):
        get(TinyGtn("tiny"), site, tmp_path)
    assert below(tmp_path) == []


def test_a_conversion_that_gives_something_else_is_refused(site: Site, tmp_path: Path) -> None:
    TinyHin.seeds = (1, 2)
    try:
        with pytest.raises(DiffmgError, match=r"but got 'Rated/split.npz'"):
            get(TinyHin("rated"), site, tmp_path)
    finally:
        TinyHin.seeds = (3, 4)
    assert not (tmp_path / "Rated").exists()
    assert [p.name for p in tmp_path.iterdir()] == [".originals"]


def test_the_place_is_the_one_where_files_are_looked_for_first(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DIFFMG_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert get(TinyGtn("tiny"), site, None)[0] == tmp_path / "cache/diffmg"
    shutil.rmtree(tmp_path / "cache")
    monkeypatch.setenv("DIFFMG_DATA", str(tmp_path / "data"))
    assert get(TinyGtn("tiny"), site, None)[0] == tmp_path / "data"


def test_a_place_that_cannot_be_written_is_named(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DiffmgError, match=r"could not write '.*': Not a directory; .*"):
        get(TinyGtn("tiny"), site, tmp_path / "file")
    assert site.asked == []


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "No space left"), (errno.EACCES, "Permission denied")])
def test_a_full_disk_leaves_what_was_there(
    number: int, words: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(np, "savez_compressed", full)
    (tmp_path / "Tiny").mkdir()
    (tmp_path / "Tiny/graph.npz").write_bytes(b"old")
    with pytest.raises(DiffmgError, match=rf"could not write .*{words}"):
        get(TinyGtn("tiny"), site, tmp_path)
    assert below(tmp_path) == [".originals/tiny/gtn tiny.zip", "Tiny/graph.npz"]
    assert (tmp_path / "Tiny/graph.npz").read_bytes() == b"old"


def test_made_data_are_not_downloaded(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"but got 'shop'"):
        download_dataset("shop", tmp_path)


@needs_data
def test_a_real_data_set_is_stored_to_the_bit(tmp_path: Path) -> None:
    """Amazon, with the card's own hashes: text files as published, and the authors' split drawn again."""
    shared = Path(os.environ["DIFFMG_DATA"])
    with serve(hin_originals("amazon", shared)) as site:
        assert download_dataset("amazon", tmp_path, base=site.base) == tmp_path
        assert download_dataset("amazon", tmp_path, base=site.base) is None
    names = below(tmp_path)
    assert names == [f"Amazon/{name}" for name in sorted(p.name for p in (shared / "Amazon").iterdir())]
    for name in names:
        assert content_digest(tmp_path / name) == content_digest(shared / name), name
    one, same = load_dataset("amazon", root=tmp_path), load_dataset("amazon", root=shared)
    assert one.task.digests({}) == same.task.digests({})


def test_files_packed_here_differ_from_the_card_in_packing_only(site: Site, tmp_path: Path) -> None:
    get(TinyGtn("tiny"), site, tmp_path)
    (check,) = verify_files(TinyGtn("tiny").card(), tmp_path)
    assert (check.state, check.note) == ("ok", "same content, packed otherwise")
    assert file_digest(tmp_path / check.what) != "0" * 64
