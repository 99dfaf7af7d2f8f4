from __future__ import annotations

import datetime
import re
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.tables.reading import MAGIC, as_table, column, is_guessed, key_column, read_table

TABLE = pa.table({"id": [1, 2, 3], "name": ["Ann", "Bo, Co", "Dé"], "age": [1.5, None, 3.0]})


def write(path: Path, table: pa.Table = TABLE) -> Path:
    packing = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix)
    with pa.output_stream(str(path), compression=packing) as stream:
        if ".parquet" in path.suffixes:
            parquet.write_table(table, stream)
        else:
            delimiter = "," if ".csv" in path.name.lower() else "\t"
            csv.write_csv(table, stream, csv.WriteOptions(delimiter=delimiter))
    return path


def text(path: Path, content: str, encoding: str = "utf8") -> Path:
    path.write_text(content, encoding=encoding)
    return path


@pytest.mark.parametrize(
    ("kind", "packing"),
    [
        *((kind, "") for kind in ("csv", "tsv", "txt", "parquet", "CSV", "v2.csv")),
        *((kind, packing) for kind in ("csv", "parquet") for packing in (".gz", ".bz2", ".zst")),
    ],
)
def test_files_of_each_kind(tmp_path, kind, packing):
    table = read_table(write(tmp_path / f"table.{kind}{packing}"))
    assert table.to_pydict() == TABLE.to_pydict()
    assert is_guessed(table) == (kind != "parquet")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_another_delimiter_is_found_in_the_head(tmp_path, delimiter):
    table = read_table(text(tmp_path / "a.csv", f"id{delimiter}name\n1{delimiter}x, y\n"))
    assert table.to_pydict() == {"id": [1], "name": ["x, y"]}


def test_a_table_of_one_column(tmp_path):
    assert read_table(text(tmp_path / "a.csv", "id\n1\n2\n")).to_pydict() == {"id": [1, 2]}


def test_codes_keep_their_zeros(tmp_path):
    table = read_table(text(tmp_path / "a.csv", "id,code,number,nothing\n1,007,0,\n2,12,-5,\n"))
    assert table.to_pydict() == {"id": [1, 2], "code": ["007", "12"], "number": [0, -5], "nothing": [None, None]}


def test_long_codes_keep_their_digits(tmp_path):
    codes = ["123456789012345678901234567890", "123456789012345678901234567891"]
    rows = "".join(f"{code},1e300,{2**62 + i},{i}.5\n" for i, code in enumerate(codes))
    table = read_table(text(tmp_path / "a.csv", f"code,huge,long,half\n{rows}"))
    assert table.to_pydict() == {"code": codes, "huge": [1e300] * 2, "long": [2**62, 2**62 + 1], "half": [0.5, 1.5]}


def test_a_mark_of_the_encoding_is_no_part_of_the_head(tmp_path):
    assert read_table(text(tmp_path / "a.csv", "id,name\n1,x\n", "utf-8-sig")).column_names == ["id", "name"]


def test_breaks_in_quoted_text(tmp_path):
    assert read_table(text(tmp_path / "a.csv", 'id,name\n1,"x\ny"\n')).to_pydict() == {"id": [1], "name": ["x\ny"]}


def test_unknown_ending(tmp_path):
    with pytest.raises(DiffmgError, match=r"did you mean '.csv'\?"):
        read_table(tmp_path / "a.cvs")


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_no_ending(tmp_path, name):
    with pytest.raises(DiffmgError, match=r"unknown ending of the file .* Known: .csv,"):
        read_table(tmp_path / name)


def test_missing_file(tmp_path):
    with pytest.raises(DiffmgError, match=r"but got none at '.*a.csv'"):
        read_table(tmp_path / "a.csv")


def test_a_folder_is_no_table(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(DiffmgError, match=r"but got '.*a.csv': Is a directory"):
        read_table(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.csv.gz"])
def test_empty_file(tmp_path, name):
    with pytest.raises(DiffmgError, match="but got an empty file"):
        read_table(text(tmp_path / name, ""))


def test_empty_file_that_is_packed(tmp_path):
    with pa.output_stream(str(tmp_path / "a.csv.gz"), compression="gzip") as stream:
        stream.write(b"")
    with pytest.raises(DiffmgError, match=r"but got: Empty CSV file"):
        read_table(tmp_path / "a.csv.gz")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_head_without_rows(tmp_path, name):
    with pytest.raises(DiffmgError, match=r"but got none in '.*a\."):
        read_table(write(tmp_path / name, TABLE[:0]))


def test_parquet_with_text_that_is_none(tmp_path):
    """A byte of a text was changed on the disk; nothing else in the file tells."""
    parquet.write_table(pa.table({"id": ["aaaa", "bbbb"]}), tmp_path / "a.parquet", compression="none")
    data = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(data.replace(b"aaaa", b"\xe4aaa"))
    with pytest.raises(DiffmgError, match=r"must be a whole table .* but got: .*UTF8"):
        read_table(tmp_path / "a.parquet")


def test_ragged_rows(tmp_path):
    with pytest.raises(DiffmgError, match=r"but got: .*Expected 2 columns, got 1.*check"):
        read_table(text(tmp_path / "a.csv", "id,name\n1,x\n2\n3,z\n"))


def test_two_columns_of_one_name(tmp_path):
    with pytest.raises(DiffmgError, match=r"but got \['id'\]"):
        read_table(text(tmp_path / "a.csv", "id,name,id\n1,x,2\n"))


@pytest.mark.parametrize(("head", "body"), [("id,name", "1,José"), ("id,prénom", "1,x")])
def test_wrong_encoding(tmp_path, head, body):
    path = text(tmp_path / "a.csv", f"{head}\n{body}\n", "latin-1")
    with pytest.raises(DiffmgError, match=r"but got: .*set `encoding`"):
        read_table(path)
    assert list(read_table(path, "latin-1").to_pylist()[0].items()) == [
        tuple(zip(head.split(","), (1, body[2:]), strict=True))[i] for i in (0, 1)
    ]


def test_wide_encoding(tmp_path):
    path = text(tmp_path / "a.csv", "id;name\n1;José\n", "utf-16")
    with pytest.raises(DiffmgError, match="must be a whole table in utf8"):
        read_table(path)
    assert read_table(path, "utf-16").to_pydict() == {"id": [1], "name": ["José"]}


def test_unknown_encoding(tmp_path):
    with pytest.raises(DiffmgError, match="but got: unknown encoding: klingon"):
        read_table(write(tmp_path / "a.csv"), "klingon")


@pytest.mark.parametrize(
    ("is_really", "is_called", "looks"),
    [
        ("a.parquet", "b.csv", "the start of '.parquet'"),
        ("a.csv.gz", "b.csv", "the start of '.gz'"),
        ("a.csv", "b.csv.gz", "b'\"id\"'"),
        ("a.csv", "b.parquet", "b'\"id\"'"),
        ("a.csv.zst", "b.csv.bz2", "the start of '.zst'"),
    ],
)
def test_a_file_that_is_not_what_its_ending_says(tmp_path, is_really, is_called, looks):
    write(tmp_path / is_really).rename(tmp_path / is_called)
    message = f"the content of '{is_called}' must be what its ending says, but got {looks}; rename or convert"
    with pytest.raises(DiffmgError, match=re.escape(message)):
        read_table(tmp_path / is_called)


@pytest.mark.parametrize(("content", "kind"), [(b"PK\x03\x04\x14\x00", ".xlsx"), (b"SQLite format 3\x00", ".sqlite")])
def test_other_things_called_csv(tmp_path, content, kind):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DiffmgError, match=f"must be what its ending says, but got the start of '{kind}'"):
        read_table(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a.parquet", "a.csv.gz", "a.parquet.zst"])
def test_a_file_cut_short(tmp_path, name):
    path = write(tmp_path / name)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DiffmgError, match=rf"'.*{name}' must be a whole table in utf8, but got: "):
        read_table(path)


@given(
    st.sampled_from(["a.csv", "a.tsv", "a.parquet", "a.csv.gz", "a.csv.zst"]),
    st.one_of(st.binary(), st.text('ab01;,\t\n\r"é ').map(str.encode)),
    st.booleans(),
)
def test_any_bytes_are_a_table_or_an_error_that_says_so(tmp_path_factory, name, content, marked):
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes((MAGIC.get(path.suffix, b"") if marked else b"") + content)
    try:
        assert read_table(path).num_rows > 0
    except DiffmgError as error:
        assert name in str(error)


def frames() -> list[Any]:
    columns = {"id": [1, 2], "name": ["x", None]}
    return [columns, pa.table(columns), pa.RecordBatch.from_pydict(columns), pa.table(columns).to_reader()]


@pytest.mark.parametrize("given", frames(), ids=lambda given: type(given).__name__)
def test_what_speaks_arrow_is_a_table(given):
    assert as_table(given, "it").to_pydict() == {"id": [1, 2], "name": ["x", None]}


def test_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"id": [1, None], "kind": pandas.Categorical(["x", "y"]), "name": ["a", None]})
    table = as_table(frame, "it")
    assert table.to_pydict() == {"id": [1.0, None], "kind": ["x", "y"], "name": ["a", None]}
    assert key_column(table, ["id"], "it").to_pylist() == [1, None]
    assert key_column(table, ["kind"], "it").type == pa.string()


def test_polars():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame({"id": [1, None], "kind": polars.Series(["x", "y"], dtype=polars.Categorical)})
    table = as_table(frame, "it")
    assert table.to_pydict() == {"id": [1, None], "kind": ["x", "y"]}
    assert key_column(table, ["kind"], "it").type == pa.string()


def test_columns_of_a_mapping_may_be_anything():
    given = {
        "a": np.array([1.0, np.nan]),
        "b": ("x", None),
        "c": torch.tensor([1, 2]),
        "d": pa.array([1, 2]),
        5: [1, 2],
    }
    assert as_table(given, "it").to_pydict() == {
        "a": [1, None],
        "b": ["x", None],
        "c": [1, 2],
        "d": [1, 2],
        "5": [1, 2],
    }


def test_pandas_columns_of_two_types():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(DiffmgError, match=r"but got: .*column id"):
        as_table(pandas.DataFrame({"id": [1, "x"]}), "it")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"id": [1, "x"]}, "column 'id' of it must hold one value a row, all of one type, but got: "),
        ({"id": 5}, "column 'id' of it must hold one value a row, all of one type, but got: "),
        ({"id": np.ones((2, 2))}, "column 'id' of it must hold one value a row, all of one type, but got: "),
        ({"id": [1], "name": ["x", "y"]}, "the table of it must have plain columns of one length, but got: "),
        ([1, 2], "the table of it must speak Arrow or map names to columns, but got <class 'list'>"),
        (None, "the table of it must speak Arrow or map names to columns, but got <class 'NoneType'>"),
    ],
)
def test_what_is_no_table(given, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        as_table(given, "it")


def test_two_columns_of_one_name_in_memory():
    with pytest.raises(DiffmgError, match=r"but got \['a'\]"):
        as_table(pa.table([[1], [2]], names=["a", "a"]), "it")


def test_unknown_column():
    with pytest.raises(DiffmgError, match=r"did you mean 'name'\? Known: age, id, name"):
        column(TABLE, "nmae", "it")


@pytest.mark.parametrize(
    ("values", "wanted", "kind"),
    [
        (pa.array([1, 2], pa.int8()), [1, 2], pa.int64()),
        (pa.array([1, 2**63], pa.uint64()), [1, 2**63], pa.uint64()),
        (pa.array([1.0, None]), [1, None], pa.int64()),
        (pa.array([1.0, float("nan")]), [1, None], pa.int64()),
        (pa.array([1.5, 2.0]), [1.5, 2.0], pa.float64()),
        (pa.array(["x", None], pa.large_string()), ["x", None], pa.string()),
        (pa.array(["x", "x"]).dictionary_encode(), ["x", "x"], pa.string()),
        (pa.array([7, 7], pa.int32()).dictionary_encode(), [7, 7], pa.int64()),
    ],
)
def test_ids_come_in_few_types(values, wanted, kind):
    found = key_column(pa.table({"id": values}), ["id"], "it")
    assert found.to_pylist() == wanted
    assert found.type == kind


def test_ids_may_be_uuids(tmp_path):
    given = [uuid.UUID(int=5), None]
    values = pa.array([None if u is None else u.bytes for u in given], pa.uuid())
    parquet.write_table(pa.table({"id": values}), tmp_path / "a.parquet")
    for table in (pa.table({"id": values}), read_table(tmp_path / "a.parquet")):
        assert key_column(table, ["id"], "it").to_pylist() == [str(given[0]), None]


@pytest.mark.parametrize("values", [[[1]], [{"x": 1}], [b"x"], [datetime.time(1)], [datetime.timedelta(1)]])
@pytest.mark.parametrize("names", [["id"], ["other", "id"]])
def test_ids_are_text_or_numbers(values, names):
    table = pa.table({"id": values, "other": [1]})
    with pytest.raises(DiffmgError, match=r"ids in column 'id' of it must be text or"):
        key_column(table, names, "it")


def test_several_columns_make_one_id():
    table = pa.table({"a": [1, 2, None], "b": ["x", None, "z"], "c": [1.0, 2.0, 3.0]})
    assert key_column(table, ["a", "b", "c"], "it").to_pylist() == ["1/x/1", None, None]
