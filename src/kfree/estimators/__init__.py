"""The scikit-learn interface: validate, build, search, publish. No formulas."""
