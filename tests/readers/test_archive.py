"""The listing of an archive names what the archive is used for."""

from __future__ import annotations

import zipfile

import pytest

from eyespan import Workspace


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
