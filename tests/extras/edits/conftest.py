from tests.dialects.native.conftest import root, tool

__all__ = ["root", "tool"]
