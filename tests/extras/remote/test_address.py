"""The text of a remote root."""

from __future__ import annotations

import pickle

import pytest

from eyespan import Workspace
from eyespan.extras.remote.address import split_address


@pytest.mark.parametrize(
    ("text", "url", "path"),
    [
        ("s3://bucket", "s3://bucket", "/s3/bucket"),
        ("s3://bucket/a/b/", "s3://bucket/a/b", "/s3/bucket/a/b"),
        ("S3://bucket//a", "s3://bucket/a", "/s3/bucket/a"),
        ("/data=gs://bucket/a", "gs://bucket/a", "/data"),
        ("/data/in/=https://host:8443/dir", "https://host:8443/dir", "/data/in"),
        ("http://127.0.0.1:80", "http://127.0.0.1:80", "/http/127.0.0.1:80"),
    ],
)
def test_a_root_has_a_url_and_a_local_name(text, url, path):
    assert split_address(text) == (url, path)
    with Workspace(text) as workspace:
        assert workspace.roots[0].path == path


@pytest.mark.parametrize("text", ["a=b", "/data=/tmp", "ftp://host/x", "file:///tmp", "s3:/bucket", "c:\\x"])
def test_other_texts_are_names_of_local_directories(text):
    with pytest.raises(NotADirectoryError, match=r"existing directory|no extra and no plugin opens (ftp|file)://"):
        Workspace(text)


@pytest.mark.parametrize(
    "text", ["s3://", "s3:///x", "https://user:word@host/", "https://host/?q=1", "s3://b/../c", "/a/../b=s3://c"]
)
def test_a_url_that_leads_elsewhere_is_refused(text):
    with pytest.raises(ValueError, match="root"):
        Workspace(text)


def test_a_workspace_with_remote_roots_can_be_pickled(tmp_path):
    (tmp_path / "a").write_text("x\n")
    with Workspace(str(tmp_path), "/data=s3://bucket/prefix") as workspace:
        saved = pickle.dumps(workspace)
        expected = workspace.tool("forge").call({"path": "a"}).text
    with pickle.loads(saved) as copy:
        assert [root.path for root in copy.roots] == [str(tmp_path), "/data"]
        assert copy.tool("forge").call({"path": "a"}).text == expected
