import type { InferToolInput, Tool, ToolSet } from "ai";
import { messageOf } from "@uncaged/workflow/interpreter";
import { refusalOf } from "../recorded-call/approval.ts";
import type { RecordedCall, StepCalls } from "../recorded-call/calls.ts";
import { currentCalls } from "../recorded-call/step.ts";
import { encoded } from "../recorded-call/value.ts";
import { publish, type Spent, spending } from "../run/run.ts";
import { unknownOutcome } from "../tools/errors.ts";
import { brief, whole } from "../tools/run.ts";

/** Options of {@link durableTools}. */
export type DurableToolsOptions<Tools extends ToolSet> = {
  /**
   * Whether a call runs again if its process ended during the call (`true` by default). With `false`, the model learns
   * instead that the outcome is unknown.
   */
  idempotent?: { [Name in keyof Tools]?: boolean };
  /**
   * The tools whose calls, or the calls for which a function returns true, need a person's approval. The thread waits
   * for the approval. Outside a step, the SDK returns the call for approval. Default: the tool's `needsApproval`.
   */
  approve?: {
    [Name in keyof Tools]?:
      | true
      | ((input: InferToolInput<Tools[Name]>) => boolean | PromiseLike<boolean>);
  };
};

/**
 * Returns tools whose results are recorded in the step that runs them. After a crash, and in a retry, a finished call
 * does not run again: the model gets the recorded result or error. An interrupted call runs again with the same
 * `toolCallId`.
 *
 *     generateText({ model: durableModel(model), tools: durableTools({ search, deploy }), prompt });
 *
 * With `approve`, a call makes the thread wait for a person. Tools without `execute` and tools of the provider are
 * returned unchanged. Outside a step, calls are not recorded.
 */
export function durableTools<Tools extends ToolSet>(
  tools: Tools,
  { idempotent = {}, approve = {} }: DurableToolsOptions<Tools> = {},
): Tools {
  const entries = Object.entries(tools).map(([name, tool]) => [
    name,
    durableTool(name, tool, {
      isIdempotent: idempotent[name] !== false,
      rule: (approve[name] as Rule | undefined) ?? (tool as Ruled).needsApproval,
    }),
  ]);
  return Object.fromEntries(entries) as Tools;
}

type Execution = Parameters<NonNullable<Tool["execute"]>>[1];

type Asked = Omit<Execution, "abortSignal">;
type Rule = boolean | ((input: unknown, about: Asked) => boolean | PromiseLike<boolean>);

/** The approval rule of a tool, which the SDK applies. */
type Ruled = { needsApproval?: Rule };

/** A tool with its name, idempotence and approval rule. */
type Named = { name: string; tool: Tool; isIdempotent: boolean; rule: Rule | undefined };

function durableTool(
  name: string,
  tool: Tool,
  { isIdempotent, rule }: Pick<Named, "isIdempotent" | "rule">,
): Tool {
  const { execute } = tool;
  if (typeof execute !== "function") return tool;
  const named = { name, tool, isIdempotent, rule };
  const isStreaming = execute.constructor.name === "AsyncGeneratorFunction";
  // In a step, the recorded call requests the approval instead.
  const outside: Ruled =
    rule === undefined
      ? {}
      : {
          needsApproval: (input, about) => currentCalls() === null && isNeeded(rule, input, about),
        };
  return {
    ...tool,
    ...outside,
    execute: isStreaming
      ? (input: unknown, about: Execution) => outputs(named, input, about)
      : (input: unknown, about: Execution) => {
          // Outside a step, the tool may return an iterable.
          if (currentCalls() === null) return execute(input, about) as unknown;
          return lastOf(outputs(named, input, about));
        },
  };
}

const isNeeded = async (rule: Rule, input: unknown, about: Asked): Promise<boolean> =>
  typeof rule === "function" ? await rule(input, about) : rule;

async function lastOf(values: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const value of values) last = value;
  return last;
}

/**
 * A recorded result. For a thrown error, the name and the message are recorded, because the AI SDK shows both to the
 * model. Any other thrown value is recorded unchanged.
 */
type Result =
  | { output: unknown }
  | { error: { name: string; message: string } }
  | { thrown: unknown };

/** Yields the preliminary results of a call, and its result at the end. */
async function* outputs(
  named: Named,
  input: unknown,
  about: Execution,
): AsyncGenerator<unknown, void, void> {
  const calls = currentCalls();
  if (calls === null) {
    yield* each(named.tool.execute?.(input, about));
    return;
  }
  const { name } = named;
  const { toolCallId } = about;
  const call = await calls.open("tool", [name, toolCallId, input]);
  if (call.found) {
    yield found(call.found.value as Result);
    return;
  }
  const abortSignal = calls.signalWith(about.abortSignal);
  const own = { ...about, abortSignal };
  const paid: Spent[] = [];
  let result: Result | null = null;
  try {
    await call.within(() => begin(calls, call, named, input, own));
    const values = call.within(() => each(named.tool.execute?.(input, own)));
    let output: unknown;
    for (;;) {
      const next = await call.within(() => spending(() => values.next()));
      paid.push(...next.spent);
      if (next.result.done) break;
      output = next.result.value;
      yield output;
    }
    result = { output };
    await call.done({ value: result, paid });
    call.within(() => ended(name, toolCallId, { output }));
  } catch (error) {
    if (calls.isStopped(abortSignal)) throw error;
    result = failureOf(error);
    await call.done({ value: result, paid });
    call.within(() => ended(name, toolCallId, { error: messageOf(error) }));
    throw error;
  } finally {
    if (result === null) await call.failed();
  }
}

async function begin(
  calls: StepCalls,
  call: RecordedCall,
  { name, rule = false, isIdempotent }: Named,
  input: unknown,
  about: Execution,
): Promise<void> {
  if (!isIdempotent && call.wasBegun) {
    const { message, hint } = unknownOutcome(name);
    throw new Error(`${message}; ${hint}`);
  }
  const { abortSignal: _, ...asked } = about;
  const needsApproval = () => isNeeded(rule, input, asked);
  const refusal = await refusalOf(calls, call, { name, input, needsApproval });
  if (refusal !== null) throw new Error(refusal);
  if (!isIdempotent) await call.begun();
  publish("tool_start", { name, input: whole(input), inputSummary: brief(input) });
}

function failureOf(error: unknown): Result {
  if (error instanceof Error) return { error: { name: error.name, message: error.message } };
  try {
    encoded(error);
    return { thrown: error };
  } catch {
    return { thrown: messageOf(error) };
  }
}

function found(result: Result): unknown {
  if ("output" in result) return result.output;
  if ("thrown" in result) throw result.thrown;
  const { name, message } = result.error;
  throw Object.assign(new Error(message), { name });
}

function ended(name: string, id: string, result: { output: unknown } | { error: string }): void {
  if ("error" in result) {
    publish("tool_error", { name, error: result.error, allowError: true });
    publish("llm_tool_result", { tool_use_id: id, content: result.error, is_error: true });
  } else {
    const output = typeof result.output === "string" ? result.output : encoded(result.output);
    const content = typeof output === "string" ? output : JSON.stringify(output);
    publish("tool_done", { name, output, outputSummary: brief(output) });
    publish("llm_tool_result", { tool_use_id: id, content });
  }
}

async function* each(result: unknown): AsyncGenerator<unknown, void, void> {
  const isMany = typeof result === "object" && result !== null && Symbol.asyncIterator in result;
  if (isMany) yield* result as AsyncIterable<unknown>;
  else yield await result;
}
