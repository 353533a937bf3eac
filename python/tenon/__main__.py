"""`python -m tenon ...` is the `tenon` command."""

import os
import sys

from tenon._command import COMMAND


def main() -> None:
    """Gives the process over to the command, so that signals and exit status are its own."""
    os.execv(COMMAND, ["tenon", *sys.argv[1:]])


if __name__ == "__main__":
    main()
