"""The command `turnwise store` names its subcommands, and refuses others."""

import pytest

from turnwise.pipeline.cli.store import COMMANDS


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["--help"], 0)])
def test_help_names_every_subcommand(turnwise, arguments, status):
    done = turnwise("store", *arguments)
    assert done.status == status and done.out.startswith("usage: turnwise store COMMAND")
    assert [name for name in COMMANDS if f"\n  {name} " not in done.out] == []


def test_an_unknown_subcommand_is_refused_in_one_line(turnwise):
    done = turnwise("store", "tidy")
    assert done.status == 2 and "unknown command store tidy" in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_a_subcommand_needs_a_store(turnwise, name):
    done = turnwise("store", name)
    assert done.status == 2 and "--store" in done.err and done.err.count("\n") == 1
