"""JSON that nests too deeply is refused with the limit, however deep it is."""

import pytest

from turnwise.schemas.ces.result import Evaluation
from turnwise.schemas.proto.message import WireError


@pytest.mark.parametrize("levels", [200, 100_000])
def test_json_that_nests_too_deeply_is_refused_with_the_limit(levels: int) -> None:
    args = '{"a":' * levels + "1" + "}" * levels
    body = '{"golden":{"turns":[{"steps":[{"expectation":{"toolCall":{"args":' + args + "}}}]}]}}"
    with pytest.raises(WireError, match="messages nest deeper than 100"):
        Evaluation.from_json(body)
