import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { numbered } from "../../packages/workflow-restate/src/client/frame.ts";
import { createThread } from "../../packages/workflow-restate/src/client/transfer.ts";
import { textOf } from "../../packages/workflow/src/log/record.ts";
import { sealed } from "../../packages/workflow/src/log/sum.ts";
import { type Bench, clusterRow } from "../cluster.ts";
import type { Built } from "../command.ts";
import { engineOf } from "../engine.ts";
import { alternately, inTurn, now, type Sample, sampleOf, timed } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { makeStore, reported, threadIdOf } from "../store.ts";

/** Characters of a step. */
const size = 64;

/** One committed step beside a bare `ctx.run`, and beside the local host. */
export const clusterStep = (built: Built): Row =>
  clusterRow("clusterStep", built, async (bench) => {
    const count = 200;
    const store = await makeStore(bench.folder);
    const local = engineOf(store);
    const report = join(bench.folder, "report.json");
    const msAStep = async () => {
      const { began, ended } = await reported(report);
      return (ended - began) / count;
    };
    const takes = [
      async () => (await bench.bare("steps", { count, size })) / count,
      async () => {
        await local.run({ count, size, report }, "step");
        return await msAStep();
      },
      async () => {
        await begin(bench, { count, size, report });
        return await msAStep();
      },
    ];
    await alternately(1, takes);
    const [bare, here, ours] = (await alternately(9, takes)) as [Sample, Sample, Sample];
    const what = "a committed step";
    return [
      line({ what, unit: "ms", against: "a bare `ctx.run`", target: { ratio: 4 } }, [bare, ours]),
      line({ what, unit: "ms", against: "the local host", target: { ratio: 100 } }, [here, ours]),
    ];
  });

/** 100 threads: their steps by two workers beside one, and roles that take time beside the local host. */
export const clusterThreads = (built: Built): Row =>
  clusterRow("clusterThreads", built, async (bench) => {
    const load = { threads: 100, count: 20 };
    const by = (workers: number) => async () => {
      await bench.work(workers);
      return await together(bench, load);
    };
    await by(2)();
    const sample = await inTurn(5, by(1), by(2));
    const what = "100 threads x 20 steps, two workers";
    return [line({ what, unit: "ms", against: "one worker", target: { ratio: 1 / 1.7 } }, sample)];
  });

/** The same with workers that have a fifth of a core each: what a second one adds where there is a core for it. */
export const clusterShares = (built: Built): Row =>
  clusterRow("clusterShares", built, async (bench) => {
    const load = { threads: 100, count: 5 };
    const by = (workers: number) => async () => {
      await bench.work(workers);
      return await together(bench, load);
    };
    await by(2)();
    if (!bench.limit(0.2)) {
      console.error(
        "clusterShares is skipped: no process can be limited to a share of a core here",
      );
      return [];
    }
    const sample = await inTurn(3, by(1), by(2));
    const what = "100 threads x 5 steps, two workers with 0.2 cores each";
    const against = "one worker with 0.2 cores";
    return [line({ what, unit: "ms", against, target: { ratio: 1 / 1.7 } }, sample)];
  });

/** 100 threads whose roles take time, by one, two and three workers. */
export const clusterRoles = (built: Built): Row =>
  clusterRow("clusterRoles", built, async (bench) => {
    const load = { threads: 100, count: 10, takes: 500 };
    const target = { ratio: 1.2 };
    const by = (workers: number) => async () => {
      await bench.work(workers);
      return await together(bench, load);
    };
    await together(bench, { threads: 30, count: 1 });
    const [one, two, three] = (await alternately(3, [by(1), by(2), by(3)])) as [
      Sample,
      Sample,
      Sample,
    ];
    const ideal = sampleOf([load.count * load.takes]);
    const what = "100 threads x 10 roles of 500 ms";
    return [
      line({ what: `${what}, one worker`, unit: "ms", against: "the roles", target }, [ideal, one]),
      line({ what: `${what}, two`, unit: "ms", against: "the roles", target }, [ideal, two]),
      line({ what: `${what}, three`, unit: "ms", against: "the roles", target }, [ideal, three]),
    ];
  });

/** A thread of 10,000 steps is answered: until its next step is committed. */
export const clusterAgain = (built: Built): Row =>
  clusterRow("clusterAgain", built, async (bench) => {
    const count = 10_000;
    const times = 5;
    const file = join(bench.folder, "bare.json");
    await bench.bare("again", { count, size, file }, "send");
    const log = longLog(bench, count);
    const bare = async () => {
      const { id } = await shown<{ id: string }>(file);
      await suspended(bench);
      rmSync(file);
      const began = now();
      await fetch(`${bench.client.address.ingress}/restate/awakeables/${id}/resolve`, {
        method: "POST",
      });
      const { ended } = await shown<{ ended: number }>(file);
      rmSync(file);
      return ended - began;
    };
    const ours = async () => {
      const { threadId, report } = await log();
      const began = now();
      const ref = { hash: bench.hash, threadId };
      await bench.host.control(ref, { kind: "answer", input: { content: "go on" }, env: {} });
      const { ended } = await reported(report);
      return ended - began;
    };
    await ours();
    const samples = await inTurn(times, bare, ours);
    const against = "a bare handler of 10,000 `ctx.run`";
    const most = { most: 200 };
    return [line({ what: "restart at step 10,000", unit: "ms", against, target: most }, samples)];
  });

/** The newest 20 of 10,000 threads. */
export const clusterList = (built: Built): Row =>
  clusterRow("clusterList", built, async (bench) => {
    const count = 10_000;
    const limit = 20;
    const started = longLog(bench, 2);
    for (let left = count; left > 0; left -= 50) {
      await Promise.all(Array.from({ length: 50 }, () => started()));
    }
    await untilListed(bench, count);
    const bare = () => bench.client.query("SELECT 1");
    const list = () => bench.host.threads({ limit });
    const samples = await inTurn(
      15,
      () => timed(bare),
      () => timed(list),
    );
    const what = "the newest 20 of 10,000 threads";
    return [line({ what, unit: "ms", against: "`SELECT 1`", target: { most: 20 } }, samples)];
  });

/** Starts a thread of the bundle. */
async function begin({ host, hash, folder: cwd }: Bench, options: object): Promise<void> {
  const given = { maxRounds: 1_000_000, options: { ...options }, cwd, env: {} };
  await host.start({ workflow: hash, ...given });
}

type Load = { threads: number; count: number; takes?: number };

/** Milliseconds from the first step of threads that are started together until the last has ended. */
async function together(bench: Bench, { threads, ...load }: Load): Promise<number> {
  const reports = Array.from({ length: threads }, (_, n) => join(bench.folder, `report-${n}.json`));
  await Promise.all(reports.map((report) => begin(bench, { ...load, size, report })));
  const found = await Promise.all(reports.map((report) => reported(report)));
  const began = Math.min(...found.map((one) => one.began));
  return Math.max(...found.map((one) => one.ended)) - began;
}

/** Gives what starts threads that have so many steps already and wait: answered, they make one more. */
function longLog({ client, hash, folder }: Bench, count: number) {
  let made = 0;
  return async () => {
    made += 1;
    const threadId = threadIdOf(made);
    const report = join(folder, `report-${made}.json`);
    const timestamp = Date.now();
    const options = { count: count + 1, size, report, maxRounds: 1_000_000 };
    const head = { name: "bench", hash, threadId, parameters: { prompt: "", options }, timestamp };
    const content = "x".repeat(size);
    const last = { role: "__wait__", content: "on?", meta: { for: "on" }, timestamp };
    const steps = Array.from({ length: count - 2 }, (_, n) => ({
      ...{ role: "worker", content, meta: { n }, timestamp },
    }));
    let sum = 0n;
    const lines = [head, ...steps, last].map((record) => {
      const next = sealed(textOf(record), sum);
      ({ sum } = next);
      return Buffer.from(next.text);
    });
    const header = {
      ...{ threadId, hash, workflow: "bench", createdAt: timestamp, records: lines.length },
      ...{ sum: sum.toString(16), last: { role: last.role, timestamp, waits: true } },
      ...{ text: "", taken: [] },
    };
    const kept = lines.map((bytes, n) => ({ key: numbered("s", n), bytes }));
    await createThread(client, header, () => kept);
    return { threadId, report };
  };
}

async function untilListed({ host }: Bench, count: number): Promise<void> {
  while ((await host.threads({ limit: 1 })).total !== count) await Bun.sleep(200);
}

/** What a file has once it is there. */
async function shown<T>(file: string): Promise<T> {
  while (!existsSync(file)) await Bun.sleep(5);
  return JSON.parse(readFileSync(file, "utf8")) as T;
}

/** Waits until the bare handler keeps nothing in memory. */
async function suspended({ client }: Bench): Promise<void> {
  const sql = "SELECT status FROM sys_invocation WHERE target_service_name = 'bare'";
  for (;;) {
    const found = await client.query<{ status: string }>(sql);
    if (found.some(({ status }) => status === "suspended")) return;
    await Bun.sleep(50);
  }
}
