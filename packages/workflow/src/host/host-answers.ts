import { isWorkflowError } from "../contract/error.ts";
import type { Keep } from "../record/selection.ts";
import { approvals, asker, contents, equal, refused, type Rules, sleeper } from "./host-trial.ts";
import { settled } from "./rules.ts";

const tooLate = ["NOT_WAITING", "STALE_ANSWER", "THREAD_ENDED"];
const codeOf = (error: unknown): string => (isWorkflowError(error) ? error.code : String(error));

const decisions = (...all: string[]): string =>
  JSON.stringify(all.map((decision) => ({ decision, note: "" })));

/** Rules for questions and answers of every host. */
export const answerRules: Rules = {
  async "a question is answered once, even if the answer is sent repeatedly"(trial) {
    const { host } = trial;
    const ref = await trial.start(asker);
    const waiting = await settled(host, ref);
    equal(waiting.status, "waiting");
    await refused(() => host.control(ref, { kind: "resume", env: {} }), "WAITING");
    const input = { content: "yes", meta: { requestId: "1" } };
    const answer = { kind: "answer", input, env: {} } as const;
    await Promise.all([host.control(ref, answer), host.control(ref, answer)]);
    const roles = (await settled(host, ref)).steps.map(({ role }) => role);
    equal(roles, ["__wait__", "__input__", "thanks"]);
    equal(await host.control(ref, answer), { threadId: ref.threadId }, "a repeated answer");
  },

  async "one of many concurrent answers is accepted, and the others are refused"(trial) {
    const { host } = trial;
    const ref = await trial.start(asker);
    await settled(host, ref);
    const answers = Array.from({ length: 20 }, (_, n) =>
      host.control(ref, { kind: "answer", input: { content: `of ${n}` }, env: {} }),
    );
    const outcomes = await Promise.allSettled(answers);
    const taken = outcomes.flatMap(({ status }, n) => (status === "fulfilled" ? [`of ${n}`] : []));
    const late = outcomes.flatMap((one) => (one.status === "rejected" ? [codeOf(one.reason)] : []));
    equal([taken.length, late.filter((code) => !tooLate.includes(code))], [1, []]);
    const { steps } = await settled(host, ref);
    equal(
      steps.filter(({ role }) => role === "__input__").map(({ content }) => content),
      taken,
    );
  },

  async "a refused answer is in the debug log, and the question stays open"(trial) {
    const { host } = trial;
    const ref = await trial.start(asker, { params: { schema: { minLength: 2 } } });
    await settled(host, ref);
    const answer = (content: string, meta = {}) =>
      host.control(ref, { kind: "answer", input: { content, meta }, env: {} });
    await refused(() => answer("x"), "ANSWER_INVALID");
    await refused(() => answer("yes", { token: "another" }), "ANSWER_TOKEN");
    equal((await host.read(ref)).status, "waiting");
    await answer("yes");
    await settled(host, ref);
    const rejected = (await trial.observe(ref)).flatMap((item) =>
      item.kind === "event" && item.event.type === "pause_rejected" ? [item.event] : [],
    );
    equal(
      rejected.map(({ step, stepID }) => [step, stepID]),
      [
        [2, "may"],
        [2, "may"],
      ],
    );
    const [first, second] = rejected.map(({ seq }) => seq);
    equal((second ?? 0) - (first ?? 0), 1, "events are numbered");
    equal(await trial.lines(ref, "7GX2W9QA"), 2, "log lines of refused answers");
  },

  async "an answer to a question that is not open is refused"(trial) {
    const { host } = trial;
    const ref = await trial.start(approvals);
    await settled(host, ref);
    const answer = (content: string, question?: number, requestId?: string) => {
      const input = { content, meta: { requestId } };
      return host.control(ref, { kind: "answer", input, question, env: {} });
    };
    for (const number of [0, 2, 3]) await refused(() => answer("yes", number), "STALE_ANSWER");
    await answer("yes", 1, "first");
    await trial.until(ref, "waiting", ({ steps }) => steps.length === 3);
    await answer("yes", 1, "first");
    await refused(() => answer("yes", 1), "STALE_ANSWER");
    equal((await host.read(ref)).steps.length, 3);
    // Among concurrent answers to both questions, the answers to the first question are refused.
    const both = [1, 3, 1].map((question) => answer("no", question).then(() => question));
    const taken = (await Promise.allSettled(both)).map(({ status }) => status);
    equal(taken, ["rejected", "fulfilled", "rejected"]);
    equal(contents(await settled(host, ref)).at(-1), decisions("approve", "reject"));
  },

  async "an answer names its sender, whatever its meta says"(trial) {
    const { host } = trial;
    const by = { kind: "channel", name: "telegram:7" } as const;
    const meta = { by: { kind: "terminal", name: "forged" } };
    const answered = async (input: { by?: unknown; meta?: object }) => {
      const ref = await trial.start(asker);
      await settled(host, ref);
      const whole = { content: "yes", ...input } as { content: string };
      await host.control(ref, { kind: "answer", input: whole, env: {} });
      return { ref, by: (await settled(host, ref)).steps[1]?.meta.by };
    };
    equal((await answered({ meta })).by, { kind: "api" });
    for (const wrong of [{ kind: "person" }, { ...by, role: "admin" }, { name: "me" }, "me"])
      await refused(() => answered({ by: wrong }), "BAD_REQUEST");
    const { ref, by: given } = await answered({ by, meta });
    equal(given, by);
    const byOf = async (atStep: number, changes: object) => {
      const fork = await host.fork(ref, { keep: { atStep }, ...changes, env: {} });
      return (await settled(host, fork)).steps[1]?.meta.by;
    };
    equal(await byOf(2, {}), by, "a fork keeps the sender");
    const changed = { content: "no", meta: { for: "may", ...meta } };
    equal(await byOf(2, { edit: changed }), { kind: "api" }, "the editor is the sender of an edit");
    const own = { ...changed, by: { kind: "console" } };
    for (const [atStep, changes] of [
      [2, { edit: own }],
      [1, { input: own }],
    ] as const)
      equal(await byOf(atStep, changes), own.by);
    const input = { ...changed, by: { kind: "person" } };
    await refused(() => byOf(1, { input }), "BAD_REQUEST");
  },

  async "an approval accepts only a decision"(trial) {
    const { host } = trial;
    const ref = await trial.start(approvals);
    const answer = (content: string) =>
      host.control(ref, { kind: "answer", input: { content }, env: {} });
    await settled(host, ref);
    for (const content of [
      "",
      "{}",
      "null",
      "fine",
      '["approve"]',
      '{"decision":"approve","approved":false}',
    ]) {
      await refused(() => answer(content), "NOT_A_DECISION");
    }
    equal((await host.read(ref)).steps.length, 1);
    await answer(" No ");
    await trial.until(ref, "waiting", ({ steps }) => steps.length === 3);
    await answer('{"approved":true}');
    equal(contents(await settled(host, ref)).at(-1), decisions("reject", "approve"));
    // A fork can include the answer.
    const input = { content: "fine" };
    await refused(() => host.fork(ref, { keep: { atStep: 1 }, input, env: {} }), "NOT_A_DECISION");
    const kept = { keep: { atStep: 1 }, input: { content: "approved" }, env: {} };
    const fork = await host.fork(ref, kept);
    const { steps } = await settled(host, fork);
    equal(steps[1]?.meta.value, { decision: "approve", note: "" });
    // An edited answer takes its value from the new text.
    const edit = (content: string) =>
      host.fork(ref, { keep: { atStep: 2 }, edit: { content }, env: {} });
    await refused(() => edit("fine"), "NOT_A_DECISION");
    const edited = await settled(host, await edit("approved"));
    equal(edited.steps[1]?.meta.value, { decision: "approve", note: "" });
  },

  async "a fork's answer is checked like an answer to a waiting thread"(trial) {
    const { host } = trial;
    const ref = await trial.start(asker, { params: { schema: { enum: ["red", "green"] } } });
    await settled(host, ref);
    await host.control(ref, { kind: "answer", input: { content: "red" }, env: {} });
    await settled(host, ref);
    const before = (await host.family(ref)).length;
    const forked = (atStep: number, changes: object) =>
      host.fork(ref, { keep: { atStep }, ...changes, env: {} });
    const input = (content: string, meta = {}) => ({ input: { content, meta } });
    await refused(() => forked(1, input("blue")), "ANSWER_INVALID");
    await refused(() => forked(1, input("green", { token: "another" })), "ANSWER_TOKEN");
    await refused(() => forked(2, { edit: { content: "blue" } }), "ANSWER_INVALID");
    await refused(() => forked(2, { edit: { meta: { value: "blue" } } }), "ANSWER_INVALID");
    equal((await host.family(ref)).length, before, "no thread is created");
    for (const changes of [input("green"), { edit: { content: "green" } }]) {
      const atStep = "edit" in changes ? 2 : 1;
      const { steps } = await settled(host, await forked(atStep, changes));
      const [, answer, thanks] = steps;
      equal([answer?.meta.for, answer?.content, thanks?.content], ["leave", "green", "green"]);
    }
  },

  async "a fork's answer needs the open question that it answers"(trial) {
    const { host } = trial;
    const ref = await trial.start(approvals);
    const answer = { kind: "answer", input: { content: "no" }, env: {} } as const;
    await settled(host, ref);
    await host.control(ref, answer);
    await trial.until(ref, "waiting", ({ steps }) => steps.length === 3);
    const before = (await host.family(ref)).length;
    const forked = (keep: Keep) => host.fork(ref, { keep, input: { content: "approve" }, env: {} });
    for (const atStep of [0, 2]) await refused(() => forked({ atStep }), "NOT_A_QUESTION");
    await refused(() => forked({ steps: [0, 1] }), "NOT_A_QUESTION");
    await host.control(ref, answer);
    await settled(host, ref);
    // These forks keep an answer without its question.
    for (const steps of [[0, 3], [1], [0, 1, 3]])
      await refused(() => host.fork(ref, { keep: { steps }, env: {} }), "QUESTION_NOT_KEPT");
    equal((await host.family(ref)).length, before, "no thread is created");
    const { steps } = await settled(host, await forked({ atStep: 3 }));
    equal(steps.at(-1)?.content, decisions("reject", "approve"));
    const late = await trial.start(asker, { params: { expiresAt: 1 } });
    await trial.until(late, "completed");
    const kept = { keep: { atStep: 1 }, input: { content: "yes" }, env: {} };
    await refused(() => host.fork(late, kept), "ANSWER_LATE");
    const edited = { keep: { atStep: 2 }, edit: { content: "yes" }, env: {} };
    await refused(() => host.fork(late, edited), "ANSWER_LATE");
    const asleep = await trial.start(sleeper);
    await settled(host, asleep);
    await refused(() => host.fork(asleep, kept), "NOT_A_QUESTION");
  },
};
