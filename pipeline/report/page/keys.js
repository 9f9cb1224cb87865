// Keys: they work everywhere but in fields.

import { copyId, nextBeside } from "./conversation.js";
import { move } from "./conversations.js";
import { button, h } from "./dom.js";
import { go, link, state } from "./state.js";

const KEYS = [
  ["j", "next conversation"],
  ["k", "previous conversation"],
  ["f", "next conversation that failed"],
  ["Enter", "open the selected conversation"],
  ["d", "beside a conversation: expected, another version, nothing"],
  ["c", "copy the id of the conversation"],
  ["/", "search"],
  ["?", "this list"],
];

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
    const act = ACTIONS[event.key];
    if (act && act(event) !== false) event.preventDefault();
  });
}

const inList = () => ["conversations", "conversation"].includes(state.view);
const step = (by, isFailure) => () => {
  if (!inList()) go(link({ view: "conversations" }));
  else move(by, isFailure);
};

const ACTIONS = {
  j: step(1, false),
  k: step(-1, false),
  f: step(1, true),
  Enter: (event) => {
    if (state.view !== "conversations" || state.at === "" || event.target.closest("a, button, summary")) return false;
    go(link({ view: "conversation" }));
    return true;
  },
  d: () => state.view === "conversation" && nextBeside(),
  c: () => inList() && state.at !== "" && copyId(),
  "/": () => {
    const field = document.getElementById("search");
    if (field) field.focus();
    else go(link({ view: "conversations" }));
  },
  "?": showKeys,
};

export function showKeys() {
  const dialog = h("dialog", { "aria-labelledby": "keys", onclose: () => dialog.remove() },
    h("h2", { id: "keys" }, "Keys"),
    h("dl", { class: "keys" }, KEYS.map(([key, text]) => [h("dt", null, h("kbd", null, key)), h("dd", null, text)])),
    button("Close", () => dialog.close(), { autofocus: true }));
  document.body.append(dialog);
  dialog.showModal();
}
