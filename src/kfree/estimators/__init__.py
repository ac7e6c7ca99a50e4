"""The scikit-learn face: validate, build, search, publish. No formulas."""
