"""Whether a document is a scan to be read or a picture to be skipped."""
