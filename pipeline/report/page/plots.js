// Plots: interval bars and sparklines as SVG, curves by uPlot. Each has a text that says the same.

import { h } from "./dom.js";

const WIDTH = 120;
const HEIGHT = 16;
const COLOURS = 6;

// A bar of an interval with its figure as a point, on the scale from low to high.
export function intervalBar(value, interval, [low, high], kind) {
  const at = (x) => 4 + ((Math.min(Math.max(x, low), high) - low) / (high - low || 1)) * (WIDTH - 8);
  const middle = HEIGHT / 2;
  const zero = low < 0 && high > 0 ? h("line", { class: "zero", x1: at(0), x2: at(0), y1: 1, y2: HEIGHT - 1 }) : null;
  const range = interval
    ? h("line", { class: "range", x1: at(interval[0]), x2: at(interval[1]), y1: middle, y2: middle })
    : null;
  return h("svg", { class: `bar ${kind ?? ""}`, width: WIDTH, height: HEIGHT, "aria-hidden": "true" },
    h("line", { class: "scale", x1: at(low), x2: at(high), y1: middle, y2: middle }),
    zero, range, h("circle", { cx: at(value), cy: middle, r: 3.5 }));
}

// One point a turn, larger where there are more scores; `label` says it in words.
export function sparkline(values, [low, high], label) {
  const step = (WIDTH - 8) / Math.max(values.length - 1, 1);
  const known = values.map(([value, count], i) => ({ value, count, x: 4 + i * step })).filter((p) => p.value !== null);
  const y = (value) => HEIGHT - 3 - ((value - low) / (high - low || 1)) * (HEIGHT - 6);
  const most = Math.max(...known.map((p) => p.count), 1);
  return h("svg", { class: "spark", width: WIDTH, height: HEIGHT, role: "img", "aria-label": label },
    h("title", null, label),
    h("polyline", { points: known.map((p) => `${p.x},${y(p.value)}`).join(" ") }),
    known.map((p) => h("circle", { cx: p.x, cy: y(p.value), r: 1 + 1.5 * Math.sqrt(p.count / most) })));
}

export function colour(index) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--series-${index % COLOURS}`).trim();
}

// Lines over a common axis. `series`: name and values; `label` says in words what is drawn.
export function lines({ label, x, series, xLabel, yLabel, format, xFormat, isLogarithmic }) {
  const box = h("div", { class: "plot", role: "img", "aria-label": label });
  const styles = getComputedStyle(document.documentElement);
  const ink = styles.getPropertyValue("--muted").trim();
  const grid = { stroke: styles.getPropertyValue("--line").trim(), width: 1 };
  const axis = { stroke: ink, grid, ticks: grid, font: "12px system-ui", labelFont: "12px system-ui" };
  const draw = () => {
    if (!box.isConnected || !box.clientWidth) return;
    box.replaceChildren();
    new uPlot({
      width: box.clientWidth,
      height: 240,
      cursor: { drag: { x: false, y: false } },
      legend: { show: false },
      scales: { x: { time: false, distr: isLogarithmic ? 3 : 1 } },
      axes: [
        { ...axis, label: xLabel, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : xFormat(tick))) },
        { ...axis, label: yLabel, size: 64, values: (_, ticks) => ticks.map(format) },
      ],
      series: [{}, ...series.map(({ name, dash }, i) =>
        ({ label: name, stroke: colour(i), width: 2, dash, points: { show: x.length < 60 }, spanGaps: false }))],
    }, [x, ...series.map(({ values }) => values)], box);
  };
  new ResizeObserver(draw).observe(box);
  const key = h("ul", { class: "key" }, series.map(({ name }, i) =>
    h("li", { class: `series-${i % COLOURS}` }, name)));
  return h("figure", null, h("figcaption", null, label), key, box);
}
