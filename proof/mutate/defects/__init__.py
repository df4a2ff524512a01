"""The list of defects."""

from proof.mutate.defects import decoding, guard, serving

DEFECTS = (*guard.DEFECTS, *decoding.DEFECTS, *serving.DEFECTS)
