// @cluster: starts a server and workers.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { newFolder, playBundle, removeFolders, Store } from "./program.ts";

setDefaultTimeout(120_000);

const shiftedClock = join(import.meta.dir, "../../workflow-restate/test/fixtures/shifted-clock.ts");
const minutes = 60_000;

const store = new Store();
let given: { env: Record<string, string> };
const children: Bun.Subprocess[] = [];

beforeAll(async () => {
  if (missingServer !== "") return;
  const { host } = await store.json<{ host: string }>(["cluster", "up", "--workers", "0"]);
  given = { env: { UNCAGED_WORKFLOW_HOST: host } };
});
afterAll(async () => {
  if (missingServer === "") {
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map(({ exited }) => exited));
    await store.ok(["cluster", "down", "--data"]);
  }
  removeFolders();
});

/** A clock for a process, with an offset that can be changed. */
class OffClock {
  readonly #file = join(newFolder(), "clock");

  constructor(ms: number) {
    this.set(ms);
  }

  set(ms: number): void {
    writeFileSync(this.#file, String(ms));
  }

  get env(): Record<string, string> {
    return {
      ...given.env,
      CLOCK_FILE: this.#file,
      BUN_OPTIONS: `--preload=${shiftedClock}`,
    };
  }
}

type Line = { pid: number; healthPort: number; problem?: string };

/** Starts a worker with this clock. Returns the worker and its live output. */
async function worker(clock: OffClock) {
  const words = ["worker", "--port", "0", "--cache", newFolder(), "--json"];
  const child = store.start(words, { env: clock.env });
  children.push(child);
  let text = "";
  void (async () => {
    for await (const piece of child.stdout) text += Buffer.from(piece).toString();
  })();
  const lines = (): Line[] =>
    text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line);
  const problems = (): string[] => lines().flatMap(({ problem }) => problem ?? []);
  await until(() => lines().some(({ pid }) => pid > 0));
  const { pid = 0, healthPort = 0 } = lines().find((line) => line.pid > 0) ?? {};
  const health = async () => (await fetch(`http://127.0.0.1:${healthPort}/health`)).status;
  return { pid, problems, health, child };
}

type Step = { timestamp: number };
type Row = { threadId: string; status: string; pid: number };

describe.skipIf(missingServer !== "")(`a worker whose clock${missingServer}`, () => {
  test.each([
    ["ten minutes ahead of", 10],
    ["ten minutes behind", -10],
  ])("is %s the cluster's does not start", async (where, by) => {
    const { env } = new OffClock(by * minutes);
    const { code, stdout, stderr } = await store.run(["worker", "--port", "0"], { env });
    const way = where.slice("ten minutes ".length);
    expect([code, stdout, stderr]).toEqual([
      1,
      "",
      expect.stringMatching(
        new RegExp(`^error: the clock of this machine is (599|600|601) s ${way} [^\\n]+\\n$`),
      ),
    ]);
    // The worker is not registered.
    expect((await store.run(["list"], given)).stderr).toContain("has no workers");
  });

  test.each([
    ["ahead of", 6_000],
    ["behind", -6_000],
  ])("is some seconds %s the cluster's reports that, and drives threads", async (way, by) => {
    const { problems, child } = await worker(new OffClock(by));
    expect(problems()).toEqual([
      expect.stringMatching(new RegExp(` [567] s ${way} the cluster at `)),
    ]);
    await store.ok(["add", "play", playBundle], given);
    expect((await store.run(["run", "play", "--wait"], given)).code).toBe(0);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  });

  test("is set ten minutes forward gives its threads back, and accepts threads after the correction", async () => {
    const clock = new OffClock(0);
    const first = await worker(clock);
    await store.ok(["add", "play", playBundle], given);
    const path = join(newFolder(), "gate");
    const params = JSON.stringify({ steps: 4, gate: { before: 2, path } });
    const id = await store.ok(["run", "play", "--params", params], given);
    const driver = async () => (await store.json<Row[]>(["ps"], given))[0]?.pid ?? 0;
    await until(
      async () => (await driver()) === first.pid,
      () => "no worker drives the thread",
    );
    clock.set(10 * minutes);
    await until(
      async () => (await first.health()) === 503,
      () => "the worker still accepts threads",
    );
    expect(first.problems()).toEqual([
      expect.stringMatching(/ ahead of .*; it drives no threads; /),
    ]);
    // Without other workers, the worker still answers commands, but must give its threads back.
    expect(await driver()).toBe(first.pid);
    const second = await worker(new OffClock(0));
    writeFileSync(path, "");
    const shown = () => store.json<Row & { steps: Step[] }>(["thread", id], given);
    await until(
      async () => (await shown()).status === "completed",
      () => "the thread has not ended",
    );
    // The first worker commits its current step. The other worker runs the later steps.
    const { steps } = await shown();
    expect(steps).toHaveLength(4);
    const isRight = ({ timestamp }: Step) => Math.abs(timestamp - Date.now()) < 5 * minutes;
    expect(steps.map(isRight)).toEqual([true, false, true, true]);
    expect(second.problems()).toEqual([]);
    clock.set(0);
    await until(
      async () => (await first.health()) === 200,
      () => "the worker accepts no threads",
    );
    expect(first.problems().at(-1)).toBe("the clock of this machine is correct again");
  });
});
