import { parseExact, rawNumber } from "@uncaged/workflow/interpreter";
import { withInstruction } from "../run/form.ts";
import { isObject } from "../run/error.ts";
import { currentRun, digest, publish } from "../run/run.ts";
import { ProviderError } from "./error.ts";
import type { ModelAnswer, ModelRequest } from "./provider.ts";
import { type SchemaRules, strictSchema, withoutNulls } from "./schema.ts";

/**
 * The way to request an answer in a form: the service's structured-output mode, a required tool call, or instructions
 * in the prompt.
 */
type Way = "schema" | "tool" | "prompt";

/**
 * A service's support for forms of answers. `key` identifies the service and the model, for which a refused way is not
 * tried again.
 */
export type Forms = {
  key: string;
  rules: SchemaRules;
  /** Whether the service can force its model to call a tool. */
  hasForcedTool: boolean;
  /** Whether the service shows the schema of its structured-output mode to the model. */
  isShown: boolean;
};

/** A request as it is sent, with a schema that the service's mode allows. */
export type Asked = ModelRequest & {
  /** Whether the model must call a tool. */
  mustCall?: boolean;
};

// Refused ways, as keys of service, model, schema and way. Per process, each refusal costs one free request.
const refused = new Set<string>();
const mostRefused = 10_000;

/**
 * Requests an answer in a form, in the best way that the service supports. A request without a schema is sent
 * unchanged. If the service refuses a way, the next way is tried. The text of the answer is JSON in the form if the
 * service obeys the form.
 */
export async function inForm(
  request: ModelRequest,
  forms: Forms,
  call: (asked: Asked) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  const { format } = request;
  if (format?.type !== "json_schema") return await call(request);
  const { schema } = format;
  const ways = waysOf(request, schema, forms);
  const keyOf = ({ way }: Planned): string =>
    `${forms.key} ${digest(JSON.stringify(schema))} ${way}`;
  const open = ways.filter((one) => one.way === "prompt" || !refused.has(keyOf(one)));
  const tried: string[] = [];
  for (const planned of open) {
    try {
      const answer = await call(planned.asked);
      if (refused.size >= mostRefused) refused.clear();
      // The success proves that the service refused the way, and not the request.
      for (const key of tried) refused.add(key);
      return planned.read(answer);
    } catch (error) {
      if (planned.way === "prompt" || !isRefusal(error)) throw error;
      tried.push(keyOf(planned));
      const message = `${error.message}: the next call requests the form of the answer in another way`;
      publish("tool_message", { name: currentRun().stepID, level: "warn", message, data: null });
    }
  }
  throw new Error("no way to request the form found");
}

/** Returns the request as it is sent in the first way, to count its input. */
export function firstAsked(request: ModelRequest, forms: Omit<Forms, "key">): Asked {
  const { format } = request;
  if (format?.type !== "json_schema") return request;
  return waysOf(request, format.schema, forms)[0]?.asked ?? request;
}

const isRefusal = (error: unknown): error is ProviderError =>
  error instanceof ProviderError && error.code === "LLM_BAD_REQUEST" && error.isFree;

type Planned = { way: Way; asked: Asked; read: (answer: ModelAnswer) => ModelAnswer };

function waysOf(
  whole: ModelRequest,
  schema: object,
  { rules, hasForcedTool, isShown }: Omit<Forms, "key">,
): Planned[] {
  const { format: _, ...request } = whole;
  const { system, tools, thinking } = request;
  const strict = strictSchema(schema, rules);
  const ways: Planned[] = [];
  if (strict) {
    const format = { type: "json_schema" as const, schema: strict };
    const shown = `${system}\n\nEnd with JSON alone that fits this JSON Schema:\n${JSON.stringify(strict)}`;
    const asked = { ...request, format, system: isShown ? system : shown };
    const read = (answer: ModelAnswer) => readNulls(answer, rules.areAllRequired ? schema : null);
    ways.push({ way: "schema", asked, read });
  }
  // The services do not support forced tool calls together with thinking.
  if (hasForcedTool && (thinking === undefined || thinking === "disabled")) {
    const name = freeName(tools.map((tool) => tool.name));
    const description = "Gives the answer. Call it once, when the work is done.";
    const input_schema = schema as Record<string, unknown>;
    const asked = {
      ...request,
      mustCall: true,
      tools: [...tools, { name, description, input_schema }],
    };
    ways.push({ way: "tool", asked, read: (answer) => readCall(answer, name) });
  }
  const asked = { ...request, system: withInstruction(system, schema) };
  ways.push({ way: "prompt", asked, read: (answer) => answer });
  return ways;
}

function freeName(taken: readonly string[]): string {
  let name = "answer";
  while (taken.includes(name)) name += "_";
  return name;
}

function readNulls(answer: ModelAnswer, schema: object | null): ModelAnswer {
  const { text, stop } = answer;
  if (schema === null || stop !== "end" || !text.includes("null")) return answer;
  try {
    const given = parseExact(text, rawNumber);
    const value = withoutNulls(given, schema);
    const json = JSON.stringify(value);
    return json === JSON.stringify(given) ? answer : { ...answer, text: json };
  } catch {
    return answer; // Invalid JSON: the caller's check reports the problem.
  }
}

/** Converts an answer that is a tool call to an answer with text. */
function readCall(answer: ModelAnswer, name: string): ModelAnswer {
  const use = answer.toolUses.find((one) => one.name === name);
  if (!use || answer.stop === "truncated") return answer;
  const text = use.broken ?? use.exact ?? JSON.stringify(use.input);
  const before = answer.blocks.filter((block) => !isObject(block) || block.id !== use.id);
  return {
    ...answer,
    ...{ text, stop: "end", toolUses: answer.toolUses.filter((one) => one !== use) },
    blocks: [...before, { type: "text", text }],
  };
}
