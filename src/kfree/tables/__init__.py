"""From tables with numbers, categories, dates and missing values to rows that can be clustered."""
