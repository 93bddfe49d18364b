import { show } from "../contract/show.ts";
import type { AgentFn, ThreadContext } from "../moderator/context.ts";

type Answering = (ctx: ThreadContext, systemPrompt: string) => string;

/**
 * What an agent says: a list answers by the number of steps before (the first answer in an empty
 * thread); a table by the first of its keys that stands in the system prompt.
 */
export type Script = readonly string[] | Readonly<Record<string, string | Answering>>;

/** A scripted agent, and the system prompts that it was given. */
export type ScriptedAgent = AgentFn & { readonly prompts: readonly string[] };

/**
 * Makes an agent that answers from a script. It answers by the context alone, and so the same after
 * a restart. It rejects when the script has no answer.
 *
 *     const agent = scriptedAgent({ "You plan": "1. read 2. fix", "You code": "+1 -1" });
 */
export function scriptedAgent(script: Script): ScriptedAgent {
  const prompts: string[] = [];
  const agent: AgentFn = async (ctx, systemPrompt) => {
    prompts.push(systemPrompt);
    return answer(script, ctx, systemPrompt);
  };
  return Object.assign(agent, { prompts });
}

function answer(script: Script, ctx: ThreadContext, systemPrompt: string): string {
  if (isList(script)) {
    const line = script[ctx.steps.length];
    if (line === undefined) throw new Error(`the script ends before step ${ctx.steps.length + 1}`);
    return line;
  }
  for (const [part, line] of Object.entries(script)) {
    if (systemPrompt.includes(part)) {
      return typeof line === "string" ? line : line(ctx, systemPrompt);
    }
  }
  throw new Error(`the script has no answer to the system prompt ${show(systemPrompt)}`);
}

const isList = (script: Script): script is readonly string[] => Array.isArray(script);
