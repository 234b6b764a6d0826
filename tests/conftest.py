"""Configuration shared by all tests."""

from hypothesis import settings

# A slow write on a busy machine is not a failure; pytest-timeout ends tests that hang.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
