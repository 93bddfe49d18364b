/*
 * References in the inputs of a step: `$steps.<id>.output`, the output of a step that it depends on, and
 * `$trigger_data`. Their values are inserted when the step starts, in one pass: text in a value that looks like a
 * reference is not replaced.
 */

const stepReference = String.raw`\$steps\.([a-z0-9]+(?:-[a-z0-9]+)*)\.output(?![\p{L}\p{N}_.[])`;
const triggerReference = String.raw`\$trigger_data(?![\p{L}\p{N}_])`;
const references = new RegExp(`${stepReference}|${triggerReference}`, "gu");
// Matches the beginning of a reference to a step, up to the first character that cannot be part of a reference.
const stepLike = /\$steps\.[^\s"'`,;:(){}<>]*/gu;

/** A reference in a text: to a step, or without `step` to the trigger's data. */
export type Reference = { text: string; step?: string };

/** Returns the references in a text, in order. */
export const referencesIn = (text: string): Reference[] =>
  Array.from(text.matchAll(references), ([found, step]) =>
    step === undefined ? { text: found } : { text: found, step },
  );

/** Returns the malformed references to steps in a text, each with the reason. */
export function malformedIn(text: string): { text: string; reason: string }[] {
  return Array.from(text.matchAll(stepLike)).flatMap(({ 0: found, index }) => {
    const rest = text.slice(index);
    if (new RegExp(`^${stepReference}`, "u").test(rest)) return [];
    const isNested = /^\$steps\.[a-z0-9-]+\.output[.[]/u.test(rest);
    const reason = isNested
      ? "names a part of an output, and an output is one text: use $steps.<id>.output as a whole"
      : "is not a reference: it must be $steps.<id>.output, with the id of a step";
    return [{ text: found, reason }];
  });
}

/** Calls a function with each text in a JSON value at any depth, and its path. Skips keys. */
export function eachText(
  value: unknown,
  found: (text: string, path: (string | number)[]) => void,
  path: (string | number)[] = [],
): void {
  if (typeof value === "string") found(value, path);
  else if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) eachText(one, found, [...path, index]);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, one] of Object.entries(value)) eachText(one, found, [...path, key]);
  }
}

export type Values = { outputOf: (step: string) => string | null; triggerData: string | null };

/** Returns a step's inputs with the references replaced by their values. */
export function resolved(inputs: unknown, values: Values): unknown {
  if (typeof inputs === "string") return inserted(inputs, values);
  if (Array.isArray(inputs)) return inputs.map((one) => resolved(one, values));
  if (typeof inputs !== "object" || inputs === null) return inputs;
  return Object.fromEntries(
    Object.entries(inputs).map(([key, one]) => [key, resolved(one, values)]),
  );
}

const inserted = (text: string, { outputOf, triggerData }: Values): string =>
  text.replace(references, (_, step?: string) => {
    const value = step === undefined ? triggerData : outputOf(step);
    return value === null ? "null" : shortened(value);
  });

/** The maximum size of an inserted value, in bytes of UTF-8. */
const mostBytes = 10_240;
const mark = "\n[truncated]";

/** Returns a value to insert. Truncates a value longer than {@link mostBytes} at a character boundary. */
function shortened(value: string): string {
  if (value.length * 3 <= mostBytes) return value;
  const bytes = new TextEncoder().encode(value);
  if (bytes.length <= mostBytes) return value;
  let end = mostBytes;
  // A byte of the form 10xxxxxx continues a character.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${new TextDecoder().decode(bytes.subarray(0, end))}${mark}`;
}
