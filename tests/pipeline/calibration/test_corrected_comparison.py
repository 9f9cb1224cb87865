"""`turnwise compare` of runs that human labels have calibrated."""

import json
import random

import pytest

from tests.pipeline.logs import ROUGE, log, write
from turnwise.pipeline.cli.main import main

SIZE = 200
EXPECTED = "It arrives on Monday"
NAMES = ("verdict", "response_match_score")


def make_run(place, version, judged):
    """Scores conversations that the criterion passes or fails as `judged` says."""
    place.mkdir()
    answers = (EXPECTED if passed else "No idea at all" for passed in judged)
    logs = (
        log(f"{version}-{number}", answer, EXPECTED, eval_id=f"case{number}", app_version=version)
        for number, answer in enumerate(answers)
    )
    write(place / "logs.jsonl", *logs)
    options = ["--input", f"{place}/logs.jsonl", "--config", str(write(place / "config.json", ROUGE))]
    assert main(["run", *options, "--output", f"{place}/out"]) == 0
    return place / "out"


def calibrate(out, version, people, size=120):
    draw = {"seed": 1, "size": size, "of": SIZE, "unit": "conversation"}
    lines = (
        {"conversation_id": f"{version}-{number}", "criterion": name, "chosen": "random", "draw": draw}
        | {"label": "PASS" if people[number] else "FAIL"}
        for name in NAMES
        for number in range(size)
    )
    path = write(out.parent / "labels.jsonl", *lines)
    assert main(["calibrate", str(out), "--labels", str(path)]) == 0


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Returns two runs whose judge lets B pass more often, though people let both pass equally often."""
    place, chance = tmp_path_factory.mktemp("runs"), random.Random(4)
    people = [chance.random() < 0.7 for _ in range(SIZE)]
    lenient = [passed or chance.random() < 0.6 for passed in people]
    found = make_run(place / "a", "v1", people), make_run(place / "b", "v2", lenient)
    calibrate(found[0], "v1", people)
    calibrate(found[1], "v2", people)
    return found


def test_a_lenient_judge_is_seen_through(runs, capsys):
    capsys.readouterr()
    assert main(["compare", *map(str, runs), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [own["criterion"] for own in found["criteria"]] == [*NAMES]
    detail = found["page"]["detail"]
    assert detail.startswith("The difference corrected by 120 and 120 labels of people: "), "first page"
    for own in found["criteria"]:
        corrected = own["corrected"]
        assert own["overall"]["word"] == "better" and own["overall"]["difference"] > 0.1
        assert abs(corrected["difference"]) < 0.06
        assert corrected["baseline_labels"] == corrected["candidate_labels"] == 120
        assert corrected["interval"]["low"] < 0 < corrected["interval"]["high"]
        assert "; corrected by 120 and 120 labels of people: " in own["sentence"]
        note = f"{own['criterion']}: better by the scores, but not shown by the figures that labels correct"
        assert note in found["notes"]


def test_one_side_alone_corrects_nothing(runs, capsys):
    kept = (runs[0] / "calibration.json").read_bytes()
    (runs[0] / "calibration.json").unlink()
    capsys.readouterr()
    assert main(["compare", *map(str, runs), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (runs[0] / "calibration.json").write_bytes(kept)
    assert [own["corrected"] for own in found["criteria"]] == [None, None]
    assert "v2 is calibrated by labels, v1 is not: no difference is corrected" in found["notes"]


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda text: text.replace('"run_id": "', '"run_id": "x'), "is of the run x"),
        (lambda text: "{", "cannot be read: run `turnwise calibrate` again, or remove it"),
    ],
)
def test_a_calibration_of_another_run_is_refused(runs, capsys, damage, message):
    path = runs[1] / "calibration.json"
    kept = path.read_text()
    path.write_text(damage(kept))
    status = main(["compare", *map(str, runs)])
    path.write_text(kept)
    assert status == 2 and message in capsys.readouterr().err
