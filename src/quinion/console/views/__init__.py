"""Views of the console: each asks the servers and returns the data of one page."""
