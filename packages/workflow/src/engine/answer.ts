import type { JsonSchema, RoleOutput } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { INPUT, type InputMeta, type WaitMeta } from "../contract/reserved.ts";
import type { InputRequest } from "../control/control.ts";
import { sleep } from "./halt.ts";

// A timer counts no time that the machine sleeps, and knows nothing of a clock that is set.
const longestTimer = 10_000;

/** A schema that is ready (why a value does not fit it, or null when it does), or what is wrong with it. */
export type Judgement = { validate: (value: unknown) => string | null } | { problem: string };

/** Compiles a JSON Schema. */
export type SchemaJudge = (schema: JsonSchema) => Promise<Judgement>;

/** What is wrong with the schema of a `__wait__` step that was yielded, or null. */
export async function problemOfSchema(wait: WaitMeta, judge: SchemaJudge): Promise<string | null> {
  if (wait.schema === undefined) return null;
  const judgement = await judge(wait.schema);
  return "problem" in judgement ? `meta.schema is no JSON Schema: ${judgement.problem}` : null;
}

/** A thread as a refusal names it. */
type Named = { threadId: string };

/** When an answer came, to which thread, and who judges it. */
export type Asked = { now: number; judge: SchemaJudge; thread: Named };

/**
 * The `__input__` step that an answer becomes. One that brings a token must bring the question's: who
 * answers an earlier question has not seen this one. One without a token is taken.
 *
 * @throws WorkflowError `ANSWER_TOKEN`, `ANSWER_LATE` or `ANSWER_INVALID`; nothing is then written.
 */
export async function answerStep(
  wait: WaitMeta,
  input: InputRequest,
  { now, judge, thread }: Asked,
): Promise<RoleOutput> {
  const token = input.meta?.token;
  if (token !== undefined && token !== wait.token) {
    throw refused("ANSWER_TOKEN", thread, `the answer's token is not that of ${wait.for}`);
  }
  if (isOver(wait, now)) {
    const late = new Date(wait.expiresAt as number).toISOString();
    throw refused(
      "ANSWER_LATE",
      thread,
      `the answer comes too late: ${wait.for} could be answered until ${late}`,
    );
  }
  const value = "value" in input ? input.value : input.content;
  const fault = await faultOf(wait, value, judge);
  if (fault)
    throw refused(
      "ANSWER_INVALID",
      thread,
      `the answer does not fit what ${wait.for} asks for: ${fault}`,
    );
  const meta: InputMeta = { ...input.meta, for: wait.for };
  if ("value" in input) meta.value = input.value;
  return { role: INPUT, content: input.content, meta };
}

async function faultOf(wait: WaitMeta, value: unknown, judge: SchemaJudge): Promise<string | null> {
  if (wait.schema === undefined) return null;
  const judgement = await judge(wait.schema);
  return "problem" in judgement ? judgement.problem : judgement.validate(value);
}

/** The `__input__` step of a wait that nobody answered in time. */
export function timeoutStep(wait: WaitMeta): RoleOutput {
  const meta: InputMeta = { for: wait.for, timedOut: true };
  if (wait.onTimeout !== undefined) meta.value = wait.onTimeout;
  return { role: INPUT, content: "", meta };
}

/** Whether the time for an answer is over. */
export const isOver = (wait: WaitMeta, now: number): boolean =>
  wait.expiresAt !== undefined && now >= wait.expiresAt;

/** Waits until the time for an answer is over, or the signal is aborted. */
export async function untilOver(
  wait: WaitMeta,
  now: () => number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && !isOver(wait, now())) {
    await sleep(Math.min((wait.expiresAt as number) - now(), longestTimer), signal);
  }
}

/** The error that a thread is just being let go by its worker. */
export const notLive = (thread: Named) =>
  refused("NOT_LIVE", thread, "the thread is being released by its worker");

/** The error that there is no question, or no longer one. */
export const notWaiting = (thread: Named) =>
  refused("NOT_WAITING", thread, "the thread waits for no answer, or has got one");

function refused(code: string, { threadId }: Named, message: string): WorkflowError {
  return new WorkflowError({
    code,
    kind: "failed",
    message,
    hint: `see the question and the steps: uncaged-workflow thread ${threadId}`,
  });
}
