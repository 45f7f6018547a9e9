"""The door of answers: there the sentences of the engine are said in the language of a reader."""
