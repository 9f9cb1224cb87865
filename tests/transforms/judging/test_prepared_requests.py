"""What is sent and answered is what google-genai, called as its documentation shows, sends and gets."""

import asyncio
import dataclasses
import json
import math
import os

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google import genai
from google.genai import errors, types
from msgspec.structs import replace

from tests.tables import stated
from turnwise.schemas.config import JudgeConfig
from turnwise.transforms.judging.backends.base import Request, RequestTemplate
from turnwise.transforms.judging.backends.gemini import PLACE, GeminiBackend, in_order
from turnwise.transforms.judging.judges import Access

SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["valid", "invalid"]}}}


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    """Makes the file of a service account."""
    key = rsa.generate_private_key(65537, 2048)
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, *form).decode()
    account = {"type": "service_account", "client_email": "a@p.example", "private_key": pem}
    path = tmp_path_factory.mktemp("account") / "account.json"

    def write(server):
        account.update(token_uri=f"{server.url}/token", quota_project_id="quota")
        path.write_text(json.dumps(account))
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = str(path)

    yield write
    os.environ.pop("GOOGLE_APPLICATION_CREDENTIALS", None)


def request_of(settings, evidence="The evidence.", model="gemini-x"):
    return Request(RequestTemplate(model, "The instructions.", SCHEMA, settings, b""), evidence, b"")


def accesses(server):
    return {
        "key": Access("e", server.key, server.url),
        "key for Vertex AI": Access("e", server.key, server.url, True),
        "project": Access("e", None, server.url, True, "p", "l"),
    }


async def plainly(access, request, count, timeout_s):
    """Calls google-genai; returns the body of the answer, or the error."""
    options = types.HttpOptions(
        base_url=access.base_url,
        api_version="v1beta1" if access.vertexai else "v1beta",
        timeout=math.ceil(timeout_s * 1000),
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    project = {"project": access.project, "location": access.location} if access.project else {}
    client = genai.Client(vertexai=access.vertexai, api_key=access.api_key, http_options=options, **project)
    template = request.template
    config = {
        **template.settings,
        "system_instruction": template.instructions,
        "response_mime_type": "application/json",
        "response_json_schema": in_order(template.schema),
        "candidate_count": count if count > 1 else None,
        "automatic_function_calling": {"disable": True},
        "should_return_http_response": True,
    }
    try:
        call = client.aio.models.generate_content(
            model=template.model, contents=request.evidence, config=config
        )
        return (await call).sdk_http_response.body
    except (errors.APIError, ValueError) as error:
        return error
    finally:
        await client.aio.aclose()


async def ours(access, request, count, timeout_s):
    api = GeminiBackend(JudgeConfig(timeout_s=timeout_s), access, print)
    api.open()
    try:
        await api.call(replace(request, evidence="another"), count)
        return await api.call(request, count)
    except (errors.APIError, ValueError) as error:
        return error
    finally:
        await api.aclose()


def sent_and_answered(server, ask, *arguments):
    server.script({"values": {"verdict": "valid"}, "usage": None})
    answer = asyncio.run(ask(*arguments, 1.5))
    last = {key: value for key, value in server.last().items() if key != "bodies"}
    return last, answer if isinstance(answer, str) else (type(answer), str(answer))


@stated("request", "kind, settings, count, evidence")
def test_requests_are_google_genais(server, account, kind, settings, count, evidence):
    account(server)
    access, request = accesses(server)[kind], request_of(settings, evidence.replace("PLACE", PLACE))
    (theirs, _), (sent, _) = (
        sent_and_answered(server, ask, access, request, count) for ask in (plainly, ours)
    )
    assert sent == theirs


def test_a_request_with_an_old_access_token_is_made_anew(server):
    async def use():
        api = GeminiBackend(JudgeConfig(), accesses(server)["key"], print)
        request = request_of({})
        api.open()
        await api.call(request, 1)
        (kind, made) = next(iter(api._prepared.items()))
        api._prepared[kind] = dataclasses.replace(made, headers={"x-goog-api-key": "old"}, made=-math.inf)
        await api.call(request, 1)
        await api.aclose()
        return made, api._prepared[kind]

    server.script()
    first, second = asyncio.run(use())
    assert first.is_fresh and second.is_fresh
    assert second.headers == first.headers
    assert server.key not in repr(first)
