"""The table of targets."""

from proof.fuzz import arguments, documents, nested, serving, texts

WORKER = {target.name: target for target in documents.TARGETS}
"""Targets that are decoded in the worker."""
QUICK = {
    target.name: target
    for target in (
        *texts.TARGETS,
        *nested.TARGETS,
        *documents.DECODERS,
        *serving.TARGETS,
        *arguments.targets(),
    )
}
"""Targets that are checked in this process."""
TARGETS = {**QUICK, **WORKER}
GROUPS = {"all": TARGETS, "quick": QUICK, "worker": WORKER}
