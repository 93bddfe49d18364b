import { type Path, pathsIn } from "./mutations.ts";

/*
 * Makes random changes to the messages of another program, from a seed. A change drops, doubles, reorders, splits or
 * retypes a value at any depth, including a whole message.
 */

type Json = unknown;
type Random = () => number;

/** Returns a random number generator with a seed. The numbers are at least 0 and below 1. */
export function randomOf(seed: number): Random {
  let state = seed + 0x6d2b79f5;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 1 | state);
    state ^= state + Math.imul(state ^ (state >>> 7), 61 | state);
    return ((state ^ (state >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const oneOf = <T>(list: readonly T[], random: Random): T =>
  list[Math.floor(random() * list.length)] as T;

const others: readonly (() => Json)[] = [
  () => null,
  () => 7,
  () => -1,
  () => 1e300,
  () => true,
  () => "",
  () => "odd",
  () => "\ud83d half of a character",
  () => ({ a: { b: 1 } }),
  () => [],
  () => [1, null],
  () => ["odd"],
];

const changes: Record<string, (value: Json, random: Random) => Json> = {
  retype: (_, random) => oneOf(others, random)(),
  "in a list": (value) => [value],
  "in an object": (value) => ({ type: "text", text: value }),
  "as text": (value) => (typeof value === "string" ? value : JSON.stringify(value)),
  "more fields": (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? { unexpected: { deep: [1, 2] }, ...value, another: null }
      : value,
  doubled: (value) => (Array.isArray(value) ? [...value, ...(value as Json[])] : value),
  reordered: (value) =>
    Array.isArray(value)
      ? value.toReversed()
      : typeof value === "object" && value !== null
        ? Object.fromEntries(Object.entries(value).toReversed())
        : value,
  split: (value) =>
    typeof value === "string" && value.length > 1
      ? [value.slice(0, 1), value.slice(1)].map((text) => ({ type: "text", text }))
      : value,
};

/** Returns messages with one to three changes, and a description of the changes. */
export function mutated(messages: readonly Json[], random: Random): { what: string; sent: Json[] } {
  const sent = structuredClone(messages) as Json[];
  const what: string[] = [];
  for (let n = 1 + Math.floor(random() ** 2 * 3); n > 0; n -= 1) what.push(change(sent, random));
  return { what: what.join("; "), sent };
}

function change(sent: Json[], random: Random): string {
  const paths = pathsIn(sent).filter((path) => path.length > 0);
  if (paths.length === 0) return "nothing";
  const path = oneOf(paths, random);
  const parent = at(sent, path.slice(0, -1)) as Record<string | number, Json>;
  const key = path.at(-1) ?? "";
  const name = oneOf(["dropped", "doubled beside", ...Object.keys(changes)], random);
  if (name === "dropped") {
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete parent[key];
  } else if (name === "doubled beside") {
    if (Array.isArray(parent)) parent.splice(Number(key), 0, structuredClone(parent[Number(key)]));
  } else {
    parent[key] = changes[name]?.(parent[key], random);
  }
  return `${name} at ${path.join(".")}`;
}

const at = (value: Json, path: Path): Json =>
  path.reduce((inner, key) => (inner as Record<string | number, Json>)[key], value);

/** Matches a value that was converted to text by mistake. No error or answer may contain such text. */
export const garbled =
  /\[object |\bundefined\b|\bNaN\b|TypeError|is not a function|is not iterable|Cannot read|can't access|ZodError|invalid_union/;
