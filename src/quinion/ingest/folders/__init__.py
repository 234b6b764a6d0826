"""Indexes of folders: files of any indexed format, kept in step with the disk."""
