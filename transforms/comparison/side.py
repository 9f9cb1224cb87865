"""One side of a comparison."""

from collections.abc import Sequence

from msgspec import Struct, field

from turnwise.schemas.calibration import Calibration
from turnwise.schemas.run import RunDocument
from turnwise.transforms.comparison.columns import ConversationColumns


class ComparedSide(Struct):
    """One side of a comparison.

    Attributes:
        name: How texts call it.
        source: Directory of the run, or address of the store.
        conversations: Its conversations.
        run_ids: Ids of its runs.
        lost: Records, conversations and eval cases of the run that were lost, and files that were not read
            to the end; None: not known.
        notes: What is said of its runs, one line each.
        problems: Why the run ended with exit status 1, one line each.
        document: `run.json`; None: of a store.
        rulers: Criterion -> the judge models and prompts that scored it, `model, prompt version`.
        errors: Criterion -> conversations in which it failed with an error.
        calibration: What human labels say of its run; None: it has no labels.
    """

    name: str
    source: str
    conversations: ConversationColumns
    run_ids: list[str]
    lost: int | None = None
    notes: list[str] = field(default_factory=list)
    problems: Sequence[str] = ()
    document: RunDocument | None = None
    rulers: dict[str, set[str]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    calibration: Calibration | None = None
