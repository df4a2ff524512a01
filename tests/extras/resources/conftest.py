"""A workspace to serve, and servers over stdio."""

from tests.server.conftest import lines, tree  # noqa: F401
