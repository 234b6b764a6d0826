"""The document library: adding, describing, finding and removing technical PDFs."""
