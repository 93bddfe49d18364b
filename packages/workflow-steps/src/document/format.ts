import {
  callTypes,
  LoopMode,
  ParallelErrorStrategy,
  StepType,
  WorkflowType,
  WriteMode,
} from "./document.ts";
import type { Form, TypeOf } from "./form.ts";

/** The type under which the table knows the steps of custom types. */
export const CUSTOM = "custom";

/** A field of a step: its form, and the types of steps that have it or can't do without it. */
type Field = {
  readonly name: string;
  readonly on: ReadonlySet<string>;
  readonly form: Form;
  readonly isRequired?: true;
};

const anything = {} as const satisfies Form;
const string = { type: "string" } as const satisfies Form;
const named = { type: "string", minLength: 1 } as const satisfies Form;
const object = { type: "object" } as const satisfies Form;
const texts = { type: "array", items: string } as const satisfies Form;
const choice = (values: Record<string, string>) =>
  ({ type: "string", enum: Object.values(values) }) as const satisfies Form;
const stepId = { type: "string", expected: "the id of a step" } as const satisfies Form;
const stepIds = { type: "array", items: stepId } as const satisfies Form;
const path = (example: string) =>
  ({ type: "string", minLength: 1, expected: `a path such as ${example}` }) as const satisfies Form;

const types = (...names: StepType[]): ReadonlySet<string> => new Set(names);
const all: ReadonlySet<string> = new Set([...Object.values(StepType), CUSTOM]);
const calls: ReadonlySet<string> = new Set([...callTypes, CUSTOM]);
const unless = (...names: StepType[]): ReadonlySet<string> =>
  new Set([...all].filter((name) => !names.some((one) => one === name)));
const tools = types("Tool", "Subflow");

/**
 * The fields of steps. One that is listed twice has another form on other types. A field that is not here
 * belongs to the author: it is kept and not read.
 */
const table = [
  { name: "meta", on: all, form: object },
  { name: "print", on: all, form: anything },
  { name: "if", on: unless("Stop"), form: anything },
  { name: "in", on: calls, form: object },
  { name: "input", on: calls, form: object },
  {
    name: "out",
    on: new Set([...calls, "Set", "Write"]),
    form: { anyOf: [string, object] },
  },
  {
    name: "next",
    on: unless("Stop"),
    form: { ...stepId, expected: 'a step\'s id, "RETURN" or "BREAK"' },
  },
  { name: "children", on: unless("Stop", "Loop"), form: stepIds },
  { name: "children", on: types("Loop"), form: { ...stepIds, minItems: 1 }, isRequired: true },
  { name: "errorStrategy", on: unless("Stop"), form: choice(ParallelErrorStrategy) },
  {
    name: "cases",
    on: types("Branch"),
    form: {
      type: "array",
      items: {
        type: "array",
        prefixItems: [anything, stepId],
        minItems: 2,
        maxItems: 2,
        expected: "a pair of a condition and a step's id",
      },
    },
    isRequired: true,
  },
  { name: "source", on: types("Loop", "Download", "Unzip"), form: anything },
  { name: "while", on: types("Loop"), form: anything },
  { name: "maxIterations", on: types("Loop"), form: { type: "integer", minimum: 1 } },
  { name: "mode", on: types("Loop"), form: choice(LoopMode) },
  { name: "mode", on: types("Write"), form: choice(WriteMode) },
  { name: "target", on: types("Set"), form: path("$result") },
  { name: "target", on: types("Download"), form: anything },
  { name: "target", on: types("Write"), form: path("/out/report.md") },
  { name: "value", on: types("Set", "Write"), form: anything },
  { name: "reason", on: types("Pause", "Stop"), form: anything },
  { name: "resumeResultTarget", on: types("Pause"), form: path("$result"), isRequired: true },
  {
    name: "timeout",
    on: types("Pause"),
    form: {
      type: "object",
      properties: { sec: { type: "number", exclusiveMinimum: 0 }, on: stepId },
      required: ["sec", "on"],
    },
  },
  {
    name: "timeout",
    on: types("Tool", "Subflow", "API", "Download"),
    form: {
      anyOf: [{ type: "number", exclusiveMinimum: 0 }, string],
      expected: "a number of milliseconds above 0",
    },
  },
  { name: "onError", on: new Set([...calls, "Write"]), form: stepId },
  { name: "tool", on: tools, form: named },
  { name: "toolName", on: tools, form: named },
  { name: "allowError", on: tools, form: { type: "boolean" } },
  { name: "continueOnError", on: tools, form: { type: "boolean" } },
  { name: "model", on: types("LLM"), form: string },
  { name: "provider", on: types("LLM"), form: string },
  { name: "stream", on: types("LLM"), form: anything },
] as const satisfies readonly Field[];

export const fields: readonly Field[] = table;

export const registryForm = {
  type: "object",
  properties: {
    params: texts,
    vars: texts,
    services: texts,
    apis: {
      type: "array",
      items: {
        type: "object",
        properties: {
          id: named,
          url: named,
          method: named,
          auth: anything,
          headers: { type: "object", additionalProperties: string },
          desc: string,
        },
        required: ["id", "url"],
      },
    },
    components: {
      type: "array",
      items: { anyOf: [named, { type: "object", properties: { id: named }, required: ["id"] }] },
    },
    files: { type: "object", properties: { inputs: texts, artifacts: texts } },
    docs: { type: "object", additionalProperties: string },
    schemas: {
      type: "object",
      additionalProperties: { anyOf: [object, { type: "boolean" }], expected: "a JSON Schema" },
    },
  },
} as const satisfies Form;

/** A document less its version; of its steps only that they are objects. */
export const documentForm = {
  type: "object",
  properties: {
    name: named,
    workflowType: choice(WorkflowType),
    description: string,
    registry: registryForm,
    steps: { type: "array", items: { type: "object", expected: "a step" }, minItems: 1 },
  },
  required: ["name", "registry", "steps"],
} as const satisfies Form;

const namesOnTypes: ReadonlySet<string> = new Set(
  fields.flatMap(({ name, on }) => [...on].map((type) => `${type}.${name}`)),
);

export const hasField = (type: string, name: string): boolean =>
  namesOnTypes.has(`${type}.${name}`);

export const isField = (name: string): boolean => fields.some((field) => field.name === name);

/** The fields of steps, each with the values of all types that have it. */
type StepFields = {
  [Name in (typeof table)[number]["name"]]?: TypeOf<
    Extract<(typeof table)[number], { readonly name: Name }>["form"]
  >;
};

/**
 * One step of a step workflow, as it is written. Which fields a step may have depends on its type
 * (`getStepType`); the checks know that, not this type. An explicit `type` wins over the id's prefix.
 */
export type StepDocument = StepFields & { id: string; type?: string; [field: string]: unknown };

/** What the steps may use. Declarations are texts: `name(TYPE)`, `$name(TYPE) = 3`. */
export type RegistryDocument = {
  -readonly [Name in keyof (typeof registryForm)["properties"]]?: TypeOf<
    (typeof registryForm)["properties"][Name]
  >;
};

/** `{id, method, url, auth, headers, desc}`, the endpoint of `API_<id>`. */
export type ApiDocument = NonNullable<RegistryDocument["apis"]>[number];

/** A step workflow, as its JSON has it. The order of `steps` has no meaning. */
export type WorkflowDocument = {
  version: string;
  name: string;
  workflowType?: string;
  description?: string;
  registry: RegistryDocument;
  steps: StepDocument[];
  [field: string]: unknown;
};
