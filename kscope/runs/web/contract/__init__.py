"""The contract of the REST API: what every operation of it keeps to (docs/adr/0040).

`queries` reads what stands behind the `?` of an address, `paging` cuts lists into pages, `etags`
names what never changes, `answer_schema` describes answers by their types, `problems` gives refusals
one shape, `document` draws the OpenAPI document from all of that.
"""
