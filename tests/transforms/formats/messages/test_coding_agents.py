"""Session logs of coding agents: the recorded ones, and the traps that those do not hold."""

import json

import pytest

from tests.readings import FORMATS, findings, one, read_file, tokens, turns

README = "# My Project\n\nThis is a sample project for testing purposes."
STRUCTURE = (
    "## Codebase Structure\n\nThe codebase contains:\n- src/ - Main source code\n- tests/ - Test files\n"
    "- docs/ - Documentation"
)
TASK = "Explore the structure of this codebase and report the main directories and files."
RESUMED = "\nagentId: atest01 (for resuming to continue this agent's work if needed)"
FILES = {
    "simple_conversation": (
        [
            (
                "Hello, how are you?",
                [],
                [],
                "I'm doing well, thank you for asking! How can I help you today?",
            ),
            (
                "Can you explain what this codebase does?",
                [],
                [],
                "Based on my analysis, this is a Python project that provides tools for analyzing LLM "
                "evaluation transcripts.",
            ),
        ],
        [(100, 20), (150, 30)],
        [1000, 3000],
    ),
    "tool_call_conversation": (
        [
            (
                "Read the README file",
                [("Read", {"file_path": "/Users/test/project/README.md"})],
                [("Read", README)],
                "The README indicates this is a sample project for testing purposes. The file contains:\n\n"
                "1. A project title\n2. A brief description",
            )
        ],
        [(200 + 100 + 50 + 250, 50 + 40)],
        [3000],
    ),
    "compaction_session": (
        [
            ("Start a long conversation", [], [], "Sure, I'm ready for a long conversation."),
            (
                "Continue where we left off",
                [],
                [],
                "Based on the summary, you were discussing project structure and testing. What would you "
                "like to continue with?",
            ),
        ],
        [(100, 15), (80, 25)],
        [1000, 1000],
    ),
    "agent_session": (
        [
            (
                "Explore the codebase structure",
                [
                    (
                        "Task",
                        {
                            "description": "Explore codebase structure",
                            "prompt": TASK,
                            "subagent_type": "Explore",
                        },
                    )
                ],
                [("Task", STRUCTURE + RESUMED)],
                "Based on the exploration, the codebase has three main directories:\n\n1. **src/** - "
                "Contains the main source code\n2. **tests/** - Contains test files\n3. **docs/** - "
                "Contains documentation",
            )
        ],
        [(300, 80)],
        [7000],
    ),
    "agent-atest01": (
        [
            (
                TASK,
                [("Bash", {"command": "ls -la"})],
                [("Bash", "drwxr-xr-x  src\ndrwxr-xr-x  tests\ndrwxr-xr-x  docs\n-rw-r--r--  README.md")],
                STRUCTURE,
            )
        ],
        [(200, 60)],
        [3000],
    ),
}
recorded = pytest.mark.skipif(not FORMATS.exists(), reason="no recordings")


@recorded
@pytest.mark.parametrize("name", FILES)
def test_recorded_sessions(name):
    found = read_file(FORMATS / f"coding_agents/{name}.jsonl")
    assert found.failures == []
    [conversation] = found.conversations
    said, counted, latencies = FILES[name]
    assert turns(conversation) == said
    assert tokens(conversation) == counted
    assert [turn.latency_ms for turn in conversation.turns] == latencies
    assert (conversation.ended, conversation.app_version) == ("normally", "2.0.76")
    assert findings(conversation) == []


@recorded
def test_recorded_streams():
    [four] = read_file(FORMATS / "claude_agent_sdk_stream/basic_conversation.json").conversations
    assert turns(four) == [("What is 2+2?", [], [], "4")]
    assert tokens(four) == [(3 + 2175 + 7166, 5)]
    assert (four.conversation_id, four.turns[0].latency_ms) == ("7ed3c21d-374b-491a-8c66-05e191f6a0be", 2263)
    [listed] = read_file(FORMATS / "claude_agent_sdk_stream/tool_use_conversation.json").conversations
    [(user, calls, [(name, files)], said)] = turns(listed)
    assert user == "List files in the current directory"
    assert calls == [("Bash", {"command": "ls", "description": "List files in current directory"})]
    assert name == "Bash" and files.startswith("CHANGELOG.md\nCLAUDE.md\n")
    assert said.startswith("Here are the files and directories")
    assert tokens(listed) == [(4 + 1215 + 17653, 415)]
    assert (listed.turns[0].latency_ms, listed.ended, findings(listed)) == (9352, "normally", [])


def line(uuid, parent, kind, content, **more):
    message = {"role": kind, "content": content, **more.pop("message", {})}
    about = {"sessionId": "s", "type": kind, "isSidechain": False, "version": "2.1"}
    return {"uuid": uuid, "parentUuid": parent, "message": message, **about, **more}


def use(call_id, name="Read"):
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def result(call_id, content="ok", **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


PARALLEL = [
    line("1", None, "user", "Go"),
    line("2", "1", "assistant", [use("a")], message={"id": "m"}),
    line("3", "2", "assistant", [use("b")], message={"id": "m"}),
    line("4", "2", "user", [result("a")]),
    line("5", "3", "user", [result("b", "no", is_error=True)]),
    line("6", "5", "assistant", [{"type": "text", "text": "Done"}]),
]


def test_results_of_parallel_calls_are_no_other_branch():
    found = one(PARALLEL)
    assert turns(found) == [("Go", [("Read", {}), ("Read", {})], [("Read", "ok"), ("Read", "no")], "Done")]
    assert findings(found) == []


def test_a_retry_is_another_branch_and_said():
    again = line("7", None, "user", "Go on")
    found = one([*PARALLEL, again, line("8", "7", "assistant", [{"type": "text", "text": "Well"}])])
    assert turns(found) == [("Go on", [], [], "Well")]
    assert findings(found) == ["OtherBranch"]
    assert found.turns[0].unknown_calls


def test_a_cleared_session_is_two_conversations(tmp_path):
    clear = line("7", None, "user", "<command-name>/clear</command-name>")
    meta = line("8", None, "user", "Caveat: these messages were generated", isMeta=True)
    more = [line("9", "8", "user", "Hi"), line("10", "9", "assistant", [{"type": "text", "text": "Hello"}])]
    path = tmp_path / "session.jsonl"
    start = {"type": "summary", "summary": "x", "leafUuid": "6"}
    path.write_text("\n".join(map(json.dumps, [start, *PARALLEL, clear, meta, *more])) + "\n{broken\n")
    found = read_file(path)
    assert [c.conversation_id for c in found.conversations] == ["s", "s/2"]
    assert turns(found.conversations[1]) == [("Hi", [], [], "Hello")]
    assert [failure.position for failure in found.failures] == [12]


def test_a_session_that_the_user_interrupted():
    stop = line("7", "6", "user", [{"type": "text", "text": "[Request interrupted by user]"}])
    found = one([*PARALLEL, stop])
    assert (len(found.turns), found.ended) == (1, "user_left")


def test_an_error_of_the_api_is_no_call_of_a_model():
    error = line("7", "6", "assistant", [{"type": "text", "text": "API Error: 529 overloaded"}])
    error["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0}
    found, before = one([*PARALLEL, error | {"isApiErrorMessage": True}]), one(PARALLEL)
    assert (found.ended, tokens(found)) == ("agent_error", tokens(before))
    assert found.turns[0].inference_calls == before.turns[0].inference_calls


NEWS = "<task-notification>\n<task-id>b</task-id>\n</task-notification>"
SHOWN = "<ide_opened_file>The user opened x.py</ide_opened_file>"
WELL = {"type": "text", "text": "Well"}


@pytest.mark.parametrize("news", [NEWS, [{"type": "text", "text": NEWS}], [{"type": "text", "text": SHOWN}]])
def test_what_claude_code_writes_in_the_users_place_is_no_turn(news):
    asked = [{"type": "text", "text": SHOWN}, {"type": "text", "text": f"{SHOWN}\nGo"}]
    lines = [
        line("1", None, "user", asked),
        line("2", "1", "user", news),
        line("3", "2", "assistant", [WELL]),
    ]
    assert turns(one(lines)) == [("Go", [], [], "Well")]


def test_the_text_of_a_skill_is_no_turn():
    text = "Base directory for this skill: /skills/pdf\n\n# PDF"
    skill = [
        entry("user", message={"content": "Use the skill"}),
        entry("assistant", message={"content": [use("a", "Skill")]}),
        entry("user", message={"content": [result("a", "Launching skill: pdf")]}),
        entry("user", message={"content": [{"type": "text", "text": text}]}),
        entry("assistant", message={"content": [WELL]}),
    ]
    assert turns(one(skill)) == [
        ("Use the skill", [("Skill", {})], [("Skill", "Launching skill: pdf")], "Well")
    ]
    [turn, _] = turns(one([entry("user", message={"content": text}), *skill]))
    assert turn[0] == text, "what no call of the tool comes before is the user's"


def entry(kind, **more):
    return {"type": kind, "session_id": "s", "parent_tool_use_id": None, **more}


def test_a_stream_without_what_the_user_wrote_and_with_a_sub_agent():
    said = {"content": [{"type": "text", "text": "Well"}, use("a", "Task")]}
    inner = entry("assistant", message={"content": [use("b")]}) | {"parent_tool_use_id": "a"}
    answer = entry("user", message={"content": [result("a")]})
    ended = entry(
        "result", subtype="error_max_turns", is_error=True, usage={"input_tokens": 1, "output_tokens": 2}
    )
    found = one([entry("system", subtype="init"), entry("assistant", message=said), inner, answer, ended])
    assert turns(found) == [(None, [("Task", {})], [("Task", "ok")], "Well")]
    assert sorted(findings(found)) == ["MissingHistory", "SubAgent"]
    assert (found.ended, tokens(found)) == ("limit", [(1, 2)])


def rollout(kind, **payload):
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def item(**payload):
    return rollout("response_item", **payload)


def typed(text):
    return [
        rollout("event_msg", type="user_message", message=text),
        item(type="message", role="user", content=[{"type": "input_text", "text": text}]),
    ]


SPENT = {"input_tokens": 7, "output_tokens": 3}
CODEX = [
    rollout("session_meta", id="t-1", cli_version="0.9", cwd="/x"),
    item(
        type="message",
        role="user",
        content=[{"type": "input_text", "text": "<environment_context>x</environment_context>"}],
    ),
    *typed("List files"),
    item(type="function_call", call_id="1", name="shell", arguments='{"command": ["ls"]}'),
    item(type="function_call_output", call_id="1", output='{"output": "", "metadata": {"exit_code": 2}}'),
    rollout("event_msg", type="agent_message", message="None."),
    item(type="message", role="assistant", content=[{"type": "output_text", "text": "None."}]),
    rollout(
        "event_msg", type="token_count", info={"last_token_usage": {"input_tokens": 7, "output_tokens": 3}}
    ),
    rollout("event_msg", type="task_complete", duration_ms=1500),
]


def test_a_session_of_codex():
    found = one(CODEX)
    [turn] = found.turns
    assert (found.conversation_id, found.app_version, found.ended) == ("t-1", "0.9", "normally")
    assert (turn.user, turn.agent, turn.latency_ms) == ("List files", "None.", 1500)
    assert [(call.name, call.args) for call in turn.tool_calls] == [("shell", {"command": ["ls"]})]
    assert turn.tool_responses[0].error == "exit code 2"
    assert tokens(found) == [(7, 3)]


AGENTS = "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>"
ENVIRONMENT = "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"


@pytest.mark.parametrize(
    ("texts", "user"),
    [
        ([AGENTS, ENVIRONMENT], None),
        (["# AGENTS.md is wrong, fix it"], "# AGENTS.md is wrong, fix it"),
        (["<permissions are missing?"], "<permissions are missing?"),
        ([ENVIRONMENT, "Why?"], f"{ENVIRONMENT}\nWhy?"),
    ],
)
def test_what_codex_tells_the_model_is_no_message_of_the_user(texts, user):
    said = item(type="message", role="user", content=[{"type": "input_text", "text": text} for text in texts])
    found = one([CODEX[0], said, item(type="message", role="assistant", content="Yes")])
    assert [(turn.user, turn.agent) for turn in found.turns] == [(user, "Yes")]


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ('{"output": "exit code 3 is bad", "metadata": {"exit_code": 0}}', None),
        ('{"output": "exit code 3 is bad", "metadata": {"exit_code": 1}}', "exit code 1"),
        ('{"output": "{\\"exit_code\\": 3}"}', None),
        ("Exit code: 0\nWall time: 1 s\nOutput:\nit exited with code 3", None),
        ("Wall time: 1 s\nProcess exited with code 3\nOutput:\nexit code 0", "exit code 3"),
        ("Exit code: 2", "exit code 2"),
        ("The docs speak of exit code 3.", None),
    ],
)
def test_the_exit_code_is_not_looked_for_in_what_a_command_wrote(output, error):
    found = one([*CODEX[:4], item(type="function_call_output", call_id="1", output=output), *CODEX[6:]])
    assert [each.error for turn in found.turns for each in turn.tool_responses] == [error]


def test_what_codex_rolled_back_is_left_out_and_said():
    undo = rollout("event_msg", type="thread_rolled_back", num_turns=1)
    answer = item(type="message", role="assistant", content="Bye")
    found = one([*CODEX, undo, *typed("Bye"), answer])
    assert turns(found) == [("Bye", [], [], "Bye")]
    assert findings(found) == ["UndoneTurns"]


def test_events_of_codex_exec():
    run = {"id": "i", "type": "command_execution", "command": "ls", "aggregated_output": "a", "exit_code": 0}
    found = one(
        [
            {"type": "thread.started", "thread_id": "t"},
            {"type": "turn.started"},
            {"type": "item.started", "item": run},
            {"type": "item.completed", "item": run},
            {"type": "item.completed", "item": {"id": "j", "type": "agent_message", "text": "One file."}},
            {"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}},
        ]
    )
    assert turns(found) == [(None, [("shell", {"command": "ls"})], [("shell", "a")], "One file.")]
    assert (found.conversation_id, found.ended, tokens(found)) == ("t", "normally", [(5, 1)])
    assert findings(found) == ["MissingHistory"]
    cut = one([{"type": "item.completed", "item": run}])
    assert (turns(cut)[0][0], findings(cut)) == (None, ["MissingHistory"])


@recorded
def test_recorded_managed_agents():
    [dated] = read_file(FORMATS / "langsmith_runs/anthropic_managed_builtin_tools.jsonl").conversations
    assert turns(dated) == [
        (
            "Call 'date' to get the current date time",
            [("bash", {"command": "date"})],
            [("bash", "Mon Jul  6 16:26:37 UTC 2026\n")],
            "The current date and time is:\n\n**Monday, July 6, 2026, 16:26:37 UTC**",
        )
    ]
    assert tokens(dated) == [(2 + 7126 + 2 + 25 + 7174, 46 + 34)]
    assert (dated.ended, findings(dated), round(dated.turns[0].latency_ms)) == ("normally", [], 5191)
    [sunny] = read_file(FORMATS / "langsmith_runs/anthropic_managed_custom_tools.jsonl").conversations
    [(user, calls, results, said)] = turns(sunny)
    assert (user, calls) == ("What's the weather in Prague?", [("get_weather", {"location": "Prague"})])
    assert results == [("get_weather", "It's 23°C and sunny in Prague.")]
    assert said.startswith("It's currently **23°C and sunny** in Prague")
    assert (sunny.conversation_id, sunny.ended) == ("sesn_014fc5Q6rWwrXD3vWBfPRUes", "normally")
