"""The one exception of this package."""


class OutpaceError(RuntimeError):
    """An error of one line.

    `exit_code` is the code with which Outpace's own programs end: 2 usage or configuration, 3 the
    token was refused, 4 incompatible with the job, 1 anything else. A script that does not catch
    the error ends with Python's own code 1.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
