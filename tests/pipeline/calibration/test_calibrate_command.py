"""`turnwise calibrate` through its own arguments, on a run of `turnwise run`."""

import json
import shutil

import pytest

from tests.pipeline import logs
from tests.pipeline.logs import ROUGE, write
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.io.terminal import columns

SIZE = 90
EXPECTED = "It arrives on Monday"


def log(number):
    said, language = EXPECTED if number % 3 else "No idea at all", "ko" if number % 2 else "en"
    return logs.log(f"c{number}", said, EXPECTED, app_version="v1", language=language)


@pytest.fixture(scope="module", params=["jsonl", "avro"])
def run(request, tmp_path_factory):
    place = tmp_path_factory.mktemp(request.param)
    source, config = write(place / "logs.jsonl", *map(log, range(SIZE))), write(place / "config.json", ROUGE)
    options = ["--input", str(source), "--config", str(config), "--output", str(place / "out")]
    assert main(["run", *options, "--output_format", request.param]) == 0
    return place / "out"


@pytest.fixture
def calibrated(run, turnwise, tmp_path):
    """Runs `turnwise calibrate` with labels (or a text) and returns status, output and errors."""

    def call(labels, *options):
        path = write(tmp_path / "labels.jsonl", *([labels] if isinstance(labels, str) else labels))
        (run / "calibration.json").unlink(missing_ok=True)
        return turnwise("calibrate", run, "--labels", path, *options)[:3]

    return call


def label(place, answer=None, criterion="response_match_score", **more):
    # People fail every fifth conversation, whatever was said.
    own = {"conversation_id": f"c{place}", "criterion": criterion}
    return own | {"label": answer or ("FAIL" if place % 5 == 0 else "PASS")} | more


def sample(size=40, of=SIZE):
    draw = {"seed": 7, "size": size, "of": of, "unit": "conversation"}
    drawn = [label(2 * number, chosen="random", draw=draw, number=number + 1) for number in range(size)]
    return [*drawn, *(one | {"criterion": "verdict"} for one in drawn)]


def test_scores_and_verdicts_are_corrected(calibrated, run):
    status, out, err = calibrated(sample(), "--format", "json")
    found = json.loads(out)
    assert (status, err, found) == (0, "", json.loads((run / "calibration.json").read_bytes()))
    assert [(own["criterion"], own["level"], own["labelled"]) for own in found["criteria"]] == [
        ("response_match_score", "conversation", 40),
        ("verdict", "conversation", 40),
    ]
    counts = {"both_pass": 21, "false_pass": 5, "false_fail": 11, "both_fail": 3}
    for own in found["criteria"]:
        raw, interval = own["corrected"][0]["raw"], own["corrected"][0]["interval"]
        assert raw == pytest.approx(2 / 3) and interval["low"] < 0.8 < interval["high"]
        assert own["outcomes"]["confusion"] == counts
    assert found["criteria"][0]["threshold"]["labels"] == 40 and found["criteria"][1]["threshold"] is None
    assert "no value" in found["criteria"][1]["no_threshold"]


@pytest.mark.parametrize("width", ["40", "200"])
def test_the_text_fits_the_terminal(calibrated, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    status, out, _ = calibrated([*sample(), label(1, rater="x" * 200), label("9" * 300, "up")])
    assert status == 1 and max(columns(line) for line in out.splitlines()[:-1]) <= int(width)
    assert "corrected by 40 labels" in " ".join(out.split())


def test_labels_that_say_nothing_of_agreement_are_told(calibrated):
    divided = [label(1, answer, rater=answer) for answer in ("PASS", "FAIL")]
    out = " ".join(calibrated(divided)[1].split())
    assert "agreement: not measured: no labelled score has an outcome and a majority of raters" in out


def test_a_calibration_that_stays_in_place_is_named(calibrated, run, tmp_path, capsys):
    calibrated(sample())
    before = (run / "calibration.json").read_bytes()
    labels = write(tmp_path / "others.jsonl", label("gone", "up"))
    for form in ("text", "json"):
        assert main(["calibrate", str(run), "--labels", str(labels), "--format", form]) == 1
        err = capsys.readouterr().err
        assert f"{run}/calibration.json of an earlier calibration stays" in err and err.count("\n") == 1
    assert (run / "calibration.json").read_bytes() == before


@pytest.mark.parametrize("cost", ["--false_pass_cost", "--false_fail_cost"])
def test_labels_of_another_criterion_keep_what_is_there(calibrated, run, tmp_path, capsys, cost):
    calibrated(sample()[:40])
    (before,) = json.loads((run / "calibration.json").read_bytes())["criteria"]
    labels = write(tmp_path / "others.jsonl", *sample()[40:])
    assert main(["calibrate", str(run), "--labels", str(labels)]) == 0
    kept = "kept of the earlier calibration: response_match_score (conversation)"
    assert kept in capsys.readouterr().out
    whole = json.loads((run / "calibration.json").read_bytes())
    assert whole["criteria"][0] == before and whole["criteria"][1]["criterion"] == "verdict"
    assert [path.rpartition("/")[2] for path in whole["labels"]] == ["labels.jsonl", "others.jsonl"]
    assert main(["calibrate", str(run), "--labels", str(labels), cost, "3"]) == 0
    assert f"{kept}\nreplaced of the earlier calibration: verdict" in capsys.readouterr().out
    stays = json.loads((run / "calibration.json").read_bytes())["criteria"][0]
    assert stays["corrected"] == before["corrected"] and "other costs" in stays["no_threshold"]


def test_another_run_in_the_directory_removes_the_calibration(run, calibrated, tmp_path):
    calibrated(sample())
    run = shutil.copytree(run, tmp_path / "out")
    assert (run / "calibration.json").exists()
    options = ["--input", str(write(tmp_path / "one.jsonl", log(1))), "--output", str(run), "--overwrite"]
    assert main(["run", *options]) == 0 and not (run / "calibration.json").exists()


def queue(run, path, *options):
    assert main(["labels", "queue", str(run), "--output", str(path), *options]) == 0
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_queue_is_the_same_again_and_its_random_part_corrects(run, calibrated, tmp_path, capsys):
    lines = queue(run, tmp_path / "queue.jsonl", "--size", "60", "--random", "40")
    assert "60 of 90 conversations to label: 40 drawn at random" in capsys.readouterr().out
    assert lines == queue(run, tmp_path / "again.jsonl", "--size", "60", "--random", "40")
    assert lines[:9] == [
        one | {"draw": lines[0]["draw"]} for one in queue(run, tmp_path / "few", "--size", "9")
    ]
    assert lines[:40] != queue(run, tmp_path / "other.jsonl", "--size", "40", "--random", "40", "--seed", "2")
    assert [one.get("number") for one in lines] == [*range(1, 41), *[None] * 20]
    assert {one["label"] for one in lines} == {None} and len({one["conversation_id"] for one in lines}) == 60
    picked = [int(one["conversation_id"][1:]) % 3 == 0 for one in lines[40:]]
    assert sum(picked) == 10  # as many that fail as that pass
    answered = [one | {"label": label(int(one["conversation_id"][1:]))["label"]} for one in lines]
    status, out, err = calibrated(answered)
    assert (status, err) == (0, "") and "40 drawn at random and 20 hand-picked" in out
    assert "pass rate of all 90" in out


def test_labels_of_several_people_become_one_file(run, calibrated, tmp_path, capsys):
    lines = queue(run, tmp_path / "queue.jsonl", "--size", "40", "--random", "40")
    given = [one | {"label": "PASS" if place % 4 else "FAIL"} for place, one in enumerate(lines)]
    ana = tmp_path / "ana.json"
    ana.write_text(json.dumps(given, indent=1))
    # Bo labels half of them, without ids, and differs about the first.
    plain = [{key: one[key] for key in ("conversation_id", "criterion")} for one in lines[:20]]
    told = [one | {"label": own["label"]} for one, own in zip(plain, given[:20], strict=True)]
    bo = write(tmp_path / "bo.jsonl", told[0] | {"label": "PASS"}, *told[1:], told[1])
    merged = tmp_path / "merged.jsonl"
    capsys.readouterr()
    assert main(["labels", "merge", str(ana), str(bo), "--output", str(merged), "--format", "json"]) == 0
    ((found,), replaced) = json.loads(capsys.readouterr().out).values()
    assert replaced == [] and (found["labelled"], found["shared"], found["agreed"]) == (40, 20, 19)
    assert found["raters"] == ["ana", "bo"] and found["kappa"] == pytest.approx(0.857, abs=1e-3)
    (differs,) = found["disagreements"]
    assert differs["labels"] == {"ana": "FAIL", "bo": "PASS"}
    again = str(tmp_path / "again.jsonl")
    assert main(["labels", "merge", str(ana), str(bo), "--output", again]) == 0
    assert f"{differs['conversation_id']} (v1): ana FAIL, bo PASS" in capsys.readouterr().out
    status, out, err = calibrated(merged.read_text())
    assert (status, err) == (0, "") and "labelled by 2 raters, 40 drawn at random" in out


def test_a_persons_later_label_replaces_the_earlier_one(run, calibrated, tmp_path, capsys):
    """Also without the id of the score, and over files; what says how the score was drawn stays."""
    lines = queue(run, tmp_path / "queue.jsonl", "--size", "40", "--random", "40")
    given = [one | {"label": "FAIL", "rater": "ana"} for one in lines]
    later = [
        {key: one[key] for key in ("conversation_id", "criterion")} | {"label": label, "rater": "ana"}
        for one, label in zip(lines[:3], ("PASS", None, "FAIL"), strict=True)
    ]
    paths = [write(tmp_path / "monday.jsonl", *given), write(tmp_path / "friday.jsonl", *later)]
    merged = tmp_path / "merged.jsonl"
    capsys.readouterr()
    assert main(["labels", "merge", *map(str, paths), "--output", str(merged)]) == 0
    out = capsys.readouterr().out
    assert "1 label replaced by a later one of the same person:" in out
    assert f"{lines[0]['conversation_id']}: ana FAIL, later PASS" in out
    rows = {row["conversation_id"]: row for row in map(json.loads, merged.read_text().splitlines())}
    assert [rows[one["conversation_id"]]["label"] for one in lines[:3]] == ["PASS", "FAIL", "FAIL"]
    assert len(rows) == 40 == sum(row.get("draw") is not None for row in rows.values())
    status, out, err = calibrated(merged.read_text())
    assert (status, err) == (0, "") and "40 drawn at random" in out
    # In the other order the first file counts.
    again = tmp_path / "again.jsonl"
    assert main(["labels", "merge", *map(str, paths[::-1]), "--output", str(again)]) == 0
    rows = {row["conversation_id"]: row for row in map(json.loads, again.read_text().splitlines())}
    assert rows[lines[0]["conversation_id"]]["label"] == "FAIL" and len(rows) == 40
