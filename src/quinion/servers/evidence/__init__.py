"""Evidence in answers: the same fields, images, resources and routes for every server."""
