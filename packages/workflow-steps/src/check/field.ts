import {
  callTypes,
  LoopMode,
  minorOf,
  ParallelErrorStrategy,
  StepType,
  SUPPORTED_VERSIONS,
  WorkflowType,
  WriteMode,
} from "../document/document.ts";
import { type Form, itemsOf, shown, showPath, violationsOf } from "../document/form.ts";
import {
  aStep,
  type CheckedStep,
  CUSTOM,
  type DocumentRule,
  type StepRule,
  type Subject,
} from "./subject.ts";

/** A field of a step: its form, and the types of steps that have it. */
export type Field = {
  readonly name: string;
  readonly on: ReadonlySet<string>;
  readonly form: Form;
  /** Steps of these types can't do without it. */
  readonly isRequired?: true;
};

const anything: Form = {};
const string: Form = { type: "string" };
const object: Form = { type: "object" };
const texts: Form = { type: "array", items: string };
const choice = (values: Record<string, string>): Form => ({
  type: "string",
  enum: Object.values(values),
});
const stepId: Form = { type: "string", expected: "the id of a step" };
const stepIds: Form = { type: "array", items: stepId };
const target: Form = { type: "string", minLength: 1, expected: "a path such as $result" };

const types = (...names: StepType[]): ReadonlySet<string> => new Set(names);
const all: ReadonlySet<string> = new Set([...Object.values(StepType), CUSTOM]);
const calls: ReadonlySet<string> = new Set([...callTypes, CUSTOM]);
const unless = (...names: StepType[]): ReadonlySet<string> =>
  new Set([...all].filter((name) => !names.some((one) => one === name)));
const tools = types("Tool", "Subflow");

/**
 * The fields of steps. One that stands twice has another form on other types. A field that is not here
 * belongs to the author: it is kept and not read.
 */
export const fields: readonly Field[] = [
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
];

const named: Form = { type: "string", minLength: 1 };

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

/** The fields of a step have the form that its type asks for, and none is missing. */
export const hasItsFields: StepRule = ({ type, fields: given, error }) => {
  if (type === null) return;
  for (const { name, form, isRequired, on } of fields) {
    if (!on.has(type)) continue;
    const value = given[name];
    if (value !== undefined) {
      for (const { path, text } of violationsOf(form, value, [name])) error(path, text);
    } else if (isRequired) error([], `${showPath([name])} is missing: ${aStep(type)} needs it`);
  }
};

/** A field that steps of this type do not have says nothing. */
export const hasNoIdleField: StepRule = ({ type, fields: given, error, warning }) => {
  if (type === null) return;
  for (const name of Object.keys(given)) {
    if (hasField(type, name) || !isField(name)) continue;
    if (type !== "Stop") warning([name], `${name} has no effect on ${aStep(type)}`);
    else if (name === "next" || name === "children") {
      error([name], `a Stop ends the run, so it has no ${name}`);
    } else warning([name], `${name} has no effect on a Stop`);
  }
  if (given.in !== undefined && given.input !== undefined && hasField(type, "in")) {
    warning(["input"], "input has no effect beside in");
  }
};

const oldest = SUPPORTED_VERSIONS[0] ?? "";
const newest = SUPPORTED_VERSIONS.at(-1) ?? "";

/** The rules for a document's own fields, its steps' apart. */
export const documentRules: readonly DocumentRule[] = [
  hasSupportedVersion,
  hasFields,
  hasStepObjects,
  hasNoServiceInIDE,
];

function hasSupportedVersion({ document: { version }, error }: Subject): void {
  if (version === undefined)
    error([], `version is missing: give one from "${oldest}" to "${newest}"`);
  else if (typeof version !== "string") {
    error(["version"], `version must be a text such as "${newest}", not ${shown(version)}`);
  } else if (minorOf(version) === null) {
    error(
      ["version"],
      `version ${shown(version)} is not supported: "${oldest}" to "${newest}" are`,
    );
  }
}

function hasFields({ document, error }: Subject): void {
  const { version: _, ...others } = documentFields;
  const required = ["name", "registry", "steps"];
  const form = { type: "object", properties: others, required } as const;
  for (const { path, text } of violationsOf(form, document, [])) error(path, text);
}

function hasStepObjects({ document, error }: Subject): void {
  for (const [index, step] of itemsOf(document.steps).entries()) {
    const form = { type: "object", expected: "a step" } as const;
    for (const { path, text } of violationsOf(form, step, ["steps", index])) error(path, text);
  }
}

function hasNoServiceInIDE({ document, registry, steps, error }: Subject): void {
  if (document.workflowType !== "IDE") return;
  if (itemsOf(registry.services).length > 0) {
    error(["registry", "services"], "a workflow of the type IDE has no services");
  }
  for (const step of steps) {
    if (step.type === "Service") step.error([], "a workflow of the type IDE calls no service");
  }
}

/** The versions, by their minor numbers, that first had a type of steps. */
const since: Partial<Record<StepType, number>> = { Tool: 17, Subflow: 17 };

/** A document says a version that has what it uses. The version changes nothing else. */
export function isInItsVersion({ type, warning }: CheckedStep, { document }: Subject): void {
  const declared = minorOf(document.version);
  if (type === null || type === "custom") return;
  const first = since[type];
  if (declared === null || first === undefined || declared >= first) return;
  warning([], `${aStep(type)} is of version 3.${first}, and the workflow says 3.${declared}`);
}
