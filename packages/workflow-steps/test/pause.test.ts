import { expect, test } from "bun:test";
import type { ExecutionContext, StepDocument } from "../src/entry/index.ts";
import { flow, heard, held, ran, settled, trial, until } from "./ran.ts";

const vars = ["$reply(OBJECT)", "$other(OBJECT)", "$late(BOOL)", "$a(INT)"];

/** Returns a workflow with a Pause, a Set after it, and a Set for a late answer. */
const pausing = (more: Partial<StepDocument> = {}) =>
  flow(
    [
      {
        id: "Pause_A",
        reason: "approve?",
        resumeResultTarget: "$reply",
        next: "Set_A",
        ...more,
      },
      { id: "Set_A", target: "$a", value: 1, next: "Stop_A" },
      ...(more.timeout ? [{ id: "Set_Late", target: "$late", value: true, next: "Stop_A" }] : []),
      { id: "Stop_A" },
    ],
    { vars },
  );

const tokenOf = (context: ExecutionContext): string => context.snapshot().paused?.token ?? "";

test("a Pause resolves execute with the status paused, a token and its checkpoint", async () => {
  const { context, status, payloads, checkpoints } = await ran(pausing());
  expect(status).toBe("paused");
  const token = tokenOf(context);
  expect(token).toMatch(/^[0-9a-f]{32}$/);
  expect(context.snapshot()).toMatchObject({
    currentStepID: "Pause_A",
    paused: { nodeID: "Pause_A", token },
  });
  expect(payloads("pause_start")).toEqual([
    { nodeId: "Pause_A", waitToken: token, reason: "approve?", expireAt: null },
  ]);
  expect(context.checkpoint()).toMatchObject({ status: "paused", currentStepID: "Pause_A" });
  expect(checkpoints).toEqual([]);
});

test("a valid answer is written to its target, and the run continues at next", async () => {
  const { context, events } = await ran(pausing());
  const token = tokenOf(context);
  expect(await context.resume({ token, payload: { ok: 1 }, requestId: "r1" })).toEqual({
    ok: true,
  });
  await context.done;
  const { payloads, of } = heard(events);
  expect(context.snapshot()).toMatchObject({
    status: "stopped",
    paused: null,
    variables: { $reply: { ok: 1 }, $a: 1 },
  });
  expect(payloads("pause_resumed")).toEqual([
    { nodeId: "Pause_A", requestId: "r1", resumedAt: expect.any(String) },
  ]);
  expect(of("Pause_A")).toBe("step_start pause_start var_changed pause_resumed step_done");
});

test("a wrong token is rejected and changes nothing", async () => {
  const { context, events } = await ran(pausing());
  const reply = await context.resume({ token: "0".repeat(32), payload: 1 });
  expect(reply).toMatchObject({ ok: false });
  expect(heard(events).payloads("pause_rejected")).toEqual([{ reason: expect.any(String) }]);
  expect(context.status).toBe("paused");
  expect(await context.resume({ token: tokenOf(context) })).toEqual({ ok: true });
  await context.done;
  expect(context.snapshot().variables.$reply).toBeNull();
});

test("a used token is rejected, and the same requestId gets the same reply without a second effect", async () => {
  const { context, events } = await ran(twice);
  const token = tokenOf(context);
  const answer = { token, payload: { n: 1 }, requestId: "r1" };
  expect(await context.resume(answer)).toEqual({ ok: true });
  await context.done;
  expect(context.snapshot().paused?.nodeID).toBe("Pause_B");
  expect(await context.resume({ ...answer, payload: { n: 2 } })).toEqual({ ok: true });
  expect(heard(events).payloads("pause_rejected")).toEqual([]);
  expect(await context.resume({ token, payload: { n: 3 } })).toMatchObject({ ok: false });
  expect(heard(events).payloads("pause_rejected")).toHaveLength(1);
  expect(context.snapshot()).toMatchObject({
    status: "paused",
    variables: { $reply: { n: 1 }, $other: null },
  });
  expect(tokenOf(context)).not.toBe(token);
});
const twice = flow(
  [
    { id: "Pause_A", resumeResultTarget: "$reply", next: "Pause_B" },
    { id: "Pause_B", resumeResultTarget: "$other", next: "Stop_A" },
    { id: "Stop_A" },
  ],
  { vars },
);

test("of two simultaneous answers, only one is accepted", async () => {
  const { context } = await ran(pausing());
  const token = tokenOf(context);
  const replies = await Promise.all([1, 2].map((n) => context.resume({ token, payload: { n } })));
  expect(replies).toMatchObject([{ ok: true }, { ok: false }]);
  await context.done;
  expect(context.snapshot().variables.$reply).toEqual({ n: 1 });
});

test("an answer to a run that is not paused is rejected, and its event keeps the order of seq", async () => {
  const slow = held();
  const document = flow([
    { id: "Fork_A", children: ["Work_A", "Work_B"], next: "RETURN" },
    { id: "Work_A", next: "RETURN" },
    { id: "Work_B", next: "RETURN" },
  ]);
  const { engine, events } = trial(document, { work: { Work_A: () => slow.promise } });
  const context = engine.start();
  const stop = context.onEvent(({ type, stepID }) => {
    if (type === "step_done" && stepID === "Work_B") void context.resume({ token: "x" });
  });
  await until(() => events.some(({ type }) => type === "pause_rejected"));
  stop();
  slow.resolve();
  await context.done;
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
});

test("an answer after the end is refused, and no event follows the last", async () => {
  const { context, events } = await ran(pausing());
  const token = tokenOf(context);
  await context.resume({ token });
  await context.done;
  const { length } = events;
  const { eventSeq } = context.snapshot();
  expect(await context.resume({ token })).toMatchObject({ ok: false, reason: expect.any(String) });
  expect(await context.resume({ token: "x" })).toMatchObject({ ok: false });
  context.abort();
  await settled();
  expect(events).toHaveLength(length);
  expect(events.at(-1)?.type).toBe("workflow_done");
  expect(context.snapshot()).toMatchObject({ status: "stopped", eventSeq });
});

test("a timeout continues at its step, and a later answer is refused", async () => {
  const { context, events } = await ran(pausing({ timeout: { sec: 0.02, on: "Set_Late" } }));
  const token = tokenOf(context);
  await context.done;
  const { payloads, started } = heard(events);
  expect(context.snapshot()).toMatchObject({
    status: "stopped",
    variables: { $late: true, $a: null, $reply: null },
  });
  expect(started).toEqual(["Pause_A", "Set_Late", "Stop_A"]);
  expect(payloads("pause_timeout")).toEqual([
    { nodeId: "Pause_A", expiredAt: expect.any(String), timeoutAction: "Set_Late" },
  ]);
  expect(Date.parse(String(payloads("pause_start")[0]?.expireAt))).toBeGreaterThan(0);
  expect(await context.resume({ token })).toMatchObject({ ok: false });
});

test("an answer in time cancels the timer", async () => {
  const { context } = await ran(pausing({ timeout: { sec: 3600, on: "Set_Late" } }));
  await context.resume({ token: tokenOf(context), payload: {} });
  await context.done;
  expect(context.snapshot().variables).toMatchObject({ $late: null, $a: 1 });
});

test("before the question, other branches finish their current step and do not start another", async () => {
  const slow = held();
  const document = flow(
    [
      { id: "Fork_A", children: ["Pause_A", "Work_B"], next: "Stop_A" },
      { id: "Pause_A", resumeResultTarget: "$reply", next: "RETURN" },
      { id: "Work_B", out: { $a: "=_result" }, next: "Set_C" },
      { id: "Set_C", target: "$other", value: { c: 1 }, next: "RETURN" },
      { id: "Stop_A" },
    ],
    { vars },
  );
  const { engine, events, checkpoints } = trial(document, { work: { Work_B: () => slow.promise } });
  const context = engine.start();
  await settled();
  await settled();
  expect(heard(events).of("Pause_A")).toBe("step_start");
  slow.resolve(undefined);
  await context.done;
  expect(context.status).toBe("paused");
  const types = events.map(({ type, stepID }) => `${stepID} ${type}`);
  expect(types.indexOf("Work_B step_done")).toBeLessThan(types.indexOf("Pause_A pause_start"));
  await settled();
  expect(heard(events).started).not.toContain("Set_C");
  expect(checkpoints).toHaveLength(1);
  await context.resume({ token: tokenOf(context), payload: {} });
  await context.done;
  expect(context.snapshot()).toMatchObject({ status: "stopped", variables: { $other: { c: 1 } } });
});

test("two concurrent Pauses ask in turn: the first is done before the second asks", async () => {
  const document = flow(
    [
      { id: "Fork_A", children: ["Pause_A", "Pause_B"], next: "Stop_A" },
      { id: "Pause_A", resumeResultTarget: "$reply", next: "RETURN" },
      { id: "Pause_B", resumeResultTarget: "$other", next: "RETURN" },
      { id: "Stop_A" },
    ],
    { vars },
  );
  const { context, events, checkpoints } = await ran(document);
  expect(context.snapshot().paused?.nodeID).toBe("Pause_A");
  await context.resume({ token: tokenOf(context), payload: { of: "A" } });
  await context.done;
  expect(context.status).toBe("paused");
  expect(context.snapshot().paused?.nodeID).toBe("Pause_B");
  expect(heard(events).of("Pause_A")).toBe(
    "step_start pause_start var_changed pause_resumed step_done",
  );
  expect(checkpoints.at(-1)).toMatchObject({
    variables: { $reply: { of: "A" } },
    completedBranches: { Fork_A: ["Pause_A"] },
  });
  await context.resume({ token: tokenOf(context), payload: { of: "B" } });
  await context.done;
  expect(context.snapshot()).toMatchObject({
    status: "stopped",
    variables: { $reply: { of: "A" }, $other: { of: "B" } },
  });
});

test("a paused run can be aborted", async () => {
  const { context, events } = await ran(pausing());
  context.abort();
  await context.done;
  expect(context.snapshot()).toMatchObject({ status: "cancelled", paused: null });
  expect(events.at(-1)?.type).toBe("workflow_cancelled");
  expect(await context.resume({ token: "x" })).toMatchObject({ ok: false });
  expect(events.at(-1)?.type).toBe("workflow_cancelled");
});

test("a run can be aborted while a Pause waits for a branch that hangs", async () => {
  const document = flow(
    [
      { id: "Fork_A", children: ["Pause_A", "Work_B"], next: "RETURN" },
      { id: "Pause_A", resumeResultTarget: "$reply", next: "RETURN" },
      { id: "Work_B", next: "RETURN" },
    ],
    { vars },
  );
  const { engine, events } = trial(document, { work: { Work_B: () => new Promise(() => null) } });
  const context = engine.start();
  await until(() => events.length >= 3);
  context.abort();
  await context.done;
  expect([context.status, events.at(-1)?.type]).toEqual(["cancelled", "workflow_cancelled"]);
});

test("a paused run resumes from its checkpoint with a new token", async () => {
  const first = await ran(pausing());
  const from = JSON.parse(JSON.stringify(first.context.checkpoint()));
  const { context, events } = await ran(pausing(), { from });
  expect(context.status).toBe("paused");
  expect(tokenOf(context)).not.toBe(tokenOf(first.context));
  expect(await context.resume({ token: tokenOf(first.context) })).toMatchObject({ ok: false });
  await context.resume({ token: tokenOf(context), payload: { again: true } });
  await context.done;
  expect(context.snapshot().variables.$reply).toEqual({ again: true });
  expect(events[0]).toMatchObject({
    type: "workflow_start",
    payload: { resumedFrom: "Pause_A" },
  });
});

test("a listener can answer at once, during pause_start", async () => {
  const replies: unknown[] = [];
  const { engine } = trial(pausing());
  const context = engine.start();
  context.onEvent(({ type, payload }) => {
    if (type !== "pause_start") return;
    void context
      .resume({ token: String(payload.waitToken), payload: { q: 1 } })
      .then((reply) => replies.push(reply));
  });
  await until(() => replies.length > 0);
  expect(replies).toEqual([{ ok: true }]);
  await until(() => context.status === "stopped");
});

test("an answer that its variable can't hold fails the Pause", async () => {
  const { context, events } = await ran(pausing());
  const failure = context.resume({ token: tokenOf(context), payload: { f: () => 1 } });
  expect(await failure).toEqual({ ok: true });
  expect(context.done).rejects.toMatchObject({ stepID: "Pause_A" });
  await until(() => events.at(-1)?.type === "workflow_failed");
});
