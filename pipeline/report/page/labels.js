// The screen of labels: a random sample to work through, what was labelled, and the export.

import { outcome } from "./badges.js";
import { idName, report } from "./data.js";
import { button, choice, h, say, table } from "./dom.js";
import { counted, number, shown, turnName } from "./format.js";
import { TURNS, VERDICT, WHOLE, allLabels, draw, drawn, exportLines, forgetSample, importLines, population, raterName, setRater, toLabel } from "./labelling.js";
import { amend, fresh, go } from "./state.js";

const FIRST_SIZE = 50;
const form = { criterion: VERDICT, level: WHOLE, run: 0, size: FIRST_SIZE, seed: "1" };

export function labels() {
  const made = allLabels();
  return [
    h("h1", null, "Labels"),
    h("p", null, "Give scores the outcome that you would give, with ✓ and ✕, where you read a conversation. With labels of a random sample, ",
      h("code", null, "turnwise calibrate"), " corrects the figures of all conversations. With labels that you picked by hand it does not, because people pick what looks wrong."),
    h("p", { class: "filters" },
      h("label", null, "your name", h("input", { type: "text", value: raterName(), onchange: (event) => setRater(event.target.value) })),
      h("label", null, "read labels or a queue", h("input", { type: "file", accept: ".jsonl", onchange: (event) => readFile(event.target.files[0]) }))),
    h("section", { "aria-labelledby": "sample" }, h("h2", { id: "sample" }, "Random sample"), drawn() ? progress(drawn()) : drawForm()),
    h("section", { "aria-labelledby": "made" }, h("h2", { id: "made" }, "Your labels"),
      h("p", null, button("Export labels as JSON Lines", download, { disabled: made.length === 0 }), ` ${counted(made.length, "label")}`),
      made.length ? labelTable(made) : null),
  ];
}

function drawForm() {
  const set = (name, kind) => (value) => { form[name] = kind ? kind(value) : value; amend({}); };
  const found = population(form.criterion, form.level, form.run).length;
  return h("form", { class: "filters", onsubmit: (event) => { event.preventDefault(); drawSample(); } },
    choice("criterion", report.criteria.map((row) => [row.name, shown(row.name)]), form.criterion, set("criterion")),
    choice("scores of", [[WHOLE, WHOLE], [TURNS, TURNS]], form.level, set("level")),
    report.runs.length > 1 ? choice("run", report.runs.map((run, i) => [String(i), shown(run.run_id)]), String(form.run), set("run", Number)) : null,
    h("label", null, "conversations", h("input", { type: "number", min: 1, max: 100000, value: form.size,
      onchange: (event) => { form.size = Math.max(1, Math.floor(Number(event.target.value)) || FIRST_SIZE); } })),
    h("label", null, "seed", h("input", { type: "text", value: form.seed, onchange: (event) => { form.seed = event.target.value; } })),
    h("button", { type: "submit", disabled: found === 0 }, "Draw"),
    h("span", { class: "hint" }, `of ${counted(found, "conversation")}`));
}

async function drawSample() {
  try {
    await draw(form);
    amend({});
  } catch (error) {
    say(`The sample cannot be drawn: ${error.message}`);
  }
}

function progress({ criterion, level, items, of, seed }) {
  const open = toLabel();
  const picked = items.filter(({ isPicked }) => isPicked).length;
  return [
    h("p", null, `${number(items.length - picked)} of ${counted(of, "conversation")} with scores of ${shown(criterion)} (${level}), drawn with the seed ${shown(seed)}${picked ? `, and ${number(picked)} picked` : ""}. `,
      h("strong", null, `${number(items.length - open.length)} labelled, ${number(open.length)} to do.`),
      " Label them in this order; you may stop early."),
    h("progress", { max: items.length, value: items.length - open.length, "aria-label": "labelled conversations" }),
    h("p", { class: "actions" }, open.length ? button("Next conversation", () => go(fresh({ view: "conversation", at: String(open[0]) }))) : null,
      button("Discard the sample", () => { forgetSample(); amend({}); })),
  ];
}

function labelTable(made) {
  return table("Labels", ["conversation", "criterion", "turn", "outcome", "your label", "comment"], made.map((one) => [
    h("a", { href: fresh({ view: "conversation", at: String(one.place) }), dir: "auto" }, shown(idName(report.conversations.id[one.place]))),
    shown(one.criterion), turnName(one.turn_index), one.outcome ? outcome(one.outcome) : "–",
    one.label ? outcome(one.label) : "–", h("span", { dir: "auto" }, shown(one.comment))]));
}

async function readFile(file) {
  try {
    const { used, of } = await importLines(await file.text());
    amend({});
    say(`${number(used)} of ${counted(of, "line")} fit this report.`);
  } catch (error) {
    say(`The file cannot be read: ${error.message}`);
  }
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
