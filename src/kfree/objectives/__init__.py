"""What is minimised: frozen dataclasses of formulas on additive statistics."""
