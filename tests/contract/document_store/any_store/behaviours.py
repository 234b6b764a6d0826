"""The tests of a module, to be run again on another store."""

from types import ModuleType


def behaviours(module: ModuleType) -> dict[str, object]:
    """The tests of a module and their fixtures, but for the server that it starts."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("__") and name not in ("server", "home")
    }
