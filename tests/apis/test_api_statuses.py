"""The HTTP status that a recorded error is answered with."""

import pytest

from otel_runlog.apis import error_status
from otel_runlog.conversation import CallError


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CallError("RateLimitError", "slow down", 418), 418),
        (CallError("RateLimitError", "slow down", 200), 429),
        (CallError("RateLimitError"), 429),
        (CallError("openai.RateLimitError"), 429),
        (CallError("rate_limit_exceeded"), 429),
        (CallError("ResourceExhausted"), 429),
        (CallError("overloaded_error"), 529),
        (CallError("OverloadedError"), 529),
        (CallError("AuthenticationError"), 401),
        (CallError("PermissionDeniedError"), 403),
        (CallError("BadRequestError"), 400),
        (CallError("invalid_request_error"), 400),
        (CallError("context_length_exceeded"), 400),
        (CallError("NotFoundError"), 404),
        (CallError("UnprocessableEntityError"), 422),
        (CallError("InternalServerError"), 500),
        (CallError("APITimeoutError"), 504),
        (CallError("ServiceUnavailableError"), 503),
        (CallError("429"), 429),
        (CallError("ClientError", "404 NOT_FOUND. {'error': {'code': 404}}"), 404),
        (CallError("APIStatusError", "Error code: 529 - {'type': 'error'}"), 529),
        (CallError("ServerError", "server answered with HTTP 503"), 503),
        (CallError("APIStatusError", "status code 502: bad gateway"), 502),
        (CallError("APIError", "The server had an error; rate limit reached"), 429),
        (CallError("ValueError", "500 tokens are too many"), 500),
        (CallError("ValueError", "item 4042 of 429 is bad"), 500),
        (CallError(None, None), 500),
    ],
)
def test_the_status_is_the_providers_else_what_type_and_message_say(error, status):
    assert error_status(error) == status
