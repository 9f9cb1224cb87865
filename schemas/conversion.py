"""What a conversion did: the document of `turnwise convert --json` and `turnwise cases --json`."""

import msgspec


class NotConverted(msgspec.Struct):
    """Something that was not converted.

    Attributes:
        source: File of the record.
        position: 1-based line or index in that file; 0: the file as a whole.
        reason: Why, one line.
    """

    source: str
    position: int
    reason: str


class Conversion(msgspec.Struct):
    """What was converted, and what the target could not hold.

    Attributes:
        to: Name of the target.
        output: The file; null: nothing was written.
        conversations: Number of conversations that were read.
        cases: Number of eval cases that were read.
        written: Number of records that were written.
        not_held: Field -> how often the target does not hold it, or holds something else in its place.
        added: Field -> how often the target states it and the original does not.
        lost_count: Number of records, conversations and cases that were not converted.
        lost: The first 20 of them.
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
    lost: list[NotConverted] = []
    skipped: dict[str, int] = {}
    notes: dict[str, int] = {}
