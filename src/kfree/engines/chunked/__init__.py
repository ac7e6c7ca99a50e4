"""The engine contract over several parts, joined."""
