"""Modules that tests of CEL share with the conformance runner."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "conformance"))
