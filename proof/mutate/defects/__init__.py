"""The list of defects."""

from proof.mutate.defects import decoding, guard, policy, serving

DEFECTS = (*guard.DEFECTS, *policy.DEFECTS, *decoding.DEFECTS, *serving.DEFECTS)
