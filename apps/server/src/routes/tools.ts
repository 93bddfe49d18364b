import { graphTools } from "@uncaged/workflow-graph/agents";
import type { z } from "@hono/zod-openapi";
import type { toolSchema } from "../schema/workflow.ts";

/** The tools that are built into the bundles of documents, as a form that calls one asks for its input. */
export async function builtInTools(): Promise<z.input<typeof toolSchema>[]> {
  const registry = graphTools();
  const signal = new AbortController().signal;
  const tools = await registry.all({ cwd: "/", env: {}, signal });
  return tools.map(({ name, description, input_schema, timeoutMs }) => ({
    name,
    description,
    input: input_schema,
    timeoutMs: timeoutMs ?? registry.limits.timeoutMs,
  }));
}
