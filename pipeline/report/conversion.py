"""Writes the conversations of a finished run with their scores, in a format that holds both."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import cast

from turnwise.pipeline.conversion.candidates import RowKey, last_rows
from turnwise.pipeline.conversion.convert import add_differences, add_lost
from turnwise.pipeline.conversion.output import record_file
from turnwise.pipeline.io.run_reader import open_run
from turnwise.schemas.config import ConfigError
from turnwise.schemas.inspection import Conversion
from turnwise.schemas.rows import ConversationRow, ScoreRow, Transcript
from turnwise.transforms.decisions.cases import recorded_turns, transcript_conversation
from turnwise.transforms.tools.conversion import RunOfConversation, Target, scored

_ADK = ".adk"
_SETS = "results of several eval sets; adk web shows them in the first one"


def convert_run(directory: str, target: Target, output: str) -> Conversion:
    """Writes the conversations of a run with their scores.

    Args:
        directory: Output directory of the run.
        target: The target; it has `scored`.
        output: Path of the file.

    Raises:
        ConfigError: There is no finished run, the target holds no scores, or the file cannot be written.
    """
    if target.scored is None:
        said = f"is the output directory of a run; {target.name} holds no scores, so name the logs instead"
        raise ConfigError(f"{directory}: {said}")
    done, run = Conversion(to=target.name), open_run(directory)
    scores: defaultdict[tuple[RowKey, int], list[ScoreRow]] = defaultdict(list)
    for score in run.scores():
        scores[(score["conversation_id"], score["app_version"]), score["revision"]].append(score)
    notes, sets = Counter[str](), set[str | None]()
    with record_file(output, target) as file:
        for key, row in last_rows(run):
            done.conversations += 1
            if row["transcript"] is None:
                add_lost(done, row["source"] or "", row["position"] or 0, "the run kept no transcript")
                continue
            transcript = cast(Transcript, row["transcript"])
            notes["cut transcripts"] += transcript["cut"]
            sets |= {row["eval_set_id"]} - {None}
            own = scores.get((key, row["revision"]), [])
            made = scored(_scored(row, transcript, own, app_name(output)), target)
            file.add(made.record)
            add_differences(done, made)
        done.written, done.output = file.count, output if file.count else None
    notes[_SETS] = len(sets) if len(sets) > 1 else 0
    done.notes = {said: count for said, count in notes.items() if count}
    return done


def _scored(
    row: ConversationRow, transcript: Transcript, scores: list[ScoreRow], name: str
) -> RunOfConversation:
    """Returns a row with its scores; turns are numbered as they happened."""
    conversation = transcript_conversation(row, transcript)
    places = {turn["index"]: place for place, turn in enumerate(recorded_turns(transcript))}
    own: list[ScoreRow] = []
    for score in scores:
        index = score["turn_index"]
        place = None if index is None else places.get(index, index)
        if index is None or index in places:
            own.append({**score, "turn_index": place})
    return RunOfConversation(conversation, row["verdict"], own, name)


def app_name(output: str) -> str:
    """Returns the name of the agent in whose folder a file lies (`AGENT/.adk/eval_history/FILE`)."""
    parts = Path(output).absolute().parts
    return parts[parts.index(_ADK) - 1] if _ADK in parts[1:] else "turnwise"
