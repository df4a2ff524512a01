"""The list of defects."""

from proof.mutate.defects import (
    accounting,
    attacks,
    decoding,
    guard,
    hosts,
    memory,
    native,
    policy,
    remote,
    sandbox,
    serving,
    texts,
)

DEFECTS = (
    *guard.DEFECTS,
    *policy.DEFECTS,
    *decoding.DEFECTS,
    *sandbox.DEFECTS,
    *memory.DEFECTS,
    *serving.DEFECTS,
    *remote.DEFECTS,
    *native.DEFECTS,
    *texts.DEFECTS,
    *accounting.DEFECTS,
    *attacks.DEFECTS,
    *hosts.DEFECTS,
)
