"""Tensor files: safetensors with plain values as metadata. Pickle is never used."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from diffmg.core import DiffmgError
from diffmg.core.files import write_atomically


def write_tensors(path: Path, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Write tensors and plain values into one file, atomically."""
    contiguous = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}

    def write(target: Path) -> None:
        try:
            save_file(contiguous, target, metadata={"values": json.dumps(values)})
        except SafetensorError as error:
            raise OSError(str(error)) from error

    write_atomically(path, write)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            values = json.loads((file.metadata() or {}).get("values", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, values  # noqa: SIM118
    except (OSError, SafetensorError, json.JSONDecodeError) as error:
        raise DiffmgError(f"a file of tensors must be whole, but got {str(path)!r}: {error}") from error
