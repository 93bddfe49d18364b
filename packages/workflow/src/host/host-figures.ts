import type { ThreadRef, ThreadRow } from "../record/thread.ts";
import type { Host } from "./host.ts";
import { asker, bundle, counter, endless, equal, failing, type Rules } from "./host-trial.ts";
import { settled } from "./rules.ts";

/** Yields two steps with a cost of one dollar each. The second step records a failure that the workflow caught. */
const spending = bundle(`
  const usage = { input_tokens: 90, output_tokens: 10 };
  const failure = { name: "Error", message: "no answer" };
  const own = [{}, { __durable__: { failure } }];
  for (let n = input.steps.length; n < 2; n += 1) {
    yield step(n === 0 ? "plan" : "code", "", { usage, model: "m", cost: 1, ...own[n] });
  }`);
const secondFails = bundle(
  'if (input.prompt === "fail") throw new Error("no disk"); yield step("a");',
);

const hourMs = 3_600_000;

// Threads that start in one millisecond are listed in any order.
const listed = async (host: Host, { threadId }: ThreadRef): Promise<ThreadRow | undefined> =>
  (await host.threads()).rows.find((row) => row.threadId === threadId);

/** Rules for the figures of threads on every host. */
export const figureRules: Rules = {
  async "a row has a subject: the first line of the prompt, else the params, else the workflow"(
    trial,
  ) {
    const { host } = trial;
    const subjectOf = async (options: object): Promise<unknown> => {
      const ref = await trial.start(counter, options);
      const { subject } = (await host.row(ref)) ?? {};
      equal((await listed(host, ref))?.subject, subject, "the same in a list");
      return subject;
    };
    const hostile = "\n \u202e\u0000\n\u001b[31m<b>Fix</b>\u001b[0m\tthe \u2067bug\u2069\nnow";
    equal(await subjectOf({ prompt: hostile }), "<b>Fix</b> the bug");
    const long = (await subjectOf({ prompt: "y".repeat(300) })) as string;
    equal([long.length, long.at(-1)], [200, "…"]);
    equal(await subjectOf({ params: { file: "a\nb", n: 3, all: [1] } }), "file: a, n: 3, all: [1]");
    equal(await subjectOf({ name: "review" }), "review");
  },

  async "a row has the role or text of its thread's current place"(trial) {
    const { host } = trial;
    const placeOf = async (text: string) => {
      const ref = await trial.start(text);
      await settled(host, ref);
      const { at, hasError } = (await host.row(ref)) as ThreadRow;
      const row = await listed(host, ref);
      equal([row?.at, row?.hasError], [at, hasError], "the same in a list");
      return { ...at, hasError };
    };
    equal(await placeOf(counter), { role: "count", text: null, hasError: false });
    equal(await placeOf(failing), { role: null, text: "no such model", hasError: true });
    equal(await placeOf(asker), { role: null, text: "may I?", hasError: false });
    equal(await placeOf(spending), { role: "code", text: null, hasError: true });
  },

  async "a row counts the spending of its own steps"(trial) {
    const { host } = trial;
    const ref = await trial.start(spending);
    await settled(host, ref);
    equal((await host.row(ref))?.spent, { tokens: 200, cost: 2, unpriced: 0 });
    const fork = await host.fork(ref, { keep: { atStep: 1 }, env: {} });
    await settled(host, fork);
    equal((await host.row(fork))?.spent, { tokens: 100, cost: 1, unpriced: 0 });
    const copy = await host.fork(ref, { keep: { atStep: 2 }, env: {} });
    await settled(host, copy);
    const { spent, hasError } = (await host.row(copy)) as ThreadRow;
    equal([spent.cost, hasError], [0, false], "copied steps count only in their source");
  },

  async "a list is filtered by time, working time, cost and errors"(trial) {
    const { host } = trial;
    const cheap = await trial.start(counter, { options: { count: 2, delayMs: 60 } });
    await settled(host, cheap);
    const dear = await trial.start(spending);
    await settled(host, dear);
    const failed = await trial.start(failing);
    await settled(host, failed);
    const ids = async (query: object) =>
      (await host.threads({ ...query, limit: 10 })).rows.map(({ threadId }) => threadId);
    const [first, second, third] = [cheap, dear, failed].map(({ threadId }) => threadId);
    const { createdAt } = (await host.row(dear)) as ThreadRow;
    equal(await ids({ minCost: 1.5 }), [second]);
    equal(await ids({ hasError: true }), [third, second]);
    equal(await ids({ hasError: true, status: "completed" }), [second]);
    equal((await ids({ minWorkedMs: 100 })).includes(first as string), true);
    equal(await ids({ minWorkedMs: 3_600_000 }), []);
    equal(await ids({ since: createdAt, search: "no such model" }), [third]);
    equal((await ids({ until: createdAt })).at(-1), first);
    equal(await ids({ until: createdAt - 1, minCost: 1 }), []);
    const { total, next } = await host.threads({ since: 1, limit: 2 });
    equal([total, next], [null, second]);
  },

  async "a summary has the figures of each hour"(trial) {
    const { host } = trial;
    equal(await host.summary(), { hours: [] });
    const rows: ThreadRow[] = [];
    for (const text of [spending, failing]) {
      const ref = await trial.start(text);
      await settled(host, ref);
      rows.push((await host.row(ref)) as ThreadRow);
    }
    const open = await trial.start(endless);
    const { hours } = await host.summary();
    const of = (name: "runs" | "failed" | "cost") =>
      hours.reduce((sum, hour) => sum + hour[name], 0);
    equal([of("runs"), of("failed"), of("cost")], [3, 1, 2]);
    const [worked = 0] = rows.map(({ workedMs }) => workedMs);
    const { hours: own } = await host.summary({ workflow: rows[0]?.hash });
    const at = Math.floor((rows[0]?.createdAt ?? 0) / hourMs) * hourMs;
    equal(own, [{ at, runs: 1, failed: 0, p50Ms: worked, p95Ms: worked, cost: 2 }]);
    const { hours: running } = await host.summary({ status: "running" });
    equal(
      running.map(({ runs, p50Ms }) => [runs, p50Ms]),
      [[1, null]],
    );
    equal(await host.summary({ minCost: 3 }), { hours: [] });
    await host.control(open, { kind: "kill" });
  },

  async "a history has the figures of each version"(trial) {
    const { host } = trial;
    const none = { completed: 0, failed: 0, p50Ms: null, p95Ms: null, cost: 0, tokens: 0 };
    const empty = { ...none, newestFailure: null, days: [], roles: [], models: [] };
    const first = await trial.put(spending, "review");
    const second = await trial.put(secondFails, "review");
    const [now, before] = await host.history("review");
    equal([now?.hash, now?.threads, before?.hash], [second, 0, first]);
    for (const row of [now, before]) {
      const {
        hash: _,
        sha256: __,
        timestamp: ___,
        current: ____,
        threads: _____,
        ...rest
      } = row ?? {};
      equal(rest, empty);
    }
    const ran = async (workflow: string, prompt: string): Promise<ThreadRow> => {
      const ref = await host.start({ workflow, prompt, cwd: "/", env: {} });
      await settled(host, ref);
      return (await host.row(ref)) as ThreadRow;
    };
    const spent = await ran(first, "");
    await ran("review", "pass");
    const failed = await ran("review", "fail");
    const [newer, older] = await host.history("review");
    const { threadId, subject, updatedAt } = failed;
    equal(
      [newer?.threads, newer?.completed, newer?.failed, newer?.newestFailure],
      [2, 1, 1, { threadId, subject, error: "no disk", at: updatedAt }],
    );
    equal([newer?.days.length === 1, newer?.days[0]?.failed], [true, 1]);
    equal(
      [older?.cost, older?.tokens, older?.p50Ms, older?.p95Ms],
      [2, 200, spent.workedMs, spent.workedMs],
    );
    const part = { calls: 1, tokens: 100, cost: 1 };
    equal(older?.roles, [
      { name: "code", ...part, failed: 1 },
      { name: "plan", ...part, failed: 0 },
    ]);
    equal(older?.models, [{ name: "m", calls: 2, tokens: 200, cost: 2, failed: 0 }]);
  },
};
