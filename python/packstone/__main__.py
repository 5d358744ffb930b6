"""The `packstone` command: `packstone …` and `python -m packstone …` are the program that Cargo builds."""

import sys

from packstone._native import _run


def main() -> int:
    """Runs the program with the arguments of this process and gives its exit code."""
    return _run(["packstone", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
