from tests.samples import scores_of
from turnwise.schemas.adk import Invocation
from turnwise.schemas.case import EvalCase
from turnwise.transforms.criteria.responses import ResponseMatch
from turnwise.transforms.formats.adk_cases import invocation_expected, invocation_turn


def result_of(criterion, golden, recorded):
    return scores_of(criterion, EvalCase(eval_id="e", turns=golden), *recorded)


def test_thoughts_are_left_out_unless_adk_counts_them():
    def invocation(*parts):
        content = {"parts": list(parts), "role": "model"}
        return Invocation.model_validate(
            {"user_content": {"parts": [{"text": "q"}]}, "final_response": content}
        )

    golden = [invocation_expected(invocation({"text": "blue"}))]
    recorded = [invocation_turn(invocation({"text": "hm so", "thought": True}, {"text": "blue"}), 0)]
    assert result_of(ResponseMatch(), golden, recorded).overall.value == 1.0
    assert result_of(ResponseMatch(adk_compat=True), golden, recorded).overall.value == 0.5
