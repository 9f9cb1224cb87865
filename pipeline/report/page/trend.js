// Trends over runs: one line an app version on a dated axis. The screen of a report, and the chart of any page.

import { report } from "./data.js";
import { h, table } from "./dom.js";
import { NONE, decimal, number, percent, quantity, shown, shortNames } from "./format.js";

const HEIGHT = 260;
const LEFT = 52;
const RIGHT = 16;
const TOP = 20;
const BOTTOM = 40;
const COLOURS = 6;
const DAY = 86_400_000;
const TICK = 96;
const DAY_WIDTH = 112;
const COUNTS = [["scored", "scored"], ["no_score", "no score"], ["errors", "errors"]];

// The days of the runs: their date, else that of the first conversation, else that of their start.
export function trend() {
  const first = firstTimes();
  const runs = report.runs.map((run) => Date.parse(run.date ?? "") || null);
  const times = report.versions.map(({ run }, i) => runs[run] ?? first[i] ?? Date.parse(report.runs[run].create_time));
  const sections = report.criteria.map((row) => ({
    criterion: row.name,
    level: row.level,
    isShare: row.figures.some((figure) => figure && figure.share !== null),
    unit: row.unit,
    steps: report.versions.map((version, i) => step(version, times[i], row.figures[i])),
  }));
  const charts = sections.map((section) => trendChart(section)).filter((chart) => chart !== null);
  return [
    h("h1", null, "Trend"),
    h("p", { class: "hint" }, "A run stands at its date, or else at the day of its first conversation, or else at its start."),
    charts.length ? charts : h("p", null, "No criterion has a value."),
  ];
}

function firstTimes() {
  const first = [];
  report.conversations.version.forEach((version, place) => {
    const time = Date.parse(report.conversations.time[place] ?? "");
    if (time) first[version] = Math.min(first[version] ?? time, time);
  });
  return first;
}

function step(version, time, figure) {
  const run = report.runs[version.run];
  const value = figure ? figure.share ?? figure.mean : null;
  const gap = figure ? `none of ${number(figure.count)} scores has a value` : "n/a: nothing to measure";
  return {
    run: run.run_id, time, version: version.app_version ?? "", settings: run.settings, gap,
    value, low: figure?.low ?? null, high: figure?.high ?? null,
    scored: figure?.scored ?? null, no_score: figure?.no_score ?? null, errors: figure?.errors ?? null,
  };
}

// A section of a criterion; null: none of its runs has a value. `steps`: run, time in ms, version, value, low, high,
// why there is none (gap), numbers of scores, and what decides the scores (settings; null: not known).
export function trendChart({ criterion, level, isShare, unit, steps }, linked = (title) => title) {
  const known = steps.filter(({ value }) => value !== null);
  if (!known.length) return null;
  const text = isShare ? percent : (value) => quantity(value, unit);
  const title = `${shown(criterion)}, ${isShare ? "share that passes" : `mean${unit === "score" ? "" : `, ${unit}`}`}, by ${level}`;
  const inOrder = steps.toSorted((a, b) => a.time - b.time);
  const lines = linesOf(inOrder);
  const fresh = lines.filter(({ isNew }) => isNew);
  const changes = changesOf(inOrder);
  const box = h("div", { class: "trend", role: "img", "aria-label": `${title}, by day and app version; the table below has its figures` });
  const draw = () => { if (box.isConnected && box.clientWidth) box.replaceChildren(drawn(box.clientWidth, { inOrder, lines, changes, text, isShare })); };
  new ResizeObserver(draw).observe(box);
  const key = h("ul", { class: "key" }, lines.map(({ name }, i) => h("li", { class: `series-${i % COLOURS}` }, name)), h("li", { class: "interval" }, "95 % interval"),
    inOrder.some(({ value }) => value === null) ? h("li", { class: "missing" }, "× no value") : null);
  const columns = ["day", "app version", "run", isShare ? "share that passes" : "mean", "95 % interval", ...COUNTS.map(([, label]) => label)];
  return h("section", { "aria-label": title }, h("h2", null, linked(title)), key, box,
    fresh.length ? h("p", { class: "hint" }, `▲ First runs: ${fresh.map(({ name, points }) => `${name} on ${day(points[0].time)}`).join(", ")}.`) : null,
    changes.length ? h("p", { class: "hint" }, `┆ The scoring settings changed on ${changes.map(day).join(", ")}: figures before and after are not of one measure.`) : null,
    h("details", null, h("summary", null, "Figures"), table(title, columns, inOrder.toReversed().map((one) => [
      day(one.time), versionText(one.version), one.href ? h("a", { href: one.href }, shown(one.run)) : shown(one.run),
      one.value === null ? shown(one.gap) : text(one.value), one.low === null || one.value === null ? NONE : `${text(one.low)} to ${text(one.high)}`,
      ...COUNTS.map(([name]) => number(one[name]))]))));
}

function day(time) {
  return new Date(time).toISOString().slice(0, 10);
}

function moment(time) {
  return new Date(time).toISOString().slice(0, 16).replace("T", " ");
}

function versionText(version) {
  return version ? shown(version) : "(no version)";
}

// The versions with a value, in the order of their first runs. One that is there from the beginning may be older.
function linesOf(steps) {
  const points = new Map(steps.map(({ version }) => [version, steps.filter((one) => one.version === version)]));
  const names = shortNames([...points.keys()]);
  const start = steps[0].time;
  return [...points].filter(([, own]) => own.some(({ value }) => value !== null)).map(([version, own]) => ({
    name: version ? shown(names.get(version)) : versionText(version), points: own, isNew: version !== "" && own[0].time - start >= DAY,
  }));
}

// The times of the runs that were scored by other settings than the run before them.
function changesOf(steps) {
  const known = steps.filter(({ settings }) => settings !== null && settings !== undefined);
  return [...new Set(known.filter((one, i) => i && one.settings !== known[i - 1].settings).map(({ time }) => time))];
}

function drawn(width, { inOrder, lines, changes, text, isShare }) {
  const times = inOrder.map(({ time }) => time);
  const [start, end] = [times[0], times.at(-1)];
  const x = (time) => LEFT + (end > start ? (time - start) / (end - start) : 0.5) * (width - LEFT - RIGHT);
  const [low, high] = isShare ? [0, 1] : rangeOf(inOrder);
  const y = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - BOTTOM - TOP);
  const at = (kind, x1, x2, y1, y2) => h("line", { class: kind, x1, x2, y1, y2 });
  return h("svg", { width, height: HEIGHT, "aria-hidden": "true" },
    ticksOf(low, high).map((value) => [
      at("grid", LEFT, width - RIGHT, y(value), y(value)), h("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, text(value))]),
    daysOf(start, end, width).map((time) => [
      at("grid", x(time), x(time), HEIGHT - BOTTOM, HEIGHT - BOTTOM + 4), h("text", { x: Math.max(DAY_WIDTH / 2, Math.min(x(time), width - DAY_WIDTH / 2)), y: HEIGHT - 6, "text-anchor": "middle" }, end > start && end - start < DAY ? moment(time) : day(time))]),
    changes.map((time) => [at("change", x(time), x(time), TOP, HEIGHT - BOTTOM), h("text", { x: x(time), y: 12, "text-anchor": x(time) > width / 2 ? "end" : "start" }, "settings changed")]),
    inOrder.filter(({ value }) => value === null).map((one) => h("text", { x: x(one.time), y: HEIGHT - BOTTOM - 2, "text-anchor": "middle" },
      h("title", null, `${day(one.time)}, ${versionText(one.version)}: ${shown(one.gap)}, run ${shown(one.run)}`), "×")),
    lines.map(({ name, points, isNew }, i) => h("g", { class: `series-${i % COLOURS}` },
      partsOf(points).map((part) => [band(part, x, y),
        h("polyline", { points: part.map((one) => `${x(one.time)},${y(one.value)}`).join(" "), "stroke-dasharray": i < COLOURS ? null : `${2 * Math.floor(i / COLOURS)} 4` })]),
      points.filter(({ value }) => value !== null).map((one) => h("circle", { cx: x(one.time), cy: y(one.value), r: 3.5 },
        h("title", null, `${day(one.time)}, ${name}: ${text(one.value)}${one.low === null ? "" : ` (${text(one.low)} to ${text(one.high)})`}, run ${shown(one.run)}`))),
      isNew ? h("polygon", { points: triangle(x(points[0].time)) }, h("title", null, `first run of ${name}`)) : null)));
}

function triangle(x) {
  const base = HEIGHT - BOTTOM + 14;
  return `${x - 5},${base} ${x + 5},${base} ${x},${base - 9}`;
}

// Intervals as a band, or a bar where a line has one point.
function band(part, x, y) {
  const known = part.filter(({ low, high }) => low !== null && high !== null);
  if (known.length === 1) return h("line", { class: "bar", x1: x(known[0].time), x2: x(known[0].time), y1: y(known[0].low), y2: y(known[0].high) });
  const edge = (points, side) => points.map((one) => `${x(one.time)},${y(one[side])}`);
  return known.length ? h("polygon", { class: "band", points: [...edge(known, "low"), ...edge(known.toReversed(), "high")].join(" ") }) : null;
}

// The points of a line up to a gap, and those after it.
function partsOf(points) {
  const parts = [[]];
  for (const one of points) {
    if (one.value === null) parts.push([]);
    else parts.at(-1).push(one);
  }
  return parts.filter((part) => part.length);
}

// From 0, or from the lowest value where there are lower ones.
function rangeOf(steps) {
  const known = steps.flatMap(({ value, low, high }) => (value === null ? [] : [value, low, high])).filter((value) => value !== null);
  const low = steps.some(({ value }) => value !== null && value < 0) ? Math.min(...known) : 0;
  const high = Math.max(...known, low);
  return [low, high > low ? high : low + 1];
}

// Four or five round values.
function ticksOf(low, high) {
  const rough = (high - low) / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const width = size * ([1, 2, 2.5, 5, 10].find((one) => one * size >= rough * 0.999) ?? 10);
  const found = [];
  for (let i = Math.ceil(low / width - 1e-9); i * width <= high + width * 1e-9; i += 1) found.push(i * width);
  return found;
}

// As many days as have room, evenly; within a day its ends, with their times.
function daysOf(start, end, width) {
  const first = Math.ceil(start / DAY) * DAY;
  if (end - start < DAY || first > end) return [...new Set([start, end])];
  const most = Math.max(1, Math.floor((width - LEFT - RIGHT) / TICK));
  const apart = Math.ceil(((end - first) / DAY + 1) / most);
  const found = [];
  for (let time = first; time <= end; time += apart * DAY) found.push(time);
  return found;
}
