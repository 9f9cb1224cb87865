// Tools, latencies and tokens.

import { heads } from "./about.js";
import { versionHead } from "./badges.js";
import { pairChoice, shownVersions } from "./compared.js";
import { report, versionName } from "./data.js";
import { breakable, h, table } from "./dom.js";
import { NONE, decimal, number, percent, quantity, shown } from "./format.js";
import { lines } from "./plots.js";
import { fresh } from "./state.js";

const WIDE = 50;
const TITLES = { tokens_in: "Tokens read per conversation", tokens_out: "Tokens written per conversation" };
const SHARES = [[50, "p50"], [90, "p90"], [95, "p95"], [99, "p99"]];

export function figures() {
  const isShown = ({ version }) => shownVersions().includes(version);
  const curves = report.curves.filter((curve) => curve.count && isShown(curve));
  const quantities = [...new Set(curves.map((curve) => curve.quantity))];
  return [
    h("h1", null, "Tools, latency and tokens"),
    shownVersions().length < report.versions.length ? h("div", { class: "actions" }, pairChoice()) : null,
    h("section", { "aria-labelledby": "tools" }, h("h2", { id: "tools" }, "Tools"), tools(report.tools.filter(isShown))),
    quantities.length ? quantities.map((name) => distribution(name, curves.filter((curve) => curve.quantity === name))) : h("p", null, "The logs state no latencies and no tokens."),
  ];
}

function tools(found) {
  const silent = report.runs.some((run) => !run.has_transcripts);
  const note = silent ? h("p", { class: "problem" }, "A run wrote no transcripts: its calls are not counted here.") : null;
  if (!found.length) return [note, h("p", null, "No tool was called.")];
  return [note, table("Calls by tool and version", heads(["tool", "version", "calls", "errors", "p50", "p95", "effect", "wrong arguments"]),
    found.map((one) => [
      h("a", { href: fresh({ view: "conversations", tool: one.tool }), dir: "auto" }, breakable(shown(one.tool || "(no name)"))), versionHead(one.version),
      number(one.calls), `${number(one.errors)} (${percent(one.errors / (one.calls || 1))})`, quantity(one.p50, "seconds"), quantity(one.p95, "seconds"),
      Object.keys(one.effects).map(shown).join(", "), one.wrong.map(([name, count]) => `${shown(name)} (${count})`).join(", ") || NONE]), { class: "stack" })];
}

// The share of values up to each value, one line a version.
function distribution(name, curves) {
  const { unit } = curves[0];
  const title = TITLES[name] ?? shown(name);
  const x = [...new Set(curves.flatMap((curve) => curve.quantiles))].sort((a, b) => a - b);
  const text = (value) => quantity(value, unit);
  return h("section", { "aria-label": title }, h("h2", null, title),
    x.length > 1 ? lines({
      label: `Share of values up to each ${{ seconds: "duration", money: "cost" }[unit] ?? "number"}: ${title}`, x, xLabel: unit, yLabel: "", isLogarithmic: x[0] > 0 && x.at(-1) > WIDE * x[0], format: percent, xFormat: unit === "money" ? (value) => quantity(value, unit) : decimal,
      series: curves.map((curve) => ({ name: shown(versionName(curve.version)), values: x.map((value) => shareUpTo(curve.quantiles, value)) })),
    }) : null,
    table(`Quantiles of ${title}`, heads(["version", "values", "not logged", ...SHARES.map(([, label]) => label)]), curves.map((curve) => [
      versionHead(curve.version), number(curve.count), number(curve.missing), ...SHARES.map(([share]) => text(curve.quantiles[share]))])));
}

function shareUpTo(quantiles, value) {
  let count = 0;
  while (count < quantiles.length && quantiles[count] <= value) count += 1;
  return count / quantiles.length;
}
