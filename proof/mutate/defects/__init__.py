"""The list of defects."""

from proof.mutate.defects import decoding, guard, memory, native, policy, serving

DEFECTS = (
    *guard.DEFECTS,
    *policy.DEFECTS,
    *decoding.DEFECTS,
    *memory.DEFECTS,
    *serving.DEFECTS,
    *native.DEFECTS,
)
