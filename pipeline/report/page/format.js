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

// With some decimals, rounded as Python does: a tie to the even digit, toFixed would round it up.
function fixed(value, digits) {
  const isTie = Number.isInteger(2 ** (digits + 1) * value) && !Number.isInteger(2 ** digits * value);
  return (isTie ? (2 * Math.round((10 ** digits * value) / 2)) / 10 ** digits : value).toFixed(digits);
}

// 100.0% and 0.0% only if it is exactly that, but for errors of rounding; as `share_text` in Python.
export function percent(value) {
  if (value === null || value === undefined) return NONE;
  const share = Number(value.toFixed(9));
  if (share >= 0.9995 && share < 1) return ">99.9%";
  return share > 0 && share < 0.0005 ? "<0.1%" : `${fixed(100 * share, 1)}%`;
}

export function points(difference) {
  if (difference === null || difference === undefined) return NONE;
  return `${difference < 0 ? "−" : "+"}${fixed(Math.abs(100 * difference), 1)} points`;
}

export function decimal(value) {
  if (value === null || value === undefined) return NONE;
  const size = Math.abs(Number(value));
  return size >= 1000 ? Math.round(Number(value)).toLocaleString("en") : value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

const LEAST_DECIMALS = { seconds: 2, count: 1, money: 2, score: 3 };

// A value with its unit, with so many decimals that it is not shown as 0; as `amount` in Python.
export function quantity(given, unit) {
  if (given === null || given === undefined) return NONE;
  const value = Math.abs(given) < (unit === "money" ? 1e-15 : 1e-9) ? 0 : given; // but for errors of rounding
  const least = LEAST_DECIMALS[unit] ?? 1;
  const size = Math.abs(value);
  // Costs of single turns are small.
  if (unit === "money" && size > 1e-15 && size < 1) return fixed(value, 2 - Math.floor(Math.log10(size)));
  const isSeen = !value || Math.abs(value) >= 0.5 / 10 ** least;
  const digits = isSeen ? least : Math.min(6, 1 - Math.floor(Math.log10(Math.abs(value))));
  return `${fixed(value, digits)}${unit === "seconds" ? " s" : ""}`;
}

export function counted(value, noun) {
  return `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
}

// People count turns from 1, files from 0.
export function turnName(index) {
  return index === null || index === undefined ? "whole conversation" : `turn ${index + 1}`;
}

// Resource name -> its last part, or as many parts as tell it from the other names, in about so many characters.
export function shortNames(names, longest = Infinity) {
  const ends = lastParts(names);
  const short = cutNames([...new Set(ends.values())], longest);
  return new Map([...ends].map(([name, end]) => [name, short.get(end)]));
}

// Name -> its ends, or the part that differs where those of several are alike; as `short_names` in Python.
export function cutNames(names, longest) {
  const [half, third] = [Math.floor(longest / 2), Math.floor(longest / 3)];
  const ends = (parts) => (parts.length <= longest ? parts.join("") : `${parts.slice(0, half - 1).join("")}…${parts.slice(-half).join("")}`);
  const short = new Map(names.map((name) => [name, ends([...name])]));
  for (const alike of sharing(short)) {
    const [first, last] = [alike.toSorted()[0], alike.toSorted().at(-1)].map((name) => [...name]);
    const same = first.findIndex((char, i) => char !== last[i]);
    const start = Math.max(0, (same < 0 ? first.length : same) - third);
    for (const name of alike) {
      const parts = [...name];
      const end = start + longest - 2;
      short.set(name, `${start ? "…" : ""}${parts.slice(start, end).join("")}${parts.length > end ? "…" : ""}`);
    }
  }
  for (const alike of sharing(short)) for (const name of alike) short.set(name, name);
  return short;
}

// The names that have one short form, by form.
function sharing(short) {
  return [...Map.groupBy(short.keys(), (name) => short.get(name)).values()].filter((alike) => alike.length > 1);
}

function lastParts(names) {
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
