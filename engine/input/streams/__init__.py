"""Large files, read piece by piece: lists of objects, whose items are read one by one.

    file ──▶ Window ──▶ Item, Item, …, Frame ──▶ StreamedFile, which takes them like documents

Memory holds one item of the text at a time. What is no such list is read as a whole, up to a limit.
"""
