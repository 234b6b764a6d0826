"""Where records are kept: the port (`base`), its adapters, policies, originals, the lock."""
