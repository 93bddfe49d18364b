import { isApproval } from "@uncaged/workflow/records";
import type { Step, ThreadView } from "@uncaged/workflow/host";
import { whatNext } from "../output/outcome.ts";
import { wrongUse } from "../session/errors.ts";
import { jsonOf } from "./values.ts";
import { noCall } from "./errors.ts";

/** Options for a person's decision on an approval or a tool call. */
export type DecisionOptions = { approve?: boolean; edit?: string; refuse?: string };

/** A decision in the form of an answer to a tool call's question. */
export type CallDecision = { approve: boolean; input?: unknown; reason?: string };

/**
 * Returns the decision in the options; undefined if the options have none.
 * @throws WorkflowError `BAD_JSON`, or a usage error.
 */
export async function callDecision(
  { approve, edit, refuse }: DecisionOptions,
  input: string | undefined,
): Promise<CallDecision | undefined> {
  const isYes = approve === true || edit !== undefined;
  if (!isYes && refuse === undefined) return undefined;
  const others = [
    isYes && "--approve",
    refuse !== undefined && "--refuse",
    input !== undefined && "--input",
  ];
  const given = others.filter(Boolean);
  if (given.length > 1)
    throw wrongUse(`${given.join(" and ")} can't be used together`, "give one of them");
  if (refuse !== undefined) {
    return { approve: false, ...(refuse.trim() !== "" && { reason: refuse }) };
  }
  return edit === undefined
    ? { approve: true }
    : { approve: true, input: await jsonOf("--edit", edit) };
}

/**
 * Returns the answer with a decision on a thread's tool call.
 * @throws WorkflowError `NO_CALL` if the thread does not wait for a decision.
 */
export function answerFor(view: ThreadView, decision: CallDecision, token: string | undefined) {
  const { threadId } = view;
  if (view.status !== "waiting") {
    const hint = `see the thread: uncaged-workflow thread ${threadId}`;
    throw noCall(`${threadId} is ${view.status}: there is nothing to decide on`, hint);
  }
  const value = answerTo(view.question, decision);
  if (value === null) {
    const what = decision.input === undefined ? "nothing to decide on" : "no tool call to edit";
    const hint = whatNext(threadId, view) ?? "";
    throw noCall(`${threadId} waits for ${String(view.question.meta.for)}: there is ${what}`, hint);
  }
  return {
    content: JSON.stringify(value),
    value,
    meta: { ...(token !== undefined && { token }) },
  };
}

/** Returns a decision in the question's format; null if the question asks for something else. */
function answerTo({ meta }: Step, decision: CallDecision): object | null {
  if (meta.for === "tool") return decision;
  if (!isApproval({ for: "", ...meta }) || decision.input !== undefined) return null;
  const { approve, reason = "" } = decision;
  return { decision: approve ? "approve" : "reject", note: reason };
}
