// JSON whose integers are exact: those that a number cannot hold are BigInts here, and digits in texts.

const TAG = /^\$+integer$/;

// In the data, such an integer is {"$integer": "its digits"}; an own object of that form has one more "$".
export function parseExact(text) {
  return text.includes('$integer"') ? JSON.parse(text, (_, value) => untagged(value)) : JSON.parse(text);
}

function untagged(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  const names = Object.keys(value);
  if (names.length !== 1 || !TAG.test(names[0])) return value;
  return names[0] === "$integer" ? BigInt(value.$integer) : { [names[0].slice(1)]: value[names[0]] };
}

// Returns the JSON text of a value, with `space` more spaces a level; 0: in one line.
export function jsonText(value, space = 0, indent = "") {
  if (typeof value === "bigint") return String(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = indent + " ".repeat(space);
  const isList = Array.isArray(value);
  const entries = isList
    ? value.map((one) => jsonText(one ?? null, space, inner))
    : Object.entries(value).filter(([, one]) => one !== undefined)
      .map(([name, one]) => `${JSON.stringify(name)}:${space ? " " : ""}${jsonText(one, space, inner)}`);
  const [open, close] = isList ? "[]" : "{}";
  if (!entries.length) return open + close;
  return space ? `${open}\n${inner}${entries.join(`,\n${inner}`)}\n${indent}${close}` : `${open}${entries.join(",")}${close}`;
}
