"""What the API says of a run, for its OpenAPI description."""

from kscope.runs.web.contract.answer_schema import answer_class
from kscope.runs.web.shapes.runs import Run

RUN = answer_class(Run)
