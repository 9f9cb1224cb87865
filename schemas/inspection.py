"""What files hold: the document of `turnwise inspect --json`."""

from typing import Literal

import msgspec

from turnwise.schemas.jsonio import JsonObject

Applies = Literal["scored", "judge", "cases", "no"]
"""`scored`: as the logs are. `judge`: as they are, by a judge. `cases`: if eval cases state what is expected.
`no`: not at all.
"""


class Noted(msgspec.Struct):
    """Something that was not read, or not all of it.

    Attributes:
        what: The kind: an error, or the kind of a finding.
        message: The first message, one line.
        source: File of the first one.
        position: 1-based line or index of the first one in that file; 0: the file as a whole.
    """

    what: str
    message: str
    count: int
    source: str
    position: int


class CriterionUse(msgspec.Struct):
    """Whether a criterion would score conversations.

    Attributes:
        applies: What it needs beside the logs.
        conversations: Number of the tried conversations to which this applies.
        why: Why it has no score; null: it is, or its judge would be asked.
    """

    criterion: str
    applies: Applies
    conversations: int
    why: str | None = None


class FileInspection(msgspec.Struct):
    """What a file holds.

    Attributes:
        formats: Format -> number of records; "": not recognised.
        conversations: Number of conversations; one joined of events counts in the file of its first event.
        results: Number of the tools' responses.
        joined: Number of events (records, or parts of records such as spans) that were joined into
            conversations.
        names_case: Conversations that name an eval case and do not bring it along.
        without_version: Conversations that state no app version, by their source.
        not_read: What could not be read, by message; those beyond the first 20 kinds are counted together.
        findings: What was left out of conversations, or not understood in them, by kind.
        tried: Number of conversations on which the criteria were tried, the first ones.
        criteria: The criteria of the registry, of the conversations.
        case_criteria: Those that score a conversation because of the eval cases of the file.
        example: The first conversation, or case, shortened; null: there is none.
    """

    path: str
    formats: dict[str, int] = {}
    records: int = 0
    conversations: int = 0
    turns: int = 0
    calls: int = 0
    results: int = 0
    cases: int = 0
    joined: int = 0
    names_case: int = 0
    without_version: dict[str, int] = {}
    not_read: list[Noted] = []
    findings: list[Noted] = []
    tried: int = 0
    criteria: list[CriterionUse] = []
    case_criteria: list[CriterionUse] = []
    example: JsonObject | None = None

    @property
    def is_read(self) -> bool:
        """Whether it holds something, and everything in it could be read."""
        return not self.not_read and bool(self.conversations or self.cases or self.joined)


class Inspection(msgspec.Struct):
    """What several files hold.

    Attributes:
        other_files: Files in the directories whose names say that they hold no records.
        no_version: Where an app version was looked for; null: a conversation states one, or there is none.
    """

    files: list[FileInspection]
    other_files: list[str]
    no_version: str | None = None

    @property
    def is_read(self) -> bool:
        """Whether every file holds something, and everything in it could be read."""
        return bool(self.files) and all(file.is_read for file in self.files)


class NotConverted(msgspec.Struct):
    """Something that was not converted.

    Attributes:
        source: File of the record.
        position: 1-based line or index in that file; 0: the file as a whole.
    """

    source: str
    position: int
    reason: str


class Conversion(msgspec.Struct):
    """What was converted, and what the target could not hold.

    Attributes:
        output: The file; null: nothing was written.
        not_held: Field -> how often the target does not hold it, or holds something else in its place.
        added: Field -> how often the target states it and the original does not.
        lost_count: Number of records, conversations and cases that were not converted.
        rejected: The first 20 of them.
        skipped: Why something was left out on purpose -> how often.
        notes: What a person should look at in what was written -> how often.
    """

    to: str
    output: str | None = None
    conversations: int = 0
    cases: int = 0
    written: int = 0
    not_held: dict[str, int] = {}
    added: dict[str, int] = {}
    lost_count: int = 0
    rejected: list[NotConverted] = []
    skipped: dict[str, int] = {}
    notes: dict[str, int] = {}
