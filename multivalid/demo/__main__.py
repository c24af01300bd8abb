"""`python -m multivalid.demo [folder]`."""

import sys

from multivalid.demo.story import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
