import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost, settled, type ThreadRef, type ThreadView } from "@uncaged/workflow/host";
import { bundlePath, configPath, spendingPath } from "../../workflow/src/disk/paths.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ledgerOf } from "../src/ledger/ledger.ts";
import { anthropicServer } from "./anthropic-server.ts";

/* The threads of several versions, so in several processes, keep to the limits of their storage root together. */
setDefaultTimeout(120_000);
const folder = mkdtempSync(join(tmpdir(), "uncaged-root-limits-"));
const versions = 3;

let held: Promise<void> | undefined;
let server: Awaited<ReturnType<typeof anthropicServer>>;
const files: string[] = [];
beforeAll(async () => {
  server = await anthropicServer(() => ({ text: "well", ...(held && { held }) }));
  const root = openRoot({ path: join(folder, "first") });
  const host = openLocalHost({ path: root });
  const { hash } = await host.register("version-0", join(import.meta.dir, "limited/limited.ts"));
  const text = readFileSync(bundlePath(root, hash), "utf8");
  for (let n = 0; n < versions; n += 1) {
    files[n] = join(folder, `version-${n}.esm.js`);
    writeFileSync(files[n] as string, text.replaceAll("version-0", `version-${n}`));
  }
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/** A storage root with limits, and what is asked of it. */
async function rootWith(limits: object) {
  const root = openRoot({ path: join(mkdtempSync(join(folder, "case-")), "root") });
  const host = openLocalHost({ path: root });
  for (const [n, file] of files.entries()) await host.register(`version-${n}`, file);
  const limit = (now: object) => writeFileSync(configPath(root), JSON.stringify({ limits: now }));
  limit(limits);
  const env = {
    PATH: process.env.PATH ?? "",
    ...{ ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url },
  };
  const begin = (n = 0): Promise<ThreadRef> =>
    host.start({ workflow: `version-${n % versions}`, prompt: `claude ${n}`, env, cwd: folder });
  const spentBy = async (refs: readonly ThreadRef[]): Promise<number> => {
    const ledgers = await Promise.all(
      refs.map(async (ref) => ledgerOf(await host.attempts(ref))),
    );
    return ledgers.reduce((sum, { total }) => sum + total.cost, 0);
  };
  const counted = (): number => {
    const { days } = JSON.parse(readFileSync(spendingPath(root), "utf8")) as {
      days: Record<string, { cost: number }>;
    };
    return Object.values(days).reduce((sum, { cost }) => sum + cost, 0);
  };
  const kill = async () => {
    await signalWorkers(root, "SIGKILL");
  };
  return { root, host, limit, env, begin, spentBy, counted, kill };
}

test("what is it", async () => {
  const { root, host, limit, begin, spentBy } = await rootWith({ costPerDay: 100 });
  const ref = await begin();
  console.log((await settled(host, ref)).status, readFileSync(spendingPath(root), "utf8"), await spentBy([ref]));
  limit({ costPerDay: 0.05 });
  const two = await begin(1);
  console.log(JSON.stringify(await settled(host, two), null, 1).slice(0, 3000));
  console.log(readFileSync(spendingPath(root), "utf8"), await spentBy([ref, two]));
});
