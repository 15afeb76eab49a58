"""Arrays and labels → Plotly figures: one module per kind of picture, no user interface."""
