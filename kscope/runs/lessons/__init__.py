"""Lessons: the pages and the REST of what is told of a run. See docs/lessons.md.

pages, api     what a visitor gets
telling        a lesson as pages draw it, with the instants of its run
running        the run that a lesson is about: made once, and not touched
"""
