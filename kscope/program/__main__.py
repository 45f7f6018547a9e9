"""`python -m kscope.program`: the program without its console script."""

import sys

from kscope.program.main import main

if __name__ == "__main__":
    sys.exit(main())
