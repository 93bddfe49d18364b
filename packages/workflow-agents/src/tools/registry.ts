import { type $ZodType, safeParse, toJSONSchema } from "zod/v4/core";
import type { WorkflowError } from "@uncaged/workflow";
import en from "zod/v4/locales/en.js";
import { misuse } from "../run/error.ts";
import { runTool } from "./run.ts";
import type {
  ReadyTool,
  Tool,
  ToolContext,
  ToolLimits,
  ToolRegistry,
  ToolSource,
} from "./tools.ts";

/**
 * A registry of tools and of sources of tools.
 *
 *     const tools = toolRegistry([readFile, search, mcpTools({ name: "docs", url })]);
 *
 * @throws WorkflowError `BAD_TOOL` when a tool's name or schema can't be given to a model, or a name
 * comes twice.
 */
export function toolRegistry(
  parts: readonly (Tool | ToolSource)[],
  limits: ToolLimits = {},
): ToolRegistry {
  const ready = parts.map((part) => ("tools" in part ? part : readyTool(part)));
  refuseTwins(ready.flatMap((part) => (isSource(part) ? [] : [part])));
  const all = async (context: ToolContext): Promise<ReadyTool[]> => {
    const lists = ready.map(async (part) => (isSource(part) ? await part.tools(context) : [part]));
    const tools = (await Promise.all(lists)).flat();
    refuseTwins(tools);
    return tools;
  };
  const registry: ToolRegistry = {
    limits: { timeoutMs: limits.timeoutMs ?? 120_000, maxResult: limits.maxResult ?? 100_000 },
    all,
    async definitions(context) {
      const tools = await all(context);
      return tools.map(({ name, description, input_schema }) => {
        return { name, description, input_schema };
      });
    },
    async run(name, input, context) {
      const outcome = await runTool(registry, name, input, context);
      return { content: outcome.content, is_error: !outcome.ok };
    },
  };
  return registry;
}

const isSource = (part: ReadyTool | ToolSource): part is ToolSource => "tools" in part;

function readyTool({ name, description, input, timeoutMs, ...tool }: Tool): ReadyTool {
  if (!/^[\w-]{1,64}$/.test(name)) {
    throw badTool(`a tool has the name ${JSON.stringify(name)}`, "use letters, digits, _ and -");
  }
  return {
    name,
    description,
    input_schema: schemaOf(name, input),
    timeoutMs,
    check: (value) => checked(input, value),
    execute: (value, runtime) => tool.execute(value, runtime),
  };
}

function schemaOf(name: string, input: $ZodType): Record<string, unknown> {
  let schema: Record<string, unknown>;
  try {
    const { $schema: _, "~standard": __, ...rest } = toJSONSchema(input, { io: "input" });
    schema = rest;
  } catch (error) {
    throw badTool(`the input of the tool ${name} can't be a JSON Schema: ${String(error)}`);
  }
  if (schema.type !== "object") throw badTool(`the input of the tool ${name} is no object`);
  return schema;
}

// Zod's words come with the language that a schema's maker chose, or with none: these are always there.
const words = { error: en().localeError };

function checked(schema: $ZodType, value: unknown): ReturnType<ReadyTool["check"]> {
  const parsed = safeParse(schema, value, words);
  if (parsed.success) return { ok: true, input: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => {
    return path.length > 0 ? `${path.map(String).join(".")}: ${message}` : message;
  });
  return { ok: false, problem: problems.join("; ") };
}

function refuseTwins(tools: readonly { name: string }[]): void {
  const seen = new Set<string>();
  for (const { name } of tools) {
    if (seen.has(name)) throw badTool(`two tools have the name ${name}`);
    seen.add(name);
  }
}

const badTool = (message: string, hint = "fix the tool where it is defined"): WorkflowError =>
  misuse("BAD_TOOL", message, hint);
