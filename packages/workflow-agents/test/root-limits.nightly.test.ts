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

/* Tests threads of several versions, and so of several processes, which share the limits of their storage root. */
setDefaultTimeout(120_000);
const folder = mkdtempSync(join(tmpdir(), "uncaged-root-limits-"));
const versions = 3;

let held: Promise<void> | undefined;
let words = 1;
let server: Awaited<ReturnType<typeof anthropicServer>>;
const files: string[] = [];
beforeAll(async () => {
  server = await anthropicServer(() => ({
    ...{ text: "well ".repeat(words), ...(held && { held }) },
  }));
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

/** Creates a storage root with limits, and returns functions that act on it. */
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
    const ledgers = await Promise.all(refs.map(async (ref) => ledgerOf(await host.attempts(ref))));
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

type Question = { for: string; limit: string; expiresAt: number };
const questionOf = (view: ThreadView): Question | null =>
  view.status === "waiting" ? (view.question.meta as unknown as Question) : null;
const nextDay = (): number => new Date(Date.now() + 86_400_000).setUTCHours(0, 0, 0, 0);
const answer = { kind: "answer", input: { content: "again" } } as const;

test("twenty threads of three processes stop at the limit, and continue when it is raised", async () => {
  // Each call costs about $0.02, and each thread makes three calls. The server ignores a maximum of output tokens, so
  // an answer must fit into the smallest reservation, of 1,024 tokens.
  words = 800;
  const { host, limit, begin, spentBy, counted, env } = await rootWith({ costPerDay: 0.2 });
  const refs = await Promise.all(Array.from({ length: 20 }, (_, n) => begin(n)));
  const stopped = await Promise.all(refs.map((ref) => settled(host, ref)));
  const spent = await spentBy(refs);
  expect(spent).toBeLessThanOrEqual(0.2);
  expect(spent).toBeGreaterThan(0.15);
  expect(counted()).toBeCloseTo(spent, 8);
  const waiting = stopped.filter(({ status }) => status === "waiting");
  expect(waiting.length).toBeGreaterThan(10);
  for (const view of stopped) {
    if (view.status === "completed") continue;
    expect(questionOf(view)).toMatchObject({
      ...{ for: "limits", limit: "costPerDay", amount: 0.2, expiresAt: nextDay() },
    });
  }
  limit({ costPerDay: 10 });
  for (const ref of refs) {
    for (let view = await settled(host, ref); view.status === "waiting"; ) {
      await host.control(ref, { ...answer, env });
      view = await settled(host, ref);
    }
  }
  const ended = await Promise.all(refs.map((ref) => settled(host, ref)));
  expect(ended.filter(({ status }) => status !== "completed")).toEqual([]);
  expect(counted()).toBeCloseTo(await spentBy(refs), 8);
});

test("a killed worker's reservation is released, and its interrupted call counts with the reported usage", async () => {
  words = 1000;
  const { host, begin, spentBy, counted, kill, env } = await rootWith({ costPerDay: 0.1 });
  const { promise, resolve } = Promise.withResolvers<void>();
  held = promise;
  const came = server.came.length;
  const lost = await begin(0);
  await until(() => server.came.length > came);
  await kill();
  await until(async () => (await host.read(lost)).status === "interrupted");
  held = undefined;
  resolve();
  const other = await begin(1);
  expect((await settled(host, other)).status).toBe("completed");
  // A killed worker may leave a record without a newline. The limits count it, and a reader sees it after the resume.
  expect(counted()).toBeGreaterThanOrEqual((await spentBy([lost, other])) - 1e-8);
  await host.control(lost, { kind: "resume", env });
  expect((await settled(host, lost)).status).toMatch(/waiting|completed/);
  expect(counted()).toBeCloseTo(await spentBy([lost, other]), 8);
});

test.each(["", "{", '{"version":1,"days":{},"calls":[],"found":[]}'])(
  "spending is counted again from the logs if its file is %p, including removed threads and forks",
  async (text) => {
    words = 100;
    const { root, host, begin, spentBy, counted, env } = await rootWith({ costPerMonth: 1 });
    const [one, two] = [await begin(0), await begin(1)];
    for (const ref of [one, two]) expect((await settled(host, ref)).status).toBe("completed");
    const fork = await host.fork(one, { env });
    expect((await settled(host, fork)).status).toBe("completed");
    const spent = await spentBy([one, two, fork]);
    expect(counted()).toBeCloseTo(spent, 8);
    await host.remove(two);
    if (text === "") rmSync(spendingPath(root));
    else writeFileSync(spendingPath(root), text);
    const last = await begin(2);
    expect((await settled(host, last)).status).toBe("completed");
    expect(counted()).toBeCloseTo(spent + (await spentBy([last])), 8);
  },
);
