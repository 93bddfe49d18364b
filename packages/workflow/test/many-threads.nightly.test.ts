import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRoot, openRoot } from "../src/disk/root.ts";
import type { ThreadQuery } from "../src/host/host.ts";
import { openLocalHost } from "../src/local/host.ts";
import { endRecord, Logged, opening, paidStep } from "./fixtures/logged.ts";
import { writeFileSync } from "node:fs";
import { registryPath } from "../src/disk/paths.ts";

const count = 100_000;
const hour = 3_600_000;

test("lists, summaries and histories of 100,000 threads read no logs", async () => {
  // Use memory: creating so many files on a disk is slow.
  const memory = "/dev/shm";
  const folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), "many-threads-"));
  try {
    const root = openRoot({ path: join(folder, "root") });
    createRoot(root);
    const hash = "AAAA000000001";
    const logged = new Logged(root, hash);
    for (let n = 0; n < count; n += 1) {
      const at = 1_000_000 * hour + n * 1_000;
      logged.begin(n, { at });
      const reason = n % 10 === 0 ? "failed" : "returned";
      const cost = n === 7 ? 5 : 0.01;
      logged.append(
        n,
        paidStep("coder", cost, { timestamp: at + 500 }),
        endRecord(reason, 0, "over", at + 500),
      );
    }
    const timestamp = 1;
    writeFileSync(
      registryPath(root),
      `workflows:\n  review:\n    hash: ${hash}\n    timestamp: ${timestamp}\n    history: []\n`,
      { mode: 0o600 },
    );
    const host = openLocalHost({ path: root });
    await host.summary();
    const reading = async <T>(run: () => Promise<T>): Promise<T> => {
      const { result, opened } = await opening(run);
      expect(opened).toEqual([]);
      return result;
    };
    const queries: ThreadQuery[] = [
      { limit: 100 },
      { limit: 100, offset: 50_000 },
      { status: "failed", limit: 100 },
      { minCost: 1 },
      { minWorkedMs: 501 },
      { hasError: true, since: 1_000_000 * hour, until: 1_000_001 * hour },
      { workflow: "review", search: "prompt 99999" },
    ];
    for (const query of queries) await reading(() => host.threads(query));
    const { rows } = await reading(() => host.threads({ minCost: 1 }));
    expect(rows.map(({ threadId }) => threadId)).toEqual([logged.idOf(7)]);
    const { hours } = await reading(() => host.summary());
    expect(hours.reduce((sum, { runs }) => sum + runs, 0)).toBe(count);
    expect(hours[0]).toMatchObject({ runs: 3_600, failed: 360, p50Ms: 500, p95Ms: 500 });
    const [version] = await reading(() => host.history("review"));
    expect(version).toMatchObject({
      ...{ threads: count, completed: 0.9 * count, failed: 0.1 * count },
      ...{ roles: [{ name: "coder", calls: count }], models: [{ name: "m", calls: count }] },
    });
    await host.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 600_000);
