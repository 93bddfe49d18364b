import type { ToolAnswer, ToolContext, ToolRunner } from "../tools/tools.ts";
import type { ToolResultBlock } from "./message.ts";
import type { ToolUse } from "./provider.ts";

/** The tools of a conversation, and where they run. */
export type Toolbox = { runner: ToolRunner; context: ToolContext };

/**
 * Runs all tools that an answer asks for, side by side, and gives their results in its order;
 * `onResult` has each when it is there. A call that can't be run is answered with an error, for the
 * model to read.
 * @throws the signal's reason, at once when it is aborted: a tool that ignores it holds nobody up.
 */
export async function runTools(
  uses: readonly ToolUse[],
  { runner, context }: Toolbox,
  onResult: (result: ToolResultBlock) => void,
): Promise<ToolResultBlock[]> {
  const { signal } = context;
  signal.throwIfAborted();
  const runs = uses.map(async (use) => {
    const { content, is_error } = await runOne(use, runner, context);
    const result = { tool_use_id: use.id, content, is_error };
    if (!signal.aborted) onResult(result);
    return result;
  });
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([Promise.all(runs), stopped.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

async function runOne(use: ToolUse, runner: ToolRunner, context: ToolContext): Promise<ToolAnswer> {
  const { name, input, broken } = use;
  if (broken) return { content: `${name} was not run: ${broken}`, is_error: true };
  return await runner.run(name, input, context);
}
