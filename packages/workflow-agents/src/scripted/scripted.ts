import type { AgentFn, ThreadContext } from "@uncaged/workflow";
import { AgentReport, inAttempt, publish } from "../run/run.ts";
import { noAnswerFor, stepsEnded } from "./errors.ts";

/** One answer: a text, or a function of the thread that returns it. */
export type ScriptedAnswer = string | ((ctx: ThreadContext, systemPrompt: string) => string);

/** A list answers by the number of steps so far. A table answers by the first of its keys in the system prompt. */
export type Script = readonly ScriptedAnswer[] | Readonly<Record<string, ScriptedAnswer>>;

/**
 * Returns an agent that answers from a script. The answers depend only on the thread, so they are the same after a
 * restart.
 *
 *     const agent = scriptedAgent({ "You plan": "1. read 2. fix", "You code": "+1 -1" });
 *
 * @throws WorkflowError from the running agent: `NO_ANSWER` when the script has none.
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
