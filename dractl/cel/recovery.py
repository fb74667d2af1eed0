from dractl.cel.errors import Issues
from dractl.cel.syntax import Syntax


class GaveUp(Exception):
    pass
def parse(source: str, issues: Issues) -> Syntax | None:
    issues.add(0, "Syntax error")
    raise GaveUp
