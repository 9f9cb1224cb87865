// What two versions said and called in the same turn, and where they differ.

import { jsonText } from "./exact.js";
import { h } from "./dom.js";
import { shown } from "./format.js";

const MOST_CELLS = 250000;
const LEAST_SHARED = 0.5;

// Equal calls have equal texts, whatever the order of their arguments.
const keyOf = (call) => jsonText([call.name, ...Object.entries(call.args ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))]);

// Call -> the call of the other version that it stands for: an equal one, or else the next of the same tool.
export function pairCalls(calls, others) {
  const free = [...others];
  const pairs = new Map();
  const take = (call, test) => {
    const index = free.findIndex(test);
    if (index >= 0) pairs.set(call, free.splice(index, 1)[0]);
  };
  for (const call of calls) take(call, (other) => keyOf(other) === keyOf(call));
  for (const call of calls) if (!pairs.has(call)) take(call, (other) => other.name === call.name);
  return pairs;
}

export function textsOf(turn) {
  return turn.messages?.length ? turn.messages : [turn.agent].filter(Boolean);
}

// What differs between two versions of a turn, in words; null: nothing.
export function differencesOf(one, other) {
  if (!one || !other) return "turn on one side only";
  const calls = [one, other].map((turn) => jsonText((turn.tool_calls ?? []).map(keyOf)));
  const parts = [
    (one.user ?? "") === (other.user ?? "") ? null : "user",
    calls[0] === calls[1] ? null : "calls",
    jsonText(textsOf(one)) === jsonText(textsOf(other)) ? null : "agent’s words",
  ].filter(Boolean);
  return parts.length ? `differs: ${parts.join(", ")}` : null;
}

function words(text) {
  if (!Intl.Segmenter) return text.split(/(?<=\s)|(?=\s)/);
  return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].map(({ segment }) => segment);
}

const isWord = (text) => /[\p{L}\p{N}]/u.test(text);

// A text in which the words are marked that the other one does not have there; unmarked if it is another text altogether.
export function markedWords(text, other) {
  const [own, theirs] = [words(text), words(other)];
  if (text === other || own.length * theirs.length > MOST_CELLS) return shown(text);
  const isShared = sharedWords(own, theirs);
  const shared = own.filter((word, i) => isShared[i] && isWord(word)).length;
  if (shared < LEAST_SHARED * Math.max(...[own, theirs].map((all) => all.filter(isWord).length))) return shown(text);
  const runs = [];
  own.forEach((word, i) => {
    if (runs.at(-1)?.isShared === isShared[i]) runs.at(-1).text += word;
    else runs.push({ isShared: isShared[i], text: word });
  });
  return runs.map((run) => (run.isShared || !isWord(run.text) ? shown(run.text) : h("b", { class: "differs" }, shown(run.text))));
}

// Longest common subsequence: for each word, whether it is part of it.
function sharedWords(own, theirs) {
  const width = theirs.length + 1;
  const longest = new Uint16Array((own.length + 1) * width);
  for (let i = own.length - 1; i >= 0; i -= 1) {
    for (let j = theirs.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = own[i] === theirs[j] ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const isShared = own.map(() => false);
  for (let i = 0, j = 0; i < own.length && j < theirs.length;) {
    if (own[i] === theirs[j]) {
      isShared[i] = true;
      i += 1;
      j += 1;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return isShared;
}
