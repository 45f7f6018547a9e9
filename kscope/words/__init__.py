"""The languages of pages: catalogues of words, for the browser too. docs/words.md."""
