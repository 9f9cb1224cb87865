"""Eval cases that are read again: what changed counts, what cannot be read stays and is reported once."""

import json
import os

import pytest

from turnwise.pipeline.io.case_book import CaseBook, CasePlaces
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import CesConfig, ConfigError
from turnwise.schemas.conversation import Conversation
from turnwise.transforms.matching.sample import UnknownCaseError


class Book:
    """A book of the cases in a directory, at a time of its own."""

    def __init__(self, folder):
        self.folder, self.now = folder, 0.0
        self.write("a", {"one": "1", "two": "2"})
        self.write("b", {"three": "3"})
        self.book = CaseBook(self.places, lambda: self.now)

    @property
    def places(self):
        return CasePlaces((str(self.folder),), 1 << 20, "", CesConfig(), 10.0)

    def write(self, name, cases, more=""):
        path = self.folder / f"{name}.jsonl"
        lines = [self.line(key, text) for key, text in cases.items()]
        path.write_text("".join(lines) + more)
        os.utime(path, (self.now, self.now))

    @staticmethod
    def line(key, text):
        return json.dumps({"eval_id": key, "conversation": [_turn(text)]}) + "\n"

    def later(self):
        """Lets the interval pass; returns the messages of new failures."""
        self.now += 11
        return [f"{failure.source}:{failure.position}" for failure in self.book.refresh()]

    def says(self, key):
        """Returns the response that a case expects; None: the case is not known."""
        try:
            case = self.book.index.find(Conversation(conversation_id="c", eval_id=key, turns=[]))
        except UnknownCaseError:
            return None
        assert isinstance(case, EvalCase)
        return case.turns[0].response


def _turn(text):
    said = {"parts": [{"text": text}]}
    return {"user_content": {"role": "user", **said}, "final_response": {"role": "model", **said}}


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


def test_changed_new_and_removed_cases_count_after_the_interval(book):
    book.now = 5
    book.write("a", {"one": "new", "four": "4"})
    assert not book.book.is_due and book.book.refresh() == [] and book.says("one") == "1"
    assert book.later() == []
    assert [book.says(key) for key in ("one", "two", "three", "four")] == ["new", None, "3", "4"]


def test_what_cannot_be_read_stays_and_is_reported_once(book):
    book.write("a", {"one": "new"}, more="{broken\n")
    assert book.later() == [f"{book.folder}/a.jsonl:2"]
    assert [book.says(key) for key in ("one", "two", "three")] == ["new", "2", "3"]
    assert book.later() == book.later() == []
    book.write("a", {"one": "new"})
    assert book.later() == [] and book.says("two") is None
    book.write("a", {"one": "new"}, more="{broken again\n")
    assert book.later() == [f"{book.folder}/a.jsonl:2"]


def _contradict(book):
    book.write("b", {"three": "3", "one": "other"})


def _break_the_link(book):
    (book.folder / "a.jsonl").unlink()
    (book.folder / "a.jsonl").symlink_to(book.folder / "nothing")


def _empty(book):
    book.write("a", {})
    book.write("b", {})


def _move_the_directory(book):
    book.folder.rename(book.folder.with_name("elsewhere"))


@pytest.mark.parametrize("damage", [_contradict, _break_the_link, _empty, _move_the_directory])
def test_the_last_good_state_stays(book, damage):
    damage(book)
    assert len(book.later()) in (1, 2)
    assert [book.says(key) for key in ("one", "two", "three")] == ["1", "2", "3"]
    assert book.later() == []


def test_a_file_that_failed_once_is_read_again_though_nothing_changed(book):
    """Its size and time are those of the first look: what failed was the way to it."""
    path = book.folder / "a.jsonl"
    content, times = path.read_bytes(), (book.now + 1, book.now + 1)
    path.write_bytes(b"{broken\n" + b" " * (len(content) - 8))
    os.utime(path, times)
    assert book.later() == [f"{path}:1"] and book.says("one") == "1"
    changed = content.replace(b'"text": "1"', b'"text": "9"')
    path.write_bytes(changed)
    os.utime(path, times)
    assert book.later() == [] and book.says("one") == "9"
    path.write_bytes(b"{broken\n" + b" " * (len(content) - 8))
    assert book.later() == [f"{path}:1"] and book.later() == []


def test_a_first_reading_without_a_case_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_text("{broken\n")
    with pytest.raises(ConfigError, match="no eval case was read"):
        CaseBook(CasePlaces((str(tmp_path),), 1 << 20, "", CesConfig(), 10.0))


def test_failures_of_the_first_reading_are_told_once(book):
    book.write("a", {"one": "1"}, more="{broken\n")
    again = CaseBook(book.places)
    assert again.is_due and [failure.position for failure in again.refresh()] == [2]
    assert not again.is_due and again.refresh() == []
