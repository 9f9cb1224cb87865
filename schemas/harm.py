"""Kinds of harm that a failed score can mean, by which conversations are ordered for reading."""

from typing import Final, Literal, TypeAlias, get_args

CriterionHarm: TypeAlias = Literal[
    "safety", "false_claims", "missing_writes", "unsupported", "expectations", "text", "other"
]
"""Harm that a criterion can state."""

HarmTerm: TypeAlias = Literal[
    "destructive",
    "safety",
    "false_claims",
    "missing_writes",
    "unsupported",
    "expectations",
    "text",
    "other",
    "undecided",
]
"""All kinds, the most severe first.

`destructive`: a successful call that cannot be undone and was not expected. `missing_writes`: changes that
are missing, wrong or not expected. `undecided`: a conversation without a verdict.
"""

CRITERION_HARMS: Final[tuple[str, ...]] = get_args(CriterionHarm)
HARM_TERMS: Final[tuple[HarmTerm, ...]] = get_args(HarmTerm)
HARM_WEIGHTS: Final[dict[HarmTerm, int]] = {term: 3**i for i, term in enumerate(reversed(HARM_TERMS))}
"""Weight of each kind. The half of each weight is more than all lower weights together can reach."""
