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
import { registry } from "./hints/registry.ts";
import { playStore, removeFolders, type Store } from "./program.ts";

setDefaultTimeout(180_000);
let memory: Store;
let disk: Store;

beforeAll(async () => {
  memory = await playStore({ inMemory: true });
  disk = await playStore();
  for (const store of [memory, disk]) await addBundles(store);
});
afterAll(async () => {
  await disk.killWorkers();
  removeFolders();
});

const every = (storeOf: () => Store, situations: Record<string, Situation>) => {
  for (const [name, situation] of Object.entries(situations))
    test(name, async () =>
      leadsOn(situation.isNew ? await playStore({ inMemory: true }) : storeOf(), situation),
    );
};

/** All that can be tried with threads in each state: what is done has no hint, or one that leads on. */
const everyAttempt = (storeOf: () => Store, made: Record<string, Make>) => {
  for (const [name, make] of Object.entries(made)) {
    test(`of a thread that is ${name}`, async () => {
      for (const attempt of attempts)
        await leadsOn(storeOf(), { ...tried(make, attempt), mayLack: true });
    });
  }
};

describe("each hint of a thread leads on", () => {
  everyAttempt(() => memory, states);
  every(() => memory, threads);
});

describe("each hint of workflows leads on", () => every(() => memory, registry));

describe("each hint of a storage root leads on", () => {
  everyAttempt(() => disk, statesOfRoots);
});

test("each hint was shown in a state, and led on", () => {
  expect(unled("threads", {})).toEqual([]);
});
