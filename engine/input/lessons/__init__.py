"""Lessons: text, questions and facts, each tied to an instant of a run. See docs/lessons.md.

words      the marks within a paragraph: times, terms, objects
lesson     what a lesson is, once it was read
reading    a `kind: Lesson` document, checked field by field
holding    a lesson against the history of its run: does everything that it speaks of exist?
"""
