"""Assertions about recorded conversations, for pytest, unittest or a script.

>>> from turnwise.testing import assert_conversation
>>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
>>> assert_conversation({"conversation_id": "c1", "turns": [turn]}, criteria={"response_match_score": 0.8})
"""

from turnwise.pipeline.python.testing.assertion import assert_conversation
from turnwise.pipeline.python.testing.recordings import Recording, UnusedCaseWarning

__all__ = ["Recording", "UnusedCaseWarning", "assert_conversation"]
