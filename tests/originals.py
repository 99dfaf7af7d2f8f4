"""Public files of data sets, made again from the compact ones or from small arrays."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from diffmg.datasets import DATASETS
from experiments.data.card_files import stored_files

PA = sp.csr_matrix(([1.0, 1.0, 1.0], ([3, 3, 4], [0, 1, 2])), shape=(5, 5))
"""Papers 3 and 4 in rows, authors 0 to 2 in columns."""


def tiny_gtn() -> dict[str, Any]:
    """What Graph Transformer Networks would have pickled for a network of five nodes."""
    return {
        "edges.pkl": [PA, sp.csr_matrix(PA.T)],
        "labels.pkl": [[[0, 1]], [[1, 0]], [[2, 1]]],
        "node_features.pkl": np.array([[1, 0], [0, 0], [1, 1], [0, 1], [0, 0]], np.float32),
    }


def archive(members: Mapping[str, Any], protocol: int = 3, folder: str = "") -> bytes:
    """A zip with one pickle for each member."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, value in members.items():
            packed.writestr(f"{folder}{name}", pickle.dumps(value, protocol))
    return stream.getvalue()


def gtn_members(data: Mapping[str, Any], *, dense: bool = False) -> dict[str, Any]:
    """What Graph Transformer Networks pickled, from the arrays of `graph.npz`."""
    count = int(data["num_nodes"])
    edges = []
    for name in data["edge_type_names"]:
        rows, columns = data[f"edge_{name}_row"], data[f"edge_{name}_col"]
        edges.append(sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(count, count)))
    words = np.ones(len(data["feat_indices"]), np.float32)
    features = sp.csr_matrix((words, data["feat_indices"], data["feat_indptr"]), shape=tuple(data["feat_shape"]))
    return {
        "edges.pkl": edges,
        "labels.pkl": [data[part].tolist() for part in ("train", "val", "test")],
        "node_features.pkl": features.toarray() if dense else features,
    }


def hin_originals(name: str, root: Path) -> dict[str, bytes]:
    """The text files of a data set of ratings, by their place below the base address."""
    card = DATASETS.get(name)(name).card()
    return {
        f"{card.repository}/{card.commit}/{file.original.path}": gzip.decompress((root / file.name).read_bytes())
        for file in stored_files(card)
        if file.original is not None
    }
