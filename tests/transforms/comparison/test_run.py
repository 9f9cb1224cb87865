"""Which rows of a finished run count."""

import pytest

from tests.pipeline.report_html.made_run import conversation
from turnwise.schemas.run import RunDocument
from turnwise.transforms.decisions.run import Run, unnamed_case


def row(name, revision=0, **columns):
    return {"conversation_id": name, "app_version": "v1", "eval_id": None, "revision": revision} | columns


def metric(revision, start, criterion="c", level="turn"):
    names = {"window_start": start, "app_version": "v1", "criterion": criterion, "level": level}
    return names | {"revision": revision}


def test_of_a_conversation_that_a_stream_scored_again_the_last_revision_counts():
    """Also where only the later one names a case; several records of one revision are of several logs."""
    others = [row("a", app_version="v2"), row("b", position=1), row("b", position=2)]
    levels = [metric(0, "1", "d"), metric(0, "1", "d", "conversation"), metric(None, None)]
    tables = {
        "conversations": [row("a", 1, eval_id="e"), row("a"), *others],
        "scores": [row("a", value=0.0), row("a", 1, eval_id="e", value=1.0), row("b", value=0.5)],
        "metrics_by_app_version": [metric(0, "1"), metric(1, "1"), *levels],
    }
    texts = dict.fromkeys(("run_id", "create_time", "output_format"), "")
    objects = {key: {} for key in ("config", "criteria", "versions", "counts", "judge")}
    document = RunDocument(**texts, **objects, input=[], problems=[], exit_status=0, files=None)
    run = Run("out", document, tables.__getitem__)
    assert [*run.conversations()] == [tables["conversations"][place] for place in (0, 2, 3, 4)]
    assert [*run.scores()] == tables["scores"][1:]
    assert run.metrics() == [tables["metrics_by_app_version"][place] for place in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    "changes",
    [{"eval_id": "e"}, {"case_digest": None}, {"case_digest": ""}, {"task": "t"}, {"transcript": None}],
)
def test_only_a_golden_without_a_name_is_known_by_its_words(changes):
    row = conversation("c", eval_id="c", case_digest="d")
    assert unnamed_case(row) == unnamed_case({**row}) is not None
    said = ("to <EMAIL_1>, PIN <SECRET_2>", "to <EMAIL_2>, PIN <SECRET_1>")
    marked = [row | {"transcript": {"turns": [{"user": user, "label": None}]}} for user in said]
    assert unnamed_case(marked[0]) == unnamed_case(marked[1]) != unnamed_case(row)
    assert unnamed_case(row | changes) is None
