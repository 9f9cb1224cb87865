"""One implementation of every kind, as a package of somebody else has it."""

import csv
import io
import json
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit
from uuid import uuid4

import apache_beam as beam

from turnwise.pipeline.io.tables.base import SinkKind, register_sink
from turnwise.schemas.conversation import Conversation, Turn
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import JudgedCriterion, MeasuredCriterion
from turnwise.transforms.formats.base import EventReader, Format, register_format
from turnwise.transforms.judging.ask import Question
from turnwise.transforms.judging.backends.base import RawReply
from turnwise.transforms.judging.judges.base import JudgeKind, register_judge
from turnwise.transforms.judging.prompts.sections import Section, fill
from turnwise.transforms.judging.prompts.statements import Reply
from turnwise.transforms.judging.vote import ask_all


class Thanks(MeasuredCriterion):
    """1.0 if the agent thanks, else 0.0.

    When to use: The agent must thank.
    """

    name: ClassVar[str] = "example_thanks"

    def score(self, sample, pair):
        """Scores a turn."""
        said = pair.actual.agent if pair.actual else None
        return None if said is None else Score(float("thank" in said.lower()))


class KindnessReply(Reply):
    """What the judge answers."""

    reason: str
    grade: int


class Kindness(JudgedCriterion):
    """How kind the answer is.

    When to use: The agent must be kind.
    """

    name: ClassVar[str] = "example_kindness"

    async def judge(self, sample, pair, ask):
        """Asks for a grade."""
        prompt = fill("kindness/1", "Grade it, 0 to 4.", [Section("answer", pair.actual.agent)])
        answers = await ask_all(ask, Question(prompt, KindnessReply, self.options))
        if not answers.replies:
            return Score(None, reason=answers.reason, judge=answers.use)
        return Score(answers.replies[0].grade / 4, judge=answers.use)


def _turns(lines):
    turns = []
    for line in lines:
        if line["who"] == "caller":
            turns.append(Turn(user=line["text"]))
        else:
            turns[-1].agent = line["text"]
    for index, turn in enumerate(turns):
        turn.turn_index = index
    return turns


def _call(value, record, settings):
    return [Conversation(conversation_id=value["call"], turns=_turns(value["lines"]))]


def _joined(call, events):
    return Conversation(conversation_id=call, turns=_turns(events))


CALL = register_format(
    Format(
        name="example_call",
        help="calls of a hotline",
        recognises=lambda record: "call" in record and "lines" in record,
        read_log=_call,
    )
)
LINE = register_format(
    Format(
        name="example_line",
        help="lines of calls of a hotline",
        recognises=lambda record: "call" in record and "line_number" in record,
        time_keys=("spoken_at",),
        events=EventReader(
            place=lambda value: (value["call"], value["line_number"] // 2),
            is_end=lambda value: value.get("hangs_up") is True,
            join=_joined,
        ),
    )
)


class CsvWriter:
    """Rows as lines of CSV."""

    def __init__(self, file, table):
        self._file = file

    def write(self, rows):
        """Adds rows."""
        for row in rows:
            text = io.StringIO()
            csv.writer(text).writerow([json.dumps(row)])
            self._file.write(text.getvalue().encode())

    def finish(self):
        """Has nothing left to do."""


def _csv_rows(file, table, mark):
    for (text,) in csv.reader(io.TextIOWrapper(file, "utf-8")):
        yield json.loads(text)


CSV = register_sink(SinkKind(name="csv", help="comma-separated values", writer=CsvWriter, read=_csv_rows))


class Folder:
    """A folder with a file a bundle."""

    def __init__(self, place):
        self._folder = Path(urlsplit(place.url).path)
        self._folder.mkdir(parents=True, exist_ok=True)

    def write_table(self, rows, table, part=""):
        """Writes lists of rows."""
        _ = rows | f"Example_{table}{part}" >> beam.Map(_write, str(self._folder), table)


def _write(rows, folder, table):
    Path(folder, f"{table}-{uuid4().hex}.json").write_text(json.dumps(rows))


FOLDER = register_sink(SinkKind(name="example", help="example:///FOLDER", schemes=("example",), open=Folder))


class Rules:
    """A model's API that answers at once."""

    def __init__(self, config, environ, on_retry):
        pass

    async def generate(self, request, count):
        """Answers by one rule."""
        grade = 4 if "Thank" in request.evidence else 0
        return [RawReply(json.dumps({"reason": "r", "grade": grade}), model=request.template.model)] * count

    async def aclose(self):
        """Has nothing to close."""


RULES = register_judge(
    JudgeKind(name="example_rules", help="rules of an example", connect=Rules, model="rules-1")
)
