"""The last step of a run, which a runner repeats where it lost that it was done."""

from tests.tables import document_of
from turnwise.pipeline.io.run_writer import ConcludeFn, Finished, NameFilesFn, PublishFn
from turnwise.schemas.jsonio import JsonObject

FOLDER = "run-20261121T022000Z-0123abcd"


def test_a_repeated_end_changes_nothing(tmp_path):
    """Rows that were staged are gone then, so that they cannot be counted again."""
    staged = ["rows"]

    def conclude(finished: Finished) -> JsonObject:
        return {"problems": [] if staged else ["no row was written"], **finished.tables}

    named = NameFilesFn("jsonl").process(("", []), ("", FOLDER))
    (tmp_path / FOLDER).mkdir()
    publish = PublishFn(str(tmp_path))
    published = [written for name, file in named for _, written in publish.process((name, [file]))]
    for _ in range(2):
        end = ConcludeFn(str(tmp_path), "jsonl", conclude, staged.clear)
        end.process(("", published), ("", FOLDER))
        assert document_of(tmp_path, "run.json")["problems"] == []
    assert staged == []
