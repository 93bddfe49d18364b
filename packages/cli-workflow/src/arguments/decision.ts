import { type ThreadView, WorkflowError } from "@uncaged/workflow/host";
import { wrongUse } from "../session/failure.ts";
import { jsonOf } from "./values.ts";

/** The options with which a person decides on the tool call that a thread asks for. */
export type DecisionOptions = { approve?: boolean; edit?: string; refuse?: string };

/** What a question for a tool call takes as its answer. */
export type Decision = { approve: boolean; input?: unknown; reason?: string };

/** The decision that the options are, or undefined for none. @throws WorkflowError `BAD_JSON`, or wrong use. */
export async function decisionOf(
  { approve, edit, refuse }: DecisionOptions,
  input: string | undefined,
): Promise<Decision | undefined> {
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

/** The answer that decides on the call which a thread asks for, and on no other one. */
export function answerFor(view: ThreadView, decision: Decision, token: string | undefined) {
  const { threadId } = view;
  if (view.status !== "waiting" || view.question.meta.for !== "tool") {
    const what =
      view.status === "waiting"
        ? `waits for ${String(view.question.meta.for)}`
        : `is ${view.status}`;
    throw WorkflowError.failed(
      "NO_CALL",
      `${threadId} ${what}: there is no tool call to decide on`,
      view.status === "waiting"
        ? `answer it: uncaged-workflow resume ${threadId} --input 'your answer'`
        : `see the thread: uncaged-workflow thread ${threadId}`,
    );
  }
  const seen = view.question.meta.token;
  const bound = token ?? (typeof seen === "string" ? seen : undefined);
  return {
    content: JSON.stringify(decision),
    value: decision,
    meta: { ...(bound !== undefined && { token: bound }) },
  };
}
