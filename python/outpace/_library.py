"""liboutpace.so by ctypes: include/outpace/worker_c.h, declaration for declaration."""

import ctypes
import os
import pathlib
from typing import Any, List, Mapping, Sequence

from outpace._error import OutpaceError

C_VERSION = 9
TEXT_BYTES = 2048
OK, WAITS, LOST = 0, -1, -2
WANTS_PART = 2

InitialWeights = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_float), ctypes.c_size_t,
                                  ctypes.c_void_p)

Constants = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p),
                             ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p)


class OptimizerState(ctypes.Structure):
    _fields_ = [("tensor", ctypes.c_uint32), ("part", ctypes.c_char_p),
                ("updates", ctypes.c_uint64), ("numbers", ctypes.c_void_p),
                ("count", ctypes.c_size_t)]


State = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.POINTER(OptimizerState)),
                         ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p)


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * TEXT_BYTES)]


class WorkerOptions(ctypes.Structure):
    _fields_ = [("server", ctypes.c_char_p), ("token", ctypes.c_char_p),
                ("worker", ctypes.c_uint32), ("deadline", ctypes.c_double),
                ("rejoin_for", ctypes.c_double), ("keep_alive", ctypes.c_double),
                ("tls_certificate", ctypes.c_char_p), ("tls_key", ctypes.c_char_p),
                ("tls_ca", ctypes.c_char_p), ("insecure_no_tls", ctypes.c_int)]


class Parameter(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_uint64)),
                ("dimensions", ctypes.c_size_t), ("group", ctypes.c_uint32)]


class Group(ctypes.Structure):
    _fields_ = [("method", ctypes.c_int), ("rate", ctypes.c_double),
                ("weight_decay", ctypes.c_double), ("momentum", ctypes.c_double),
                ("beta1", ctypes.c_double), ("beta2", ctypes.c_double),
                ("epsilon", ctypes.c_double), ("rate_decay", ctypes.c_double),
                ("initial", ctypes.c_double)]


class Job(ctypes.Structure):
    _fields_ = [("parameters", ctypes.POINTER(Parameter)), ("count", ctypes.c_size_t),
                ("examples", ctypes.c_uint64), ("initial_weights", InitialWeights),
                ("context", ctypes.c_void_p), ("groups", ctypes.POINTER(Group)),
                ("group_count", ctypes.c_size_t), ("epochs", ctypes.c_uint64),
                ("ahead", ctypes.c_uint32), ("constants", Constants), ("state", State),
                ("local_steps", ctypes.c_uint32), ("compress", ctypes.c_char_p)]


class Minibatch(ctypes.Structure):
    _fields_ = [("weights", ctypes.c_void_p), ("numbers", ctypes.c_size_t),
                ("examples", ctypes.POINTER(ctypes.c_uint64)), ("count", ctypes.c_size_t),
                ("version", ctypes.c_uint64), ("epoch", ctypes.c_uint64),
                ("ahead", ctypes.POINTER(ctypes.c_uint64)),
                ("ahead_sizes", ctypes.POINTER(ctypes.c_size_t)),
                ("ahead_epochs", ctypes.POINTER(ctypes.c_uint64)),
                ("ahead_count", ctypes.c_size_t),
                ("step_sizes", ctypes.POINTER(ctypes.c_size_t)),
                ("step_epochs", ctypes.POINTER(ctypes.c_uint64)),
                ("step_count", ctypes.c_size_t)]


class Snapshot(ctypes.Structure):
    _fields_ = [("weights", ctypes.c_void_p), ("numbers", ctypes.c_size_t),
                ("version", ctypes.c_uint64)]


class Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_double)]


class Measured(ctypes.Structure):
    _fields_ = [("accuracy", ctypes.POINTER(ctypes.c_double)),
                ("loss", ctypes.POINTER(ctypes.c_double)),
                ("values", ctypes.POINTER(Value)), ("count", ctypes.c_size_t)]


class Evaluated(ctypes.Structure):
    _fields_ = [("comes", ctypes.c_int), ("found", ctypes.c_int), ("version", ctypes.c_uint64),
                ("measured", Measured)]


class Verdict(ctypes.Structure):
    _fields_ = [("outcome", ctypes.c_int), ("why", ctypes.c_char * TEXT_BYTES)]


_HANDLE = ctypes.c_void_p
_ERROR = ctypes.POINTER(Error)
_FUNCTIONS = {
    "outpace_role": (ctypes.c_int, [_ERROR]),
    "outpace_check_compress": (ctypes.c_int, [ctypes.c_char_p, _ERROR]),
    "outpace_worker_from_environment": (_HANDLE, [_ERROR]),
    "outpace_worker_open": (_HANDLE, [ctypes.POINTER(WorkerOptions), _ERROR]),
    "outpace_worker_close": (None, [_HANDLE]),
    "outpace_worker_join": (ctypes.c_int, [_HANDLE, ctypes.POINTER(Job), _ERROR]),
    "outpace_worker_next": (ctypes.c_int, [_HANDLE, ctypes.POINTER(Minibatch), _ERROR]),
    "outpace_worker_constants": (ctypes.c_void_p, [_HANDLE, ctypes.POINTER(ctypes.c_size_t)]),
    "outpace_worker_cancelled": (ctypes.c_int, [_HANDLE]),
    "outpace_worker_gradient": (ctypes.c_void_p, [_HANDLE, _ERROR]),
    "outpace_worker_memory": (_HANDLE, [_HANDLE, _ERROR]),
    "outpace_memory_release": (None, [_HANDLE]),
    "outpace_worker_push": (ctypes.c_int, [_HANDLE, ctypes.c_void_p, ctypes.c_double,
                                           ctypes.c_size_t, ctypes.POINTER(Verdict), _ERROR]),
    "outpace_worker_stepped": (ctypes.c_int, [_HANDLE, ctypes.c_size_t, _ERROR]),
    "outpace_worker_push_steps": (ctypes.c_int, [_HANDLE, ctypes.POINTER(ctypes.c_double),
                                                 ctypes.POINTER(Verdict), _ERROR]),
    "outpace_worker_start_push": (ctypes.c_int, [_HANDLE, ctypes.c_double, _ERROR]),
    "outpace_worker_start_push_steps": (ctypes.c_int, [_HANDLE, ctypes.POINTER(ctypes.c_double),
                                                       _ERROR]),
    "outpace_worker_await": (ctypes.c_int, [_HANDLE, ctypes.c_double, ctypes.POINTER(Verdict),
                                            ctypes.POINTER(Minibatch), _ERROR]),
    "outpace_worker_slowed": (ctypes.c_int, [_HANDLE]),
    "outpace_worker_abandon": (ctypes.c_int, [_HANDLE, _ERROR]),
    "outpace_worker_abandon_failed": (ctypes.c_int, [_HANDLE, _ERROR]),
    "outpace_worker_leave_out": (ctypes.c_int, [_HANDLE, _ERROR]),
    "outpace_worker_rank": (ctypes.c_uint32, [_HANDLE]),
    "outpace_worker_without": (ctypes.c_int, [_HANDLE, ctypes.POINTER(ctypes.c_uint32),
                                              ctypes.c_size_t, _ERROR]),
    "outpace_worker_set_rates": (ctypes.c_int, [_HANDLE, ctypes.c_uint64,
                                                ctypes.POINTER(ctypes.c_double), ctypes.c_size_t,
                                                _ERROR]),
    "outpace_worker_ask_for_evaluator": (ctypes.c_int, [_HANDLE, _ERROR]),
    "outpace_worker_evaluated": (ctypes.c_int, [_HANDLE, ctypes.c_uint64,
                                                ctypes.POINTER(Evaluated), _ERROR]),
    "outpace_worker_end_run": (ctypes.c_int, [_HANDLE, ctypes.c_char_p, _ERROR]),
    "outpace_worker_mark": (None, [_HANDLE, ctypes.c_size_t, ctypes.c_double]),
    "outpace_worker_stop_waiting": (None, [_HANDLE]),
    "outpace_worker_leave": (ctypes.c_int, [_HANDLE, _ERROR]),
    "outpace_evaluator_from_environment": (_HANDLE, [_ERROR]),
    "outpace_evaluator_close": (None, [_HANDLE]),
    "outpace_evaluator_join": (ctypes.c_int, [_HANDLE, ctypes.POINTER(Job), _ERROR]),
    "outpace_evaluator_next": (ctypes.c_int, [_HANDLE, ctypes.POINTER(Snapshot), _ERROR]),
    "outpace_evaluator_constants": (ctypes.c_void_p, [_HANDLE, ctypes.POINTER(ctypes.c_size_t)]),
    "outpace_evaluator_memory": (_HANDLE, [_HANDLE, _ERROR]),
    "outpace_evaluator_report": (ctypes.c_int, [_HANDLE, ctypes.c_double,
                                                ctypes.POINTER(ctypes.c_double), _ERROR]),
    "outpace_evaluator_report_measured": (ctypes.c_int, [_HANDLE, ctypes.POINTER(Measured),
                                                         _ERROR]),
}


def _load() -> ctypes.CDLL:
    path = os.environ.get("LIBOUTPACE") or str(
        pathlib.Path(__file__).with_name("liboutpace.so"))
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise OutpaceError(f"{path} does not load ({error}); build it with `make python`, or install "
                           "the wheel", 1) from None
    found = library.outpace_c_version()
    if found != C_VERSION:
        raise OutpaceError(f"{path} has version {found} of the C interface, this package needs "
                           f"{C_VERSION}; install both from one wheel", 4)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


_library: "ctypes.CDLL | None" = None


def library() -> Any:
    """The library, loaded at its first use."""
    global _library
    if _library is None:
        _library = _load()
    return _library


class Memory:
    """Keeps memory of the C library, which may be that of an array, until nobody uses this."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._release = library().outpace_memory_release

    def __del__(self) -> None:
        self._release(self._handle)


def numbers_at(address: int, numbers: int, memory: "Memory | None") -> "ctypes.Array[ctypes.c_float]":
    """float32 numbers in memory that lives as long as the result, or that somebody else keeps."""
    array = (ctypes.c_float * numbers).from_address(address)
    array.memory = memory  # type: ignore[attr-defined]
    return array


def parameter_list(shapes: Mapping[str, Sequence[int]],
                   group_of: Mapping[str, int]) -> "ctypes.Array[Parameter]":
    """The tensors of a network, in the order of the mapping."""
    listed = (Parameter * len(shapes))()
    for place, (name, shape) in zip(listed, shapes.items()):
        extents = (ctypes.c_uint64 * max(1, len(shape)))(*shape)
        place.name = name.encode()
        place.shape = ctypes.cast(extents, ctypes.POINTER(ctypes.c_uint64))
        place.dimensions = len(shape)
        place.group = group_of.get(name, 0)
    return listed


def state_list(parts: Sequence[Any]) -> "tuple[List[Any], ctypes.Array[OptimizerState]]":
    """For C, parts as outpace.OptimizerState; and what must live as long."""
    import numpy

    kept = [numpy.ascontiguousarray(one.numbers, dtype=numpy.float32) for one in parts]
    listed = (OptimizerState * len(parts))()
    for place, one, numbers in zip(listed, parts, kept):
        place.tensor, place.part, place.updates = one.tensor, one.part.encode(), one.updates
        place.numbers, place.count = numbers.ctypes.data, numbers.size
    return kept, listed


def bytes_from(function: Any, handle: int) -> bytes:
    """A copy of the bytes that outpace_worker_constants() or its like finds."""
    size = ctypes.c_size_t()
    address = function(handle, size)
    return ctypes.string_at(address, size.value) if address else b""


def error_of(error: Error) -> OutpaceError:
    """What a function of the library wrote."""
    return OutpaceError(error.message.decode(errors="replace"), error.code)
