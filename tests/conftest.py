"""What all tests have in common."""

from hypothesis import settings

# A file that takes long to be written on a busy machine is no fault; what hangs is ended by
# pytest-timeout.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
