"""Storage: the store's protocol (`base`), its adapters, policies, original files, locks."""
