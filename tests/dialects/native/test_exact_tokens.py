from __future__ import annotations

import pytest

from eyespan import Workspace

MINIFIED = "".join(f"function a{n}(b,c){{return b.map(d=>d*{n}+c)}};" for n in range(3000))
TEXTS = {
    "santali.txt": "\u1c65\u1c5f\u1c71\u1c5b\u1c5f\u1c72\u1c64 \u1c6f\u1c5f\u1c79\u1c65\u1c64\n" * 600,
    "amharic.txt": "\u1260\u12cd\u1235\u1325 \u12eb\u1208 \u134b\u12ed\u120d\n" * 600,
    "code.py": "".join(
        f"def handle_request_{n}(self, request):\n    return self.respond(request)\n" for n in range(900)
    ),
    "min.js": f"// a license\n{MINIFIED}\n",
    "cjk.txt": "\u8bfb\u53d6\u6587\u4ef6\u7684\u5de5\u5177\uff0c\u5728\u9884\u7b97\u4e4b\u5185\u3002\n" * 900,
}


@pytest.fixture
def root(tmp_path):
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["claude", "gpt2", 5])
def test_a_tokenizer_that_does_not_exist_is_a_value_error(name, tmp_path):
    with pytest.raises(ValueError, match="tokenizer"):
        Workspace(tmp_path).tool("native", tokenizer=name)


@pytest.mark.parametrize("encoding", ["o200k", "cl100k"])
@pytest.mark.parametrize("budget", [300, 3000])
def test_an_exact_count_keeps_the_budget_and_uses_it(root, encoding, budget):
    vocabulary = pytest.importorskip("bpe_openai", reason="the extra `tokens` is not installed")
    encode = vocabulary.get_encoding(f"{encoding}_base").encode_ordinary
    tool = Workspace(root).tool("native", tokenizer=encoding)

    for name in TEXTS:
        reply = tool.call({"files": name, "budget": budget})
        cost = len(encode(reply.text))
        assert cost == reply.structured["tokens"]
        assert 0.9 * budget <= cost <= budget, (name, cost)


def test_rare_scripts_keep_the_budget_by_the_estimate(root):
    """The characters cost one token for almost every byte: of 1,000 tokens no more than 1,700 bytes."""
    for name, most in (("santali.txt", 1700), ("amharic.txt", 2400)):
        reply = Workspace(root).tool("native").call({"files": name, "budget": 1000})
        assert len(reply.text.encode()) < most
