import { documentFields, fields, registryFields } from "../check/field.ts";
import type { Form } from "../check/form.ts";
import { aliases, StepType } from "../document/step-type.ts";
import { SUPPORTED_VERSIONS } from "../document/version.ts";
import { documentTexts, fieldTexts, typeTexts } from "./texts.ts";

/** A JSON Schema, or a part of one. */
export type Schema = { [keyword: string]: unknown };

/** What one type asks for beside the forms of its fields. */
const also: Partial<Record<StepType, Schema>> = {
  Stop: { properties: { next: false, children: false } },
  Set: { anyOf: ["target", "out", "children"].map((name) => ({ required: [name] })) },
  Write: { anyOf: ["target", "out"].map((name) => ({ required: [name] })) },
  Loop: {
    oneOf: ["source", "while"].map((name) => ({ required: [name] })),
    dependentRequired: { while: ["maxIterations"] },
    dependentSchemas: { while: { properties: { mode: { const: "serial" } } } },
  },
};

const defaults: Readonly<Record<string, unknown>> = {
  "Loop.mode": "serial",
  "Write.mode": "overwrite",
  errorStrategy: "fail_fast",
};

const types = Object.values(StepType);

/**
 * The JSON Schema (draft 2020-12) of a step workflow, made of the table that the checker reads. What it
 * refuses the checker refuses too. It can't tell what hangs together: references, expressions, names.
 */
export function workflowSchema(): Schema {
  const { version: _, registry: __, steps: ___, ...plain } = documentFields;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Step workflow",
    description: "A workflow of steps, as uncaged-workflow runs it.",
    type: "object",
    required: ["version", "name", "registry", "steps"],
    properties: {
      $schema: { type: "string", description: "The JSON Schema, for editors." },
      version: { enum: SUPPORTED_VERSIONS, description: documentTexts.version },
      ...formsOf(plain, documentTexts),
      registry: registrySchema(),
      steps: { ...schemaOf(documentFields.steps, "steps", documentTexts), items: ref("step") },
    },
    if: { properties: { workflowType: { const: "IDE" } }, required: ["workflowType"] },
    // oxlint-disable-next-line no-thenable
    then: { properties: { registry: { properties: { services: { maxItems: 0 } } } } },
    $defs: {
      step: stepSchema(),
      ...Object.fromEntries(types.map((type) => [`is${type}`, isOfType(type)])),
      ...Object.fromEntries(types.map((type) => [type, typeSchema(type)])),
    },
  };
}

const registrySchema = (): Schema => ({
  title: "Registry",
  description: documentTexts.registry,
  type: "object",
  properties: formsOf(registryFields, documentTexts, "registry."),
});

function stepSchema(): Schema {
  return {
    title: "Step",
    type: "object",
    required: ["id"],
    properties: {
      id: {
        type: "string",
        minLength: 1,
        maxLength: 200,
        not: {
          anyOf: [{ enum: ["RETURN", "BREAK", "ELSE"] }, { pattern: "^__|\\.\\.|[/\\\\]" }],
        },
        description: fieldTexts.id,
        examples: types.map((type) => `${type}_`),
      },
      type: {
        type: "string",
        description: fieldTexts.type,
        examples: [...types, ...Object.keys(aliases)],
      },
      ...Object.fromEntries(
        fields.filter(isCommon).map(({ name, form }) => [name, schemaOf(form, name, fieldTexts)]),
      ),
    },
    anyOf: [{ required: ["type"] }, { properties: { id: { pattern: "_" } } }],
    // oxlint-disable-next-line no-thenable
    allOf: types.map((type) => ({ if: ref(`is${type}`), then: ref(type) })),
  };
}

/** Whether a step is of a type: by its own word, else by its id. */
function isOfType(type: StepType): Schema {
  const names = [type, ...Object.keys(aliases).filter((name) => aliases[name] === type)];
  return {
    if: { required: ["type"] },
    // oxlint-disable-next-line no-thenable
    then: { properties: { type: { enum: names } } },
    else: { required: ["id"], properties: { id: { pattern: `^(?:${names.join("|")})(?:_|$)` } } },
  };
}

function typeSchema(type: StepType): Schema {
  const own = fields.filter((field) => field.on.has(type) && !isCommon(field));
  const required = own.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  const { properties, ...others } = also[type] ?? {};
  const forms = own.map(({ name, form }): [string, Schema] => {
    const key = `${type}.${name}` in fieldTexts ? `${type}.${name}` : name;
    return [name, { ...schemaOf(form, name, fieldTexts), ...described(key, fieldTexts) }];
  });
  return {
    title: type,
    description: typeTexts[type],
    properties: { ...Object.fromEntries(forms), ...(properties as Schema | undefined) },
    ...(required.length > 0 && { required }),
    ...others,
  };
}

/** Whether steps of every type have a field. */
const isCommon = ({ on }: (typeof fields)[number]): boolean => types.every((type) => on.has(type));

type Texts = Readonly<Record<string, string>>;

function formsOf(forms: Readonly<Record<string, Form>>, texts: Texts, home = ""): Schema {
  return Object.fromEntries(
    Object.entries(forms).map(([name, form]) => [name, schemaOf(form, home + name, texts)]),
  );
}

/** A form as a schema; `path` finds what is said of it and of its parts. */
function schemaOf(form: Form, path: string, texts: Texts): Schema {
  const { expected: _, ...schema } = form;
  const inner = (one: Form) => schemaOf(one, path, {});
  const parts: Schema = {};
  if (form.type === undefined && form.anyOf) {
    parts.anyOf = form.anyOf.map((one) => schemaOf(one, path, nested(texts, path)));
  }
  if (form.type === "array") {
    if (form.prefixItems) parts.prefixItems = form.prefixItems.map(inner);
    if (form.items) parts.items = schemaOf(form.items, path, nested(texts, path));
  }
  if (form.type === "object") {
    if (form.properties) parts.properties = formsOf(form.properties, texts, `${path}.`);
    if (form.additionalProperties) parts.additionalProperties = inner(form.additionalProperties);
  }
  return { ...schema, ...parts, ...described(path, texts) };
}

// The items of an array are told of by their own fields, and not again by what the array is.
const nested = (texts: Texts, path: string): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([name]) => name !== path));

const described = (key: string, texts: Texts): Schema => ({
  ...(texts[key] !== undefined && { description: texts[key] }),
  ...(texts[key] !== undefined && key in defaults && { default: defaults[key] }),
});

const ref = (name: string): Schema => ({ $ref: `#/$defs/${name}` });
