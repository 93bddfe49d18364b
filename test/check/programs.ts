import { Chance } from "./chance.ts";

/**
 * A generated durable workflow: its lines. Each line that requests a role or asks a question has the name of the role
 * or question.
 */
export type Program = { lines: Line[] };
export type Line = { text: string; asks?: string; isFirstOfPair?: boolean };

/**
 * Options for printing a program. `isOther`: prints another version, with the same steps and one more step at the end.
 */
type Printing = { isOther?: boolean };

/**
 * Generates a durable workflow with branches, loops, `step.all`, retries, questions, sleeps, caught failures and plain
 * yields. Its roles draw their results from `world`, so that each thread takes its own path.
 */
export function generatedProgram(seed: number, { isOther = false }: Printing = {}): Program {
  const writer = new Writer(new Chance(seed), isOther);
  writer.block(2 + writer.chance.below(4), "  ", 0);
  const lines: Line[] = [
    { text: 'import { durable } from "CORE";' },
    { text: 'import { world } from "WORLD";' },
    ...(isOther ? [{ text: "// Another version." }] : []),
    { text: 'export const descriptor = { description: "generated", roles: {} };' },
    { text: "export const run = durable(async function* (step) {" },
    { text: "  let last = 0;" },
    ...writer.lines,
    ...(isOther ? [{ text: '  yield* step("late", () => 0);' }] : []),
    { text: "  return `done ${last}`;" },
    { text: "});" },
  ];
  return { lines };
}

export const textOf = ({ lines }: Program): string => lines.map(({ text }) => text).join("\n");

class Writer {
  readonly lines: Line[] = [];
  readonly chance: Chance;
  readonly #isOther: boolean;
  #names = 0;

  constructor(chance: Chance, isOther: boolean) {
    this.chance = chance;
    this.#isOther = isOther;
  }

  block(size: number, indent: string, depth: number): void {
    for (let n = 0; n < size; n += 1) this.#statement(indent, depth);
  }

  #statement(indent: string, depth: number): void {
    const { chance } = this;
    const kinds = depth < 3 ? 12 : 8;
    const kind = chance.below(kinds);
    if (kind <= 1) this.#pair(indent);
    else if (kind === 2) this.#retried(indent);
    else if (kind === 3) this.#all(indent);
    else if (kind === 4) this.#wait(indent);
    else if (kind === 5)
      this.#add(indent, `yield* step.sleep(${chance.is(0.5) ? 0 : '"2h"'});`, "sleep");
    else if (kind === 6) this.#plain(indent);
    else if (kind === 7) this.#asking(indent);
    else if (kind === 8)
      this.#around(indent, depth, `if (last % 2 === ${chance.below(2)}) {`, "} else {");
    else if (kind === 9)
      this.#around(indent, depth, "for (let n = last % 3; n > 0; n -= 1) {", null);
    else if (kind === 10) this.#around(indent, depth, "try {", "} catch {");
    else this.#around(indent, depth, "yield* (async function* () {", null, "})();");
  }

  #name(): string {
    this.#names += 1;
    return `r${this.#names}`;
  }

  #add(indent: string, text: string, asks?: string, isFirstOfPair?: boolean): void {
    this.lines.push({
      text: `${indent}${text}`,
      ...(asks !== undefined && { asks }),
      ...(isFirstOfPair && { isFirstOfPair }),
    });
  }

  get #work(): string {
    return this.#isOther ? "() => 1_234" : "() => world.draw()";
  }

  /** Two steps in sequence. Their order can be changed. */
  #pair(indent: string): void {
    const [a, b] = [this.#name(), this.#name()];
    this.#add(indent, `last += yield* step("${a}", ${this.#work});`, a, true);
    this.#add(indent, `last += yield* step("${b}", ${this.#work});`, b);
  }

  #retried(indent: string): void {
    const name = this.#name();
    const backoff = this.chance.is(0.5) ? '"1h"' : "0";
    const work = this.#isOther ? "() => 7" : "() => world.mayFail()";
    const retry = `{ retry: { attempts: ${1 + this.chance.below(3)}, backoff: ${backoff} } }`;
    this.#add(indent, `last += yield* step("${name}", ${work}, ${retry});`, name);
  }

  #all(indent: string): void {
    const [a, b] = [this.#name(), this.#name()];
    const work = this.#isOther ? "() => 3" : "() => world.later()";
    if (this.chance.is(0.5)) {
      this.#add(indent, `last += (yield* step.all({ ${a}: ${work}, ${b}: ${work} })).${a};`, a);
      return;
    }
    const wait = this.chance.is(0.3) ? `, step.wait("q${b}")` : "";
    const members = `step("${a}", ${work}), step("${a}", ${work}), step("${b}", ${work})${wait}`;
    this.#add(indent, `last += Number((yield* step.all([${members}]))[0]);`, a);
  }

  #wait(indent: string): void {
    const name = this.#name();
    this.#add(indent, `last += Number((yield* step.wait("${name}")).value);`, name);
  }

  #plain(indent: string): void {
    const name = this.#name();
    this.#add(indent, `yield { role: "${name}", content: "plain", meta: {} };`, name);
  }

  /** A step that asks a question while it runs. */
  #asking(indent: string): void {
    const name = this.#name();
    const ask = `questions.ask("${name}", "colour", {})`;
    const work = `async ({ questions }) => Number((await ${ask}).answer.value)`;
    this.#add(indent, `last += yield* step("${name}", ${work});`, name);
  }

  #around(indent: string, depth: number, open: string, middle: string | null, close = "}"): void {
    this.#add(indent, open);
    this.block(1 + this.chance.below(2), `${indent}  `, depth + 1);
    if (middle !== null) {
      this.#add(indent, middle);
      this.block(1, `${indent}  `, depth + 1);
    }
    this.#add(indent, close);
  }
}
