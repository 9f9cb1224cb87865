import json

import pytest

from turnwise.schemas.config import ConfigError
from turnwise.transforms.criteria.rubrics import RubricToolUse
from turnwise.transforms.scoring.config import build_criteria, parse_config


def test_a_rubric_without_words_is_a_mistake_in_the_config():
    nothing = [{"rubric_id": "r1", "rubric_content": {}}]
    text = json.dumps({"criteria": {"rubric_based_tool_use_quality_v1": {"rubrics": nothing}}})
    with pytest.raises(ConfigError, match="rubric r1 has neither text_property nor description"):
        build_criteria(parse_config(text))
    described = [{"rubric_id": "r1", "rubric_content": {}, "description": "is kind"}]
    assert RubricToolUse(rubrics=described).rubrics[0].text == "is kind"
