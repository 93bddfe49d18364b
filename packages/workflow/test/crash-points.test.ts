import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLog } from "../src/disk/log.ts";
import { dataPath } from "../src/disk/paths.ts";
import { openRoot } from "../src/disk/root.ts";
import { buildProgram } from "./fixtures/built.ts";
import { some } from "./fixtures/cases.ts";

const hash = "EYHPV6X8XHTCS";
const threads = { "01ARZ3NDEKTSV4RRFFQ69G5FAV": 3, "01BRZ3NDEKTSV4RRFFQ69G5FAV": 5 };
let folder: string;
let program: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "crash-points-"));
  program = await buildProgram(join(import.meta.dir, "fixtures/dying.ts"), folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(name: string, number: number, moment: string) {
  const files = [join(folder, name), join(folder, `${name}.acknowledged`)];
  const child = Bun.spawn([process.execPath, program, ...files, String(number), moment], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const printed = await new Response(child.stdout).text();
  await child.exited;
  return { killed: child.signalCode === "SIGKILL", calls: Number(printed), code: child.exitCode };
}

function acknowledged(name: string): string[] {
  const path = join(folder, `${name}.acknowledged`);
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
}

/** Compares every thread's log with its acknowledged records. */
function audit(name: string): void {
  const root = openRoot({ path: join(folder, name) });
  for (const threadId of Object.keys(threads)) {
    const said = acknowledged(name).filter((line) => line.startsWith(threadId));
    const path = dataPath(root, hash, threadId);
    if (!existsSync(path)) {
      expect(said).toEqual([]);
      continue;
    }
    const log = readLog(path);
    if (log.kind !== "thread") throw new Error(`${path} is ${log.kind}`);
    expect(log.broken).toBeNull();
    const steps = log.steps.map(({ content }) => Number(content));
    expect(steps).toEqual(steps.map((_, n) => n));
    const last = said.filter((line) => /\d$/.test(line)).map((line) => Number(line.slice(27)));
    expect(steps.length).toBeGreaterThan(Math.max(-1, ...last.slice(-1)));
    if (said.some((line) => line.endsWith("end"))) expect(log.end).not.toBeNull();
  }
}

describe("a process that is killed at each call of the disk (F3)", () => {
  for (const moment of ["before", "middle", "after"]) {
    test(`${moment} the call keeps all acknowledged records, and ends the threads after a restart`, async () => {
      const { calls } = await run(`${moment}-none`, -1, "before");
      expect(calls).toBeGreaterThan(30);
      const all = Array.from({ length: calls }, (_, number) => number);
      const numbers = some(all, 3);
      const tried = numbers.length / all.length;
      let kills = 0;
      const next = async () => {
        for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) {
          const name = `${moment}-${number}`;
          if ((await run(name, number, moment)).killed) kills += 1;
          audit(name);
          expect((await run(name, -1, "before")).code).toBe(0);
          complete(name);
        }
      };
      await Promise.all([next(), next(), next()]);
      // Only writes have a middle, and concurrent commits share a write.
      expect(kills).toBeGreaterThan((moment === "middle" ? 4 : 30) * tried);
    });
  }
});

function complete(name: string): void {
  audit(name);
  const root = openRoot({ path: join(folder, name) });
  for (const [threadId, count] of Object.entries(threads)) {
    const log = readLog(dataPath(root, hash, threadId));
    if (log.kind !== "thread") throw new Error(log.kind);
    expect([log.steps.length, log.end?.meta.reason]).toEqual([count, "returned"]);
  }
}
