import {
  type ForkOptions,
  type Host,
  retryOptions,
  type ThreadRef,
  type ThreadView,
} from "@uncaged/workflow/host";
import { isQuestion, keptSteps } from "@uncaged/workflow/internal";
import { z } from "zod";
import { isDecided, isDecision, needsPerson } from "./approval.ts";
import {
  approvalNotAllowed,
  bothGiven,
  isAsking,
  noQuestion,
  otherQuestion,
  questionRequired,
} from "./errors.ts";
import { stateOf, stateText } from "./state.ts";
import { limitFields, limitsIn, stateSchema, threadField } from "./threads.ts";
import { type Access, type Call, defineTool } from "./tool.ts";
import { waitField, waitFor } from "./wait.ts";

const text = z.string();
const answerField = z.json().describe("Text, or JSON that fits the question's schema.");

/** Returns an answer as an input of a thread. The host parses a text by the question's schema. */
function inputOf(answer: z.infer<typeof answerField>, { by }: Call) {
  return typeof answer === "string"
    ? { content: answer, by }
    : { content: JSON.stringify(answer), value: answer, by };
}

/**
 * Refuses to continue a thread that asks a question. The host's own error would tell a model the command that approves.
 */
function checkNotAsking(view: ThreadView): void {
  if (view.status !== "waiting" || !isQuestion(view.question)) return;
  throw isAsking(view.threadId, needsPerson(view.question));
}

async function stateAfter(host: Host, ref: ThreadRef, wait: number, call: Call) {
  await waitFor(host, ref, wait, call);
  const data = await stateOf(host, ref);
  return { data, text: stateText(data) };
}

export const answerThread = defineTool({
  name: "answer_thread",
  title: "Answer a thread's question",
  description:
    "Answers the open question of a waiting thread. A decision, such as an approval, belongs to the user: it is refused " +
    "unless this server was started with --allow-approve. Never decide without asking the user.",
  input: z.strictObject({
    threadId: threadField,
    answer: answerField,
    question: z
      .int()
      .min(1)
      .optional()
      .describe("The question's number from get_thread; required for a decision."),
    wait: waitField,
  }),
  output: stateSchema,
  kind: "adds",
  role: "answer",
  async run({ host, env, allowApprove }, { threadId: id, answer, question, wait }, call) {
    const ref = await host.find(id);
    const view = await host.read(ref);
    const { threadId, status, steps } = view;
    if (view.status !== "waiting" || !isQuestion(view.question)) throw noQuestion(threadId, status);
    const open = steps.length;
    if (question !== undefined && question !== open) throw otherQuestion(threadId, question, open);
    if (!allowApprove && (needsPerson(view.question) || isDecided(answer)))
      throw approvalNotAllowed(threadId);
    if (needsPerson(view.question) && question === undefined)
      throw questionRequired(threadId, open);
    const input = inputOf(answer, call);
    await host.control(ref, { kind: "answer", input, question: open, env });
    return await stateAfter(host, ref, wait, call);
  },
});

export const controlThread = defineTool({
  name: "control_thread",
  title: "Pause, resume or kill a thread",
  description:
    "Pauses a thread after its current step, resumes a paused or interrupted thread, or kills a thread: it ends, and only " +
    "retry_thread or fork_thread continue it.",
  input: z.strictObject({
    threadId: threadField,
    action: z.enum(["pause", "resume", "kill"]),
    wait: waitField,
  }),
  output: stateSchema,
  kind: "ends",
  async run({ host, env }, { threadId, action, wait }, call) {
    const ref = await host.find(threadId);
    if (action === "resume") checkNotAsking(await host.read(ref));
    await host.control(ref, action === "pause" ? { kind: "pause" } : { kind: action, env });
    return await stateAfter(host, ref, wait, call);
  },
});

export const forkThread = defineTool({
  name: "fork_thread",
  title: "Fork a thread",
  description:
    "Starts a new thread that keeps the first steps of another and runs from there, on this or another version. The " +
    "other thread does not change. By default the new thread keeps all steps but the last.",
  input: z.strictObject({
    threadId: threadField,
    atStep: z.int().nonnegative().optional().describe("Keeps the first N steps."),
    fromRole: text
      .min(1)
      .optional()
      .describe("Keeps all up to this role's last step; role#2: its second."),
    prompt: text.optional(),
    params: z.json().optional(),
    on: text.min(1).optional().describe("Another version: a name, name@hash, or a hash."),
    edit: z
      .strictObject({ content: text.optional(), meta: z.record(text, z.json()).optional() })
      .optional()
      .describe("Replaces parts of the last kept step."),
    answer: answerField.optional().describe("Answers the last kept step, a question."),
    anew: z
      .boolean()
      .optional()
      .describe("Repeats the step in progress without its recorded model turns."),
    newThreadId: text
      .optional()
      .describe(
        "A ULID chosen by you for the new thread: a second fork with the same id starts nothing.",
      ),
    ...limitFields,
    wait: waitField,
  }),
  output: stateSchema,
  kind: "adds",
  async run(access, given, call) {
    const { host, env } = access;
    const { threadId, atStep, fromRole, edit, answer, newThreadId, wait, ...rest } = given;
    const { maxCost, maxTokens, ...changes } = rest;
    if (atStep !== undefined && fromRole !== undefined) throw bothGiven("atStep", "fromRole");
    const keep =
      fromRole !== undefined ? { fromRole } : atStep === undefined ? undefined : { atStep };
    const ref = await host.find(threadId);
    const view = await host.read(ref);
    const all = changes.anew ? { atStep: view.steps.length } : undefined;
    const kept = keptSteps(view.steps, keep ?? all);
    checkDecisions(access, view, kept.at(-1), given);
    const forked = await host.fork(ref, {
      ...changes,
      ...limitsIn({ maxCost, maxTokens }),
      // The checked steps, even if the thread has more by now.
      ...{ keep: { atStep: kept.length }, env, threadId: newThreadId },
      traceparent: call.traceparent,
      edit: edit && { ...edit, by: call.by },
      input: answer === undefined ? undefined : inputOf(answer, call),
    });
    return await stateAfter(host, forked, wait, call);
  },
});

/** Refuses a fork that makes or changes a person's decision. `last` is the index of the last kept step. */
function checkDecisions(
  { allowApprove }: Access,
  view: ThreadView,
  last: number | undefined,
  { answer, edit }: Pick<ForkOptions, "edit"> & { answer?: unknown },
): void {
  const step = last === undefined ? undefined : view.steps[last];
  if (allowApprove || last === undefined || !step) return;
  const isAnswered = answer !== undefined && (needsPerson(step) || isDecided(answer));
  // A role that asks a person repeats the decision in its own step, after the answer.
  const holdsDecision = isDecision(view, last) || isDecision(view, last - 1);
  const isAnswer = [step, view.steps[last - 1]].some((one) => one?.role === "__input__");
  const decides = isAnswer && (isDecided(edit?.content) || isDecided(edit?.meta?.value));
  // The meta of a question determines whether the answer belongs to a person.
  const isEdited = edit && (holdsDecision || decides || step.role === "__wait__");
  if (isAnswered || isEdited) throw approvalNotAllowed(view.threadId);
}

export const retryThread = defineTool({
  name: "retry_thread",
  title: "Retry a thread",
  description:
    "Continues a failed, killed or stopped thread in a new thread that keeps its steps. Use `on` to " +
    "continue on a corrected version.",
  input: z.strictObject({
    threadId: threadField,
    on: text.min(1).optional().describe("Another version: a name, name@hash, or a hash."),
    ...limitFields,
    wait: waitField,
  }),
  output: stateSchema,
  kind: "adds",
  async run({ host, env }, { threadId, wait, maxCost, maxTokens, ...changes }, call) {
    const ref = await host.find(threadId);
    const { traceparent } = call;
    const options = { ...changes, ...limitsIn({ maxCost, maxTokens }), traceparent, env };
    const view = await host.read(ref);
    checkNotAsking(view);
    const forked = await host.fork(ref, retryOptions(view, options));
    return await stateAfter(host, forked, wait, call);
  },
});
