"""The latency report: run folders in; text, JSON, Markdown or one HTML page out.

``write`` has the entry points; ``summary`` the figures, without any I/O or layout.
"""
