"""The sink for the store of evaluations and results."""

from turnwise.pipeline.io.sinks.base import SinkKind, TableSink, register_sink
from turnwise.pipeline.settings.extras import check_store
from turnwise.pipeline.settings.outputs import SinkPlace
from turnwise.pipeline.store.urls import SCHEMES, absolute_url


def _open(place: SinkPlace) -> TableSink:
    from turnwise.pipeline.io.store_sink import open_sink

    return open_sink(place)


def _left(place: SinkPlace) -> str:
    from turnwise.pipeline.io.store_sink import left_in_store

    return left_in_store(place)


def _replaced(place: SinkPlace, results: int) -> int | None:
    from turnwise.pipeline.io.store_sink import replaced_in_store

    return replaced_in_store(place, results)


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
    )
)
