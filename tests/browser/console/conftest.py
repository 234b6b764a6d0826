"""Fixtures of the contract tests, for the console in a browser."""

from tests.contract.conftest import models, new_home

__all__ = ["models", "new_home"]
