"""Which files of a directory are found, and what is said of the others."""

import contextlib
import os
import re
from pathlib import Path

import pytest
from apache_beam.io.filesystem import FileSystem
from hypothesis import given
from hypothesis import strategies as st

from turnwise.pipeline.io.files import FoundFile, Unreadable, files_at, matches, shown_path, walk
from turnwise.transforms.text.patterns import path_glob_matches


def names(root, seen):
    return sorted(os.path.relpath(one.path, root) for one in seen if isinstance(one, FoundFile))


def lines_below(root):
    return names(root, walk(str(root), lambda path: path.endswith(".jsonl"), lambda path: True))


def make_tree(*paths):
    for path in map(Path, paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
    return Path.cwd()


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "logs"
    root.mkdir()
    with contextlib.chdir(root):
        yield make_tree("a.jsonl", "b.txt", "x/c.jsonl", "x/y/d.jsonl", "z.jsonl/e.jsonl")


def test_every_wanted_file_below_a_directory_is_found(tree):
    assert lines_below(tree) == ["a.jsonl", "x/c.jsonl", "x/y/d.jsonl", "z.jsonl/e.jsonl"]
    make_tree("x/._c.jsonl", "x/._f.jsonl")  # macOS writes one beside its file
    found = ["a.jsonl", "x/._f.jsonl", "x/c.jsonl", "x/y/d.jsonl", "z.jsonl/e.jsonl"]
    assert names(tree, files_at(str(tree))) == found


def test_links_are_followed_without_cycles(tree, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/o.jsonl").write_text("{}\n")
    (tree / "1").symlink_to(".")
    (tree / "2").symlink_to(".")
    (tree / "x/up").symlink_to(tree)
    (tree / "0").symlink_to(tmp_path / "other")
    (tree / "file.jsonl").symlink_to(tree / "b.txt")
    found = ["0/o.jsonl", "a.jsonl", "file.jsonl", "x/c.jsonl", "x/y/d.jsonl", "z.jsonl/e.jsonl"]
    assert lines_below(tree) == found


def test_what_cannot_be_read_is_named_with_its_reason(tmp_path, add_odd_files):
    odd = add_odd_files(tmp_path)
    seen = list(walk(str(tmp_path), lambda path: path.endswith(".jsonl"), lambda path: True))
    assert {shown_path(os.path.basename(one.path)) for one in seen} == odd
    assert all(isinstance(one, Unreadable) for one in seen)
    reasons = {os.path.basename(one.path): str(one.error) for one in seen if isinstance(one, Unreadable)}
    assert reasons["pipe.jsonl"] == "is a FIFO; only regular files are read: write what it gives to one first"
    assert reasons["nowhere.jsonl"] == "is a link to a path that does not exist"


def test_a_link_that_cannot_be_followed_may_lead_to_a_directory(tree):
    (tree / "dangling").symlink_to(tree / "gone")
    (tree / "selfloop").symlink_to("selfloop")
    (tree / "x" / "deep").symlink_to("/" + "d" * 300)
    (tree / "good").symlink_to("b.txt")
    seen = list(walk(str(tree), lambda path: path.endswith(".jsonl"), lambda path: True))
    broken = {os.path.basename(one.path): str(one.error) for one in seen if isinstance(one, Unreadable)}
    assert set(broken) == {"dangling", "selfloop", "deep"}
    assert broken["dangling"] == "is a link to a path that does not exist"
    told = [one.path for one in matches(f"{tree}/**/*.csv") if isinstance(one, Unreadable)]
    assert {os.path.basename(path) for path in told} == set(broken)
    assert names(tree, matches(f"{tree}/*.jsonl")) == ["a.jsonl"]
    assert len(list(walk(str(tree), lambda path: path.endswith(".jsonl"), lambda path: False))) == 1


@given(st.text(alphabet="ab/*?[]!^\\-.é\n", max_size=12), st.text(alphabet="ab/[]!^\\-.é\n", max_size=8))
def test_a_glob_matches_what_it_matches_on_other_filesystems(pattern, path):
    theirs = FileSystem.translate_pattern(pattern)
    try:
        is_match = re.match(theirs, path) is not None
    except re.error:
        with pytest.raises(ValueError, match="not a glob"):
            path_glob_matches(pattern, path)
        return
    try:
        assert path_glob_matches(pattern, path) == is_match
    except ValueError:
        assert re.search(r"\[[^]]*-", pattern), "only ranges are refused that `re` takes for empty ones"
