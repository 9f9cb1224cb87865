// What all pages have: the theme, the link to the content, and drawing anew.

import { amend, state } from "./state.js";

export const main = document.getElementById("main");

function isDark() {
  return state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  document.getElementById("theme").textContent = isDark() ? "Light" : "Dark";
}

export function startFrame(draw) {
  document.getElementById("theme").addEventListener("click", () => amend({ theme: isDark() ? "light" : "dark" }));
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("hashchange", draw);
}
