"""`make screenshots`: the pictures of the documents, taken of a kscope that is started for them.

`scenes` says what is taken, `taking` takes it. All pictures go to build/pictures, where the site
looks for them; those of the README go to docs/pictures as well, which is committed: they are part of
a document, and no built file can be looked at where the README is read.
"""
