"""Documents whose texts people read on pages: lessons, scenarios, and tables of docs/.

language    a text of a document in the reader's language
tables      the tables of a document of docs/, with their lines
messages    all texts of a document, for the catalogue: see docs/adr/0038
"""
