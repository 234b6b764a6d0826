"""Servers of the doclibrary contract: one."""
