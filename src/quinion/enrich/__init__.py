"""Pictures of elements → what they show, in words and in LaTeX."""
