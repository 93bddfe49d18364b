import { join } from "node:path";
import type { Step } from "@uncaged/workflow";
import type { Chance } from "../../../../test/check/chance.ts";
import { generatedProgram, type Line } from "../../../../test/check/programs.ts";
import { moduleOf } from "./home.ts";

/** The lines of a durable workflow's function. */
export type Body = readonly Line[];

export const core = join(import.meta.dir, "../../../workflow/src/entry/index.ts");

/** Returns the function of a generated workflow. */
export function generatedBody(seed: number): Body {
  const { lines } = generatedProgram(seed);
  return lines.slice(lines.findIndex(({ text }) => text.startsWith("export const run")) + 1, -1);
}

const head = "export const run = durable(async function* (step) {";
const textOf = (body: Body): string => body.map(({ text }) => text).join("\n");
const descriptorOf = (description: string): string =>
  `export const descriptor = { description: "${description}", roles: {} };`;

/** Returns the source of a version whose roles draw their results from the module `world`. */
export const drawing = (body: Body, world: string): string =>
  `import { durable } from "${core}";
import { world } from "${world}";
${descriptorOf("generated")}
${head}
${textOf(body)}
});`;

const fixed = "const world = { draw: () => 4, mayFail: () => 7, later: async () => 3 };";

/** Returns the source of a version whose roles always return the same. */
export const constant = (body: Body, description: string): string =>
  `import * as fs from "node:fs";
import { durable } from "${core}";
${fixed}
${descriptorOf(description)}
${head}
${textOf(body)}
});`;

const marker = "@@TEXT@@";

/** Returns a function that makes the bundle of a version, faster than a build. */
export async function bundler(): Promise<(body: Body) => string> {
  const source = constant([{ text: `throw "${marker}";` }], "generated").replace(fixed, "");
  // The build removes white space.
  const bundle = await moduleOf(source, `throw"${marker}"`);
  return (body) => `import * as fs from "node:fs";\n${fixed}\n${bundle(textOf(body))}`;
}

/** Two steps in sequence whose roles are recorded, and the number of the first one. */
export type Place = { a: string; b: string; step: number };

/** Returns the recorded pairs of steps of a version. */
export function placesIn(body: Body, steps: readonly Step[]): Place[] {
  const asked = body.flatMap((line) => (line.asks === undefined ? [] : line));
  return asked.flatMap(({ asks: a, isFirstOfPair }, at) => {
    const b = asked[at + 1]?.asks;
    const step = steps.findIndex(({ role }) => role === a) + 1;
    const isRecorded = step > 0 && steps[step]?.role === b;
    return isFirstOfPair && isRecorded && a !== undefined && b !== undefined ? { a, b, step } : [];
  });
}

type Edit = (body: Body, chance: Chance) => Body | null;

/** Replaces the text of one of the lines that a pattern matches; null without such a line. */
const replacing =
  (pattern: RegExp, by: (...found: string[]) => string): Edit =>
  (body, chance) => {
    const found = [...body.keys()].filter((at) => pattern.test(body[at]?.text ?? ""));
    const at = found[chance.below(found.length)];
    const line = at === undefined ? undefined : body[at];
    if (at === undefined || !line) return null;
    return body.with(at, { ...line, text: line.text.replace(pattern, by) });
  };

const inserted = (body: Body, at: number, text: string): Body => body.toSpliced(at, 0, { text });
const lastOf = (body: Body): number => body.findIndex(({ text }) => text.startsWith("  return "));

/** Edits that keep the recorded steps of a thread. */
const sound: Edit[] = [
  (body, chance) =>
    inserted(body, 1 + chance.below(body.length - 1), `// Comment ${chance.below(1e6)}.`),
  replacing(/world\.draw\(\)|1_\d{3}/, () => "1_234"),
  replacing(/world\.draw\(\)|1_\d{3}/, () => "1_235"),
  replacing(/world\.later\(\)/, () => "3"),
  replacing(/world\.mayFail\(\)/, () => "7"),
  replacing(/attempts: (\d+)/, (_, tries = "") => `attempts: ${Number(tries) + 1}`),
  replacing(/backoff: "(\d)h"/, (_, hours = "") => `backoff: "${Number(hours) + 1}h"`),
  replacing(/sleep\("(\d)h"\)/, (_, hours = "") => `sleep("${Number(hours) + 1}h")`),
  replacing(/^( +)(last \+= .*)$/, (_, indent = "", text = "") => `${indent}{ ${text} }`),
  (body) => {
    const [from, to] = body[0]?.text.includes("last") ? ["last", "sum"] : ["sum", "last"];
    return body.map((line) => ({ ...line, text: line.text.replaceAll(from, to) }));
  },
];

/** Edits that add a step after the recorded steps, and need no more answers. */
const longer: Edit[] = [
  (body) => inserted(body, lastOf(body), '  yield { role: "late", content: "a note", meta: {} };'),
  (body) => inserted(body, lastOf(body), "  yield* step.sleep(0);"),
];

/** Edits that add a step after the recorded steps, and need one more answer. */
const unanswered: Edit[] = [
  (body) => inserted(body, lastOf(body), '  yield* step("late", () => 0);'),
  (body) => inserted(body, lastOf(body), '  yield* step.wait("late");'),
];

/** The edits of versions: before the recording no steps are added, so that the thread can be replayed. */
export const edits = {
  before: sound,
  after: [...sound, ...longer],
  beyond: [...sound, ...longer, ...unanswered],
};

/** Returns the last version with a sound edit, which makes it differ from all versions. */
export function edited(bodies: readonly Body[], chance: Chance, among: readonly Edit[]): Body {
  const last = bodies.at(-1) as Body;
  const texts = bodies.map(textOf);
  for (;;) {
    const changed = among[chance.below(among.length)]?.(last, chance);
    if (changed && !texts.includes(textOf(changed))) return changed;
  }
}

const placeOf = (body: Body, name: string): number => body.findIndex(({ asks }) => asks === name);

const onlyIf = (condition: string): Fault => ({
  plant: (body, { a }) =>
    inserted(body, placeOf(body, a), `if (${condition}) yield* step("planted", () => 0);`),
});

/** Changes a version. `shows`: where the fault shows, by default as a missing or another step. */
export type Fault = {
  plant: (body: Body, place: Place, chance: Chance) => Body;
  shows?: "order" | "status";
};

/** A branch that a single run may not take: `check` finds it, as it repeats a version with several random numbers. */
export const branchByChance: Fault = onlyIf("Math.random() < 0.6");

const charge = (write: string): Line => ({
  text: `  yield* step("charger", ({ cwd }) => {
    fs.${write}(cwd + "/charges", "x");
    if (fs.readFileSync(cwd + "/charges", "utf8") !== "x") throw new Error("charged twice");
  });`,
});
const charges = charge("writeFileSync");

/** A role that a version repeats with another result. Only runs of its work show it. */
export const notIdempotent: Fault = {
  plant: (body) =>
    body.map((line) => (line.text === charges.text ? charge("appendFileSync") : line)),
  shows: "status",
};

/** Returns the first pair of steps that every thread runs. */
export function certainPlace(body: Body): Place | null {
  const at = body.findIndex(({ isFirstOfPair, text }) => isFirstOfPair && /^ {2}\w/.test(text));
  const [a, b] = [body[at]?.asks, body[at + 1]?.asks];
  return a === undefined || b === undefined ? null : { a, b, step: 0 };
}

/** Returns a version that charges first. */
export const charging = (body: Body): Body => withoutDelays(body).toSpliced(1, 0, charges);

/** Returns a version that ends soon after its questions are answered. */
export const withoutDelays = (body: Body): Body =>
  body.map((line) => ({ ...line, text: line.text.replace(/"\dh"/g, "0") }));

export const faults: Record<string, Fault> = {
  "a renamed role": {
    plant: (body, { a }) => {
      const at = placeOf(body, a);
      const line = body[at] as Line;
      return body.with(at, { ...line, text: line.text.replace(`"${a}"`, '"other"') });
    },
  },
  "a changed order": {
    plant: (body, { a, b }) => {
      const [first, second] = [placeOf(body, a), placeOf(body, b)];
      return body.with(first, body[second] as Line).with(second, body[first] as Line);
    },
    shows: "order",
  },
  "a branch on a variable": onlyIf("process.env.PLANTED_FLAG"),
  "a branch on the time": onlyIf("Date.now() > 1_700_000_000_000"),
  "a failure": {
    plant: (body, _, chance) => {
      const top = [...body.keys()].filter((at) => at > 0 && /^ {2}\w/.test(body[at]?.text ?? ""));
      const at = top[chance.below(top.length)] as number;
      const ends = ['throw new Error("planted");', 'return { returnCode: 3, summary: "planted" };'];
      return inserted(body, at, `  ${ends[chance.below(2)]}`);
    },
    shows: "status",
  },
};
