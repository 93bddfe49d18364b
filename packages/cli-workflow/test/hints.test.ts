import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { makeProgram } from "../src/program/program.ts";
import { leadsOn, type Situation, unled } from "./hints/leads.ts";
import {
  addBundles,
  attempts,
  type Make,
  states,
  statesOfRoots,
  threads,
  tried,
} from "./hints/threads.ts";
import { disk as situationsOfRoots, writeFiles } from "./hints/disk.ts";
import { registry } from "./hints/registry.ts";
import { playStore, removeFolders, type Store } from "./program.ts";

setDefaultTimeout(180_000);
/** The options of each command, by name. */
const commands = new Map<string, Set<string>>();
beforeAll(async () => {
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

/**
 * Yields each call of `uncaged-workflow` in the sources' texts: the words after the name, up to the end of the clause.
 */
async function* calls(): AsyncGenerator<{ file: string; call: string }> {
  for await (const file of new Bun.Glob("{packages,apps}/*/src/**/*.{ts,tsx}").scan(top)) {
    if (/\.test\.tsx?$/.test(file)) continue;
    const source = readFileSync(join(top, file), "utf8");
    for (const [, call = ""] of source.matchAll(/[:`"'] ?uncaged-workflow ([a-z][^\n`"';|]*)/g))
      if (!call.startsWith("is ")) yield { file, call: call.split("$(")[0] ?? "" };
  }
}

test("each command and option named by a hint exists", async () => {
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

let memory: Store;
let disk: Store;

beforeAll(async () => {
  memory = await playStore({ inMemory: true });
  disk = await playStore();
  for (const store of [memory, disk]) await addBundles(store);
  writeFiles(disk);
});
afterAll(async () => {
  await disk.killWorkers();
  removeFolders();
});

const newStore = (store: Store) => playStore(store.memory ? { inMemory: true } : undefined);

const every = (storeOf: () => Store, situations: Record<string, Situation>) => {
  for (const [name, situation] of Object.entries(situations))
    test(name, async () =>
      leadsOn(situation.isNew ? await newStore(storeOf()) : storeOf(), situation),
    );
};

/** Tries each command on a thread in each state. If the command prints a hint, the commands in the hint must work. */
const everyAttempt = (storeOf: () => Store, made: Record<string, Make>) => {
  for (const [name, make] of Object.entries(made)) {
    test(`a thread that is ${name}`, async () => {
      for (const attempt of attempts)
        await leadsOn(storeOf(), { ...tried(make, attempt), mayLack: true });
    });
  }
};

describe("the commands in each hint about threads work", () => {
  everyAttempt(() => memory, states);
  every(() => memory, threads);
});

describe("the commands in each hint about workflows work", () => every(() => memory, registry));

describe("the commands in each hint about storage roots work", () => {
  everyAttempt(() => disk, statesOfRoots);
  every(() => disk, situationsOfRoots);
});

test("each other hint was tested, except those in this list", () => {
  const goesOn = "the command runs until it is stopped";
  const isRace = "shown after a race with another process";
  expect(
    unled("threads", {
      "if a role or the disk blocks it, end it and resume its other threads: uncaged-workflow kill --force <thread>":
        "shown after a minute; doctor shows the same command, which is tested",
      "continue from its steps: uncaged-workflow fork <id> --at-step N":
        "shown for a step workflow; the command is tested for other workflows",
      "check the thread's status; committed steps are kept: uncaged-workflow threads": isRace,
      "Example:\n  uncaged-workflow run review --prompt 'Look at src' --follow": "a help text",
      "end the worker, then resume: uncaged-workflow kill --force <thread>":
        "shown for a bundle that replaces the built-ins of checksums",
      "see which record of the bundle differs: uncaged-workflow verify":
        "the check of the bundle fails first",
      "start the server again: uncaged-workflow serve": goesOn,
      "no worker drives it; start one: uncaged-workflow worker": goesOn,
      "start it again: uncaged-workflow serve": goesOn,
      "; to allow this page: uncaged-workflow serve --allow-origin …":
        "shown to a page in a browser",
      "check the address; start a server with: uncaged-workflow serve": goesOn,
      "copy the token again, as `uncaged-workflow serve --json` printed it": goesOn,
      "build it first: uncaged-workflow build …":
        "shown to programs; the command builds files before it sends them",
      "ask the user to decide: uncaged-workflow thread …; or to start this server with --allow-approve":
        "shown by a tool of mcp",
      "find its worker: uncaged-workflow ps": isRace,
      "find the process: uncaged-workflow ps": isRace,
      "see how: uncaged-workflow thread …": isRace,
      "resume it yourself: uncaged-workflow resume …": isRace,
      "uncaged-workflow add … greet.ts": "the console shows it as an example",
      "Open the address that <code>uncaged-workflow serve</code> printed in its terminal.": goesOn,
      "run it once: uncaged-workflow run … --wait; or name a fixture: --fixture <file>; or let its roles run: --live":
        "shown by chaos without a recording",
      "run the workflow without faults and read its log: uncaged-workflow logs @last":
        "shown by chaos if a run hangs",
      "run uncaged-workflow doctor": "shown for an unknown error of the disk",
    }),
  ).toEqual([]);
});
