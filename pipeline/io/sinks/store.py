"""The sink for the store of evaluations and results."""

from turnwise.pipeline.io.run_record import RunRecord
from turnwise.pipeline.io.sinks.base import SinkKind, TableSink, register_sink
from turnwise.pipeline.settings.extras import check_store
from turnwise.pipeline.settings.outputs import SinkPlace
from turnwise.pipeline.store.states import Broken
from turnwise.pipeline.store.urls import absolute_url
from turnwise.schemas.jsonio import SCHEMES, JsonObject


def _open(place: SinkPlace) -> TableSink:
    from turnwise.pipeline.io.store import open_sink

    return open_sink(place)


def _left(place: SinkPlace) -> str:
    from turnwise.pipeline.io.store import left_in_store

    return left_in_store(place)


def _replaced(place: SinkPlace, results: int) -> int | None:
    from turnwise.pipeline.io.store import replaced_in_store

    return replaced_in_store(place, results)


def _begin(place: SinkPlace, document: JsonObject) -> None:
    from turnwise.pipeline.io.store import begin_run

    begin_run(place, document)


def _complete(place: SinkPlace, document: JsonObject) -> None:
    from turnwise.pipeline.io.store import complete_run

    complete_run(place, document)


def _break_off(place: SinkPlace, state: Broken, why: str) -> None:
    from turnwise.pipeline.io.store import break_off_run

    break_off_run(place, state, why)


register_sink(
    SinkKind(
        name="store",
        help="sqlite:///FILE, postgresql://...",
        schemes=SCHEMES,
        open=_open,
        check=check_store,
        absolute=absolute_url,
        left=_left,
        replaced=_replaced,
        record=RunRecord(_begin, _complete, _break_off),
    )
)
