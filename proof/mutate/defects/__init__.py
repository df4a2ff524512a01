"""The list of defects."""

from proof.mutate.defects import decoding, guard, native, policy, serving

DEFECTS = (*guard.DEFECTS, *policy.DEFECTS, *decoding.DEFECTS, *serving.DEFECTS, *native.DEFECTS)
