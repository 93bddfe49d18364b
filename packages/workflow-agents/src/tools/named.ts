import type { ToolContext, ToolRegistry, ToolRunner } from "./tools.ts";
import { missingTool } from "./errors.ts";

/** Returns the name of a tool in a registry. A document may write `ReadFile` for the registry's `readFile`. */
export function ownToolName(name: string, known: readonly string[]): string {
  if (known.includes(name)) return name;
  const lower = name.charAt(0).toLowerCase() + name.slice(1);
  return known.includes(lower) ? lower : name;
}

/**
 * Returns the tools of a registry that a document names, as the tools of a model.
 * @throws WorkflowError `TOOL_UNKNOWN` for a name that the registry does not have.
 */
export async function namedTools(
  registry: ToolRegistry,
  wanted: readonly string[],
  context: ToolContext,
): Promise<ToolRunner> {
  const known = (await registry.all(context)).map(({ name }) => name);
  const names = new Set(wanted.map((name) => ownToolName(name, known)));
  const lost = [...names].find((name) => !known.includes(name));
  if (lost !== undefined) throw missingTool(lost, known);
  return {
    definitions: async (at) =>
      (await registry.definitions(at)).filter(({ name }) => names.has(name)),
    async run(name, input, at) {
      if (names.has(name)) return await registry.run(name, input, at);
      const content = `unknown tool ${JSON.stringify(name)}\ntools: ${[...names].join(", ")}`;
      return { content, is_error: true };
    },
    approval: async (name, input, at) =>
      names.has(name) ? ((await registry.approval?.(name, input, at)) ?? null) : null,
  };
}
