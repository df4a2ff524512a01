"""Build one version of the site into build/site/VERSION, with llms.txt and every page as Markdown (a hook of MkDocs).

`build/site/versions.json` lists the versions that were built there, for the selector of the theme; a version that was
built from another tag stays. `build/site/index.html` leads to the latest.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
REDIRECT = '<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url={0}/index.html">\n'


def on_config(config: Any) -> Any:
    """Set the directory of this version."""
    config["site_dir"] = str(Path(config["site_dir"]) / VERSION)
    return config


def on_post_build(config: Any) -> None:
    """Add the pages as Markdown, llms.txt and the list of versions."""
    docs, site = Path(config["docs_dir"]), Path(config["site_dir"])
    for page in docs.rglob("*.md"):
        shutil.copyfile(page, site / page.relative_to(docs))
    (site / "llms.txt").write_text(llms_text(config["nav"], docs), "utf-8")
    built = sorted([path.name for path in site.parent.iterdir() if (path / "llms.txt").exists()], key=_order)
    versions = [{"version": name, "title": name, "aliases": []} for name in reversed(built)]
    (site.parent / "versions.json").write_text(json.dumps(versions), "utf-8")
    (site.parent / "index.html").write_text(REDIRECT.format(built[-1]), "utf-8")


def llms_text(nav: list[dict[str, list[dict[str, str]]]], docs: Path) -> str:
    """Return the list of pages for language models (llmstxt.org): a link and the first sentence of each."""
    lines = ["# eyespan", "", f"> {_first_sentence(docs / 'index.md')}", ""]
    for section in nav:
        for title, pages in section.items():
            lines += [f"## {title}", ""]
            for page in pages:
                for name, path in page.items():
                    lines.append(f"- [{name}]({path}): {_first_sentence(docs / path)}")
            lines.append("")
    return "\n".join(lines)


def _first_sentence(page: Path) -> str:
    paragraphs = page.read_text("utf-8").split("\n\n")
    text = next((part for part in paragraphs if not part.startswith(("#", "|", "```", "!", "-", " "))), "")
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", " ".join(text.split()))
    return re.split(r"(?<=[.:])\s", text)[0].rstrip(":")


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
