/** The path of a value within a JSON value. */
export type Path = (string | number)[];

type Json = unknown;
const drop = Symbol("drop");

/** Returns the paths of all values within a value, including the value itself. */
export function pathsIn(value: Json, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, one]) =>
    pathsIn(one, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return [path, ...inner];
}

/** Replacements for a value: null, another type, or the same text in parts. */
const replacements: [string, (value: Json) => Json][] = [
  ["nothing", () => drop],
  ["null", () => null],
  ["a number", () => 7],
  ["true", () => true],
  ["an empty string", () => ""],
  ["an object", () => ({ a: { b: 1 } })],
  ["an empty list", () => []],
  ["a list of numbers", () => [1, null]],
  ["a list of the value", (value) => [value]],
  ["a part", (value) => ({ type: "text", text: value })],
  ["parts", (value) => [{ type: "text", text: value }]],
  ["parts within parts", (value) => [{ type: "text", text: [{ type: "text", text: value }] }]],
  ["parts of an unknown type", (value) => [{ type: "hologram", text: value }]],
  ["parts without text", () => [{ type: "text", text: null }]],
];

export type Mutation = { name: string; at: number; path: Path; events: Json[] };

/**
 * Yields a mutation for each replacement at each path of the events. If several events have the same path, only the
 * first and the last of them are changed.
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

/** A mutated stream: its events, and their form on the wire. */
export type MutatedStream = { names: string[]; events: { name: string; data: Json }[]; wire: Wire };

/** The formats in which servers write events. */
export type Wire = {
  lineEnd: "\n" | "\r\n";
  /** Whether events have names. Only Anthropic's protocol requires names. */
  isNamed: boolean;
  hasDone: boolean;
  /** The maximum size of a chunk in bytes, or 0 for a single chunk. */
  chunk: number;
};

const plainWire: Wire = { lineEnd: "\n", isNamed: true, hasDone: true, chunk: 0 };
const numbers = [1e308, -1, 1.5, 2 ** 53, Number.MAX_SAFE_INTEGER];

/** Returns a random number generator (mulberry32) with a seed. The numbers are at least 0 and below 1. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Returns a stream with one or two changes. A change drops, retypes, doubles, splits or moves an event or a field, or
 * cuts the stream off.
 */
export function mutatedStream(
  recorded: readonly { name: string; data: Json }[],
  seed: number,
): MutatedStream {
  const random = randomOf(seed);
  const below = (most: number): number => Math.floor(random() * most);
  const events = structuredClone(recorded) as { name: string; data: Json }[];
  const wire = { ...plainWire };
  const names: string[] = [];
  const changeField = (replace: (value: Json) => Json, what: string): void => {
    const at = below(events.length);
    const paths = pathsIn(events[at]?.data).filter((path) => path.length > 0);
    const path = paths[below(paths.length)];
    if (!path) return;
    names.push(`${what} at ${path.join(".")} of event ${at}`);
    setAt(events, [at, "data", ...path], replace);
  };
  const changes: (() => void)[] = [
    () => {
      const [what = "", replace = () => null] = replacements[below(replacements.length)] ?? [];
      changeField(replace, what);
    },
    () => {
      const number = numbers[below(numbers.length)];
      changeField(
        (value) => (typeof value === "number" && random() < 0.3 ? String(number) : number),
        "another number",
      );
    },
    () => {
      const [event] = events.splice(below(events.length), 1);
      names.push(`the event ${JSON.stringify(event?.data).slice(0, 60)} dropped`);
    },
    () => {
      const at = below(events.length);
      const event = events[at];
      if (event) events.splice(at, 0, structuredClone(event));
      names.push(`event ${at} doubled`);
    },
    () => {
      const from = below(events.length);
      const [event] = events.splice(from, 1);
      const to = below(events.length + 1);
      if (event) events.splice(to, 0, event);
      names.push(`event ${from} moved to ${to}`);
    },
    () => {
      const at = below(events.length);
      const halves = halvesOf(events[at]);
      if (halves) events.splice(at, 1, ...halves);
      names.push(`event ${at} split`);
    },
    () => {
      events.splice(below(events.length) + 1);
      wire.hasDone = random() < 0.3;
      names.push(`cut after event ${events.length}`);
    },
    () => {
      wire.chunk = 1 + below(40);
      wire.lineEnd = random() < 0.5 ? "\n" : "\r\n";
      wire.isNamed = random() < 0.5;
      wire.hasDone = random() < 0.5;
      names.push(`written as ${JSON.stringify(wire)}`);
    },
  ];
  changes[below(changes.length)]?.();
  if (random() < 0.3) changes[below(changes.length)]?.();
  return { names, events, wire };
}

/** Splits the longest text of an event into two events. */
function halvesOf(event: { name: string; data: Json } | undefined) {
  const texts = pathsIn(event?.data).filter((path) =>
    ["text", "content", "delta", "thinking", "partial_json", "arguments"].includes(
      String(path.at(-1)),
    ),
  );
  const path = texts.find((one) => typeof valueAt(event?.data, one) === "string");
  if (!event || !path) return null;
  const whole = String(valueAt(event.data, path));
  const middle = Math.ceil(whole.length / 2);
  return [whole.slice(0, middle), whole.slice(middle)].map((half) => {
    const copy = structuredClone(event);
    setAt(copy, ["data", ...path], () => half);
    return copy;
  });
}

const valueAt = (value: Json, path: Path): Json =>
  path.reduce<Json>((one, key) => (one as Record<string | number, Json> | null)?.[key], value);

/** Returns the bytes of a stream in chunks. */
export function bodyOf({
  events,
  wire,
}: Pick<MutatedStream, "events" | "wire">): ReadableStream<Uint8Array> {
  const { lineEnd, isNamed, hasDone, chunk } = wire;
  const text = [
    ...events.map(({ name, data }) => {
      const line = name && isNamed ? `event: ${name}${lineEnd}` : "";
      return `${line}data: ${JSON.stringify(data) ?? "null"}${lineEnd}${lineEnd}`;
    }),
    ...(hasDone ? [`data: [DONE]${lineEnd}${lineEnd}`] : []),
  ].join("");
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const end = chunk === 0 ? bytes.length : Math.min(bytes.length, at + chunk);
      if (end > at) controller.enqueue(bytes.slice(at, end));
      at = end;
      if (at === bytes.length) controller.close();
    },
  });
}
