import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorYaml } from "../src/bundle/descriptor-yaml.ts";
import { hashOf } from "../src/bundle/hash.ts";
import { isWorkflowError } from "../src/contract/error.ts";
import { openStoreHost } from "../src/embedded/store-host.ts";
import { driveStore } from "../src/embedded/store-worker.ts";
import type { ThreadCommand } from "../src/host/host.ts";
import { bundle } from "../src/host/host-trial.ts";
import { Memory } from "../src/store/memory.ts";
import { memoryStore } from "../src/store/memory-store.ts";

/** Five steps of work, one question and one sleep. */
const text = bundle(`
  for (let n = input.steps.length; n < 9; n += 1) {
    await sleep(2 + Math.random() * 10);
    const asleep = { for: "nap", sleep: true, expiresAt: Date.now() + 30 + (input.prompt % 3) * 700 };
    if (n === 3) yield step("__wait__", "may I?", { for: "leave" });
    else if (n === 6) yield step("__wait__", "", asleep);
    else if (n !== 4 && n !== 7) yield step("work", String(n));
  }`);
const complete = "0,1,2,__wait__,__input__,5,__wait__,__input__,8";
const threads = 150;
const leaseMs = 3_000;
/** Number of commands during which leases expire and workers are replaced. */
const troubled = 4_000;

test("random commands, lost leases and replaced workers neither lose nor repeat a step", async () => {
  let passed = 0;
  const memory = new Memory({ now: () => Date.now() + passed });
  const folder = mkdtempSync(join(tmpdir(), "store-worker-"));
  const code = new TextEncoder().encode(text);
  const hash = hashOf(code);
  const descriptor = descriptorYaml({ description: "a test", roles: {} });
  await memoryStore(memory).putBundle({ hash, code, descriptor });
  const host = openStoreHost(memoryStore(memory), { root: "memory", drives: false });
  const reports: string[] = [];
  const open = () =>
    driveStore(memoryStore(memory), {
      ...{ env: {}, cache: mkdtempSync(join(folder, "cache-")), leaseMs, limit: 40 },
      report: (line) => reports.push(line),
    });
  const workers = [await open(), await open(), await open()];
  const closing: Promise<void>[] = [];
  const refs = await Promise.all(
    Array.from({ length: threads }, async (_, n) => {
      const started = await host.start({ workflow: hash, prompt: String(n), cwd: "/", env: {} });
      return { hash, threadId: started.threadId };
    }),
  );
  /** Whether the command was accepted; false when it was refused. */
  const isTaken = async (n: number, command: ThreadCommand): Promise<boolean> => {
    try {
      await host.control(refs[n] as (typeof refs)[0], command);
      return true;
    } catch (error) {
      if (isWorkflowError(error)) return false;
      throw error;
    }
  };
  const env = {};
  const isOpen = async () =>
    (await host.threads({ status: ["running", "waiting", "paused"] })).rows;
  for (let turn = 0; turn % 50 !== 0 || (await isOpen()).length > 0; turn += 1) {
    const n = Math.floor(Math.random() * threads);
    const act = Math.random();
    if (act < 0.2 && turn < troubled) await isTaken(n, { kind: "pause" });
    else if (act < 0.5) await isTaken(n, { kind: "resume", env });
    else if (act < 0.9) {
      const answers = [1, 2, 3].map((one) =>
        isTaken(n, { kind: "answer", input: { content: `answer ${one}` }, env }),
      );
      const taken = (await Promise.all(answers)).filter(Boolean);
      expect(taken.length).toBeLessThan(2);
    } else if (act < 0.92 && turn < troubled) passed += leaseMs;
    else if (act < 0.94 && turn < troubled) {
      const [first] = workers.splice(0, 1, await open());
      if (first) closing.push(first.close());
    }
    await Bun.sleep(1);
  }
  for (const ref of refs) {
    const { steps, status } = await host.read(ref);
    const shape = steps.map(({ role, content }) => (role === "work" ? content : role)).join();
    expect([status, shape]).toEqual(["completed", complete]);
  }
  expect(reports).toEqual([]);
  await Promise.all([...closing, ...workers.map((worker) => worker.close())]);
  await host.close();
  rmSync(folder, { recursive: true });
}, 120_000);
