"""Fetches the public files of a data set and stores them in the compact form."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from diffmg.core.errors import DiffmgError
from diffmg.core.files import cannot_write, make_folder
from diffmg.datasets import DATASETS, Card, Dataset, data_places
from experiments.data.card_files import stored_files
from experiments.data.convert import convert
from experiments.data.fetch import Patience, Remote, address_of, fetch
from experiments.data.verify import verify_files

BASE = "https://raw.githubusercontent.com"

Watch = Callable[[str, int, int | None], object]
"""Told the file, the bytes that are there and, where it is known, how many there will be; at the end "converting"."""


def download_dataset(
    name: str,
    root: Path | None = None,
    *,
    base: str = BASE,
    patience: Patience | None = None,
    watch: Watch = lambda *_: None,
) -> Path | None:
    """Fetch, verify, convert and store a data set; returns its data root, or None if everything was in place.

    The files are at `base`/REPOSITORY/COMMIT/PATH. What came before a failure is used by the next call.
    """
    return download(DATASETS.get(name)(name), root, base=base, patience=patience or Patience(), watch=watch)


def download(dataset: Dataset, root: Path | None, *, base: str, patience: Patience, watch: Watch) -> Path | None:
    """The same for a data set that need not be registered."""
    card = dataset.card()
    if not card.files:
        raise DiffmgError(f"only data sets with files are downloaded, but got {dataset.name!r}, which is made by code")
    if all(check.state == "ok" for check in verify_files(card, root)):
        return None
    place = data_places(root)[0]
    waiting = place / ".originals" / dataset.name
    make_folder(waiting)
    originals = {}
    for original in (file.original for file in stored_files(card) if file.original is not None):
        file = waiting / Path(original.path).name
        remote = Remote(address_of(base, card.repository, card.commit, original.path), original.sha256, original.size)
        fetch(remote, file, patience, partial(watch, file.name))
        originals[original.path] = file
    watch("converting", 0, None)
    _store(dataset, card, originals, place)
    shutil.rmtree(waiting, ignore_errors=True)
    with suppress(OSError):
        waiting.parent.rmdir()
    return place


def _store(dataset: Dataset, card: Card, originals: dict[str, Path], place: Path) -> None:
    """Convert in a folder beside the others, check what came out, and put each file in its place."""
    try:
        with tempfile.TemporaryDirectory(prefix=f".{dataset.name}.", dir=place) as name:
            made = Path(name)
            convert(dataset, originals, made)
            for check in verify_files(card, made):
                if check.state != "ok":
                    raise DiffmgError(
                        f"converting must give the files of the card, but got {check.what!r}: {check.note}"
                    )
            for file in stored_files(card):
                make_folder((place / file.name).parent)
                (made / file.name).replace(place / file.name)
    except OSError as error:
        raise cannot_write(place, error) from error
