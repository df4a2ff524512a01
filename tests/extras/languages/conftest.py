from tests.dialects.native.conftest import call, root, tool

__all__ = ["call", "root", "tool"]
