"""Commands that start servers: over HTTP and on stdio, and the OCR endpoint."""
