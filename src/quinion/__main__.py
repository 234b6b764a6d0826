"""Command `python -m quinion`: the same as `quinion`."""

from quinion.cli.main import main

if __name__ == "__main__":
    main()
