from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors.torch import save_file

from diffmg.core.errors import DiffmgError
from diffmg.runs import tensors as module
from diffmg.runs.tensors import read_tensors, write_tensors

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1, 2])}


@pytest.mark.parametrize("damage", ["cut", "empty", "text"])
def test_a_damaged_file_of_tensors_is_named(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    write_tensors(path, TENSORS, {})
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-8], "empty": b"", "text": b"this is not a file of tensors"}[damage])
    with pytest.raises(DiffmgError, match=r"but got '.*m\.safetensors'"):
        read_tensors(path)


def test_a_missing_file_of_tensors_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"but got '.*gone'"):
        read_tensors(tmp_path / "gone")


def test_tensors_and_numbers_come_back_bit_for_bit(tmp_path: Path) -> None:
    numbers = {"epoch": 3, "best": -float("inf"), "third": 1 / 3}
    odd = {"nan": torch.tensor([float("nan"), -0.0]), "half": torch.randn(2, 3).half().T, "none": torch.empty(0)}
    write_tensors(tmp_path / "x", odd, numbers)
    tensors, read_numbers = read_tensors(tmp_path / "x")
    assert read_numbers == numbers
    assert {n: t.numpy().tobytes() for n, t in tensors.items()} == {n: t.numpy().tobytes() for n, t in odd.items()}


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.safetensors"
    write_tensors(path, TENSORS, {})

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(DiffmgError, match=r"could not write .*No space left"):
        write_tensors(path, {"a": torch.zeros(1)}, {})
    monkeypatch.undo()
    assert torch.equal(read_tensors(path)[0]["a"], TENSORS["a"])
    assert [p.name for p in tmp_path.iterdir()] == ["m.safetensors"]


def test_the_tensor_library_failing_to_write_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SafetensorError("I/O error: No space left on device")

    monkeypatch.setattr(module, "save_file", fail)
    with pytest.raises(DiffmgError, match=r"could not write .*No space left"):
        write_tensors(tmp_path / "m", TENSORS, {})
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=30, deadline=None)
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_no_flipped_bit_goes_unseen(place: int, bit: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Wherever it is: in the header, in the values or in a tensor. Blanks that only fill the header may differ."""
    path = tmp_path_factory.mktemp("flip") / "m.safetensors"
    write_tensors(path, TENSORS, {"format": 1, "name": "é"})
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[place % len(whole)] ^= 1 << bit
    path.write_bytes(damaged)
    with suppress(DiffmgError):
        tensors, values = read_tensors(path)
        assert values == {"format": 1, "name": "é"}
        assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)


@pytest.mark.parametrize("text", ["", "[]", "3", '{"values": {}}', '{"sha256": 1, "values": {}}', "[" * 9999])
def test_values_of_another_form_are_refused(text: str, tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "m", metadata={"values": text})
    with pytest.raises(DiffmgError, match=r"the values in the file of tensors|must have its checksum, but got none"):
        read_tensors(tmp_path / "m")


def test_a_file_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in "ab":
        write_tensors(tmp_path / name, TENSORS, {"x": 1, "y": [2]})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
