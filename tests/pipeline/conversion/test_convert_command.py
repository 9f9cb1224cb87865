"""`turnwise convert` of the sample data, into every form."""

import json

import pytest

from turnwise.transforms.decisions.conversion import TARGETS


@pytest.mark.parametrize("to", sorted(TARGETS))
def test_the_sample_is_converted_whole(turnwise, sample, tmp_path, to):
    output = tmp_path / f"out-{to}.evalset_result.json"
    run = turnwise("convert", sample / "conversations", output, "--to", to, "--json")
    done = json.loads(run.out)
    # One record of the sample is broken on purpose.
    reasons = [one["reason"] for one in done["rejected"]]
    assert run.status == 1 and sum("EOF" in reason for reason in reasons) == 1
    repeated = sum(done["skipped"].values()) + sum("once" in reason for reason in reasons)
    assert done["conversations"] == 60 == done["written"] + repeated
    assert turnwise("inspect", output).status == 0
