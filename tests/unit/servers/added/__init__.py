"""Folder that the catalog's package path is extended with, as if its servers were in `servers/`."""
