import type { Attempt } from "../record/attempt.ts";
import type { ThreadRef } from "../record/thread.ts";
import { answerRules } from "./host-answers.ts";
import { figureRules } from "./host-figures.ts";
import {
  asker,
  bare,
  blocking,
  bundle,
  contents,
  counter,
  endless,
  equal,
  failing,
  type HostUnderTest,
  isOwn,
  nameOf,
  refused,
  type Rules,
  speaking,
  surroundings,
  Trial,
} from "./host-trial.ts";
import { settled } from "./rules.ts";

/** A rule of every host. `check` throws when the host breaks it. */
export type HostRule = { name: string; check: (under: HostUnderTest) => Promise<void> };

/**
 * Returns the rules of every `Host`. Run each rule against a new host.
 *
 * @example for (const { name, check } of hostContract()) test(name, async () => check(await make()));
 */
export function hostContract(): HostRule[] {
  return Object.entries(rules).map(([name, check]) => ({
    name,
    check: (under) => check(new Trial(under)),
  }));
}

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const rules: Rules = {
  ...answerRules,
  ...figureRules,

  async "a start is durable when it returns, and its thread is found and listed"(trial) {
    const { host } = trial;
    const ref = await trial.start(counter, { prompt: "go", params: { a: 1 }, options: { x: "y" } });
    equal(await host.find(ref.threadId), ref, "found by its id");
    equal(await host.find(ref.threadId.slice(-20)), ref, "found by its suffix");
    equal(await host.find("@last"), ref, "found as the newest");
    const view = await settled(host, ref);
    const { status, prompt, params } = view;
    equal({ status, prompt, params }, { status: "completed", prompt: "go", params: { a: 1 } });
    equal(contents(view), ["0", "1", "2"]);
    const { rows, total } = await host.threads({ limit: 1 });
    equal([rows[0]?.threadId, rows[0]?.steps, total], [ref.threadId, 3, 1]);
    equal((await host.row(ref))?.status, "completed");
  },

  async "a repeated start or fork with a thread's id is idempotent, and a different one is refused"(
    trial,
  ) {
    const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    const { host } = trial;
    const named = { threadId, name: "named", traceparent };
    const first = await trial.start(counter, named);
    await settled(host, first);
    const again = await trial.start(endless, named);
    equal(again, first, "the first thread is returned, also for another version");
    await refused(() => trial.start(endless, { threadId, name: "other" }), "THREAD_EXISTS");
    const forkId = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
    const options = { threadId: forkId, keep: { atStep: 1 }, env: {}, traceparent };
    const fork = await host.fork(first, options);
    equal(await host.fork(first, options), fork);
    await refused(() => host.fork(first, { ...options, threadId }), "THREAD_EXISTS");
    await refused(() => trial.start(counter, { ...named, threadId: forkId }), "THREAD_EXISTS");
    await settled(host, fork);
    equal((await host.threads()).rows.length, 2);
    for (const ref of [first, fork]) {
      const [start] = await trial.observe(ref, undefined, { events: false });
      equal(start?.kind === "start" && start.start.traceparent, traceparent);
    }
  },

  async "a refused start leaves no trace"(trial) {
    const { host } = trial;
    const nobody = { workflow: "nobody", cwd: "/", env: {} };
    await refused(() => host.start(nobody), "WORKFLOW_NOT_FOUND");
    await refused(() => trial.start(counter, { maxRounds: 0 }), "BAD_MAX_ROUNDS");
    await refused(() => trial.start(counter, { options: { cwd: 1 } }), "BAD_OPTION");
    await refused(() => host.find("@last"), "THREAD_NOT_FOUND");
    equal((await host.threads()).rows, []);
  },

  async "an observer that starts at a cursor sees everything after it"(trial) {
    const ref = await trial.start(speaking);
    const whole = await trial.observe(ref);
    const kinds = whole.filter(({ kind }) => kind !== "status").map(nameOf);
    equal(kinds.filter(isOwn), ["start", "print a", "a", "print b", "b", "print c", "c", "end"]);
    const recorded = await trial.observe(ref);
    equal(recorded.map(nameOf), kinds, "the second read");
    for (const [index, { cursor }] of recorded.entries()) {
      const rest = await trial.observe(ref, cursor);
      equal(rest.map(bare), recorded.slice(index + 1).map(bare), `after ${cursor}`);
      const before = await trial.observe(ref, undefined, { until: cursor });
      equal(before.map(bare), recorded.slice(0, index + 1).map(bare), `until ${cursor}`);
    }
    const records = await trial.observe(ref, undefined, { events: false });
    equal(records.map(nameOf), ["start", "a", "b", "c", "end"]);
  },

  async "events and the step of an attempt carry its id"(trial) {
    const ref = await trial.start(speaking);
    await settled(trial.host, ref);
    const attempts = (await trial.observe(ref)).flatMap((item) => {
      if (item.kind === "step") return [item.step.attempt];
      return item.kind === "event" && item.event.type === "print" ? [item.event.attempt] : [];
    });
    equal(attempts.length, 6);
    for (const [index, attempt] of attempts.entries()) {
      equal(typeof attempt, "string");
      const first = index - (index % 2);
      equal(attempts.indexOf(attempt), first, "a print and its step belong to one attempt");
    }
  },

  async "attempts show the work of each step, also in a fork"(trial) {
    const { host } = trial;
    const ref = await trial.start(speaking);
    const summary = ({ step, status, notes, saved }: Attempt) => ({
      ...{ step, status, saved },
      notes: notes.map(({ type, payload }) => `${type} ${String(payload.value)}`),
    });
    await settled(host, ref);
    const attempts = await host.attempts(ref);
    const of = (step: number, role: string, saved = false) => {
      return { step, status: "committed", saved, notes: [`print ${role}`] };
    };
    equal(attempts.map(summary), [of(1, "a"), of(2, "b"), of(3, "c")]);
    const fork = await host.fork(ref, { keep: { atStep: 2 }, env: {} });
    const second = await host.fork(fork, { keep: { atStep: 1 }, env: {} });
    await settled(host, fork);
    const copied = (await host.attempts(fork)).slice(0, 2);
    equal(copied.map(summary), [of(1, "a", true), of(2, "b", true)]);
    await settled(host, second);
    equal((await host.attempts(second)).slice(0, 1).map(summary), [of(1, "a", true)]);
    await host.remove(ref);
    const [first] = await host.attempts(fork);
    equal(
      first && summary(first),
      { ...of(1, "a", true), notes: [] },
      "after its source was removed",
    );
  },

  async "an observer sees steps, questions and the end as they occur, in order"(trial) {
    const { host } = trial;
    const ref = await trial.start(asker);
    const seen: string[] = [];
    let answered = false;
    for await (const item of host.observe(ref)) {
      seen.push(nameOf(item));
      if (item.kind !== "status" || item.state.status !== "waiting" || answered) continue;
      answered = true;
      equal(item.state.question.content, "may I?");
      await host.control(ref, { kind: "answer", input: { content: "yes" }, env: {} });
    }
    const found = seen.filter((name) => isOwn(name) && name !== "running");
    equal(found, ["start", "__wait__", "waiting", "__input__", "thanks", "end"]);
  },

  async "a cursor of another thread and an invalid cursor are refused"(trial) {
    const ref = await trial.start(counter);
    await settled(trial.host, ref);
    for (const cursor of ["", "nonsense", "d1.i0", "d99999999.i0"]) {
      await refused(() => trial.observe(ref, cursor), "BAD_POSITION");
    }
  },

  async "a thread pauses between two steps and is resumed"(trial) {
    const { host } = trial;
    const ref = await trial.start(endless);
    await refused(() => host.control(ref, { kind: "resume", env: {} }), "ALREADY_RUNNING");
    await host.control(ref, { kind: "pause" });
    const { steps } = await trial.until(ref, "paused");
    const live = (await host.live()).map(({ status }) => status);
    equal(live, ["paused"]);
    await host.control(ref, { kind: "resume", env: {} });
    await trial.until(ref, "running", (view) => view.steps.length > steps.length);
    await host.control(ref, { kind: "kill" });
  },

  async "a kill is in the log when it returns, and is final"(trial) {
    const { host } = trial;
    const ref = await trial.start(endless);
    equal(await host.control(ref, { kind: "kill" }), { threadId: ref.threadId, resumed: [] });
    const view = await host.read(ref);
    equal(view.status === "killed" && view.result.returnCode, 143);
    for (const command of [
      { kind: "kill" },
      { kind: "pause" },
      { kind: "resume", env: {} },
    ] as const) {
      await refused(() => host.control(ref, command), "THREAD_ENDED");
    }
    const input = { content: "too late" };
    await refused(() => host.control(ref, { kind: "answer", input, env: {} }), "THREAD_ENDED");
  },

  // Hosts with threads on other machines can't end a remote process, but the kill still ends the thread.
  async "a forced kill ends a thread whose role blocks its worker"(trial) {
    const { host } = trial;
    const ref = await trial.start(blocking);
    // Reading the thread's state would wait for the blocked worker.
    while ((await trial.lines(ref, "print")) === 0);
    await host.control(ref, { kind: "kill", force: true, env: {} });
    const view = await host.read(ref);
    equal([view.status, contents(view)], ["killed", ["begun"]]);
  },

  // Depending on the host, a thread gets the environment of its starter or of its worker.
  async "a thread has the environment that its host gives it, and the folder of its starter"(
    trial,
  ) {
    const own = "UNCAGED_OF_CONTRACT";
    const given = { UNCAGED_OF_CONTRACT: "the starter's" };
    const ref = await trial.start(surroundings, { env: given, cwd: "/", options: { own } });
    const { steps } = await settled(trial.host, ref);
    equal(steps[0]?.meta, { cwd: "/", value: { ...given, ...trial.workerEnv }[own] });
  },

  async "a failure is in the status, and a retry keeps every step"(trial) {
    const { host } = trial;
    const ref = await trial.start(failing);
    const view = await settled(host, ref);
    equal(view.status === "failed" && [view.result, view.error?.name, view.error?.step], [
      { returnCode: 1, summary: "no such model" },
      "TypeError",
      2,
    ]);
    const { forkFrom } = await host.fork(ref, { keep: { atStep: 1 }, env: {} });
    equal(forkFrom, { threadId: ref.threadId, steps: 1 });
  },

  async "a fork begins with a copy of the chosen steps"(trial) {
    const { host } = trial;
    const ref = await trial.start(counter, { prompt: "one" });
    const source = await settled(host, ref);
    const forked = await host.fork(ref, {
      keep: { atStep: 2 },
      prompt: "two",
      edit: { content: "edited" },
      options: { count: 4 },
      env: {},
    });
    const fork = await settled(host, forked);
    equal([fork.prompt, fork.forkFrom], ["two", { threadId: ref.threadId, steps: 2 }]);
    equal(fork.steps[0], source.steps[0], "a copied step, its time included");
    equal(contents(fork), ["0", "edited", "2", "3"]);
    const family = (await host.family(ref)).map(({ threadId }) => threadId);
    equal(family, [ref.threadId, fork.threadId]);
    await refused(() => host.fork(ref, { keep: { fromRole: "nobody" }, env: {} }), "NO_SUCH_ROLE");
    await refused(() => host.fork(ref, { keep: { atStep: 9 }, env: {} }), "NO_SUCH_STEP");
  },

  async "an unfinished thread is removed only by force"(trial) {
    const { host } = trial;
    const ref = await trial.start(endless);
    await refused(() => host.remove(ref), "THREAD_RUNNING");
    const observer = host.observe(ref)[Symbol.asyncIterator]();
    // The observer must start before the removal, or the thread is not found.
    let last = (await observer.next()).value;
    await host.remove(ref, { force: true });
    await refused(() => host.read(ref), "THREAD_NOT_FOUND");
    equal(await host.row(ref), null);
    await refused(() => host.remove(ref), "THREAD_NOT_FOUND");
    for (let next = await observer.next(); !next.done; next = await observer.next())
      last = next.value;
    const isSeen = last?.kind === "removed" || last?.kind === "end";
    equal(isSeen, true, "its observer sees the removal");
  },

  async "rounds and record sizes are limited"(trial) {
    const { host } = trial;
    const ref = await trial.start(endless, { maxRounds: 3 });
    const view = await settled(host, ref);
    equal(view.status === "completed" && view.steps.length, 3);
    const size = host.maxRecordBytes + 1;
    const large = await trial.start(bundle(`yield step("large", "x".repeat(${size}));`));
    const failed = await settled(host, large);
    equal(failed.steps, [], "no part of a too large record is in the log");
  },

  async "changes begin with ready and name new rows, new statuses and removals"(trial) {
    const { host } = trial;
    const stop = new AbortController();
    const seen: string[] = [];
    let ref: ThreadRef | null = null;
    for await (const change of host.changes(stop.signal)) {
      if (change.kind === "ready") ref = await trial.start(counter);
      seen.push(change.kind === "thread" ? change.row.status : change.kind);
      if (change.kind === "thread" && change.row.status === "completed" && ref)
        await host.remove(ref);
      if (change.kind === "removed") stop.abort();
    }
    equal([seen[0], seen.at(-2), seen.at(-1)], ["ready", "completed", "removed"]);
  },
};
