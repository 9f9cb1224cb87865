// Makes elements. Texts become text nodes, so that nothing in the data is read as markup.

const SVG = new Set(["svg", "g", "line", "circle", "polyline", "polygon", "text", "title"]);

export function h(tag, attributes, ...children) {
  const element = SVG.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

// A table with a caption, headers of columns, and rows whose first cell is their header.
export function table(caption, columns, rows, attributes) {
  return h("div", { class: "wide", role: "region", "aria-label": caption, tabindex: 0 },
    h("table", attributes,
      h("caption", null, caption),
      h("thead", null, h("tr", null, columns.map((column) => h("th", { scope: "col" }, column)))),
      h("tbody", null, rows.map(([first, ...others]) =>
        h("tr", null, h("th", { scope: "row" }, first), others.map((cell, i) => h("td", { "data-label": textOf(columns[i + 1]) }, cell)))))));
}

// The text of a column's head, without the mark of its explanation.
function textOf(content) {
  return [content].flat(Infinity).map((part) => (part?.tagName === "BUTTON" ? "" : part?.textContent ?? part ?? "")).join("");
}

// A name that may be broken after its underscores.
export function breakable(name) {
  return name.split(/(?<=_)/).map((part, i) => (i ? [h("wbr"), part] : part));
}

export function button(label, onclick, attributes) {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

// A select with a label; options are pairs of value and text.
export function choice(label, options, value, onchange) {
  const select = h("select", { onchange: (event) => onchange(event.target.value) },
    options.map(([own, text]) => h("option", { value: own, selected: own === value }, text)));
  return h("label", null, label, select);
}

export function say(text) {
  document.getElementById("status").textContent = text;
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  say(`Copied ${what}.`);
}

// For pages opened from a file, where some browsers have no clipboard.
function copyBySelection(text) {
  const field = h("textarea", { class: "away", "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
