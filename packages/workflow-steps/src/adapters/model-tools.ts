import { WorkflowError } from "@uncaged/workflow";
import type { ToolContext, ToolRegistry, ToolRunner } from "@uncaged/workflow-agents";
import type { LLMTool } from "../adapter/adapter.ts";
import { LLMError } from "../adapter/error.ts";
import { houseName } from "./tool-names.ts";

type Surroundings = Partial<ToolContext> & Pick<ToolContext, "env">;

/**
 * What runs the tools that a step names for its model; undefined when it names none. A tool with an
 * `input_schema` is the step's own and not run here.
 *
 * @throws LLMError `bad_request` for an unknown name, and for tools of both kinds; WorkflowError
 *   `NO_CWD` when the run has no directory for them.
 */
export async function toolsOf(
  tools: readonly LLMTool[] | undefined,
  registry: ToolRegistry | undefined,
  around: Surroundings,
): Promise<ToolRunner | undefined> {
  const named = (tools ?? []).filter(({ input_schema }) => input_schema === undefined);
  if (named.length === 0) return undefined;
  if (named.length !== tools?.length) {
    throw bad("some of the step's tools have an input_schema and some have none: give either");
  }
  if (!registry) throw bad(`there are no tools, and the step names ${named[0]?.name}`);
  const context = contextOf(around);
  const known = (await registry.all(context)).map(({ name }) => name);
  const names = new Set(named.map(({ name }) => houseName(name, known)));
  const lost = [...names].find((name) => !known.includes(name));
  if (lost !== undefined) throw bad(`there is no tool ${lost}; tools: ${known.join(", ")}`);
  return {
    definitions: async (at) =>
      (await registry.definitions(at)).filter(({ name }) => names.has(name)),
    async run(name, input, at) {
      if (names.has(name)) return await registry.run(name, input, at);
      const content = `there is no tool ${JSON.stringify(name)}\ntools: ${[...names].join(", ")}`;
      return { content, is_error: true };
    },
  };
}

function contextOf({ cwd, env, signal }: Surroundings): ToolContext {
  if (cwd !== undefined) return { cwd, env, signal: signal ?? new AbortController().signal };
  throw new WorkflowError({
    code: "NO_CWD",
    kind: "failed",
    message: "the run has no working directory, and the model's tools need one",
    hint: "give cwd in the options of the run",
  });
}

const bad = (message: string): LLMError =>
  new LLMError("bad_request", message, { code: "BAD_TOOLS" });
