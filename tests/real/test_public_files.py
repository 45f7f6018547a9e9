"""Files that others have published are read, or refused with the sentence that says why."""

import hashlib

import pytest

from engine.input.assumed.placeholder import FILE as ASSUMED_FILE
from engine.input.loader import load_files
from tests.real.public_files import FOLDER, PublicFile, public_files

FILES = public_files()


@pytest.mark.skipif(not FOLDER.is_dir(), reason="no public files: set KSCOPE_PUBLIC_FILES")
@pytest.mark.parametrize("file", FILES, ids=[each.name for each in FILES])
def test_public_files_are_read_or_refused(file: PublicFile) -> None:
    data = (FOLDER / file.name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == file.sha256
    loaded = load_files([(file.path.rpartition("/")[2], data)])
    if file.refused:
        assert file.refused in " ".join(map(str, loaded.problems))
        return
    assert loaded.ok, loaded.problems
    kinds: dict[str, int] = {}
    for name, each in loaded.files.items():
        if name == ASSUMED_FILE:
            continue
        for kind, number in (each.kinds | each.aside).items():
            kinds[kind] = kinds.get(kind, 0) + number
    assert kinds == file.read


def test_the_table_names_different_files() -> None:
    assert len(FILES) >= 120
    assert len({each.sha256 for each in FILES}) == len(FILES)
    assert all(bool(each.read) != bool(each.refused) for each in FILES)
