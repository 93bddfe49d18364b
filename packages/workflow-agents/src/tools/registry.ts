import { type $ZodType, safeParse, toJSONSchema } from "zod/v4/core";
import en from "zod/v4/locales/en.js";
import { copyOf } from "../run/copy.ts";
import { isObject } from "../run/error.ts";
import { approvalRule } from "./approval.ts";
import { sendable } from "./plain-names.ts";
import { runTool } from "./run.ts";
import type { ReadyTool, Tool, ToolLimits, ToolRegistry, ToolSource } from "./tools.ts";
import { inputNotObject, inputNotSchema, invalidToolName, twinTools } from "./errors.ts";

/**
 * Returns a registry of tools and tool sources.
 *
 *     const tools = toolRegistry([readFile, search, mcpTools({ name: "docs", url })]);
 *
 * @throws WorkflowError `BAD_TOOL` for a duplicate name, an invalid name, or an input that is not an object with a JSON
 *   Schema.
 */
export function toolRegistry(
  parts: readonly (Tool | ToolSource)[],
  { timeoutMs = 120_000, maxResult = 100_000, approve }: ToolLimits = {},
): ToolRegistry {
  const ready = parts.map((part) => ("tools" in part ? part : readyTool(part)));
  refuseTwins(ready.flatMap((part) => ("tools" in part ? [] : part)));
  const ruleFor = (name: string) =>
    approve && approvalRule(name, approve === true || ((input: unknown) => approve(name, input)));
  const registry: ToolRegistry = {
    limits: { timeoutMs, maxResult },
    async all(context) {
      const lists = ready.map(async (part) =>
        "tools" in part ? await part.tools(context) : [part],
      );
      const tools = (await Promise.all(lists)).flat();
      refuseTwins(tools);
      return approve
        ? tools.map((one) => ({ ...one, approval: one.approval ?? ruleFor(one.name) }))
        : tools;
    },
    async definitions(context) {
      const tools = await registry.all(context);
      return tools.map(({ name, description, input_schema }) => {
        return { name, description, input_schema };
      });
    },
    async run(name, input, context) {
      const outcome = await runTool(registry, name, input, context);
      const { content, ok } = outcome;
      const given = outcome.ok && outcome.parts.length > 0 ? { parts: outcome.parts } : {};
      return { content, is_error: !ok, ...given };
    },
    async approval(name, input, context) {
      const tool = (await registry.all(context)).find((one) => one.name === name);
      if (!tool?.approval) return null;
      const { isNeeded, ms, otherwise } = tool.approval;
      const given = tool.check(copyOf(input));
      // A call with invalid arguments does not run, so it needs no approval.
      if (!given.ok || !(await isNeeded(given.input))) return null;
      const problem = (other: unknown): string | null => {
        const result = tool.check(copyOf(other));
        return result.ok ? null : result.problem;
      };
      return { schema: tool.input_schema, ms, otherwise, problem };
    },
  };
  return registry;
}

function readyTool(given: Tool): ReadyTool {
  const { name, description, input, timeoutMs, idempotent, approve, ...tool } = given;
  if (!/^[\w-]{1,64}$/.test(name)) {
    throw invalidToolName(name);
  }
  const { schema, restored } = sendable(schemaOf(name, input));
  return {
    ...{ name, description, timeoutMs, idempotent },
    ...(approve !== undefined && { approval: approvalRule(name, approve) }),
    input_schema: schema,
    check: (value) => checked(input, isObject(value) ? restored(value) : value),
    execute: (value, execution) => tool.execute(value, execution),
  };
}

function schemaOf(name: string, input: $ZodType): Record<string, unknown> {
  try {
    const { $schema: _, "~standard": __, ...schema } = toJSONSchema(input, { io: "input" });
    if (schema.type === "object") return schema;
  } catch (error) {
    throw inputNotSchema(name, String(error));
  }
  throw inputNotObject(name);
}

// Zod's own messages depend on the author's locale, or are missing with Zod mini.
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
  const names = tools.map(({ name }) => name);
  const twin = names.find((name, at) => names.indexOf(name) !== at);
  if (twin !== undefined) throw twinTools(twin);
}
