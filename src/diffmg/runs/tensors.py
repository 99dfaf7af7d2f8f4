"""Tensor files: safetensors with plain values and a checksum as metadata. Pickle is never used."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, uint8

from diffmg.core import DiffmgError
from diffmg.core.files import write_atomically
from diffmg.core.parse import checked_fields, parse_json

VALUES, CHECKSUM = "values", "sha256"
"""The metadata is one JSON text with both: the order of several would not be fixed."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Write tensors and plain values into one file, atomically."""
    contiguous = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    text = json.dumps({CHECKSUM: _checksum(contiguous, values), VALUES: values})

    def write(target: Path) -> None:
        try:
            save_file(contiguous, target, metadata={VALUES: text})
        except SafetensorError as error:
            raise OSError(str(error)) from error

    write_atomically(path, write)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote; raises if anything in it has changed since."""
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get(VALUES, "")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, RuntimeError) as error:
        raise DiffmgError(f"a file of tensors must be whole, but got {str(path)!r}: {error}") from error
    what = f"the values in the file of tensors {str(path)!r}"
    plain = parse_json(text, what)
    if isinstance(plain, dict) and CHECKSUM not in plain:
        raise DiffmgError(
            f"a file of tensors must have its checksum, but got none in {str(path)!r}; it is of an earlier version: "
            "fit again"
        )
    found = checked_fields(plain, {CHECKSUM: str, VALUES: dict}, what)
    if found[CHECKSUM] != _checksum(tensors, found[VALUES]):
        raise DiffmgError(
            f"a file of tensors must be as diffmg wrote it (sha256 {found[CHECKSUM][:16]}...), but got {str(path)!r} "
            "with other content; it was changed or damaged: fit again"
        )
    return tensors, found[VALUES]


def _checksum(tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> str:
    """The sha256 of names, types, shapes and bytes of all tensors, and of the values."""
    digest = hashlib.sha256(json.dumps(values).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.reshape(-1).view(uint8).numpy().data)
    return digest.hexdigest()
