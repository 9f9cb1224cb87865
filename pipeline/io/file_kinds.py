"""Detects binary files by their first bytes, so that they are not read as JSON Lines."""

KIND_BYTES = 512
"""Number of bytes needed to detect the kind of a file."""

_KINDS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"SQLite format 3\0", "a SQLite database; a store is named as sqlite:///PATH, by --eval_cases"),
    (0, b"PAR1", "a Parquet file"),
    (0, b"ARROW1", "an Arrow file"),
    (0, b"FEA1", "a Feather file"),
    (0, b"ORC", "an ORC file"),
    (0, b"Obj\x01", "an Avro file; its name must end in .avro"),
    (0, b"\x89HDF\r\n", "an HDF5 file"),
    (0, b"\x93NUMPY", "a NumPy file"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"PK\x05\x06", "a zip archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a RAR archive"),
    (0, b"\x1f\x8b", "compressed twice"),
    (4, b"1AY&SY", "compressed by bzip2, which is not read"),
    (0, b"\xfd7zXZ\0", "compressed by xz, which is not read"),
    (0, b"\x28\xb5\x2f\xfd", "compressed by zstd, which is not read"),
    (0, b"\x04\x22\x4d\x18", "compressed by lz4, which is not read"),
    (0, b"\xff\x06\x00\x00sNaPpY", "compressed by Snappy, which is not read"),
    (0, b"\x80\x02", "a Python pickle"),
    (0, b"\x80\x03", "a Python pickle"),
    (0, b"\x80\x04", "a Python pickle"),
    (0, b"\x80\x05", "a Python pickle"),
    (0, b"\xac\xed\x00\x05", "Java objects"),
    (0, b"\x89PNG\r\n", "an image"),
    (0, b"\xff\xd8\xff", "an image"),
    (0, b"GIF8", "an image"),
    (0, b"BM", "an image"),
    (0, b"II*\0", "an image"),
    (0, b"MM\0*", "an image"),
    (0, b"RIFF", "an image, a sound or a video"),
    (0, b"OggS", "a sound or a video"),
    (0, b"fLaC", "a sound"),
    (0, b"ID3", "a sound"),
    (4, b"ftyp", "a video"),
    (0, b"\x1aE\xdf\xa3", "a video"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a Microsoft Office document"),
    (0, b"\x7fELF", "a program"),
    (0, b"MZ", "a program"),
    (0, b"\xff\xfe\0\0", "UTF-32 text; only UTF-8 is read"),
    (0, b"\0\0\xfe\xff", "UTF-32 text; only UTF-8 is read"),
    (0, b"\xff\xfe{", "UTF-16 text; only UTF-8 is read"),
    (0, b"\xff\xfe[", "UTF-16 text; only UTF-8 is read"),
    (0, b"\xfe\xff\0", "UTF-16 text; only UTF-8 is read"),
    (0, b"{\0", "UTF-16 text; only UTF-8 is read"),
    (0, b"[\0", "UTF-16 text; only UTF-8 is read"),
    (0, b"\0{", "UTF-16 text; only UTF-8 is read"),
    (0, b"\0[", "UTF-16 text; only UTF-8 is read"),
)
_TEXT = frozenset(b'{["\xef \t\r\n')


class NotTextError(ValueError):
    """A file is of a known binary format."""


def check_text(head: bytes) -> None:
    """Raises NotTextError if the first bytes of a file are those of a known binary format."""
    if not head or (head[0] in _TEXT and head[1:2] != b"\0"):
        return
    for offset, mark, kind in _KINDS:
        if head.startswith(mark, offset):
            raise NotTextError(f"is {kind}")
