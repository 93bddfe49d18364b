import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostContract } from "@uncaged/workflow/testing";
import { npmInstall } from "../../../../test/packed.ts";
import { type ServingProcess, stopServing } from "../serving.ts";
import { buildProgram, checkIn } from "./contract-node.ts";

/* The contract of hosts, checked in each supported version of Node against a server process. */
const nodes = { 20: "20.20.2", 22: "22.23.3", 24: "24.21.0" };
const rules = hostContract().map(({ name }) => name);
const folder = mkdtempSync(join(tmpdir(), "uncaged-contract-"));
const nodeOf = (major: number | string): string =>
  join(folder, `nodes/node_modules/node${major}/bin/node`);
let program = "";

beforeAll(async () => {
  program = await buildProgram(folder);
  const name = `node-${process.platform}-${process.arch}`;
  const exact = Object.entries(nodes).map(([n, version]) => `node${n}@npm:${name}@${version}`);
  mkdirSync(join(folder, "nodes"));
  npmInstall(join(folder, "nodes"), join(folder, "home"), exact);
}, 300_000);
afterEach(stopServing);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(Object.keys(nodes))("in Node %s", (major) => {
  test.each(rules)("%s", async (rule) => {
    expect(await checkIn(nodeOf(major), program, rule)).toEqual({ code: 0, stderr: "" });
  });
});

/** Returns a function that kills and restarts the server at pseudorandom moments while a rule is checked. */
const restarting =
  (seed: number) =>
  async (serving: ServingProcess, done: () => boolean): Promise<void> => {
    const { port } = serving;
    for (let n = 1; n <= 3; n += 1) {
      await Bun.sleep(100 + ((seed * 977 + n * 7919) % 400));
      if (done()) return;
      await serving.stop("SIGKILL");
      await serving.serve(port);
    }
  };

describe("in Node 20, with a server that is killed and restarted", () => {
  test.each(rules.map((rule, seed) => [rule, seed] as const))("%s", async (rule, seed) => {
    const { code, stderr } = await checkIn(nodeOf(20), program, rule, restarting(seed));
    // The client reports this code for an interrupted change that must not be repeated.
    if (!stderr.includes("OUTCOME_UNKNOWN"))
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});
