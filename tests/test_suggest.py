from __future__ import annotations

import pytest

from eyespan import suggest

NAMES = ["reader.py", "Reader.py", "readers", "writer.py", "read me.txt", "config_loader.py", "a.py"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("READER.PY", ["reader.py", "Reader.py", "readers"]),
        ("raeder.py", ["reader.py", "Reader.py", "writer.py"]),
        ("wirter.py", ["writer.py", "reader.py", "Reader.py"]),
        ("loader", ["readers", "config_loader.py"]),
        ("config", ["config_loader.py"]),
        ("xyz", []),
        ("", []),
        ("x" * 300, []),
    ],
)
def test_similar_names_come_with_the_most_similar_first(name, wanted):
    assert suggest.nearest(name, NAMES) == wanted


def test_as_many_names_are_suggested_as_asked_for():
    assert [len(suggest.nearest("reader.py", NAMES, most)) for most in (1, 2, 4)] == [1, 2, 4]


def test_names_that_look_the_same_are_lookalikes():
    names = ["caf\u00e9\u00a0menu", "cafe menu", "caf\u00e9 menu", "don\u2019t", "a\u200bb"]

    assert suggest.lookalikes("cafe\u0301 menu", names) == ["caf\u00e9\u00a0menu", "caf\u00e9 menu"]
    assert suggest.lookalikes("don't", names) == ["don\u2019t"]
    assert suggest.lookalikes("ab", names) == ["a\u200bb"]
    assert suggest.lookalikes("caf\u00e9 menu", ["caf\u00e9 menu"]) == []


def test_long_names_are_compared_in_small_numbers():
    """Comparing two thousand names of two hundred equal letters took seven seconds."""
    names = ["a" * 198 + f"{n:x}" for n in range(2000)]

    assert len(suggest.nearest("a" * 199, names)) == 3


# --- paths -----------------------------------------------------------------------------------------------------------

TREE = [
    ("", "/README.md/setup.py/"),
    ("src", "/app.py/"),
    ("src/core", "/models.py/user_view.py/"),
    ("src/api", "/models.py/routes.py/"),
    ("tests/api", "/test_routes.py/"),
    ("secret", "/routes.py/"),
]


def located(path):
    return suggest.Tree(TREE, lambda found: not found.startswith("secret")).locate(path)


@pytest.mark.parametrize(
    ("path", "certain"),
    [
        ("routes.py", "src/api/routes.py"),
        ("api/routes.py", "src/api/routes.py"),
        ("src/routes.py", "src/api/routes.py"),
        ("src/web/routes.py", "src/api/routes.py"),
        ("src/api/v1/routes.py", "src/api/routes.py"),
        ("project/src/api/routes.py", "src/api/routes.py"),
        ("one/two/src/api/routes.py", "src/api/routes.py"),
        ("SRC/Api/Routes.PY", "src/api/routes.py"),
        ("project/setup.py", "setup.py"),
        ("one/two/setup.py", ""),
        ("./src/../routes.py", "src/api/routes.py"),
        ("models.py", ""),
        ("src/models.py", ""),
        ("src/web/models.py", ""),
        ("web/models.py", ""),
        ("one/two/three/routes.py", ""),
        ("route.py", ""),
        ("nothing.py", ""),
        ("secret", ""),
        ("", ""),
    ],
)
def test_a_path_is_certain_if_it_fits_one_file_but_for_one_directory(path, certain):
    assert located(path).certain == certain


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("models.py", {"src/api/models.py", "src/core/models.py"}),
        ("web/core/models.py", {"src/core/models.py", "src/api/models.py"}),
        ("one/two/three/routes.py", {"src/api/routes.py"}),
        ("user-view.py", {"src/core/user_view.py"}),
        ("UserView.py", {"src/core/user_view.py"}),
        ("src/core/user_view.ts", {"src/core/user_view.py"}),
        ("rotues.py", {"src/api/routes.py", "src/api/models.py", "src/core/models.py"}),
        ("core", {"src/core/"}),
        ("zzz.py", set()),
        ("a" * 300, set()),
        ("a/" * 100 + "routes.py", set()),
    ],
)
def test_other_paths_are_ranked_by_their_directories(path, first):
    found = located(path).others

    assert set(found) == first
    if path in ("web/core/models.py", "rotues.py"):
        assert found[0] == {"w": "src/core/models.py", "r": "src/api/routes.py"}[path[0]]


def test_the_number_of_paths_is_bounded():
    many = [(f"d{number}", "/same.py/") for number in range(suggest.MAX_SAME_NAME + 100)]
    tree = suggest.Tree([*many, ("d7/x", "/same.py/")], lambda _: True)

    assert len(tree.locate("same.py").others) == suggest.MAX_SAME_NAME
    assert len(tree.locate("y/same.py").others) == suggest.MAX_SAME_NAME
    assert len(tree.locate("z/x/same.py").others) == suggest.MAX_LOCATED


def test_of_files_with_the_same_name_sources_and_short_paths_are_first():
    paths = ["tests", "a/b/c", "src/vendor", "docs/deep", "a/b", ".cache"]
    tree = suggest.Tree([(path, "/same.py/") for path in paths], lambda _: True)

    found = [path.removesuffix("/same.py") for path in tree.locate("same.py").others]

    assert found == ["a/b", "a/b/c", "tests", ".cache", "docs/deep", "src/vendor"]
