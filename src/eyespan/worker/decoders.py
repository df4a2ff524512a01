"""The decoders that the worker knows, by task: `module:function`, imported in the worker process only."""

DECODERS = {
    "image": "eyespan.worker.image:decode",
    "pdf": "eyespan.worker.pdf:decode",
}
