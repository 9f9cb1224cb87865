"""Builds requests with cache keys from questions."""

from functools import lru_cache
from hashlib import sha256
from typing import Any

import orjson
from pydantic import BaseModel

from turnwise.schemas.config import JudgeConfig, generation_settings
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.ask import JudgeModelOptions, Question
from turnwise.transforms.judging.backends.base import Request, RequestTemplate
from turnwise.transforms.judging.prompts.reply import asked_schema
from turnwise.transforms.judging.routes import Routes

_KINDS_KEPT = 1024


def merged_settings(config: JudgeConfig, own: JsonObject | None) -> JsonObject:
    """Returns the generation settings of a criterion over the run's.

    Raises:
        ValueError: They are none.
    """
    return {**config.generation_config, **generation_settings(own or {})}


class Requests:
    """Makes requests with one config.

    The key of a request is a SHA-256 over the endpoint (a base URL of the user's own, else the API by its
    name), the model, the generation settings, the prompt's version, instructions and evidence, and the
    answer's schema. The project and the region are left out: the same model serves them all.
    """

    def __init__(self, config: JudgeConfig, routes: Routes):
        self._config = config
        self._routes = routes
        self._template = lru_cache(_KINDS_KEPT)(self._make_template)

    def make(self, question: Question[Any]) -> Request:
        """Returns the request of a question; raises ValueError as `generation_settings` does."""
        prompt, options = question.prompt, question.options
        reply_model: type[BaseModel] = question.reply_model
        own = orjson.dumps(options.judge_model_config, option=orjson.OPT_SORT_KEYS)
        model = self.model(options)
        asked = (prompt.version, prompt.instructions, reply_model, prompt.wants_analysis)
        template = self._template(model, own, *asked)
        evidence = prompt.evidence.encode("utf-8", "surrogatepass")
        return Request(template, prompt.evidence, sha256(template.digest + evidence).digest())

    def model(self, options: JudgeModelOptions) -> str:
        """Returns the model of a question, as the config names it."""
        return options.judge_model or self._config.model

    def _make_template(
        self,
        name: str,
        own: bytes,
        version: str,
        instructions: str,
        reply_model: type[BaseModel],
        wants_analysis: bool,
    ) -> RequestTemplate:
        settings = merged_settings(self._config, orjson.loads(own))
        schema = asked_schema(reply_model, wants_analysis)
        kind, model = self._routes.find(name)
        parts = [self._routes.endpoint(kind), model, settings, version, instructions, schema]
        digest = sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).digest()
        return RequestTemplate(model, instructions, schema, settings, digest, name, kind.name)
