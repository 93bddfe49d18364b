import * as z from "zod/mini";
import {
  callTypes,
  LoopMode,
  ParallelErrorStrategy,
  StepType,
  WorkflowType,
  WriteMode,
} from "./document.ts";
import { type Form, listed } from "./form.ts";

/** The type of custom steps in the table. */
export const CUSTOM = "custom";

/** A field of a step: its form, and the types of steps that allow or require it. */
type Field = {
  readonly name: string;
  readonly on: ReadonlySet<string>;
  readonly form: Form;
  readonly isRequired?: true;
};

const aText = "a string";
const notEmpty = "a non-empty string";
const anObject = "an object";
const anArray = "an array";
const above0 = "a number above 0";

const anything = z.unknown();
const string = z.string(aText);
const nonEmpty = (words: string) => z.string(words).check(z.minLength(1, words));
const named = nonEmpty(notEmpty);
const object = z.record(z.string(), z.unknown(), anObject);
const texts = z.array(string, anArray);
const choice = (values: Readonly<Record<string, string>>): z.ZodMiniType<string> =>
  z.enum(values, listed(Object.values(values)));
const idAs = (words: string) => z.string(words);
const stepId = idAs("the id of a step");
const stepIds = z.array(stepId, anArray);
const path = (example: string) => nonEmpty(`a path such as ${example}`);
// Without `abort`, a union would report only the number check of this form.
const positive = z.number(above0).check(z.positive({ error: above0, abort: true }));
const filled = "a non-empty array";
const flag = z.boolean("true or false");
const fromOne = "a whole number from 1";

const types = (...names: StepType[]): ReadonlySet<string> => new Set(names);
const all: ReadonlySet<string> = new Set([...Object.values(StepType), CUSTOM]);
const calls: ReadonlySet<string> = new Set([...callTypes, CUSTOM]);
const unless = (...names: StepType[]): ReadonlySet<string> =>
  new Set([...all].filter((name) => !names.some((one) => one === name)));
const tools = types("Tool", "Subflow");

/**
 * The fields of steps. A field that appears twice has different forms for different types. Unknown fields belong to the
 * author: the engine keeps and ignores them.
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
    form: z.union([string, object], `${aText} or ${anObject}`),
  },
  {
    name: "next",
    on: unless("Stop"),
    form: idAs('a step\'s id, "RETURN" or "BREAK"'),
  },
  { name: "children", on: unless("Stop", "Loop"), form: stepIds },
  {
    name: "children",
    on: types("Loop"),
    form: z.array(stepId, filled).check(z.minLength(1, filled)),
    isRequired: true,
  },
  { name: "errorStrategy", on: unless("Stop"), form: choice(ParallelErrorStrategy) },
  {
    name: "cases",
    on: types("Branch"),
    form: z.array(z.tuple([anything, stepId], "a pair of a condition and a step's id"), anArray),
    isRequired: true,
  },
  { name: "source", on: types("Loop", "Download", "Unzip"), form: anything },
  { name: "while", on: types("Loop"), form: anything },
  { name: "maxIterations", on: types("Loop"), form: z.int(fromOne).check(z.minimum(1, fromOne)) },
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
    form: z.looseObject({ sec: positive, on: stepId }, anObject),
  },
  {
    name: "timeout",
    on: types("Tool", "Subflow", "API", "Download"),
    form: z.union([positive, string], "a number of milliseconds above 0"),
  },
  { name: "onError", on: new Set([...calls, "Write"]), form: stepId },
  { name: "tool", on: tools, form: named },
  { name: "toolName", on: tools, form: named },
  { name: "allowError", on: tools, form: flag },
  { name: "continueOnError", on: tools, form: flag },
  { name: "model", on: types("LLM"), form: string },
  { name: "provider", on: types("LLM"), form: string },
  { name: "stream", on: types("LLM"), form: anything },
] as const satisfies readonly Field[];

export const fields: readonly Field[] = table;

export const registryForm = z.looseObject(
  {
    params: z.optional(texts),
    vars: z.optional(texts),
    services: z.optional(texts),
    apis: z.optional(
      z.array(
        z.looseObject(
          {
            id: named,
            url: named,
            method: z.optional(named),
            auth: z.optional(anything),
            headers: z.optional(z.record(z.string(), string, anObject)),
            desc: z.optional(string),
          },
          anObject,
        ),
        anArray,
      ),
    ),
    components: z.optional(
      z.array(
        z.union([named, z.looseObject({ id: named }, anObject)], `${notEmpty} or ${anObject}`),
        anArray,
      ),
    ),
    files: z.optional(
      z.looseObject({ inputs: z.optional(texts), artifacts: z.optional(texts) }, anObject),
    ),
    docs: z.optional(z.record(z.string(), string, anObject)),
    schemas: z.optional(z.record(z.string(), z.union([object, flag], "a JSON Schema"), anObject)),
  },
  anObject,
);

/** The form of a document without its version. Steps need only be objects. */
export const documentForm = z.looseObject({
  name: named,
  workflowType: z.optional(choice(WorkflowType)),
  description: z.optional(string),
  registry: registryForm,
  steps: z.array(z.record(z.string(), z.unknown(), "a step"), filled).check(z.minLength(1, filled)),
});

const namesOnTypes: ReadonlySet<string> = new Set(
  fields.flatMap(({ name, on }) => [...on].map((type) => `${type}.${name}`)),
);

export const hasField = (type: string, name: string): boolean =>
  namesOnTypes.has(`${type}.${name}`);

export const isField = (name: string): boolean => fields.some((field) => field.name === name);

/** The fields of steps, each with its values on all types of steps. */
type StepFields = {
  [Name in (typeof table)[number]["name"]]?: z.infer<
    Extract<(typeof table)[number], { readonly name: Name }>["form"]
  >;
};

/**
 * One step in the document of a step workflow. The allowed fields depend on the step's type (`getStepType`); `validate`
 * enforces that, not this type. An explicit `type` takes precedence over the id's prefix.
 */
export type StepDocument = StepFields & { id: string; type?: string; [field: string]: unknown };

/** The declarations that steps use, as texts: `name(TYPE)`, `$name(TYPE) = 3`. */
export type RegistryDocument = z.infer<typeof registryForm>;

/** The endpoint of `API_<id>`: `{id, method, url, auth, headers, desc}`. */
export type ApiDocument = NonNullable<RegistryDocument["apis"]>[number];

/** The JSON document of a step workflow. The order of `steps` does not matter. */
export type WorkflowDocument = {
  version: string;
  name: string;
  workflowType?: string;
  description?: string;
  registry: RegistryDocument;
  steps: StepDocument[];
  [field: string]: unknown;
};
