// The pages of `turnwise serve`: apps, runs and versions to choose from, and trends.

import { unpack } from "./data.js";
import { button, choice, h, table } from "./dom.js";
import { NONE, number, quantity, shown, shortNames } from "./format.js";
import { applyTheme, main, startFrame } from "./frame.js";
import { readState } from "./state.js";
import { trendChart } from "./trend.js";

const PAGES = "/ui";
const DATE = 10;
const LONGEST_VERSION = 24;
let data = {};

// The address of a page; the theme stays.
function address(path, query) {
  const given = Object.entries(query ?? {}).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  return `${PAGES}${path}${given.length ? `?${new URLSearchParams(given)}` : ""}${location.hash}`;
}

function link(text, path, query, title) {
  return h("a", { href: address(path, query), title }, shown(text));
}

// Apps have long names: what differs is shown, the whole name at the pointer.
function apps() {
  if (!data.apps.length) return [h("p", null, "The store holds no run: "), h("code", null, "turnwise run --store URL ...")];
  const short = shortNames(data.apps.map(({ name }) => name));
  return table("Apps of the store", ["app", "runs", "last run"], data.apps.map(({ name, runs, last }) =>
    [link(short.get(name), "/runs", { app: name }, name), number(runs), last ?? NONE]));
}

function runs() {
  return [versionForm(), runList(), older("/runs")];
}

function versionForm() {
  const versions = data.versions.map((name) => [name, shown(name)]);
  const chosen = { baseline: data.versions.at(-2), candidate: data.versions.at(-1) };
  const compare = button("Compare", () => location.assign(address("/compare", { app: data.app, ...chosen })));
  const check = () => { compare.disabled = chosen.baseline === chosen.candidate; };
  const pick = (label, name) => choice(label, versions, chosen[name], (value) => { chosen[name] = value; check(); });
  return h("section", { "aria-labelledby": "versions" }, h("h2", { id: "versions" }, "Compare two app versions"),
    versions.length < 2
      ? h("p", null, versions.length ? `There is one app version only: ${versions[0][1]}.` : "No conversation states an app version.")
      : h("div", { class: "filters" }, pick("baseline", "baseline"), pick("candidate", "candidate"), h("p", { class: "check" }, compare)));
}

const COUNTS = ["conversationCount", "passCount", "failCount", "noVerdictCount", "rejectedRecordCount"];
const RUN_COLUMNS = ["run", "choose", "state", "app versions", "conversations", "passed", "failed", "no verdict", "rejected", "began", "cost", "exit status"];

function runList() {
  if (!data.runs.length) return h("p", null, "The app has no run.");
  const chosen = new Set();
  const open = button("Report of the chosen runs", () => location.assign(address("/report", {
    run: data.runs.map(({ name }) => name).filter((name) => chosen.has(name)).reverse(),
  })), { disabled: true });
  const box = ({ name, runId }) => h("input", { type: "checkbox", "aria-label": `Choose ${shown(runId)}`, onchange: (event) => {
    if (event.target.checked) chosen.add(name);
    else chosen.delete(name);
    open.disabled = chosen.size < 1 || chosen.size > data.most_runs;
  } });
  const versions = shortNames(data.runs.flatMap((run) => run.appVersions ?? []), LONGEST_VERSION);
  return h("section", { "aria-labelledby": "runs" }, h("h2", { id: "runs" }, "Runs"),
    h("p", { class: "hint" }, `A run opens as a report. Up to ${data.most_runs} runs are one report: it begins with the last version of the newest against the run before it, and others are to choose from.`),
    h("p", { class: "actions" }, open),
    table("Runs, the newest first", RUN_COLUMNS, data.runs.map((run) => runCells(run, box, versions)), { class: "criteria stack" }));
}

function runCells(run, box, versions) {
  const isComplete = run.state === "COMPLETED";
  const state = run.state.toLowerCase().replaceAll("_", " ");
  const told = run.error ? `${state}: ${run.error}` : state;
  return [
    isComplete ? link(run.runId, "/report", { run: run.name }) : shown(run.runId),
    isComplete ? box(run) : null,
    h("span", { class: isComplete ? null : run.error ? "badge fail" : "badge open" }, shown(told)),
    h("span", { title: (run.appVersions ?? []).map(shown).join(", ") }, (run.appVersions ?? []).map((name) => shown(versions.get(name))).join(", ") || NONE),
    ...COUNTS.map((name) => number(run[name] ?? (isComplete ? 0 : null))),
    run.createTime ? h("time", { datetime: run.createTime, title: run.createTime }, run.createTime.slice(0, 16).replace("T", " ")) : NONE,
    run.cost === undefined ? NONE : quantity(run.cost, "money"),
    run.exitStatus ?? NONE,
  ];
}

function older(path) {
  const { app, criterion, app_version: version, older: token } = data;
  const query = { app, ...(criterion && { criterion }), ...(version && { app_version: version }) };
  return token ? h("p", null, link("Older", path, { ...query, page_token: token })) : null;
}

function trend() {
  const charts = data.sections.map(trendSection).filter((chart) => chart !== null);
  return [
    charts.length ? charts : h("p", null, "No run of the app measured anything."),
    data.unread.length ? [h("h2", null, "Runs without figures"), h("ul", null, data.unread.map((text) => h("li", null, shown(text))))] : null,
    older("/trend"),
  ];
}

// A run with a date stands at it, one without at its start, which tells the runs of a day apart.
function trendSection({ criterion, level, is_share: isShare, unit, steps }) {
  const linked = (title) => link(title, "/trend", { app: data.app, criterion });
  return trendChart({ criterion, level, isShare, unit, steps: steps.map((one) => ({
    ...one, time: Date.parse(one.day === one.time.slice(0, DATE) ? one.time : one.day || one.time), href: one.run_name ? address("/report", { run: one.run_name }) : null,
  })) }, linked);
}

const VIEWS = { apps, runs, trend, problem: () => h("p", { class: "problem", role: "alert" }, shown(data.message)) };

function drawNavigation() {
  const own = data.app ? { runs: ["Runs", "/runs"], trend: ["Trends", "/trend"] } : {};
  document.getElementById("views").replaceChildren(h("ul", null, Object.entries({ apps: ["Apps", "/apps"], ...own }).map(([name, [label, path]]) =>
    h("li", null, h("a", { href: address(path, name === "apps" ? {} : { app: data.app }), "aria-current": name === data.view ? "page" : null }, label)))));
}

function draw() {
  readState();
  applyTheme();
  drawNavigation();
  const content = [h("h1", null, shown(data.title)), VIEWS[data.view]()];
  main.replaceChildren(...content.flat(Infinity).filter((one) => one !== null));
  main.dataset.view = data.view;
}

async function start() {
  document.getElementById("help").remove();
  data = await unpack(document.getElementById("service").textContent);
  document.getElementById("subject").textContent = data.app ? shown(shortNames([data.app]).get(data.app)) : "";
  startFrame(draw);
  draw();
}

start().catch((error) => {
  console.error(error);
  main.replaceChildren(h("p", { class: "problem", role: "alert" }, `The page cannot be shown: ${error.message}.`));
});
