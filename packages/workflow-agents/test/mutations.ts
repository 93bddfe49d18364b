/** A place in a JSON value. */
export type Path = (string | number)[];

type Json = unknown;
const drop = Symbol("drop");

/** The places of all values within a value, its own included. */
export function pathsIn(value: Json, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, one]) =>
    pathsIn(one, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return [path, ...inner];
}

/** What another program may send in place of a value: nothing, another type, the same text as parts. */
const replacements: [string, (value: Json) => Json][] = [
  ["nothing", () => drop],
  ["null", () => null],
  ["a number", () => 7],
  ["true", () => true],
  ["an empty text", () => ""],
  ["an object", () => ({ a: { b: 1 } })],
  ["an empty list", () => []],
  ["a list of numbers", () => [1, null]],
  ["a list of the same", (value) => [value]],
  ["a part", (value) => ({ type: "text", text: value })],
  ["parts", (value) => [{ type: "text", text: value }]],
  ["parts within parts", (value) => [{ type: "text", text: [{ type: "text", text: value }] }]],
  ["parts of an unknown type", (value) => [{ type: "hologram", text: value }]],
  ["parts without a text", () => [{ type: "text", text: null }]],
];

export type Mutation = { name: string; at: number; path: Path; events: Json[] };

/**
 * Each kind of change at each place of some events. Places of the same kind in other events are tried in the first and
 * the last event that have it.
 */
export function* mutationsOf(events: readonly Json[]): Iterable<Mutation> {
  const places = new Map<string, { at: number; path: Path }[]>();
  for (const [at, event] of events.entries()) {
    const type = (event as { type?: string } | null)?.type ?? "";
    for (const path of pathsIn(event)) {
      const kind = `${type} ${path.map((key) => (typeof key === "number" ? "#" : key)).join(".")}`;
      const known = places.get(kind) ?? [];
      places.set(kind, [...known.slice(0, 1), { at, path }]);
    }
  }
  for (const [kind, tried] of places) {
    for (const { at, path } of tried) {
      for (const [what, replace] of replacements) {
        const copy = structuredClone(events) as Json[];
        setAt(copy, [at, ...path], replace);
        const sent = copy.filter((event) => event !== drop);
        yield { name: `${what} at ${kind} of event ${at}`, at, path, events: sent };
      }
    }
  }
}

function setAt(value: Json, path: Path, replace: (value: Json) => Json): void {
  const [key = "", ...rest] = path;
  const fields = value as Record<string | number, Json>;
  if (rest.length > 0) return setAt(fields[key], rest, replace);
  const next = replace(fields[key]);
  if (next === drop && typeof key === "string") delete fields[key];
  else fields[key] = next === drop && path.length > 1 ? null : next;
}
