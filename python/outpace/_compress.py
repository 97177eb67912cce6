"""How a script wants its pushes to be written in fewer bytes, checked before a server is there."""

from typing import Any

from outpace import _library
from outpace._error import OutpaceError


def check_compress(spec: Any, where: str) -> None:
    """Raises OutpaceError, which names the call `where`, if --compress would not take it; "" is as
    the server says."""
    if not isinstance(spec, str):
        raise OutpaceError(f"{where}: compress={spec!r}; it takes a text such as \"int8\" or "
                           "\"topk:share=0.01,bits=8\", as --compress does")
    error = _library.Error()
    if spec and _library.library().outpace_check_compress(spec.encode(), error) != 0:
        raise OutpaceError(f"{where}: compress: {_library.error_of(error)}")
