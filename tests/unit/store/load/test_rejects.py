"""Where rejected rows go, and what the next load finds there."""

import csv
from pathlib import Path

import pytest

from consumer.store.load.rejects import Rejects


def test_rejected_rows_stand_beside_the_file_with_their_reason(tmp_path: Path) -> None:
    with Rejects(tmp_path / "x.csv") as rejects:
        rejects.add(["a", "b"], "a is empty", 2, ["", "two\nlines"])
        rejects.add(["a", "b"], "b: x is no date", 3, ["1", "x"])
    assert rejects.path == tmp_path / "x.csv.rejected.csv"
    with rejects.path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(r["reason"], r["line"], r["b"]) for r in rows] == [
        ("a is empty", "2", "two\nlines"),
        ("b: x is no date", "3", "x"),
    ]


def test_a_folder_that_nobody_may_write_to_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, here = tmp_path / "given", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    folder.chmod(0o555)
    monkeypatch.chdir(here)
    with Rejects(folder / "x.csv") as rejects:
        rejects.add(["a"], "a is empty", 2, [""])
    assert rejects.path == here / "x.csv.rejected.csv"
    assert list(folder.iterdir()) == []


def test_a_clean_load_removes_the_rejects_of_the_one_before_and_no_other_file(tmp_path: Path) -> None:
    with Rejects(tmp_path / "x.csv") as rejects:
        rejects.add(["a"], "a is empty", 2, [""])
    with Rejects(tmp_path / "x.csv"):
        pass
    assert not rejects.path.exists()
    rejects.path.write_text("somebody's own file\n")
    with Rejects(tmp_path / "x.csv"):
        pass
    assert rejects.path.read_text() == "somebody's own file\n"
