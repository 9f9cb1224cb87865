// Opens the report and shows the screen that the fragment of the address names.

import { conversationView } from "./conversation.js";
import { conversations } from "./conversations.js";
import { openReport, report, shortVersion } from "./data.js";
import { h } from "./dom.js";
import { figures } from "./figures.js";
import { counted, shown } from "./format.js";
import { applyTheme, main, startFrame } from "./frame.js";
import { judge } from "./judge.js";
import { listenToKeys, showKeys } from "./keys.js";
import { readLabels } from "./labelling.js";
import { labels } from "./labels.js";
import { missing } from "./missing.js";
import { overview } from "./overview.js";
import { fresh, readState, state } from "./state.js";
import { trend } from "./trend.js";
import { where } from "./where.js";

const VIEWS = {
  overview: ["Overview", overview],
  conversations: ["Conversations", conversations],
  trend: ["Trend", trend],
  where: ["Where", where],
  figures: ["Tools and latency", figures],
  missing: ["No score", missing],
  judge: ["Judge", judge],
  labels: ["Labels", labels],
};
const MOST_NAMED = 8;
let shownView = null;
let drawing = 0;

async function draw() {
  drawing += 1;
  const own = drawing;
  readState();
  applyTheme();
  drawNavigation();
  const [, view] = state.view === "conversation" ? [null, conversationView] : VIEWS[state.view] ?? VIEWS.overview;
  const content = await attempt(view);
  if (own !== drawing) return;
  const focused = document.activeElement?.id === "search" ? document.activeElement.selectionStart : null;
  main.replaceChildren(...[content].flat(Infinity).filter((one) => one !== null && one !== undefined));
  if (focused !== null) focusSearch(focused);
  else if (shownView !== null && shownView !== state.view + state.at) arrive();
  shownView = state.view + state.at;
  main.dataset.view = state.view;
}

// A view that fails says so, instead of leaving the screen before it.
async function attempt(view) {
  try {
    return await view();
  } catch (error) {
    console.error(error);
    return h("p", { class: "problem", role: "alert" }, `This screen cannot be shown: ${shown(error.message)}`);
  }
}

function focusSearch(place) {
  const field = document.getElementById("search");
  field?.focus();
  field?.setSelectionRange(place, place);
}

// The top of a new screen, or the turn that failed.
function arrive() {
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
  if (state.view === "conversation") document.querySelector(".turn.worst")?.scrollIntoView({ block: "center" });
}

function drawNavigation() {
  const current = state.view === "conversation" ? "conversations" : state.view;
  document.getElementById("views").replaceChildren(h("ul", null, Object.entries(VIEWS).filter(([name]) => name !== "trend" || report.runs.length > 1).map(([name, [label]]) =>
    h("li", null, h("a", { href: fresh({ view: name }), "aria-current": name === current ? "page" : null }, label)))));
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

// A shortened name that is copied alone is copied whole.
function copyWhole(event) {
  const element = getSelection().anchorNode?.parentElement?.closest("[data-whole]");
  if (!element || !element.contains(getSelection().focusNode)) return;
  event.clipboardData.setData("text/plain", element.dataset.whole);
  event.preventDefault();
}

function subject() {
  const names = report.versions.map(({ name }) => shown(shortVersion(name)));
  return names.length > MOST_NAMED ? `${names.length} versions, ${counted(report.runs.length, "run")}` : names.join(", ");
}

async function start() {
  document.getElementById("help").addEventListener("click", showKeys);
  addEventListener("copy", copyWhole);
  await openReport();
  document.getElementById("subject").textContent = subject();
  document.getElementById("subject").title = report.versions.map(({ name }) => shown(name)).join(", ");
  readLabels();
  listenToKeys();
  startFrame(draw);
  await draw();
}

start().catch((error) => {
  console.error(error);
  main.replaceChildren(h("p", { class: "problem", role: "alert" },
    `The report cannot be opened: ${error.message}. It needs a browser of 2023 or later.`));
});
