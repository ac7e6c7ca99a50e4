"""Rows under one cost function per cluster."""
