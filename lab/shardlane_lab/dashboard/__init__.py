"""The synthesized CloudWatch dashboard, drawn with the metrics of a run or of the local stack.

``write`` has the entry points. What a body holds: "Dashboard body structure and syntax",
CloudWatch API Reference.
"""
