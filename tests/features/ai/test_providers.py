"""Parsing of providers' events, with and without the fast path."""

from __future__ import annotations

import pytest

from masthead.base.config.values import AiProvider
from masthead.features.ai.providers import Failure, reader_for

TEXTS = {
    AiProvider.OPENAI: [
        (b'{"choices":[{"delta":{"content":"a"}}]}', "a"),
        (b'{"id":1,"choices":[{"delta":{"content":"a"},"finish_reason":null}],"usage":null}', "a"),
        (b'{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}', "a"),
        (b'{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}', "a"),
        (b'{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":3}}', "a"),
        (b'{"choices":[{"delta":{"content":null,"role":"assistant"}}]}', ""),
        (b'{"choices":[{"delta":{"content":["a"]}}]}', ""),
        (b'{"choices":[{"delta":"a"}]}', ""),
        (b'{"choices":[7]}', ""),
        (b'{"choices":[]}', ""),
        (b"{}", ""),
    ],
    AiProvider.ANTHROPIC: [
        (b'{"type":"content_block_delta","index":0,"delta":{"text":"a"}}', "a"),
        (b'{"delta":{"text":"a"}}', "a"),
        (b'{"type":"content_block_delta","delta":{"thinking":"a"}}', ""),
        (b'{"type":"content_block_delta","delta":{"text":7}}', ""),
        (b'{"type":"content_block_delta"}', ""),
        (b'{"type":"message_delta","delta":{"text":"a"}}', ""),
        (b'{"type":"ping"}', ""),
    ],
}


@pytest.mark.parametrize(
    ("provider", "data", "text"),
    [(provider, *case) for provider, cases in TEXTS.items() for case in cases],
)
def test_the_text_of_an_event(provider: AiProvider, data: bytes, text: str) -> None:
    assert reader_for(provider).feed(b"content_block_delta", data) == text


def test_an_openai_event_with_text_can_end_the_answer_and_count_it() -> None:
    reader = reader_for(AiProvider.OPENAI)
    choice = b'{"delta":{"content":"a"},"finish_reason":"stop"}'
    data = b'{"choices":[%s],"usage":{"prompt_tokens":3}}' % choice
    assert reader.feed(b"", data) == "a"
    assert reader.has_ended
    assert reader.usage.tokens_in == 3


@pytest.mark.parametrize("provider", AiProvider)
@pytest.mark.parametrize("data", [b"", b"7", b"{", b'{"a":"\xff"}', b"[[" * 5_000])
def test_an_event_that_is_no_object_is_invalid(provider: AiProvider, data: bytes) -> None:
    with pytest.raises(Failure, match="provider_garbled"):
        reader_for(provider).feed(b"", data)


def test_an_error_with_text_is_an_error() -> None:
    data = b'{"choices":[{"delta":{"content":"a"}}],"error":{"code":"rate_limit"}}'
    with pytest.raises(Failure, match="provider_rate_limited"):
        reader_for(AiProvider.OPENAI).feed(b"", data)
