"""What a server in front of Django asks of runs, and hands to them: functions, no statements.

Runs, heads, objects, changes, commands and what came of them, on connections of asyncio. Who serves
(`kube`) knows neither tables nor models.
"""
