"""The types of answers of the REST API; `answer_schema` makes their description of them.

A text below a field is what the OpenAPI document says of it.
"""
