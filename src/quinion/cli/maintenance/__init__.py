"""Commands that check, back up, restore and repair a home."""
