"""Files of a stream on a runner that cannot let lines wait."""

from turnwise.pipeline.streaming.beam import _WriteBundleFn


def test_a_bundle_leaves_no_line_behind_and_a_repeated_one_no_other_file(tmp_path):
    writing = _WriteBundleFn(str(tmp_path))
    for _ in range(2):
        writing.start_bundle()
        for line in (("scores/0", b"1"), ("results-r00000/3", b"2"), ("scores/2", b"3")):
            writing.process(line)
        writing.finish_bundle()
    files = {path.name.rpartition("-")[0]: path.read_bytes() for path in tmp_path.iterdir()}
    assert files == {"scores": b"1\n3\n", "results-r00000": b"2\n"}
    assert len(list(tmp_path.iterdir())) == 2
