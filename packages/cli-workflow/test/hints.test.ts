import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Host, openLocalHost } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { whatNext } from "../src/output/outcome.ts";
import { makeProgram } from "../src/program/program.ts";
import { playStore, removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);

/** The options of each command, by its name. */
const commands = new Map<string, Set<string>>();
let store: Store;

beforeAll(async () => {
  store = await playStore({ inMemory: true });
  const sink = { write: () => {}, terminal: false, columns: 80 };
  const { command: program, loadAll } = makeProgram({
    argv: [],
    env: {},
    cwd: () => "/",
    umask: 0o077,
    output: { results: sink, notes: sink },
    interruption: () => new AbortController().signal,
    openRoot: openLocalHost,
  });
  await loadAll();
  const visit = (command: Command, before: string) => {
    const name = `${before}${command.name()}`;
    const flags = command.options.flatMap(({ flags: all }) => all.match(/--[a-z-]+/g) ?? []);
    commands.set(name, new Set(["--json", "--root", "--host", "--help", ...flags]));
    for (const each of command.commands) visit(each, `${name} `);
  };
  for (const command of program.commands) visit(command, "");
});

const top = join(import.meta.dir, "../../..");

/** Each call of the command in the texts of the sources: what follows its name, up to the end of the text or clause. */
async function* calls(): AsyncGenerator<{ file: string; call: string }> {
  for await (const file of new Bun.Glob("{packages,apps}/*/src/**/*.{ts,tsx}").scan(top)) {
    if (/\.test\.tsx?$/.test(file)) continue;
    const source = readFileSync(join(top, file), "utf8");
    for (const [, call = ""] of source.matchAll(/[:`"'] ?uncaged-workflow ([a-z][^\n`"';|]*)/g))
      if (!call.startsWith("is ")) yield { file, call: call.split("$(")[0] ?? "" };
  }
}

test("each command and option that a hint names is there", async () => {
  const wrong: string[] = [];
  let count = 0;
  for await (const { file, call } of calls()) {
    count += 1;
    const words = call.split(/[^a-z-]+/).slice(0, 3);
    const names = words.map((_, at) => words.slice(0, at + 1).join(" "));
    const options = commands.get(names.findLast((name) => commands.has(name)) ?? "");
    const unknown = (call.match(/--[a-z][a-z-]*/g) ?? []).filter((flag) => !options?.has(flag));
    if (!options || unknown.length > 0) wrong.push(`${file}: ${call}`);
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

const approval = {
  type: "object",
  properties: { decision: { enum: ["approve", "reject"] }, note: { type: "string" } },
};

/** How a new thread in each state is made. */
const states: Record<string, { status: string; params: object; args?: string[]; act?: string }> = {
  completed: { status: "completed", params: {} },
  "out of rounds": { status: "completed", params: {}, args: ["--max-rounds", "2"] },
  failed: { status: "failed", params: { fail: 2 } },
  "returned 3": { status: "failed", params: { code: 3 } },
  killed: { status: "killed", params: { ms: 60_000 }, act: "kill" },
  waiting: { status: "waiting", params: { ask: 2 } },
  "waiting for an approval": { status: "waiting", params: { ask: 2, schema: approval } },
  running: { status: "running", params: { ms: 60_000 } },
};

async function threadIn(state: string): Promise<string> {
  const { status, params, args = [], act } = states[state] as (typeof states)[string];
  const id = await store.play(params, ...args);
  if (act) await store.ok([act, id]);
  await store.until(id, status);
  return id;
}

const attempts = [
  ["resume"],
  ["resume", "--input", "yes"],
  ["resume", "--approve"],
  ["resume", "--edit", "{}"],
  ["retry"],
  ["pause"],
  ["kill"],
  ["thread rm"],
];

/** What a person writes in place of the words of a hint. */
const filled: Record<string, string> = { TEXT: "yes", REASON: "no", N: "50", "<name>": "play" };

/** The commands that a hint names, with what a person fills in. */
const namedIn = (hint: string): string[][] =>
  [...hint.replace("'your answer'", "TEXT").matchAll(/uncaged-workflow ([^;,]+)/g)].map(
    ([, call = ""]) =>
      call
        .trim()
        .split(" ")
        .map((word) => filled[word] ?? word),
  );

/** Gives the hint of a new thread in a state, and runs each of its commands in a thread of its own. */
async function leadsOn(hintOf: (id: string) => Promise<string | null>, state: string) {
  for (let nth = 0, count = 1; nth < count; nth += 1) {
    const hint = await hintOf(await threadIn(state));
    if (hint === null) return;
    const named = namedIn(hint);
    count = named.length;
    const led = await store.run(named[nth] ?? []);
    expect({ hint, ...led }).toMatchObject({ code: 0 });
  }
}

describe("each hint leads on", () => {
  for (const state of Object.keys(states)) {
    test(`of a thread that is ${state}`, async () => {
      for (const [command = "", ...options] of attempts) {
        await leadsOn(async (id) => {
          const args = [...command.split(" "), id, ...options, "--json"];
          const { code, stdout } = await store.run(args);
          if (code === 0) return null;
          return (JSON.parse(stdout) as { error: { hint?: string } }).error.hint ?? "";
        }, state);
      }
      const host = store.memory as Host;
      await leadsOn(async (id) => whatNext(id, await host.read(await host.find(id))), state);
    });
  }
});
