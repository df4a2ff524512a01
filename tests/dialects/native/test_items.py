from __future__ import annotations


def test_a_directory_is_answered_with_its_names(root, call):
    (root / "link").symlink_to("src")
    (root / ".env").write_text("SECRET")

    assert call(".").text == "> .: directory, 3 names\n a.py\n link@\n src/"
    assert call("src/").text == "> src: directory, 1 name\n lib.py"


def test_a_large_directory_is_continued_like_a_file(root, call):
    (root / "many").mkdir()
    names = [f"name-{n:04}.txt" for n in range(300)]
    for name in names:
        (root / "many" / name).touch()

    seen, waiting = [], ["many"]
    while waiting:
        reply = call(waiting, budget=400)
        seen += [line[1:] for line in reply.text.split("\n") if line.startswith(" name-")]
        waiting = reply.structured.get("left_out", [])

    assert seen == names


def test_pages_of_a_text_are_an_error(call):
    assert call("a.py:p3").text == ">! a.py:p3: a text has no pages"


def test_a_binary_file_is_described(root, call):
    (root / "x.bin").write_bytes(b"\0\1\2" * 100)

    described = "binary data of unknown type, 300 bytes, begins with 00 01 02 00 01 02 00 01 02 00 01 02 00 01 02 00"
    assert call("x.bin").text.split("\n")[1:] == [f"1\t{described}"]
