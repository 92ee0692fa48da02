"""The values inside the parts of a message: a tool's arguments, its result, the bytes of a picture."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator
from urllib.parse import unquote_to_bytes

import msgspec

from otel_runlog.conventions._content import MARKERS
from otel_runlog.conversation import Json, MediaPart

TEXT_TYPES = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal"})
"""Parts that say something: GenAI, OpenAI Chat, Anthropic and AI SDK; the others are of OpenAI Responses."""
TEXT_KEYS = ("text", "content", "refusal", "value")
OUTPUT_TYPES = frozenset({"text", "json", "error-text", "error-json", "content"})
"""AI SDK's {type, value} around a tool's result."""
HOLLOW: tuple[Json, ...] = ({"type": "image"}, {"type": "document"})
MIME_KEYS = ("mime_type", "media_type", "mimeType", "mediaType")
DATA_KEYS = ("data", "base64", "bytes", "file_data", "content", "b64_json")
URI_KEYS = (
    "uri",
    "url",
    "file_uri",
    "fileUri",
    "file_url",
    "image_url",
    "file_id",
    "fileId",
    "image",
    "audio",
    "video",
)
MEDIA_KEYS = (
    *("source", "image_url", "input_audio", "image", "file", "document", "video", "audio"),
    *("inlineData", "inline_data", "fileData", "file_data", "blob"),
)
"""Objects that hold the bytes or the address of a picture, sound or file, inside a part or as one."""
MAX_DEPTH = 64
"""JSON text nested deeper is left as text: what walks values afterwards needs no more stack than that."""
MAX_MEDIA_DEPTH = 4
DATA_URL = "data:"


def arguments_of(value: Json) -> Json:
    """A tool call's arguments: what their JSON text says, else the text; {} where there are none."""
    if value is None or value == "":
        return {}
    return value_in(value) if isinstance(value, str) else value


def result_of(value: Json) -> Json:
    """What a tool gave: text blocks are their text, and a text that is JSON is the value it says (rule d of f1)."""
    if isinstance(value, str):
        said = value_in(value)
        return _unwrapped(said) if isinstance(said, list | dict) else said
    return _unwrapped(value)


def _unwrapped(value: Json) -> Json:
    if isinstance(value, list):
        return _of_blocks(value)
    if isinstance(value, dict) and value.keys() == {"type", "value"} and value["type"] in OUTPUT_TYPES:
        return result_of(value["value"])
    return value


def _of_blocks(blocks: list[Json]) -> Json:
    """The text of a list of text blocks, read as JSON once more; a list with pictures has their digests."""
    texts = [block_text(b) for b in blocks]
    if blocks and all(t is not None for t in texts):
        return value_in("\n".join(t for t in texts if t is not None))
    if len(blocks) == 1 and isinstance(only := blocks[0], dict) and only.keys() == {"json"}:
        return only["json"]  # Bedrock's block of a structured result
    if not any(t is not None for t in texts) and not any(isinstance(b, dict) and "type" in b for b in blocks):
        return blocks
    return [b if t is None else t for b, t in zip((_digested(b) for b in blocks), texts, strict=True)]


def _digested(block: Json) -> Json:
    """A picture by what is known of it: nothing where an emitter kept its type alone, as Anthropic's client does."""
    if block in HOLLOW:
        return {"media": None}
    found = media_of(block) if isinstance(block, dict) and "type" in block else None
    return {"media": found.sha256 or found.uri} if found else block


def block_text(block: Json) -> str | None:
    """The text of a part that is nothing but text; None for any other part."""
    if not isinstance(block, dict):
        return None
    if "type" in block:
        if block["type"] not in TEXT_TYPES:
            return None
        return next((t for k in TEXT_KEYS if isinstance(t := block.get(k), str)), None)
    if block.keys() == {"text"}:
        return block["text"] if isinstance(block["text"], str) else None
    return None


def value_in(text: str) -> Json:
    """The value that a JSON text says; the text itself where it is none, or nested deeper than MAX_DEPTH."""
    try:
        value: Json = msgspec.json.decode(text)
    except (ValueError, RecursionError):  # ValueError: no JSON, NaN, lone surrogates
        return text
    if isinstance(value, list | dict) and text.count("[") + text.count("{") > MAX_DEPTH and _too_deep(value):
        return text
    return value


def _too_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def media_of(part: dict[str, Json]) -> MediaPart | None:
    """The picture, sound or file in a part of any API; None where neither bytes nor an address are in it.

    One that an emitter hid is there, and nothing is known of it.
    """
    objects = list(_objects(part, 0))
    mime = _first(objects, MIME_KEYS)
    for key in DATA_KEYS:
        if data := _first(objects, (key,)):
            if data in MARKERS:
                return MediaPart(mime)
            return MediaPart(mime, digest_of(data)) if not data.startswith(DATA_URL) else _of_data_url(data, mime)
    uri = _first(objects, URI_KEYS)
    if uri is None:
        return None
    if uri in MARKERS:  # OpenInference leaves out pictures of more than 32,000 letters of base64
        return MediaPart(mime)
    return _of_data_url(uri, mime) if uri.startswith(DATA_URL) else MediaPart(mime, uri=uri)


def _objects(part: dict[str, Json], depth: int) -> Iterator[dict[str, Json]]:
    yield part
    for key in MEDIA_KEYS if depth < MAX_MEDIA_DEPTH else ():
        if isinstance(inner := part.get(key), dict):
            yield from _objects(inner, depth + 1)


def _first(objects: list[dict[str, Json]], keys: tuple[str, ...]) -> str | None:
    return next((v for o in objects for k in keys if isinstance(v := o.get(k), str) and v), None)


def _of_data_url(url: str, mime: str | None) -> MediaPart:
    head, _, data = url[len(DATA_URL) :].partition(",")
    said, *rest = head.split(";")
    known = said or mime
    if "base64" in rest:
        return MediaPart(known, digest_of(data))
    return MediaPart(known, hashlib.sha256(unquote_to_bytes(data)).hexdigest())


def digest_of(data: str) -> str:
    """The sha256 of the bytes that base64 (either alphabet) holds; of the text where it is none."""
    try:
        held = base64.b64decode(data.translate(_STANDARD) + "=" * (-len(data) % 4), validate=True)
    except (binascii.Error, ValueError):
        held = data.encode("utf-8", "surrogatepass")
    return hashlib.sha256(held).hexdigest()


_STANDARD = str.maketrans("-_", "+/")
