"""When an author has the API server's answers to its writes."""


class Answers:
    """Until when an author waits for the answers to the writes it has made, in ns.

    Its next step comes after that. In the past unless writes are slow.
    """

    __slots__ = ("until",)

    def __init__(self) -> None:
        self.until = 0
