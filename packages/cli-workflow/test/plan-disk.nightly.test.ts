import { Database } from "bun:sqlite";
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SmallDisk, unmountAll, whyNoMounts } from "./mounts.ts";
import { PlanStore } from "./planned.ts";
import { removeFolders } from "./program.ts";

/* A storage root on a small disk that is full, or nearly, when a trigger fires. */
setDefaultTimeout(180_000);
let store: PlanStore | undefined;
afterAll(async () => {
  await store?.killWorkers();
  await store?.stop();
  unmountAll();
  removeFolders();
});

type Ticked = { fired: { runId: string }[] };
const kilobytes = process.env.TEST_CASES === "all" ? [0, 4, 8, 16, 24, 40, 64, 96, 160] : [0, 24];
const noMount = whyNoMounts();
const left = noMount === null ? "" : ` (left out: ${noMount})`;

test.skipIf(noMount !== null)(
  `a fire on a disk with ${kilobytes.join(", ")} KB left is one line of error or whole, and each change fires once${left}`,
  async () => {
    store = await PlanStore.open();
    const { root, work } = store;
    mkdirSync(root, { mode: 0o700 });
    const disk = new SmallDisk(root, 16_384);
    const items = join(work, "items");
    writeFileSync(items, "0\n");
    const check = { check_script: "cat items", diff_mode: "new_items", interval_seconds: 1 };
    const { id } = await store.plan({ look: [] }, { trigger: { type: "poll", ...check } });
    await store.ok(["plan", "confirm", id]);
    await store.json<Ticked>(["plan", "tick"]);
    const added: string[] = [];
    let refusals = 0;
    for (const free of kilobytes) {
      added.push(`with ${free} KB`);
      appendFileSync(items, `with ${free} KB\n`);
      disk.fill(free);
      // Each pass finds more of it done than the one before, or nothing.
      for (let pass = 0; pass < 2; pass += 1) {
        const { code, stderr, stdout } = await store.run(["plan", "tick"]);
        if (code === 0) continue;
        refusals += 1;
        expect({ free, code, stdout, stderr }).toEqual({
          ...{ free, code: 1 },
          // What it could not do comes behind what it could: a run that has fired may not find the room for its worker.
          stdout: expect.stringMatching(/^(fired [^\n]*\n)?$/),
          stderr: expect.stringMatching(
            /^((the next is due at|no plan waits) [^\n]*\n)?error: [^\n]*the disk is full[^\n]*\n$/,
          ),
        });
      }
      disk.free();
      for (let fired = 0; fired < added.length; ) {
        await store.json<Ticked>(["plan", "tick"]);
        fired = (await store.view(id)).runs.length;
      }
      await store.untilPlan(id, ({ phase }) => phase === "active");
    }
    const { runs } = await store.view(id);
    expect(runs.map(({ trigger_data }) => trigger_data).toReversed()).toEqual(added);
    expect(refusals).toBeGreaterThan(0);
    const threads = await store.json<{ rows?: unknown[] } | unknown[]>(["threads"]);
    expect(Array.isArray(threads) ? threads : threads.rows).toHaveLength(added.length);
    await store.ok(["plan", "rebuild"]);
    expect((await store.view(id)).runs).toEqual(runs);
    const database = new Database(join(root, "plans/plans.db"));
    expect(database.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    database.close();
  },
);
