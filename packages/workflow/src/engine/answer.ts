import {
  INPUT,
  type InputMeta,
  type JsonSchema,
  type RoleOutput,
  type Step,
  type WaitMeta,
} from "../contract/contract.ts";
import { messageOf, type WorkflowError, failedError } from "../contract/error.ts";
import type { InputRequest } from "../control/control.ts";
import { requestIdOf, takenIds } from "../thread/selection.ts";
import { sleep } from "./halt.ts";

// A timer counts no time that the machine sleeps, and knows nothing of a clock that is set.
const longestTimer = 10_000;

/** A schema that is ready (why a value does not fit it, or null when it does), or what is wrong with it. */
export type Compiled = { validate: (value: unknown) => string | null } | { problem: string };

/** Compiles a JSON Schema. */
export type SchemaJudge = (schema: JsonSchema) => Promise<Compiled>;

/** What is wrong with the schema of a `__wait__` step that was yielded, or null. */
export async function schemaProblem(wait: WaitMeta, judge: SchemaJudge): Promise<string | null> {
  if (wait.schema === undefined) return null;
  const judgement = await judge(wait.schema);
  return "problem" in judgement ? `meta.schema is no JSON Schema: ${judgement.problem}` : null;
}

/** A thread as a refusal names it. */
type Named = { threadId: string };

/** When an answer came, to which thread, and who validates it. */
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
  const violation = await violationOf(wait, value, judge);
  if (violation)
    throw refused(
      "ANSWER_INVALID",
      thread,
      `the answer does not fit what ${wait.for} asks for: ${violation}`,
    );
  const meta: InputMeta = { ...input.meta, for: wait.for };
  if ("value" in input) meta.value = input.value;
  return { role: INPUT, content: input.content, meta };
}

async function violationOf(
  wait: WaitMeta,
  value: unknown,
  judge: SchemaJudge,
): Promise<string | null> {
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
  return failedError(
    code,
    message,
    `see the question and the steps: uncaged-workflow thread ${threadId}`,
  );
}

/** Who is notified of a refused answer. `stepID` is that of the question, when it has one. */
export type RefusalParts = {
  note: (tag: string, content: string) => void;
  onRefused: (stepID: string | null, reason: string) => void;
};

/** The answers that a thread gets: of those with the same `requestId` one is given, and all get its reply. */
export class Answers {
  readonly #parts: RefusalParts;
  readonly #given: Map<string, Promise<void>>;

  /** `steps` are the committed ones: what they hold was given already. */
  constructor(steps: readonly Step[], parts: RefusalParts) {
    this.#parts = parts;
    this.#given = new Map(takenIds(steps).map((id) => [id, Promise.resolve()]));
  }

  /** Gives an answer to a question, if there is one; `take` commits it, or throws why it is refused. */
  give(input: InputRequest, wait: WaitMeta | null, take: () => Promise<void>): Promise<void> {
    const id = requestIdOf(input);
    if (id === undefined) return this.#reported(wait, take);
    const before = this.#given.get(id);
    if (before) return before;
    const given = this.#reported(wait, take);
    this.#given.set(id, given);
    given.catch(() => this.#given.delete(id));
    return given;
  }

  async #reported(wait: WaitMeta | null, take: () => Promise<void>): Promise<void> {
    try {
      await take();
    } catch (error) {
      const reason = messageOf(error);
      this.#parts.note("7GX2W9QA", `answer refused: ${reason}`);
      this.#parts.onRefused(typeof wait?.stepID === "string" ? wait.stepID : null, reason);
      throw error;
    }
  }
}
