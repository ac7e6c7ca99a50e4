"""From tables with numbers, categories, dates and gaps to rows that can be clustered."""
