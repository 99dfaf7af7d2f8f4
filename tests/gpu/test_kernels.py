"""The kernels compile for a GPU, without one: what they compute is tested through `propagate`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is not installed")

PROGRAM = """
from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from diffmg.engine import kernels

STATES = ("first", "rest", "out", "held")
FLOATS = ("weights", "dots", "keep", "passing", "values", "partial")
WIDE = ("out_stride", "held_stride")
WHOLE = ("pointer", "columns", "chunk_pointer", "chunks")
PLAIN = ("state", "low_entry", "number_entries", "choices", "depth", "nodes", "most", "count", "empty")


def kind(name, storage):
    if name in STATES:
        return f"*{storage}"
    if name in FLOATS:
        return "*fp32"
    if name in WHOLE:
        return "*i32"
    if name in WIDE:
        return "i64"
    return "i32" if name in PLAIN else "*i8" if name == "node_type" else "*i64"


def compiled(kernel, storage, warps, **fixed):
    signature = {n: "constexpr" if n in fixed else kind(n, storage) for n in kernel.arg_names}
    constants = {(kernel.arg_names.index(n),): value for n, value in fixed.items()}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    return compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps}).asm["ptx"]


shape = dict(WIDTH=64, D=64)
switches = [(True, True, True, True), (False, False, False, False)]
for storage, rows, block, warps in (("fp32", 8, 4, 4), ("bf16", 4, 8, 1)):
    for weighted, dot, zero, chunked in switches:
        names = dict(WEIGHTED=weighted, DOT=dot, ZERO=zero, CHUNKED=chunked)
        assert ".entry propagate(" in compiled(
            kernels.propagate, storage, warps, ROWS=rows, BLOCK=block, **shape, **names
        )
    assert ".entry propagate_chunks(" in compiled(kernels.propagate_chunks, storage, 1, BLOCK=32, **shape)
assert ".entry live_types(" in compiled(kernels.live_types, "fp32", 1, STATES=8)
print("compiled")
"""


def test_every_kernel_compiles_for_a_gpu(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    surroundings = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    surroundings |= {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, str(script)], check=False, capture_output=True, text=True, env=surroundings)
    assert done.stdout == "compiled\n", done.stderr
