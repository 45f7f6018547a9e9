"""How the program speaks: streams, colours, signs, widths, tables, errors, formats.

words ─▶ paper: lines of a width ─▶ screen: a stream with or without colours
errors: what is wrong, where, and what to type instead
"""
