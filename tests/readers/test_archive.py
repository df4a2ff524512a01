"""The listing of an archive names its members, and what the archive is used for."""

from __future__ import annotations

import tarfile
import zipfile

import pytest

from eyespan import Workspace
from tests.readers.pdf_files import pages, words


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        (["META-INF/MANIFEST.MF", "org/a/Main.class"], "zip archive (Java archive), 2 members"),
        (["META-INF/MANIFEST.MF", "AndroidManifest.xml"], "zip archive (Android app), 2 members"),
        (["[Content_Types].xml", "visio/document.xml"], "zip archive (Visio drawing), 2 members"),
        (["tool/a.py", "tool-1.0.dist-info/WHEEL"], "zip archive (Python wheel), 2 members"),
        (["Index/Document.iwa"], "zip archive (Pages, Numbers or Keynote document), 1 member"),
        (["Payload/Tool.app/Info.plist"], "zip archive (iOS app), 1 member"),
        (["a/AndroidManifest.xml.txt"], "zip archive, 1 member"),
    ],
)
def test_the_purpose_of_a_zip_archive_is_named(tmp_path, members, kind):
    with zipfile.ZipFile(tmp_path / "a.bin", "w") as archive:
        for name in members:
            archive.writestr(name, "x")

    text = Workspace(tmp_path).tool("native").call({"files": "a.bin"}).text

    assert text.split("\n")[1] == f"1\t{kind}"


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
