"""`python -m primad` is the `primad` command."""

from primad.cli import main

if __name__ == "__main__":
    main()
