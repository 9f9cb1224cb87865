"""Rules for simulated users: those of any user, and those of google-adk's personas."""

from turnwise.transforms.judging.prompts.wordings import wording

PERSONAS: dict[str | None, tuple[str, ...]] = {
    None: (
        "follows the plan",
        "stops in time",
        "goal first, details when asked",
        "helps once",
        "answers everything",
        "corrects the agent",
        "speaks casually",
    ),
    "EXPERT": (
        "goal with all details",
        "answers what matters",
        "corrects the agent",
        "helps once",
        "stops after a second failure",
        "speaks professionally",
    ),
    "NOVICE": (
        "goal without details",
        "does not correct the agent",
        "answers everything",
        "stops after a failure",
        "speaks casually and evenly",
    ),
    "EVALUATOR": (
        "goal with all details",
        "answers what matters",
        "stops after a failure",
        "does not correct the agent",
        "speaks casually and evenly",
    ),
}
"""Persona -> names of its rules in the wording `user_rules`; None: a user without a persona."""


def rules_of(persona: str | None) -> list[str]:
    """Returns the rules of a persona; those of any user where there is none of that name."""
    blocks = wording("user_rules", "second").split("\n\n")
    texts = {block.partition(":")[0]: block for block in blocks}
    return [texts[name] for name in PERSONAS.get(persona, PERSONAS[None])]
