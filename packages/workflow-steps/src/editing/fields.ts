import { isRecord, type JsonSchema, listOf } from "@uncaged/workflow/editing";
import { getStepType } from "../document/document.ts";
import { schemaOfStep } from "../document/schema.ts";
import { inputsOf, toolOf } from "./body.ts";
import { type StepRecord, typeOf } from "./steps.ts";
import { documentedNames, type KnownTool } from "./tools.ts";

type Fields = Readonly<Record<string, JsonSchema>>;

/** Two names of one field. The second is shown only if the document uses it. */
const aliases: readonly (readonly [string, string])[] = [
  ["in", "input"],
  ["tool", "toolName"],
  ["allowError", "continueOnError"],
];

const first = ["id", "title", "tool", "toolName"];
const last = [
  "out",
  "children",
  "errorStrategy",
  "onError",
  "timeout",
  "if",
  "print",
  "next",
  "type",
];

/** Returns the schema of a step's form: the format's schema of its type, extended by names of the document. */
export function schemaFor(
  step: StepRecord,
  ids: readonly string[],
  tools: readonly KnownTool[],
): JsonSchema & { properties: Fields } {
  const type = typeOf(step);
  const { description, required, properties } = formatOf(step);
  const { meta: _, ...all } = properties;
  const own: Record<string, JsonSchema> = { ...all, ...special(step, ids, tools) };
  for (const [name, other] of aliases) {
    const isOther = step[name] === undefined && (step[other] !== undefined || prefers(type, other));
    delete own[isOther ? name : other];
  }
  if (type === "Subflow") for (const name of ["tool", "toolName"]) delete own[name];
  if (step.type === undefined) delete own.type;
  if (listOf(step.children).length === 0) delete own.errorStrategy;
  const names = Object.keys(own).filter((name) => isRecord(own[name]));
  const middle = names.filter((name) => !first.includes(name) && !last.includes(name));
  const order = [...first, ...middle, ...last].filter((name) => names.includes(name));
  return {
    type: "object",
    title: type ?? step.id,
    ...(description !== undefined && { description }),
    required: required.filter((name) => names.includes(name)),
    properties: Object.fromEntries(order.map((name) => [name, own[name] ?? {}])),
  };
}

/** Returns whether a type of step prefers a field name: tool calls use `input`, other steps use `in`. */
const prefers = (type: string | null, name: string): boolean =>
  name === "input" && (type === "Tool" || type === "Subflow");

/** Returns the format's schema of a step. Unknown types have all fields. */
function formatOf({ id, type }: StepRecord) {
  const known = getStepType({ id, ...(typeof type === "string" && { type }) }) ?? "Noop";
  return schemaOfStep(known) as {
    description?: string;
    required: readonly string[];
    properties: Fields;
  };
}

/** Returns the schemas of the fields for which the form extends the format's schema. */
function special(
  step: StepRecord,
  ids: readonly string[],
  tools: readonly KnownTool[],
): Record<string, JsonSchema> {
  const own = formatOf(step).properties;
  const arms = listOf(step.cases).map((pair) => listOf(pair)[1]);
  const some: Record<string, JsonSchema> = {
    title: { type: "string", title: "Title", description: "The name of the step in drawings." },
    if: { ...own.if, type: "string" },
    print: { ...own.print, type: "string" },
    next: { ...own.next, ...oneOf(["RETURN", "BREAK", ...ids], step.next) },
    onError: { ...own.onError, ...oneOf(ids, step.onError) },
    children: { ...own.children, items: oneOf(ids, ...listOf(step.children)) },
    cases: {
      ...own.cases,
      items: {
        type: "object",
        properties: {
          when: {
            type: "string",
            title: "When",
            description: "An expression, or ELSE for all other cases.",
          },
          then: { ...oneOf(ids, ...arms), title: "Then" },
        },
        required: ["when", "then"],
      },
    },
    out: outSchema(step.out, own.out),
    tool: {
      ...own.tool,
      ...oneOf(documentedNames(tools), step.tool),
    },
    reason: { ...own.reason, type: "string", format: "multiline" },
  };
  const inputs = inputSchema(step, tools);
  for (const name of ["in", "input"]) some[name] = { ...own[name], ...inputs };
  for (const name of ["while", "source", "value", "target", "model", "provider"]) {
    if (typeof step[name] === "string" || step[name] === undefined || step[name] === null) {
      some[name] = { ...own[name], type: "string" };
    }
  }
  // A timeout in milliseconds may be an expression.
  if (typeof step.timeout === "string") some.timeout = { ...own.timeout, type: "string" };
  else if (isRecord(own.timeout) && !("properties" in own.timeout)) {
    some.timeout = { type: "number", description: own.timeout.description };
  }
  return Object.fromEntries(
    Object.entries(some).filter(([name]) => name === "title" || isRecord(own[name])),
  );
}

/** The maximum number of choices in a list, because longer lists are unusable. */
const mostChoices = 300;

/** Returns a choice of names. Includes the present values, even if they are not among the names. */
function oneOf(names: readonly string[], ...present: readonly unknown[]): JsonSchema {
  if (names.length === 0 || names.length > mostChoices) return { type: "string", minLength: 0 };
  const others = present.filter((one) => typeof one === "string" && one !== "");
  return { type: "string", enum: [...new Set([...names, ...others])] };
}

function outSchema(out: unknown, own: JsonSchema | undefined): JsonSchema {
  const about = own?.description === undefined ? {} : { description: own.description };
  if (typeof out === "string") return { ...about, type: "string" };
  return { ...about, type: "object", additionalProperties: valueSchema(isRecord(out) ? out : {}) };
}

/** Returns the schema of a map's values: texts (also expressions), or JSON if a value is not a text. */
const valueSchema = (values: Readonly<Record<string, unknown>>): JsonSchema =>
  Object.values(values).every((value) => typeof value === "string") ? { type: "string" } : {};

/** The inputs of an LLM that have their own field. */
const modelInputs: Fields = {
  prompt: { type: "string", format: "multiline", description: "The prompt of the model." },
  system: {
    type: "string",
    format: "multiline",
    description: "The role of the model, and its background.",
  },
  model: { type: "string", description: "The model, also as provider/model." },
  messages: { description: "A whole conversation, instead of the prompt." },
  output_config: { description: "The form of the answer: text, json_object or json_schema." },
};

/** Returns the schema of a call's inputs. For a tool, the tool defines the schema. */
export function inputSchema(step: StepRecord, tools: readonly KnownTool[]): JsonSchema {
  const given = inputsOf(step);
  const named = namedInputs(step, tools);
  const about = named?.description === undefined ? {} : { description: named.description };
  if (named === null) {
    return { type: "object", additionalProperties: valueSchema(given) };
  }
  const others = Object.keys(given).filter((name) => !(name in named.properties));
  return {
    ...about,
    type: "object",
    required: named.required,
    properties: {
      ...Object.fromEntries(
        Object.entries(named.properties).map(([name, schema]) => [
          name,
          orExpression(schema, given[name]),
        ]),
      ),
      ...Object.fromEntries(
        others.map((name) => [name, typeof given[name] === "string" ? { type: "string" } : {}]),
      ),
    },
  };
}

function namedInputs(
  step: StepRecord,
  tools: readonly KnownTool[],
): { properties: Fields; required: readonly string[]; description?: string } | null {
  switch (typeOf(step)) {
    case "LLM":
      return { properties: modelInputs, required: [] };
    case "Subflow":
      return {
        properties: {
          workflow_path: { type: "string", description: "The file or the name of the workflow." },
          params: {
            type: "object",
            additionalProperties: {},
            description: "The params of the workflow.",
          },
        },
        required: ["workflow_path"],
      };
    case "Tool": {
      return tools.find(({ name }) => name === toolOf(step)) ?? null;
    }
    default:
      return null;
  }
}

/** Returns a schema that also accepts an expression. */
function orExpression(schema: JsonSchema, value: unknown): JsonSchema {
  const { type } = schema;
  const isText = typeof value === "string";
  if (isText && (type !== "string" || "enum" in schema)) {
    return { type: "string", description: schema.description };
  }
  return schema;
}
