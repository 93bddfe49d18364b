import type { AgentFn, ThreadContext } from "@uncaged/workflow";
import { AgentReport, inAttempt, publish } from "../run/run.ts";
import { noAnswerFor, stepsEnded } from "./errors.ts";

/** One answer: a text, or a function of the thread that returns a text. */
export type ScriptedAnswer = string | ((ctx: ThreadContext, systemPrompt: string) => string);

/**
 * The answers of a scripted agent. In a list, the number of steps so far selects the answer. In a table, the first key
 * that the system prompt contains selects the answer.
 */
export type Script = readonly ScriptedAnswer[] | Readonly<Record<string, ScriptedAnswer>>;

/**
 * Returns an agent that answers from a script. The answers depend only on the thread, so they are the same after a
 * restart.
 *
 *     const agent = scriptedAgent({ "You plan": "1. read 2. fix", "You code": "+1 -1" });
 *
 * The agent throws the {@link WorkflowError} `NO_ANSWER` if the script lacks an answer.
 */
export function scriptedAgent(script: Script): AgentFn {
  return (ctx, systemPrompt) =>
    inAttempt(ctx, async () => {
      ctx.signal?.throwIfAborted();
      const answer = answerTo(script, ctx, systemPrompt);
      const text = typeof answer === "string" ? answer : answer(ctx, systemPrompt);
      for (const [delta] of text.matchAll(/\S*\s*/g)) if (delta) publish("llm_token", { delta });
      new AgentReport().done({ model: "scripted" });
      return text;
    });
}

function answerTo(script: Script, { steps }: ThreadContext, systemPrompt: string): ScriptedAnswer {
  const isList = Array.isArray(script);
  const [, answer] = isList
    ? ["", script[steps.length] as ScriptedAnswer | undefined]
    : (Object.entries(script).find(([part]) => systemPrompt.includes(part)) ?? []);
  if (answer !== undefined) return answer;
  throw isList
    ? stepsEnded(steps.length + 1)
    : noAnswerFor(systemPrompt, "an answer to the scripted agent's script");
}
