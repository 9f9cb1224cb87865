// Texts of numbers and of what others wrote. A missing number is a dash, never 0.

export const NONE = "–";

// Control characters, marks that reverse the order of text, and halves of characters are shown as escapes.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function shown(text) {
  return String(text).replace(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function number(value) {
  return value === null || value === undefined ? NONE : value.toLocaleString("en");
}

// With one decimal, rounded as Python does: a tie to the even digit, toFixed would round it up.
export function tenths(value) {
  const isTie = Number.isInteger(4 * value) && !Number.isInteger(2 * value);
  return (isTie ? (2 * Math.round(5 * value)) / 10 : value).toFixed(1);
}

// 100.0% and 0.0% only if it is exactly that, but for errors of rounding; as `share_text` in Python.
export function percent(value) {
  if (value === null || value === undefined) return NONE;
  const share = Number(value.toFixed(9));
  if (share >= 0.9995 && share < 1) return ">99.9%";
  return share > 0 && share < 0.0005 ? "<0.1%" : `${tenths(100 * share)}%`;
}

export function points(difference) {
  if (difference === null || difference === undefined) return NONE;
  return `${difference < 0 ? "−" : "+"}${tenths(Math.abs(100 * difference))} points`;
}

export function decimal(value) {
  if (value === null || value === undefined) return NONE;
  const size = Math.abs(Number(value));
  return size >= 1000 ? Math.round(Number(value)).toLocaleString("en") : value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

export function quantity(value, unit) {
  // Costs of single turns are small.
  const size = Math.abs(value ?? 0);
  if (unit === "money" && size > 1e-15 && size < 1) return value.toFixed(2 - Math.floor(Math.log10(size)));
  return value !== null && value !== undefined && unit === "seconds" ? `${decimal(value)} s` : decimal(value);
}

export function counted(value, noun) {
  return `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
}

// People count turns from 1, files from 0.
export function turnName(index) {
  return index === null || index === undefined ? "whole conversation" : `turn ${index + 1}`;
}

// Resource name -> its last part, or as many parts as tell it from the other names.
export function shortNames(names) {
  const found = new Map();
  let open = [...new Set(names)];
  for (let parts = 1; open.length; parts += 1) {
    const ends = new Map();
    for (const name of open) {
      const segments = name.split("/").filter(Boolean);
      const end = segments.slice(-parts).join("/");
      if (!ends.has(end)) ends.set(end, []);
      ends.get(end).push({ name, isAll: segments.length <= parts });
    }
    open = [];
    for (const [end, own] of ends) {
      for (const { name, isAll } of own) {
        if (own.length === 1) found.set(name, end || name);
        else if (isAll) found.set(name, name);
        else open.push(name);
      }
    }
  }
  return found;
}

export function pValue(p) {
  if (p === null || p === undefined) return NONE;
  return p < 0.001 ? "< 0.001" : p.toFixed(p < 0.1 ? 3 : 2);
}

// Both ends of a text that is too long: versions of one model differ at either.
export function short(text, most) {
  const parts = [...shown(text)];
  const half = Math.floor(most / 2);
  return parts.length <= most ? parts.join("") : `${parts.slice(0, most - half).join("")}…${parts.slice(-half).join("")}`;
}
