"""page → figures, tables, equations, diagrams and charts, each with its name and its place."""
