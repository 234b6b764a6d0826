"""Command `python -m doclibrary.servers.mcp` of the contract's client configuration."""

from quinion.cli.scripts import doclibrary

if __name__ == "__main__":
    doclibrary()
