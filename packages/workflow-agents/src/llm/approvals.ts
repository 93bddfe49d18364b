import { type Answered, maskOf, messageOf } from "@uncaged/workflow/interpreter";
import type { JsonSchema, WaitRequest } from "@uncaged/workflow";
import { isObject, oneLine } from "../run/error.ts";
import { currentRun } from "../run/run.ts";
import { callHash, type NeededApproval } from "../tools/approval.ts";
import type { ToolContext, ToolRunner } from "../tools/tools.ts";
import type { ToolUse } from "./provider.ts";
import type { Recorded, RecordingStep } from "./recorded.ts";
import { approvalImpossible } from "./errors.ts";

/**
 * The decision on a call. An approved call has the hash of the approved call, and the new input with a note for the
 * model if a person changed the input. `refusal` is the text for the model in place of a result.
 */
export type Decision = {
  wasAsked?: boolean;
  input?: unknown;
  approved?: string;
  note?: string;
  refusal?: string;
};

type Tools = { runner: ToolRunner; context: ToolContext };

/** A call that needs an approval, and the id of the question. */
export type Asking = {
  use: Pick<ToolUse, "name" | "input">;
  need: Omit<NeededApproval, "schema"> & { schema: NeededApproval["schema"] | null };
  id: string;
};

/**
 * Decides on the tool calls of one conversation. The id of a question consists of the step, the conversation, the
 * call's hash, and a number for equal calls, so an approval cannot apply to another input.
 */
export class Approvals {
  readonly #step: RecordingStep;
  readonly #recorded: Recorded;
  readonly #counts = new Map<string, number>();

  constructor(step: RecordingStep = {}, recorded: Recorded) {
    this.#step = step;
    this.#recorded = recorded;
  }

  /** Decides on the calls of a turn in order, before the first call starts. */
  async decide(turn: number, uses: readonly ToolUse[], tools: Tools): Promise<Decision[]> {
    const decisions: Decision[] = [];
    for (const use of uses) {
      const id = this.#idOf(use);
      const isDone = use.broken !== undefined || this.#recorded.result(turn, use.id) !== undefined;
      decisions.push(isDone ? {} : await this.#decideOn(turn, use, id, tools));
    }
    return decisions;
  }

  #idOf({ name, input }: ToolUse): string {
    const { key = "" } = this.#step;
    const call = `${key}:${this.#recorded.conversation}:${callHash(name, input)}`;
    const nth = this.#counts.get(call) ?? 0;
    this.#counts.set(call, nth + 1);
    return `${call}:${nth}`;
  }

  async #decideOn(
    turn: number,
    use: ToolUse,
    id: string,
    { runner, context }: Tools,
  ): Promise<Decision> {
    const { name, input } = use;
    const { questions } = this.#step;
    let need: NeededApproval | null;
    try {
      need = (await runner.approval?.(name, input, context)) ?? null;
    } catch (error) {
      return {
        refusal: `${name} was not run: the check of its approval failed: ${messageOf(error)}`,
      };
    }
    // A person's decision remains valid even if the tool's approval rule has changed since.
    if (!need && questions?.answered(id)) need = anyInput;
    if (!need) return {};
    if (!questions) throw approvalImpossible(name);
    const isKnown = this.#recorded.answer(turn) !== undefined;
    if (hasSecret(input, context.env, isKnown)) return { refusal: secretIn(name) };
    return await askApproval(this.#step, { use, need, id });
  }
}

/** Asks a person to approve a call until the answer is a valid decision. */
export async function askApproval(
  step: RecordingStep,
  { use, need, id }: Asking,
): Promise<Decision> {
  const { name, input } = use;
  const hash = callHash(name, input);
  let problem = "";
  for (let again = 0; ; again += 1) {
    const one = again === 0 ? id : `${id}:${again}`;
    const question = questionFor(step, { use, need, id: one }, problem);
    const answered = await step.questions?.ask(one, "tool", question);
    if (!answered) throw new Error("the step cannot ask for an approval");
    const verdict = verdictOf(answered, name);
    // A fork may have edited the question.
    const { asked } = answered;
    if (callHash(String(asked.tool), asked.input) !== hash) {
      problem = "the last answer was about a call with another input";
    } else if (verdict === null) problem = "the last answer was not a decision";
    else if (typeof verdict === "string") return { wasAsked: true, refusal: verdict };
    else if (!("input" in verdict)) return { wasAsked: true, approved: hash };
    else {
      const wrong = need.problem(verdict.input);
      if (wrong === null) return edited(name, verdict.input);
      problem = `the changed input does not fit: ${wrong}`;
    }
  }
}

function questionFor(
  { attempts }: RecordingStep,
  { use: { name, input }, need: { schema, ms, otherwise }, id }: Asking,
  problem: string,
): WaitRequest {
  const stepID = currentRun().stepID;
  const attempt = attempts?.outermost ?? undefined;
  const reason = "no decision in time";
  const why = problem && ` (${problem})`;
  return {
    content: `${stepID} asks to run ${name} ${oneLine(JSON.stringify(input), 500)}${why}`,
    ...{ tool: name, input, stepID, attempt, schema: answerSchema(schema) },
    ...(problem !== "" && { problem }),
    token: callHash(id, null),
    ...(ms !== null && {
      expiresAt: Date.now() + ms,
      onTimeout: otherwise === "approve" ? { approve: true } : { approve: false, reason },
    }),
  };
}

const anyInput: NeededApproval = { schema: {}, ms: null, otherwise: "refuse", problem: () => null };

/**
 * Returns the schema of an answer. An input schema with references to its own parts cannot be nested in another schema.
 * Without an input schema, a person cannot change the input.
 */
function answerSchema(input: Record<string, unknown> | null): JsonSchema {
  const isWhole = !JSON.stringify(input).includes('"$ref"');
  return {
    type: ["boolean", "object"],
    properties: {
      approve: { type: "boolean" },
      ...(input && { input: isWhole ? input : { type: "object" } }),
      reason: { type: "string" },
    },
    required: ["approve"],
    additionalProperties: false,
  };
}

/**
 * Returns an object for an approval (with `input` if a person changed the input), the text of a refusal, or null if the
 * answer is not a decision.
 */
function verdictOf({ answer }: Answered, name: string): { input?: unknown } | string | null {
  const { value: given, timedOut } = answer;
  const value = typeof given === "boolean" ? { approve: given } : given;
  if (!isObject(value) || typeof value.approve !== "boolean") return null;
  const { approve, input, reason } = value;
  if (approve) return input === undefined ? {} : { input };
  const why = typeof reason === "string" && reason.trim() !== "" ? `: ${reason}` : "";
  if (timedOut) return `${name} was not run${why}`;
  return `${name} was not run: a person refused this call${why}`;
}

const edited = (name: string, input: unknown): Decision => ({
  wasAsked: true,
  input,
  approved: callHash(name, input),
  note: `A person has changed the input of this call to ${JSON.stringify(input)}\n\n`,
});

/** Returns whether an input contains a secret. In a recorded input, secrets are already masked. */
export function hasSecret(input: object, env: ToolContext["env"], wasRecorded: boolean): boolean {
  const json = JSON.stringify(input);
  return maskOf(env)(json) !== json || (wasRecorded && json.includes("***"));
}

export const secretIn = (name: string): string =>
  `${name} was not run: its input contains a secret of the environment, which an approval must not show. Let the tool read the secret itself.`;
