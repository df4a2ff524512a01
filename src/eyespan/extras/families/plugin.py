"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

DIALECTS = {
    "claude-upstream": "eyespan.extras.families.claude_code:ClaudeUpstream",
    "claude@2.1": "eyespan.extras.families.claude_code:Claude21",
    "filesystem": "eyespan.extras.families.filesystem:Filesystem",
    "text-editor": "eyespan.extras.families.text_editor:TextEditor",
    "gemini": "eyespan.extras.families.gemini:Gemini",
    "kimi": "eyespan.extras.families.kimi:Kimi",
    "kimi@1.52": "eyespan.extras.families.kimi_cli:KimiCli",
    "opencode": "eyespan.extras.families.opencode:OpenCode",
    "cline": "eyespan.extras.families.cline:Cline",
    "deepagents": "eyespan.extras.families.deepagents:DeepAgents",
    "pi": "eyespan.extras.families.pi:Pi",
    "copilot": "eyespan.extras.families.copilot:Copilot",
    "qwen": "eyespan.extras.families.qwen:Qwen",
    "zed": "eyespan.extras.families.zed:Zed",
    "openhands": "eyespan.extras.families.openhands:OpenHands",
    "grok": "eyespan.extras.families.grok:Grok",
    "continue": "eyespan.extras.families.continue_dev:Continue",
    "roo": "eyespan.extras.families.roo:Roo",
    "vibe": "eyespan.extras.families.vibe:Vibe",
    "crush": "eyespan.extras.families.crush:Crush",
}
