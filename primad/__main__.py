"""`python -m primad` is the `primad` command."""

from primad.cli.app import main

if __name__ == "__main__":
    main()
