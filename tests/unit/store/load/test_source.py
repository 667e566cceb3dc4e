"""Records out of files as they are: marks, encodings, quoted newlines, uneven rows, ZIPs."""

import csv
import zipfile
from pathlib import Path

import pytest

from consumer.errors import Misconfigured
from consumer.store.load import source
from consumer.store.load.source import Record, opened

FILES: list[tuple[str, bytes, list[list[str]]]] = [
    ("plain", b"a,b\n1,2\n", [["a", "b"], ["1", "2"]]),
    ("byte order mark", b"\xef\xbb\xbfa,b\r\n1,2\r\n", [["a", "b"], ["1", "2"]]),
    ("cp1252", "a,b\nJos\u00e9,\u201cq\u201d \u2013\n".encode("cp1252"), [["a", "b"], ["José", "“q” –"]]),
    ("utf-8", "a,b\nJosé,–\n".encode(), [["a", "b"], ["José", "–"]]),
    ("both in one file", b"a,b\nJos\xe9,Jos\xc3\xa9\n", [["a", "b"], ["José", "José"]]),
    ("utf-16", "a,b\n1,é\n".encode("utf-16"), [["a", "b"], ["1", "é"]]),
    ("quoted newlines", b'a,b\r\n"x\r\ny ""z""",2\r\n', [["a", "b"], ['x\r\ny "z"', "2"]]),
    ("blank lines", b"a,b\n\n1,2\n\n\n", [["a", "b"], ["1", "2"]]),
    ("no newline at the end", b"a,b\n1,2", [["a", "b"], ["1", "2"]]),
    ("empty cells beyond the header", b"a,b\n1,2,,\n", [["a", "b"], ["1", "2"]]),
    ("spaces round a column name", b"a , b\n1,2\n", [["a", "b"], ["1", "2"]]),
]


def read(path: Path) -> list[Record]:
    with opened(path) as sources:
        return [record for one in sources for record in one.records]


def test_files_are_read_as_people_meant_them(tmp_path: Path) -> None:
    for name, content, (header, *rows) in FILES:
        path = tmp_path / "x.csv"
        path.write_bytes(content)
        with opened(path) as sources:
            for one in sources:
                assert one.header == header, name
                assert [r.cells for r in one.records] == rows, name


def test_an_uneven_row_says_so_and_the_next_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n1\n1,2,3\n4,5\n")
    assert [r.fault for r in read(path)] == [
        "has 1 cells where the header has 2",
        "has 3 cells where the header has 2",
        None,
    ]


def test_a_quote_that_is_never_closed_does_not_swallow_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = csv.field_size_limit(100)
    try:
        path = tmp_path / "x.csv"
        path.write_text('a,b\n1,"2\n' + "3,4\n" * 50)
        faults = [r.fault for r in read(path) if r.fault]
        assert len(faults) >= 1
        assert "field larger than field limit" in faults[0]
    finally:
        csv.field_size_limit(before)


def test_a_zip_is_read_member_by_member(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("two.csv", "a,b\n3,4\n")
        archive.writestr("one.csv", "a,b\n1,2\n")
        archive.writestr("readme.txt", "no CSV")
    assert [r.cells for r in read(path)] == [["1", "2"], ["3", "4"]]


def test_what_is_no_file_of_rows_is_said_in_one_line(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.touch()
    nothing = tmp_path / "nothing.zip"
    with zipfile.ZipFile(nothing, "w") as archive:
        archive.writestr("readme.txt", "no CSV")
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(nothing.read_bytes()[:-10])
    for path, words in [
        (tmp_path / "absent.csv", "can't be read: No such file"),
        (empty, "is empty"),
        (nothing, "holds no .csv"),
        (tmp_path, "is a folder"),
    ]:
        with pytest.raises(Misconfigured, match=words):
            read(path)


def test_columns_stand_by_name_whatever_their_case_and_the_first_of_two_counts() -> None:
    assert source.places(["B", "a", "b"]) == {"b": 0, "a": 1}
