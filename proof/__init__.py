"""Long proofs of the promises in docs/security.md; README.md describes each of them.

Run one by name from the top directory: `python -m proof NAME`.
"""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
