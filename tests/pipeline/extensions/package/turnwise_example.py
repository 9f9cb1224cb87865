"""One implementation of every kind, as a package of somebody else has it."""

import csv
import io
import json
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import apache_beam as beam

import turnwise


class Thanks(turnwise.MeasuredCriterion):
    """1.0 if the agent thanks, else 0.0.

    When to use: The agent must thank.
    """

    name = "example_thanks"

    def score(self, sample, pair):
        """Scores a turn."""
        said = pair.actual.agent if pair.actual else None
        return None if said is None else turnwise.Score(float("thank" in said.lower()))


class KindnessReply(turnwise.Reply):
    """What the judge answers."""

    reason: str
    grade: int


class Kindness(turnwise.JudgedCriterion):
    """How kind the answer is.

    When to use: The agent must be kind.
    """

    name = "example_kindness"

    async def judge(self, sample, pair, ask):
        """Asks for a grade."""
        prompt = turnwise.fill(
            "kindness/1", "Grade it, 0 to 4.", [turnwise.Section("answer", pair.actual.agent)]
        )
        answers = await turnwise.ask_all(ask, turnwise.Question(prompt, KindnessReply, self.options))
        if not answers.replies:
            return turnwise.Score(None, reason=answers.reason, judge=answers.use)
        return turnwise.Score(answers.replies[0].grade / 4, judge=answers.use)


def _turns(lines):
    turns = []
    for line in lines:
        if line["who"] == "caller":
            turns.append(turnwise.Turn(user=line["text"]))
        else:
            turns[-1].agent_messages = [line["text"]]  # the last one is the final response
    for index, turn in enumerate(turns):
        turn.turn_index = index
    return turns


def _call(value, record, settings):
    return [turnwise.Conversation(conversation_id=value["call"], turns=_turns(value["lines"]))]


def _joined(call, events):
    return turnwise.Conversation(conversation_id=call, turns=_turns(events))


CALL = turnwise.register_format(
    turnwise.Format(
        name="example_call",
        help="calls of a hotline",
        recognises=lambda record: "call" in record and "lines" in record,
        read_log=_call,
    )
)
LINE = turnwise.register_format(
    turnwise.Format(
        name="example_line",
        help="lines of calls of a hotline",
        recognises=lambda record: "call" in record and "line_number" in record,
        time_keys=("spoken_at",),
        events=turnwise.EventReader(
            locate=lambda value: (value["call"], value["line_number"] // 2),
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


CSV = turnwise.register_sink(
    turnwise.SinkKind(name="csv", help="comma-separated values", writer=CsvWriter, read=_csv_rows)
)


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


FOLDER = turnwise.register_sink(
    turnwise.SinkKind(name="example", help="example:///FOLDER", schemes=("example",), open=Folder)
)


class Rules:
    """A model's API that answers at once."""

    def __init__(self, config, environ, on_retry):
        pass

    async def generate(self, request, count):
        """Answers by one rule."""
        grade = 4 if "Thank" in request.evidence else 0
        return [
            turnwise.RawReply(json.dumps({"reason": "r", "grade": grade}), model=request.template.model)
        ] * count

    async def aclose(self):
        """Has nothing to close."""


RULES = turnwise.register_judge(
    turnwise.JudgeKind(name="example_rules", help="rules of an example", connect=Rules, model="rules-1")
)
