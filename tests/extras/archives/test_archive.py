"""The listing of an archive names its members."""

from __future__ import annotations

import tarfile
import zipfile

import pytest

from eyespan import Workspace
from tests.readers.pdf_files import pages, words


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_an_archive_whose_first_member_is_a_pdf_is_listed(tmp_path, name):
    (tmp_path / "one.pdf").write_bytes(pages(words((72, 700, "only the first"))))
    (tmp_path / "two.txt").write_text("hello\n")
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.write(tmp_path / "one.pdf", "one.pdf")
            archive.write(tmp_path / "two.txt", "two.txt")
    else:
        with tarfile.open(tmp_path / name, "w:gz" if name.endswith(".gz") else "w") as archive:
            archive.add(tmp_path / "one.pdf", "one.pdf")
            archive.add(tmp_path / "two.txt", "two.txt")

    text = Workspace(tmp_path).tool("native").call({"files": name}).text

    assert [line.split()[-1] for line in text.split("\n")[2:]] == ["one.pdf", "two.txt"]
