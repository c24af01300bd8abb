"""`python -m multivalid` is the command line."""

from multivalid.cli.main import main

if __name__ == "__main__":
    main()
