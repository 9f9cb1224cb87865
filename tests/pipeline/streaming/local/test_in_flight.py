"""Records in flight."""

from turnwise.pipeline.streaming.local.counts import InFlightRecords
from turnwise.schemas.conversation import Arrival, Receipt


class Owner:
    """Records in flight, and the positions settled at their source."""

    def __init__(self, *positions):
        self.told = []
        self.in_flight = InFlightRecords(lambda places: self.told.append(list(places)))
        for position in positions:
            self.in_flight.add(arrival(position))

    def complete(self, *receipts):
        whole = self.in_flight.complete(receipts)
        self.in_flight.release(whole)
        return whole


def arrival(position):
    return Arrival("logs", position, b"{}", 0.0)


def receipt(position, part=0, parts=1):
    return Receipt("logs", position, part, parts)


def test_a_record_is_taken_on_once_while_it_is_on_its_way():
    owner = Owner(1)
    assert not owner.in_flight.add(arrival(1)) and owner.in_flight.waiting == 1
    owner.complete(receipt(1))
    assert owner.in_flight.add(arrival(1)), "a source may give again what was settled"


def test_a_part_that_conversations_share_is_complete_with_the_last_of_its_pieces():
    owner = Owner(1)
    pieces = [Receipt("logs", 1, 1, 2, piece, 2) for piece in (0, 1)]
    assert owner.complete(pieces[0], receipt(1, 0, 2)) == []
    assert owner.complete(pieces[0]) == [], "the same piece again"
    assert owner.complete(pieces[1]) == [("logs", 1)]


def test_a_record_of_several_parts_is_whole_with_the_last_of_them():
    owner = Owner(1)
    assert owner.complete(receipt(1, 1, 3), receipt(1, 0, 3)) == []
    assert owner.complete(receipt(1, 0, 3), receipt(1, 1, 3)) == [], "the same parts again"
    assert owner.complete(receipt(1, 2, 3)) == [("logs", 1)]
    assert owner.told == [[("logs", 1)]]


def test_a_record_that_is_given_again_is_settled_again():
    owner = Owner(1)
    owner.complete(receipt(1, 0, 2), receipt(1, 1, 2))
    owner.in_flight.add(arrival(1))
    assert owner.complete(receipt(1, 1, 2)) == []
    assert owner.complete(receipt(1, 0, 2)) == [("logs", 1)]
    assert owner.told == [[("logs", 1)], [("logs", 1)]]
