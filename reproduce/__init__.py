"""The published tables beside kfree's own numbers. See README.md in this folder."""
