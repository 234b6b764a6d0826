"""Where things are kept: the vector store, the journal of intents, the lock on a home."""
