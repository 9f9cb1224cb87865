// The screen of labels: a random sample to work through, what was labelled, and the export.

import { outcome, scoreOutcome } from "./badges.js";
import { report } from "./data.js";
import { button, choice, h, say, table } from "./dom.js";
import { counted, number, shown, turnName } from "./format.js";
import { allLabels, draw, drawn, exportLines, forgetSample, isLabelled } from "./labelling.js";
import { amend, fresh, go } from "./state.js";

const FIRST_SIZE = 50;
const form = { criterion: "", size: FIRST_SIZE, seed: "1" };

export function labels() {
  const made = allLabels();
  return [
    h("h1", null, "Labels"),
    h("p", null, "Give scores your own outcome with 👍 and 👎, where you read a conversation. Labels of a random sample let ",
      h("code", null, "turnwise calibrate"), " correct the figures of all conversations; of hand-picked ones it computes agreement only."),
    h("section", { "aria-labelledby": "sample" }, h("h2", { id: "sample" }, "Random sample"), drawn() ? progress(drawn()) : drawForm()),
    h("section", { "aria-labelledby": "made" }, h("h2", { id: "made" }, "Your labels"),
      h("p", null, button("Export labels as JSON Lines", download, { disabled: made.length === 0 }), ` ${counted(made.length, "label")}`),
      made.length ? labelTable(made) : null),
  ];
}

function drawForm() {
  const names = report.criteria.map((row) => row.name).filter((name) => name !== "evaluation_status");
  if (!names.length) return h("p", null, "There are no scores to label.");
  form.criterion ||= names[0];
  return h("form", { class: "filters", onsubmit: (event) => {
    event.preventDefault();
    if (!draw(form.criterion, form.size, form.seed).places.length) {
      forgetSample();
      say("No conversation has a score of this criterion.");
    }
    amend({});
  } },
  choice("criterion", names.map((name) => [name, shown(name)]), form.criterion, (value) => { form.criterion = value; }),
  h("label", null, "conversations", h("input", { type: "number", min: 1, max: 100000, value: form.size,
    onchange: (event) => { form.size = Math.max(1, Number(event.target.value) || FIRST_SIZE); } })),
  h("label", null, "seed", h("input", { type: "text", value: form.seed, onchange: (event) => { form.seed = event.target.value; } })),
  h("button", { type: "submit" }, "Draw"));
}

function progress({ criterion, places, of, seed }) {
  const open = places.filter((place) => !isLabelled(place, criterion));
  return [
    h("p", null, `${number(places.length)} of ${counted(of, "conversation")} with a score of ${shown(criterion)}, drawn with the seed ${shown(seed)}. `,
      h("strong", null, `${number(places.length - open.length)} labelled, ${number(open.length)} to do.`)),
    h("progress", { max: places.length, value: places.length - open.length, "aria-label": "labelled conversations" }),
    h("p", null, open.length ? button("Next conversation", () => go(fresh({ view: "conversation", at: String(open[0]) }))) : null,
      button("Discard the sample", () => { forgetSample(); amend({}); })),
  ];
}

function labelTable(made) {
  return table("Labels", ["conversation", "criterion", "turn", "score", "your label", "comment"], made.map((one) => [
    h("a", { href: fresh({ view: "conversation", at: String(one.place) }), dir: "auto" }, shown(one.conversation_id)),
    shown(one.criterion), turnName(one.turn_index), scoreOutcome({ outcome: one.outcome, value: one.value ?? undefined }),
    one.label ? outcome(one.label) : "–", h("span", { dir: "auto" }, shown(one.comment))]));
}

function download() {
  const address = URL.createObjectURL(new Blob([exportLines()], { type: "application/x-ndjson" }));
  const anchor = h("a", { href: address, download: `labels-${report.report_id}.jsonl` });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  URL.revokeObjectURL(address);
  say("Labels exported.");
}
