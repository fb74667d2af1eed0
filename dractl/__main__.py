"""The console scripts ``dractl`` and ``kubectl-dra`` (so that ``kubectl dra`` works), and ``python -m dractl``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and exit with its code."""
    if sys.argv[1:] == ["--version"]:
        # answered before anything is imported: scripts ask for it often
        from dractl import __version__

        print(f"dractl {__version__}")
        return
    import gc

    try:
        from dractl.cli.frame import run
    except KeyboardInterrupt:
        sys.exit(130)

    # a short-lived process that makes many objects and few cycles: collecting rarely saves a third of the time
    gc.set_threshold(200_000, 20, 20)
    sys.exit(run(sys.argv[1:], program=sys.argv[0]))


if __name__ == "__main__":
    main()
