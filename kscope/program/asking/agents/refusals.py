"""What an agent is told where it gets no answer."""


class Refusal(Exception):
    """A question that cannot be answered; the message says why, and what to ask instead."""
