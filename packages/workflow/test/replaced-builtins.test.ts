import { afterEach, describe, expect, test } from "bun:test";
import fs, { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkStep } from "../src/contract/check.ts";
import { resumeThread } from "../src/local/workers/control.ts";
import { verifyStore } from "../src/local/upkeep/verify.ts";
import { readLog } from "../src/disk/log.ts";
import { stampedText } from "../src/record/record.ts";
import { LogWriter } from "../src/disk/writer.ts";
import { durableWriting } from "../src/disk/writing.ts";
import type { ThreadRef } from "../src/record/thread.ts";
import { startLine } from "./fixtures/records.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { until } from "./fixtures/until.ts";

afterEach(removeStores);

const count = 40;
const steps = Array.from({ length: count }, (_, n) => ({
  role: "count",
  content: `${n}`,
  meta: { n, list: [n, { a: "ä" }], [`key${n}`]: null },
}));

describe("a record is serialised, hashed and written by captured functions, not by a mock of", () => {
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
  const mocks: [string, object, string, (...args: never[]) => unknown][] = [
    ["JSON.stringify", JSON, "stringify", () => '"mocked"'],
    ["Object.keys", Object, "keys", () => []],
    ["Array.isArray", Array, "isArray", () => false],
    ["Number.isFinite", Number, "isFinite", () => true],
    ["String.prototype.slice", String.prototype, "slice", () => ""],
    ["String.prototype.padStart", String.prototype, "padStart", () => "0"],
    ["BigInt.prototype.toString", BigInt.prototype, "toString", () => "1"],
    ["TextEncoder.prototype.encode", TextEncoder.prototype, "encode", () => Buffer.from("mocked")],
    ["Uint8Array.prototype.set", typedArray, "set", () => undefined],
    ["fs.writeSync", fs, "writeSync", () => 1],
    ["fs.fdatasyncSync", fs, "fdatasyncSync", () => undefined],
  ];
  for (const [what, object, name, mock] of mocks) {
    test(what, async () => {
      const store = new TestStore();
      const path = join(store.folder, "log.jsonl");
      const writer = LogWriter.create(path, (add) => add(startLine), durableWriting());
      const real = Object.getOwnPropertyDescriptor(object, name) as PropertyDescriptor;
      let isCommitted = true;
      try {
        Object.defineProperty(object, name, { ...real, value: mock });
        const checked = checkStep(steps[1]);
        await writer.append(checked.ok ? stampedText(checked.json, 2) : "refused");
      } catch {
        isCommitted = false;
      } finally {
        Object.defineProperty(object, name, real);
      }
      await writer.close();
      const log = readLog(path);
      const expected = isCommitted ? [{ ...steps[1], timestamp: 2 }] : [];
      expect(log).toMatchObject({ kind: "thread", broken: null, torn: 0, steps: expected });
    });
  }
});

describe("a bundle that replaces everything leaves the other threads' logs intact", () => {
  const vandal = readFileSync(join(import.meta.dir, "fixtures/vandal.js"), "utf8");
  const stepsOf = (store: TestStore, ref: ThreadRef) =>
    store
      .lines(ref)
      .flatMap(({ role, content, meta }) => (role === "count" ? [{ role, content, meta }] : []));

  for (const by of ["throws", "nothing", "garbage"]) {
    test(`by functions of kind "${by}"`, async () => {
      const store = new TestStore();
      const hash = await store.add(vandal);
      const refs = await Promise.all(
        [1, 2].map(() => store.start(hash, "", { options: { count } })),
      );
      const marker = join(store.folder, "replaced");
      // The bundle may replace functions that the worker needs for its reply.
      await store
        .start(hash, "vandal", { options: { by, marker, after: 10 } })
        .catch(({ code }: { code: string }) => expect(code).toBe("WORKER_LOST"));
      await until(() => existsSync(marker) && Number(readFileSync(marker, "utf8")) > 2500);
      await store.signalWorkers("SIGKILL");
      expect((await verifyStore(store.root)).problems).toEqual([]);
      for (const ref of refs) {
        const made = stepsOf(store, ref);
        expect(made).toEqual(steps.slice(0, made.length));
        const ended = store.lines(ref).find(({ role }) => role === "__end__");
        if (ended) expect(ended).toMatchObject({ meta: { reason: "failed" } });
        else {
          await resumeThread(store.root, ref, { env: {} });
          await store.whenStatus(ref, "completed");
          expect(stepsOf(store, ref)).toEqual(steps);
        }
      }
    }, 180_000);
  }
});
