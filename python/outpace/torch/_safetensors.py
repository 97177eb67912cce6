"""Files of tensors that other programs read: https://github.com/huggingface/safetensors."""

import json
import os
import struct
from typing import Any, Dict, List, Mapping

import torch

from outpace._error import OutpaceError

_TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U8": torch.uint8, "BOOL": torch.bool,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}
_HEADER_MOST = 100 << 20


def write(path: "str | os.PathLike[str]", tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes the file at once or not at all. Raises OutpaceError for a type that it has no name
    for, and OSError."""
    parts = _parts_of(tensors)
    unfinished = f"{os.fspath(path)}.unfinished"
    with open(unfinished, "wb") as out:
        for part in parts:
            out.write(part)
        out.flush()
        os.fsync(out.fileno())
    os.replace(unfinished, path)


def read(path: "str | os.PathLike[str]") -> Dict[str, torch.Tensor]:
    """The file's tensors. Raises OutpaceError if it is no such file, and OSError."""
    with open(path, "rb") as file:
        return from_bytes(file.read(), os.fspath(path))


def to_bytes(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """What write() writes."""
    return b"".join(_parts_of(tensors))


def has(kind: torch.dtype) -> bool:
    """Whether the format has a name for the type."""
    return kind in _NAMES


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """A view of it, of a type that the format has: complex numbers as pairs of real ones."""
    detached = tensor.detach()
    return torch.view_as_real(detached) if detached.is_complex() else detached


def from_bytes(data: bytes, what: str) -> Dict[str, torch.Tensor]:
    """The tensors of a file's content. Raises OutpaceError, which names it by `what`."""
    try:
        (length,) = struct.unpack_from("<Q", data)
        if length > _HEADER_MOST:
            raise ValueError("its header is too long")
        header = json.loads(data[8 : 8 + length])
        header.pop("__metadata__", None)
        body = bytearray(data[8 + length :])
        return {name: _tensor_of(body, entry) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, RuntimeError, AttributeError, struct.error) as error:
        raise OutpaceError(f"load: {what} is no safetensors file: {error}") from None


def _parts_of(tensors: Mapping[str, torch.Tensor]) -> List[bytes]:
    header: Dict[str, Any] = {}
    parts, begin = [], 0
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES:
            raise OutpaceError(f"save: '{name}' is {tensor.dtype}, which safetensors does not have")
        part = _bytes_of(tensor)
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [begin, begin + len(part)]}
        parts.append(part)
        begin += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)) + text, *parts]


def _bytes_of(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().cpu().contiguous().view(-1)
    return bytes(flat.view(torch.uint8).numpy()) if flat.numel() > 0 else b""


def _tensor_of(body: bytearray, entry: Mapping[str, Any]) -> torch.Tensor:
    begin, end = entry["data_offsets"]
    kind, shape = _TYPES[entry["dtype"]], entry["shape"]
    if not 0 <= begin <= end <= len(body):
        raise ValueError("a tensor lies beyond its end")
    if begin == end:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(body[begin:end], dtype=kind).view(shape)
