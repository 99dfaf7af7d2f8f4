"""`python -m diffmg` is the command `diffmg`."""

from diffmg.cli import main

if __name__ == "__main__":
    main()
