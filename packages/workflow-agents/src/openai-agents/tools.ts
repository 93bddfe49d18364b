import type { FunctionTool, RunContext, Tool } from "@openai/agents";
import { currentCalls } from "../recorded-call/step.ts";
import { messageOf } from "@uncaged/workflow/interpreter";
import { publish, spending } from "../run/run.ts";
import { inputOf } from "./items.ts";

type Invoke = FunctionTool["invoke"];

const recorded = new WeakSet<Invoke>();

/**
 * Makes a function tool return recorded results, and record new results. Changes the tool in place, because the SDK
 * finds the agent of an agent tool by the identity of the tool.
 */
export function recordTool(tool: Tool): void {
  if (tool.type !== "function" || recorded.has(tool.invoke)) return;
  const { invoke } = tool;
  const made: Invoke = (context, input, details) => run(tool, invoke, [context, input, details]);
  recorded.add(made);
  tool.invoke = made;
}

async function run(
  { name }: FunctionTool,
  invoke: Invoke,
  given: [context: RunContext, input: string, details: Parameters<Invoke>[2]],
): Promise<unknown> {
  const calls = currentCalls();
  if (!calls) return await invoke(...given);
  const [, input, details] = given;
  const id = details?.toolCall?.callId ?? "";
  const call = await calls.open("tool", { name, id, input });
  if (call.found) return call.found.value;
  return await call.within(async () => {
    publish("llm_tool_use", { tool_use_id: id, name, input: inputOf(input) });
    try {
      const { result, spent } = await spending<unknown>(async () => await invoke(...given));
      // The value of a stopped tool is not a result.
      if (details?.signal?.aborted || calls.ctx.signal?.aborted) await call.failed();
      else await call.done({ value: result, paid: spent });
      publish("llm_tool_result", { tool_use_id: id, content: textOf(result) });
      return result;
    } catch (error) {
      await call.failed();
      const content = messageOf(error);
      publish("llm_tool_result", { tool_use_id: id, content, is_error: true });
      throw error;
    }
  });
}

const textOf = (result: unknown): unknown =>
  typeof result === "string" ? result : JSON.stringify(result);
