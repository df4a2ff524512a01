from __future__ import annotations

import pickle
import string
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyespan.errors import PolicyDenied
from eyespan.extras.archives import compressed_names
from eyespan.policy import MAX_VERDICTS, TOO_LONG, NarrowedPolicy, Policy, rules
from eyespan.policy.copies import MAX_ORIGINALS, names_of_originals
from eyespan.policy.rules import BUILT_IN_ALLOW, BUILT_IN_DENY, matches
from eyespan.policy.spellings import COMPRESSION_SUFFIXES, fold, spellings
from tests.sizes import size

# --- the rules that are built in -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (".ssh/config", "**/.ssh/**"),
        ("home/u/.ssh/known_hosts", "**/.ssh/**"),
        (".ssh", "**/.ssh/**"),
        (".gnupg/pubring.kbx", "**/.gnupg/**"),
        ("id_rsa", "**/id_rsa*"),
        ("keys/id_rsa.pub", "**/id_rsa*"),
        ("id_ed25519", "**/id_ed25519*"),
        ("id_ecdsa_sk", "**/id_ecdsa*"),
        ("id_dsa", "**/id_dsa*"),
        ("tls/server.pem", "**/*.pem"),
        ("tls/server.key", "**/*.key"),
        (".pem", "**/*.pem"),
        ("cert.p12", "**/*.p12"),
        ("cert.pfx", "**/*.pfx"),
        (".env", "**/.env"),
        ("app/.env", "**/.env"),
        (".env.production", "**/.env.*"),
        (".env.local", "**/.env.*"),
        (".env.example.bak", "**/.env.*"),
        (".netrc", "**/.netrc"),
        (".pgpass", "**/.pgpass"),
        (".git-credentials", "**/.git-credentials"),
        (".aws/credentials", "**/.aws/credentials"),
        ("home/.aws/credentials", "**/.aws/credentials"),
        (".aws/credentials/", "**/.aws/credentials"),
        ("./a//.env", "**/.env"),
        ("x/../.env", "**/.env"),
        ("/abs/olute/.env", "**/.env"),
        ("prod.env", "**/*.env"),
        ("app/.envrc", "**/.envrc"),
        (".env-prod", "**/.env-*"),
        (".npmrc", "**/.npmrc"),
        (".pypirc", "**/.pypirc"),
        (".kube/config", "**/.kube/config"),
        ("home/.docker/config.json", "**/.docker/config.json"),
        (".config/gh/hosts.yml", "**/.config/gh/hosts.yml"),
        ("credentials.json", "**/credentials.json"),
        (".htpasswd", "**/.htpasswd"),
        (".vault-token", "**/.vault-token"),
        ("passwords.kdbx", "**/*.kdbx"),
        ("release.jks", "**/*.jks"),
        (".ssh/.env.example", "**/.ssh/**"),
        ("etc/ssh_host_rsa_key", "**/ssh_host_*"),
        ("AuthKey.p8", "**/*.p8"),
        ("client.ovpn", "**/*.ovpn"),
        (".claude/.credentials.json", "**/.credentials.json"),
        (".codex/auth.json", "**/.codex/auth.json"),
        (".config/git/credentials", "**/.config/git/credentials"),
        (".azure/accessTokens.json", "**/.azure/accesstokens.json"),
        (".m2/settings.xml", "**/.m2/settings.xml"),
    ],
)
def test_keys_and_credentials_are_denied(path, rule):
    assert Policy().rule_against(path) == rule


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "/",
        "README.md",
        ".env.example",
        "app/.env.sample",
        ".env.template",
        ".env.dist",
        ".env.defaults",
        ".env.schema",
        ".env.production.example",
        "example.env",
        "app.sample.env",
        ".environment",
        ".kubectl/config",
        "docker/config.json",
        "notes.bak",
        "app.log.gz",
        "old~",
        "~",
        ".gz",
        "...",
        "env",
        "ssh/config",
        ".sshx/config",
        "x.pem.md",
        "pem",
        "env~",
        "env~1x",
        "config~1",
        "config (1).json",
        "credentials (1).md",
        "settings.xml",
        "auth.json",
        "12 monkeys.txt",
        "notes (draft)",
        "2026-01-01 report.txt",
        "merge-conflict.md",
        "a.zip",
        "keyboard.py",
        "hid_rsa",
        ".aws/config",
        "credentials",
        ".gitignore",
        "python3",
        "report (1).md",
        "notes.1",
        "libkey.so.1",
        "monkey-2",
        "example.env.1",
        "#todo#",
        "Copy of notes",
        "a:b",
        "x.pem.md.1",
    ],
)
def test_names_that_only_look_like_them_are_allowed(path):
    assert Policy().rule_against(path) is None


def test_every_rule_that_is_built_in_can_be_taken_off():
    policy = Policy(built_in=False)

    assert policy.rule_against(".ssh/id_rsa") is None
    assert policy.deny == ()


# --- spelling ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        ".ENV",
        ".Env",
        ".SSH/Config",
        "ID_RSA",
        "Server.PEM",
        ".\u017fsh/config",  # long s
        "id_r\u017fa",
        "server.\u212aey",  # the sign for kelvin
        ".e\u200bnv",  # no width
        ".en\u00adv",  # a soft hyphen
        "\ufeff.env",
        ".env\u2060",
        ".env\ufe0f",
        ".e\U000e0001nv",
        ".e\x01nv",
        ".en\x9fv",
        "\t.npmrc",
        ".net\nrc",
        ".npmrc\u2800",
        "\u0131d_rsa",  # an i without a dot, which is the upper case I in lower case elsewhere
        "\u0130D_RSA",
    ],
)
def test_case_and_invisible_characters_do_not_get_past_a_rule(path):
    assert Policy().rule_against(path) is not None


@pytest.mark.parametrize("rule", ["geheim/überblick.md", "geheim/u\u0308berblick.md", "GEHEIM/ÜBERBLICK.md"])
@pytest.mark.parametrize("path", ["geheim/überblick.md", "geheim/u\u0308berblick.md", "Geheim/U\u0308BERBLICK.MD"])
def test_composed_and_decomposed_names_are_the_same(rule, path):
    assert Policy(deny=[rule]).rule_against(path) == rule


ORIGINALS = (".env", "a.key", "a.pem", ".netrc", ".npmrc", "id_rsa", "credentials.json", ".aws/credentials", ".ssh/a")
COPIES = (
    *("{}~", "{}.~1~", "#{}#", ".#{}", "{}.1", "{}.bak2", "{}-bak", "{}_old", "{}.copy", "{} copy", "{} (copy)"),
    *(
        "{} (1)",
        "{} - Copy",
        "Copy of {}",
        "{}.tmp",
        "{}.lock",
        "{}.dpkg-old",
        "{}.rpmsave",
        "{}.pacsave",
        "{}.2026-01-31",
    ),
    *(".{}.un~", ".{}.swn", ".{}.kate-swp", "{};1", "{}:Zone.Identifier", "{}::$INDEX_ALLOCATION", "{}.gz", "{}.lz4"),
    *("{}.zip", "{}.7z", "{}.rar", "{}.tar", "{}.tgz", "{}.Z", "{}.txt", "{}.local", "{}~HEAD", "{}.mine", "{}.r12"),
    *("{},v", "{}.THIS", "{}.OTHER"),
    *("{}_BACKUP_1234", "{}.sync-conflict-20260131-120000-ABCDEFG", "{} (conflicted copy 2026-01-31)"),
    *("{} (Bob's conflicted copy 2026-01-31)", "{}-2026-01-31T12:00:00Z", "2026-01-31-{}", "20260131_{}"),
    *("._{}", "~${}", ".~lock.{}#", " {}", "C:{}", "backup-{}", "old_{}", "{} - Kopie", "Kopie von {}"),
)
MARKS_BEFORE_SUFFIX = (" (1)", " - Copy", " copy 2", "-1", "_old", ".bak", "~HEAD", ".sync-conflict-20260131", " (x)")


@given(
    st.sampled_from(ORIGINALS), st.lists(st.sampled_from(COPIES), max_size=4), st.sampled_from(["", "x/", "x/" * 99])
)
def test_copies_that_programs_make_of_a_denied_file_are_denied(original, marks, above):
    directory, slash, name = original.rpartition("/")
    for mark in marks:
        name = mark.format(name)
    path = f"{above}{directory}{slash}{name}"

    assert Policy().rule_against(path) is not None


@pytest.mark.parametrize(
    "path",
    [
        *("secret.txt. ", "secret.txt..", "private /x", "private.gz/x", "private.bak/x", "a/x/../credentials"),
        *("a/./credentials", "secret.txt::$DATA", "a\\credentials", "secret.txt.gz", "SECRET.txt~", ".secret.txt.swp"),
    ],
)
def test_each_spelling_of_a_name_that_the_host_denies_is_denied(path):
    assert Policy(deny=["secret.txt", "private/", "a/credentials"], built_in=False).rule_against(path) is not None


@pytest.mark.parametrize("mark", COPIES)
def test_each_mark_of_copies_is_removed(mark):
    policy = Policy()
    paths = [f"{original.rpartition('/')[0]}/{mark.format(original.rpartition('/')[2])}" for original in ORIGINALS]
    paths += [path.upper() for path in paths]

    assert [path for path in paths if policy.rule_against(path) is None] == []


@pytest.mark.parametrize("mark", MARKS_BEFORE_SUFFIX)
def test_a_mark_of_copies_before_the_suffix_is_removed(mark):
    originals = ("credentials.json", ".docker/config.json", ".config/gh/hosts.yml", ".my.cnf", ".m2/settings.xml")
    names = [mark.join([name[: name.rindex(".")], name[name.rindex(".") :]]) for name in originals]

    assert [name for name in names if Policy().rule_against(name) is None] == []


@pytest.mark.parametrize(
    "path",
    [
        *("ENV~1", "env~12", "ENV~1.PRO", "ENV-PR~1", "NETRC~1", "NPMRC~1", "CREDEN~1.JSO", "GIT-CR~1", "MY~1.CNF"),
        *("SSH~1/config", "PASSWO~1/a", "AWS~1/CREDEN~1", "AWS~1/credentials", "KUBE~1/config", "X~1.KDB", "ID_ED2~1"),
        *("DOCKER~1/CONFIG~1.JSO", "CONFIG~1/gh/hosts.yml", "HTPASS~1", "\uff25\uff2e\uff36\uff5e\uff11"),
    ],
)
def test_the_short_names_of_windows_are_names_of_the_same_file(path):
    policy = Policy()

    assert policy.rule_against(path) is not None


@pytest.mark.parametrize("path", ["server.key\0.txt", ".netrc\0", "a/.env\0/b.md", "a/credentials.json\0.gz"])
def test_a_name_ends_at_a_nul_for_many_programs(path):
    assert Policy().rule_against(path) is not None


@pytest.mark.parametrize(
    "path",
    [
        "f\udcfcr.txt",  # Latin-1 on a disk of UTF-8
        "f\xc3\xbcr.txt",  # UTF-8 read as Latin-1
        "f\u251c\u255dr.txt",  # UTF-8 read as the code page of zip archives
        "f\u207fr.txt",  # Latin-1 read as that
        f"f{chr(0xDC81)}r.txt",  # that code page on a disk of UTF-8
    ],
)
def test_a_name_in_another_encoding_does_not_get_past_a_rule_of_the_host(path):
    assert Policy(deny=["für.txt"]).rule_against(path) == "für.txt"
    assert Policy(deny=["fur.txt"]).rule_against(path) is None


def test_a_rule_with_backslashes_is_one_with_slashes():
    policy = Policy(deny=["private\\plan.md", "secret\\"])

    assert policy.rule_against("private/plan.md") == "private\\plan.md"
    assert policy.rule_against("a/secret/x") == "secret\\"


@pytest.mark.parametrize("outer", COPIES)
def test_each_copy_of_a_copy_is_denied(outer):
    policy = Policy()
    names = []
    for number, inner in enumerate(COPIES):
        each = (".env", "a.key", ".netrc", ".ssh", ".aws")
        for name in size(short=each[number % 5 :][:1], long=each):
            below = {".ssh": "/a", ".aws": "/credentials"}.get(name, "")
            names.append(outer.format(inner.format(name)) + below)

    assert [name for name in names if policy.rule_against(name) is None] == []


@pytest.mark.parametrize(
    ("name", "most"), [(".#" * 50 + ".env" + ".1" * 50, 160), (".#" * 5000 + ".env" + ".1~ (copy)" * 5000, 40)]
)
def test_a_name_with_very_many_marks_is_not_judged_without_end(name, most):
    assert 10 < len(names_of_originals(name, MAX_ORIGINALS)) < most


def test_a_name_with_many_marks_is_denied():
    assert Policy().rule_against(".#" * 4 + ".env" + ".1" * 4) is not None


@pytest.mark.parametrize(
    "directory", [".ssh.1", ".ssh-backup", ".ssh (copy)", "Copy of .ssh", ".ssh.2026-01-31", ".ssh.zip", "SSH~1"]
)
def test_a_copy_of_a_denied_directory_is_denied(directory):
    assert Policy().rule_against(f"{directory}/x") is not None


def test_a_copy_of_a_denied_directory_is_denied_where_it_is_the_root():
    policy = Policy()

    assert policy.rule_against("x", "/home/u/.ssh.bak") == "**/.ssh/**"
    assert policy.rule_against("credentials", "/home/u/.aws (copy)") == "**/.aws/credentials"


def test_a_rule_of_the_host_says_nothing_about_copies_by_number():
    assert Policy(deny=["notes", "data/"]).rule_against("notes.1") is None
    assert Policy(deny=["x.envy"]).rule_against("x.envy.1") is None
    assert Policy(deny=["notes", "data/"]).rule_against("data-2/a") is None


def test_an_exception_for_a_copy_lifts_the_rule():
    assert Policy(allow=["ca.pem.1"]).rule_against("ca.pem.1") is None
    assert Policy(allow=["ca.pem.1"]).rule_against("ca.pem.2") is not None
    assert Policy(allow=["ca.pem"]).rule_against("ca.pem.2") is None


NAMES = st.sampled_from(
    [".env", ".ENV.", "a.pem", ".ssh", "x.ssh", "secret", "a", ".", "..", "", "id_rsa2", "é", "b.é"]
)
BUILT_NAMES = st.lists(
    st.sampled_from(
        [
            *(".netrc", ".env", "a.key", "credentials", ".json", "config", ".ssh", "ENV", "CREDEN", ".my", ".cnf", "a"),
            *("~", "~1", " ", "1", "2026-", "(", ")", " (1)", ".zip", ".txt", "-old", "#", ".#", "._", ":", "C:", "\t"),
            *(".sync-conflict-1", "conflict", "Copy of ", ".bak", ".gz", "T", "Z", ".", "-", "_", "r1", "\x01", "é"),
        ]
    ),
    max_size=5,
).map("".join)
"""Names made of pieces of denied names and of marks of copies."""
BUILT_NAMES |= BUILT_NAMES.map(str.upper)


ANY_PIECES = st.sampled_from(ORIGINALS) | BUILT_NAMES | st.characters() | st.sampled_from(string.printable)
ANY_NAMES = st.lists(ANY_PIECES).map("".join)
"""Names of denied files, marks of copies, every ASCII sign and all of Unicode, in any order."""


@given(st.lists(NAMES | ANY_NAMES, max_size=5).map("/".join), st.sampled_from(["", "/srv", "/home/u/.aws"]))
@example("credentials;1.json", "")
@example("pgpass;1.conf", "")
@example(".azure/accesstokens;1.json", "/srv")
@example("#rclone#_20240102.conf", "")
@example(".mylogin.cnf_bak.1 -", "")
@example("CREDEN~1.JSO", "")
@example("\uff0e\uff45\uff4e\uff56", "")
@example("id_r\u017fa", "")
@example(".env/\xe9", "")
def test_an_unrelated_rule_does_not_change_a_verdict(path, root):
    unrelated = [["no such directory/no such name"], ["*.no-such-suffix", "[\u2603]"]]

    assert [Policy(rules).rule_against(path, root) for rules in unrelated] == [Policy().rule_against(path, root)] * 2


@given(st.lists(NAMES | ANY_NAMES, max_size=5).map("/".join), st.sampled_from(["", "/srv", "/home/u/.aws"]))
def test_a_verdict_does_not_depend_on_what_was_judged_before(path, root):
    policy = Policy()
    first = policy.rule_against(path, root)

    assert [policy.rule_against(path, root), Policy().rule_against(path, root)] == [first, first]


@given(st.text(st.sampled_from("eEé\u0301\u200b\u0345\u0391\u1fb3ßſK\u00ad")) | st.text())
@example("e\u200b\u0301")
def test_folding_is_done_once_and_for_all(text):
    assert fold(fold(text)) == fold(text)


@given(st.text())
def test_all_forms_of_a_name_fold_to_one(text):
    forms = {fold(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}

    assert forms == {fold(text)}


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=8))
def test_case_folds_away(text):
    assert fold(text.casefold()) == fold(text)


def test_folding_takes_names_that_are_no_unicode():
    assert Policy().rule_against("\udcff/.env") == "**/.env"
    assert Policy().rule_against("\ud800") is None


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("server.key.gz", "**/*.key"),
        ("server.key.GZ", "**/*.key"),
        ("server.key.bak", "**/*.key"),
        ("server.key~", "**/*.key"),
        ("server.key~~~", "**/*.key"),
        ("server.key.old.orig.gz.xz", "**/*.key"),
        (f"server.key{'.gz' * 60}", "**/*.key"),
        ("server.key.", "**/*.key"),
        ("server.key . .", "**/*.key"),
        ("server.key .gz", "**/*.key"),
        (".server.key.swp", "**/*.key"),
        (".id_rsa.swp", "**/id_rsa*"),
        (".netrc::$DATA", "**/.netrc"),
        (".ssh.bak/config", "**/.ssh/**"),
        (".ssh./config", "**/.ssh/**"),
        (".ssh \\config", "**/.ssh/**"),
        ("app\\.npmrc", "**/.npmrc"),
        ("\uff0enpmrc", "**/.npmrc"),
        (".np\uff4drc", "**/.npmrc"),
        ("app\uff3c.npmrc", "**/.npmrc"),
        ("\u3002npmrc", "**/.npmrc"),
        ("\uff61npmrc", "**/.npmrc"),
        (".ssh\u2044config", "**/.ssh/**"),
        (".ssh\u2215config", "**/.ssh/**"),
        ("server.key\u3000", "**/*.key"),
        (".aws/x/../credentials", "**/.aws/credentials"),
        ("a\\.aws\\credentials.bak", "**/.aws/credentials"),
    ],
)
def test_no_spelling_of_a_name_gets_past_a_rule(path, rule):
    assert Policy().rule_against(path) == rule


def test_every_name_between_the_written_one_and_the_bare_one_is_judged():
    policy = Policy(deny=["*.bak", "kept.old/plan.md"], built_in=False)

    assert policy.rule_against("plan.bak.gz") == "*.bak"
    assert policy.rule_against("kept.old/plan.md.gz") == "kept.old/plan.md"
    assert policy.rule_against("plan.md.gz") is None


def test_the_suffixes_of_compressed_files_are_those_that_are_decoded():
    suffixes = [suffix for suffix, replacement in compressed_names._SUFFIXES.items() if not replacement]

    assert set(suffixes) <= set(COMPRESSION_SUFFIXES)


def test_a_long_name_of_suffixes_costs_little():
    assert Policy().rule_against("server.key" + ".gz" * 100_000) == "**/*.key"


def test_verdicts_are_kept_and_their_number_is_bounded():
    policy = Policy()
    for number in range(MAX_VERDICTS + 10):
        assert policy.rule_against(f"{number}.pem") == policy.rule_against(f"{number}.pem") == "**/*.pem"

    assert sum(map(len, policy._verdicts.values())) <= MAX_VERDICTS


# --- members of archives, and the root -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("container", "member", "rule"),
    [
        ("a.zip", "config/secret.yml", "config/secret.yml"),
        ("b/a.zip", "config\\secret.yml", "config/secret.yml"),
        ("a.zip!/b.tar", "config/secret.yml", "config/secret.yml"),
        ("a.zip!/config", "secret.yml", "config/secret.yml"),
        ("a.zip!/config!/x.zip", "secret.yml", None),
        ("config", "secret.yml", "config/secret.yml"),
        ("config@HEAD~2", "secret.yml", "config/secret.yml"),
        ("a.zip", "x/config/secret.yml", None),
        ("a.zip", ".env", "**/.env"),
        ("a.zip", "secret.yml", None),
    ],
)
def test_a_member_is_judged_with_its_archive_and_by_itself(container, member, rule):
    assert Policy(deny=["config/secret.yml"]).rule_against_member(container, member) == rule


def test_an_exception_for_the_whole_path_of_a_member_suffices():
    policy = Policy(deny=["config/*"], allow=["fixtures/a.zip/**"])

    assert policy.rule_against_member("fixtures/a.zip", "config/x") is None
    assert policy.rule_against_member("fixtures/a.zip", "ca.pem") is None
    assert policy.rule_against_member("b.zip", "config/x") == "config/*"


@pytest.mark.parametrize(
    ("root", "path", "rule"),
    [
        ("/home/u/.aws", "credentials", "**/.aws/credentials"),
        ("/home/u/.aws", "credentials.bak", "**/.aws/credentials"),
        ("/home/u/.AWS", "credentials", "**/.aws/credentials"),
        ("/home/u/.aws", "config", None),
        ("/home/u/.ssh", ".", "**/.ssh/**"),
        ("/home/u/.ssh", "config", "**/.ssh/**"),
        ("/home/u/.config/gh", "hosts.yml", "**/.config/gh/hosts.yml"),
        ("/home/u/aws", "credentials", None),
        ("/home/u/secret", "x", None),
    ],
)
def test_the_built_in_rules_see_the_name_of_the_root(root, path, rule):
    assert Policy(deny=["secret/"]).rule_against(path, root) == rule


def test_a_verdict_about_a_name_holds_in_its_root_only():
    policy = Policy()
    roots = ("/home/u/.aws", "/home/u/.kube", "/home/u/.aws", "/home/u/.ssh")

    found = [policy.rule_against("credentials", root) for root in roots]

    assert found == ["**/.aws/credentials", None, "**/.aws/credentials", "**/.ssh/**"]


def test_a_host_can_lift_the_rules_in_a_root():
    assert Policy(allow=["**"]).rule_against("config", "/home/u/.ssh") is None


# --- rules of the host ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "denied", "open_"),
    [
        ("secret", ["secret", "a/secret", "a/b/SECRET"], ["secrets", "secret/x", "a/secret/x"]),
        ("/secret", ["secret"], ["a/secret", "secret/x"]),
        ("secret/", ["secret/x", "a/secret/x", "secret/a/b", "secret"], ["secrets/x", "x/secret.txt"]),
        ("a/secret/", ["a/secret/x", "a/secret/b/c"], ["secret/x", "b/a/secret/x"]),
        ("a/*.txt", ["a/x.txt", "A/.txt"], ["a/b/x.txt", "x.txt", "b/a/x.txt", "a/x.txt/y"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["z", "b/a/z", "a/z/b"]),
        ("**/a/**/z", ["a/z", "x/a/y/z"], ["z", "a/zz"]),
        ("**", ["a", "a/b"], ["", "."]),
        ("*", ["a", "a/b"], [""]),
        ("a?c", ["abc", "x/abc"], ["ac", "abbc"]),
        ("[ab].txt", ["a.txt", "x/B.TXT"], ["c.txt", "ab.txt"]),
        ("[!a].txt", ["b.txt"], ["a.txt"]),
        ("[A-C]x", ["bx", "BX"], ["dx"]),
        ("[", ["[", "a/["], ["x"]),
        ("a*b*c", ["abc", "aXbYc"], ["ab", "acb"]),
        ("*.tar.*", ["x.tar.gz"], ["x.tar"]),
        ("./a/./b", ["a/b"], ["x/a/b"]),
        ("x*", ["x", "xy", "a/xyz"], ["ax"]),
    ],
)
def test_the_grammar_of_rules(rule, denied, open_):
    policy = Policy(deny=[rule], built_in=False)

    assert [path for path in denied if policy.rule_against(path) != rule] == []
    assert [path for path in open_ if policy.rule_against(path) is not None] == []


def test_an_exception_lifts_any_rule_and_only_where_it_applies():
    policy = Policy(deny=["private/**"], allow=["private/readme.md", "fixtures/**/*.pem"])

    assert policy.rule_against("private/readme.md") is None
    assert policy.rule_against("private/other.md") == "private/**"
    assert policy.rule_against("fixtures/tls/ca.pem") is None
    assert policy.rule_against("tls/ca.pem") == "**/*.pem"


def test_a_built_in_exception_lifts_no_rule_of_the_host():
    policy = Policy(deny=["secrets/", "drafts/.env.example"])

    assert policy.rule_against("secrets/.env.example") == "secrets/"
    assert policy.rule_against("drafts/.env.example") == "drafts/.env.example"
    assert policy.rule_against("app/.env.example") is None


def test_an_exception_lifts_what_is_derived_from_the_name():
    policy = Policy(allow=["fixtures/*.pem.gz", "certificates/**/*.pem"])

    assert policy.rule_against("fixtures/ca.pem.gz") is None
    assert policy.rule_against("fixtures/ca.pem") == "**/*.pem"
    assert policy.rule_against("certificates/ca.pem.gz") is None
    assert policy.rule_against("certificates/../ca.pem") == "**/*.pem"
    assert policy.rule_against("certificates\\..\\ca.pem") == "**/*.pem"


def test_a_refusal_names_the_rule_and_the_path_as_asked():
    with pytest.raises(PolicyDenied) as caught:
        Policy().admit("real/.env", "notes.txt")

    assert (caught.value.path, caught.value.rule) == ("notes.txt", "**/.env")


def test_patterns_are_compiled_once(monkeypatch):
    policy = Policy(deny=[f"*{letter}*{number}?" for letter in "ab" for number in range(200)])
    rules._matcher.cache_clear()
    translated = []
    monkeypatch.setattr("eyespan.policy.rules.translate", lambda piece: translated.append(piece) or "(?!)")
    for name in ("a1b", "ab2c", "xa1b2c", "a7z"):
        policy.rule_against(name)
    rules._matcher.cache_clear()

    assert 0 < len(translated) == len(set(translated)) <= 400


@pytest.mark.parametrize("rule", ["", "/", ".", "./", "//", "[z-a]", "a/x[9-0]/b"])
def test_a_rule_that_matches_nothing_is_an_error(rule):
    with pytest.raises(ValueError, match="matches nothing"):
        Policy(deny=[rule])


@pytest.mark.parametrize("how", ["deny", "allow"])
def test_one_string_is_no_list_of_rules(how):
    with pytest.raises(TypeError, match="list of patterns"):
        Policy(**{how: "*.pem"})


# --- pickles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [Policy(), Policy(["private/"], ["*.pem"]), Policy(["x"], built_in=False)])
def test_a_pickled_policy_has_the_same_rules(policy):
    again = pickle.loads(pickle.dumps(policy))

    assert (again.deny, again.allow) == (policy.deny, policy.allow)
    assert again.rule_against("private/x") == policy.rule_against("private/x")
    assert again.rule_against("a.pem") == policy.rule_against("a.pem")


# --- against a reference -------------------------------------------------------------------------------------------

PIECES = st.lists(st.sampled_from(["a", "b", ".", "*", "?", "[ab]", "[!a]", "**"]), min_size=1, max_size=4).map("".join)
GLOBS = st.lists(st.one_of(st.just("**"), PIECES), min_size=1, max_size=5)
PARTS = st.lists(st.text(alphabet="ab.c", min_size=1, max_size=4), min_size=1, max_size=6)


def fits(glob: list[str], parts: list[str]) -> bool:
    """Try every way to share the parts among the pieces."""
    if not glob:
        return not parts
    if glob[0] == "**":
        return any(fits(glob[1:], parts[n:]) for n in range(len(parts) + 1))
    return bool(parts) and name_fits(glob[0], parts[0]) and fits(glob[1:], parts[1:])


def name_fits(piece: str, name: str) -> bool:
    if not piece:
        return not name
    if piece[0] == "*":
        return any(name_fits(piece[1:], name[n:]) for n in range(len(name) + 1))
    if not name:
        return False
    if piece[0] == "?":
        return name_fits(piece[1:], name[1:])
    if piece[0] == "[":
        body, rest = piece[1:].split("]", 1)
        inside = name[0] not in body[1:] if body[0] == "!" else name[0] in body
        return inside and name_fits(rest, name[1:])
    return piece[0] == name[0] and name_fits(piece[1:], name[1:])


@given(GLOBS, PARTS)
def test_matching_agrees_with_trying_everything(glob, parts):
    assert matches(glob, parts) == fits(glob, parts)


@given(st.lists(GLOBS.map("/".join), min_size=1, max_size=4), PARTS)
def test_rules_sorted_by_shape_agree_with_rules_tried_one_by_one(rules, parts):
    def whole(rule):
        pieces = [piece for piece in rule.split("/") if piece not in ("", ".")]
        return ["**", *pieces] if "/" not in rule else pieces

    rules = [rule for rule in rules if whole(rule) not in ([], ["**"])] or ["a"]
    path = "/".join(parts)
    expected = {rule for rule in rules if any(fits(whole(rule), spelling) for spelling in spellings(path))}

    found = Policy(deny=rules, built_in=False).rule_against(path)

    assert found in expected if expected else found is None


@given(st.sampled_from(BUILT_IN_DENY + BUILT_IN_ALLOW), PARTS)
def test_the_built_in_rules_agree_too(rule, parts):
    """Their names become part of the path, so that some match."""
    pieces = [piece.replace("*", "x") for piece in rule.split("/") if piece != "**"]
    for path in ("/".join(pieces), "/".join([*parts, *pieces]), "/".join([*pieces, *parts]), "/".join(parts)):
        found = Policy(deny=[rule], built_in=False).rule_against(path)

        assert (found is not None) == any(fits(rule.split("/"), spelling) for spelling in spellings(path))


@pytest.mark.parametrize("path", ["n/" * 5000 + "x", "n\\" * 5000 + "x", "n" * 600_000])
def test_a_path_that_no_file_can_have_is_denied_without_a_look_at_its_names(path):
    policy = Policy()

    assert policy.rule_against(path) == policy.rule_against_member("a.zip", path) == TOO_LONG
    assert policy.rule_against("n/" * 4000 + "x") is None
    assert policy.rule_against("n/" * 4000 + ".env") is not None


def test_each_ascii_mark_before_a_number_has_one_verdict():
    marks = [mark for mark in map(chr, range(0x20, 0x7F)) if not mark.isalnum()]
    names = [f"credentials{mark}1.json" for mark in marks]
    verdicts = [[policy.rule_against(name) for name in names] for policy in (Policy(), Policy(["docs/*.md"]))]

    assert verdicts[0] == verdicts[1]
    assert "".join([mark for mark, rule in zip(marks, verdicts[0], strict=True) if rule]) == " -.:;_~"


def test_no_character_that_means_another_gets_past_a_rule():
    """Every character of Unicode that folds to a character of a denied name is tried in its place."""
    policy = Policy()
    passed = []
    for code in (*range(0xD800), *range(0xE000, sys.maxunicode + 1)):
        plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", chr(code)).casefold())
        if plain in (".", "e", "n", "v") and policy.rule_against(".env".replace(plain, chr(code))) is None:
            passed.append(hex(code))

    assert passed == []


def test_names_that_are_no_suspects_are_denied_by_no_rule() -> None:
    whole = Policy(["☃", "drafts/*.[ab]x"])  # a rule without a word: each name is judged in full
    quick = Policy(["drafts/*.[ab]x"])
    plain = ["notes", ".env", "ENV~1", "id_rsa", "credentials.json", "server.key", "drafts", "a.ax", "config", "x.Pem"]
    starts, ends = ["", "Copy of ", "2024-01-02 ", ".#", "#", " "], ["", ".gz", "~", " (1)", ".bak.2", "#", ":s", ". "]
    names = [f"{start}{name}{end}" for name in plain for start in starts for end in ends]
    names += [f"{name[:11]} (1){name[11:]}" for name in names if name.startswith("credentials")]
    for directory in ["", "src/", "drafts/", ".ssh/", "monkey/", ".aws.bak/", ".config/git/", ".AWS/"]:
        denied = {name for name in names if whole.rule_against(directory + name)}
        assert denied <= quick.suspects(directory, names)
        assert denied == {name for name in names if quick.rule_against(directory + name)}
    assert quick.suspects("src/", ["notes", "a.py", "Main.c", "\n", "ключ"]) == {"\n", "ключ"}
    assert NarrowedPolicy(quick, {"/r/drafts": ("/r", "drafts")}).suspects("", ["a.ax"], "/r/drafts") == {"a.ax"}
