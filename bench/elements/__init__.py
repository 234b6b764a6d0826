"""What the elements stage is measured with: labels made by hand, and how they are compared."""
