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

/** A field of a step: its form, and the types of steps that have it. */
type Field = {
  readonly name: string;
  readonly on: ReadonlySet<string>;
  readonly form: Form;
  /** Steps of these types can't do without it. */
  readonly isRequired?: true;
};

const anything = {} as const satisfies Form;
const string = { type: "string" } as const satisfies Form;
const object = { type: "object" } as const satisfies Form;
const texts = { type: "array", items: string } as const satisfies Form;
const choice = (values: Record<string, string>) =>
  ({ type: "string", enum: Object.values(values) }) as const satisfies Form;
const stepId = { type: "string", expected: "the id of a step" } as const satisfies Form;
const stepIds = { type: "array", items: stepId } as const satisfies Form;
const target = {
  type: "string",
  minLength: 1,
  expected: "a path such as $result",
} as const satisfies Form;

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
  { name: "target", on: types("Set"), form: target },
  { name: "target", on: types("Download"), form: anything },
  {
    name: "target",
    on: types("Write"),
    form: { type: "string", minLength: 1, expected: "a path such as /out/report.md" },
  },
  { name: "value", on: types("Set", "Write"), form: anything },
  { name: "reason", on: types("Pause", "Stop"), form: anything },
  { name: "resumeResultTarget", on: types("Pause"), form: target, isRequired: true },
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
  { name: "tool", on: tools, form: { type: "string", minLength: 1 } },
  { name: "toolName", on: tools, form: { type: "string", minLength: 1 } },
  { name: "allowError", on: tools, form: { type: "boolean" } },
  { name: "continueOnError", on: tools, form: { type: "boolean" } },
  { name: "model", on: types("LLM"), form: string },
  { name: "provider", on: types("LLM"), form: string },
  { name: "stream", on: types("LLM"), form: anything },
] as const satisfies readonly Field[];

export const fields: readonly Field[] = table;

const named = { type: "string", minLength: 1 } as const satisfies Form;

/** The fields of a document. */
export const documentFields = {
  version: named,
  name: named,
  workflowType: choice(WorkflowType),
  description: string,
  registry: object,
  steps: { type: "array", minItems: 1 },
} as const satisfies Record<string, Form>;

/** The fields of the registry. */
export const registryFields = {
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
} as const satisfies Record<string, Form>;

const namesByType: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [...all].map((type) => [
    type,
    new Set(fields.filter(({ on }) => on.has(type)).map(({ name }) => name)),
  ]),
);

/** Whether steps of a type have a field. */
export const hasField = (type: string, name: string): boolean =>
  namesByType.get(type)?.has(name) ?? false;

/** Whether steps of any type have a field. */
export const isField = (name: string): boolean => fieldNames.has(name);

const fieldNames: ReadonlySet<string> = new Set(fields.map(({ name }) => name));

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
  -readonly [Name in keyof typeof registryFields]?: TypeOf<(typeof registryFields)[Name]>;
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
