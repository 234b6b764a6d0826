"""Jobs of worker processes: one module for each kind of worker, imported only by its workers."""
