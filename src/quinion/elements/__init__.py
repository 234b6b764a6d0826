"""Elements: find figures, tables, equations, diagrams and charts, each with label and box."""
