import { toJSONSchema } from "zod/v4/core";
import { documentForm, fields } from "./format.ts";
import type { Form } from "./form.ts";
import { aliases, StepType, SUPPORTED_VERSIONS } from "./document.ts";

type Schema = { [keyword: string]: unknown };

/** Requirements of a step type beyond the forms of its fields. */
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
 * Returns the JSON Schema (draft 2020-12) of a step workflow, generated from the checker's table. The checker refuses
 * every document that the schema refuses. The schema can't check references, expressions and names.
 */
export function workflowSchema(): Schema {
  const { properties, required, ...document } = schemaOf(documentForm, "");
  const { registry, steps, ...plain } = properties as Record<string, Schema>;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Step workflow",
    description: "A workflow of steps, as uncaged-workflow runs it.",
    ...document,
    required: ["version", ...(required as string[])],
    properties: {
      $schema: { type: "string", description: "The JSON Schema, for editors." },
      version: { enum: SUPPORTED_VERSIONS, description: texts.version },
      ...plain,
      registry: { title: "Registry", ...registry },
      steps: { ...steps, items: ref("step") },
    },
    if: { properties: { workflowType: { const: "IDE" } }, required: ["workflowType"] },
    then: { properties: { registry: { properties: { services: { maxItems: 0 } } } } },
    $defs: {
      step: stepSchema(),
      ...Object.fromEntries(types.map((type) => [`is${type}`, isOfType(type)])),
      ...Object.fromEntries(types.map((type) => [type, typeSchema(type)])),
    },
  };
}

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
        description: texts.id,
        examples: types.map((type) => `${type}_`),
      },
      type: {
        type: "string",
        description: texts.type,
        examples: [...types, ...Object.keys(aliases)],
      },
      ...Object.fromEntries(
        fields.filter(isCommon).map(({ name, form }) => [name, schemaOf(form, name)]),
      ),
    },
    anyOf: [{ required: ["type"] }, { properties: { id: { pattern: "_" } } }],
    allOf: types.map((type) => ({ if: ref(`is${type}`), then: ref(type) })),
  };
}

/** Returns the JSON Schema of a step of one type, with its common and specific fields. */
export function schemaOfStep(type: StepType): Schema {
  const { allOf: _, anyOf: __, properties, ...common } = stepSchema();
  const { properties: own, required = [], ...rest } = typeSchema(type);
  return {
    ...common,
    ...rest,
    required: ["id", ...(required as string[])],
    properties: { ...(properties as Schema), ...(own as Schema) },
  };
}

/** Returns a schema that matches steps of one type, by `type`, otherwise by the id's prefix. */
function isOfType(type: StepType): Schema {
  const names = [type, ...Object.keys(aliases).filter((name) => aliases[name] === type)];
  return {
    if: { required: ["type"] },
    then: { properties: { type: { enum: names } } },
    else: { required: ["id"], properties: { id: { pattern: `^(?:${names.join("|")})(?:_|$)` } } },
  };
}

function typeSchema(type: StepType): Schema {
  const own = fields.filter((field) => field.on.has(type) && !isCommon(field));
  const required = own.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  const { properties, ...others } = also[type] ?? {};
  const forms = own.map(({ name, form }) => {
    const key = `${type}.${name}`;
    return [name, schemaOf(form, name, key in texts ? key : name)];
  });
  return {
    title: type,
    description: typeTexts[type],
    properties: { ...Object.fromEntries(forms), ...(properties as Schema | undefined) },
    ...(required.length > 0 && { required }),
    ...others,
  };
}

const isCommon = ({ on }: (typeof fields)[number]): boolean => types.every((type) => on.has(type));

/**
 * Returns a form as a schema. `path` selects the descriptions of its parts, and `described` the form's own description.
 */
const schemaOf = (form: Form, path: string, described = path): Schema => {
  const { $schema: _, ...schema } = toJSONSchema(form);
  return told(schema, path, described);
};

/** Returns a Zod schema with descriptions. Drops keywords that have no meaning in JSON. */
function told({ type, ...schema }: Schema, path: string, described: string): Schema {
  const { additionalProperties: more, anyOf, items, prefixItems, properties } = schema;
  const each = (schemas: unknown) => (schemas as Schema[]).map((one) => told(one, path, ""));
  if (Array.isArray(type)) schema.anyOf = type.map((one: unknown) => ({ type: one }));
  else if (type !== undefined) schema.type = type;
  if (anyOf) schema.anyOf = each(anyOf);
  if (items) schema.items = told(items as Schema, path, "");
  if (prefixItems) {
    const { length } = prefixItems as Schema[];
    Object.assign(schema, { prefixItems: each(prefixItems), minItems: length, maxItems: length });
    delete schema.items;
  }
  if (Object.keys(more ?? {}).length === 0) delete schema.additionalProperties;
  else schema.additionalProperties = told(more as Schema, path, "");
  delete schema.propertyNames;
  for (const bound of ["minimum", "maximum"]) {
    if (Math.abs(Number(schema[bound])) === Number.MAX_SAFE_INTEGER) delete schema[bound];
  }
  if (properties) {
    const parts = Object.entries(properties).map(([name, one]: [string, Schema]) => {
      const way = path === "" ? name : `${path}.${name}`;
      return [name, told(one, way, way)];
    });
    schema.properties = Object.fromEntries(parts);
  }
  if (texts[described] !== undefined) schema.description = texts[described];
  if (described in defaults) schema.default = defaults[described];
  return schema;
}

const ref = (name: string): Schema => ({ $ref: `#/$defs/${name}` });

/** Descriptions of the types of steps. Editors show them. */
const typeTexts: Readonly<Record<StepType, string>> = {
  Service: "Calls the service that registry.services declares by its id: Service_<Name>.",
  API: "Calls the HTTP endpoint that registry.apis declares by its id: API_<id>.",
  Component: "Calls the component that the id names: Component_<id>.",
  LLM: "Calls a model. _result is its answer.",
  Set: "Writes a value to a variable.",
  Write: "Writes a file.",
  Download: "Fetches a file from an http address.",
  Unzip: "Unpacks an archive.",
  Pause: "Waits for an answer.",
  Branch: "Runs the chain of the first case whose condition is true, then continues at next.",
  Loop: "Runs its children for each item of source, or while a condition is true.",
  Stop: "Ends the run.",
  Noop: "Does no work itself: use it for children, for print or for a join.",
  Tool: "Runs a tool, named by tool or by the id: Tool_010_ReadFile runs ReadFile.",
  Subflow: "Runs another step workflow, given as workflow_path with params.",
};

const result = "_result is the result of the call";

/**
 * Descriptions of the fields of documents and steps. Editors show them. A path leads through objects and arrays;
 * `Type.field` takes precedence over `field`.
 */
export const texts: Readonly<Record<string, string>> = {
  version: "The version of the format. It does not change how the workflow runs.",
  name: "The name of the workflow.",
  workflowType: "The target environment. IDE workflows can't use services.",
  description: "The purpose of the workflow.",
  registry: "The declarations that steps use.",
  steps: "The steps, in any order. A step that no other step names runs first.",
  "registry.params": "Read-only inputs of a run: name(TYPE), or name(TYPE) = default.",
  "registry.vars": "Variables that steps read and write: $name(TYPE), or $name(TYPE) = default.",
  "registry.services": "Services by their signatures: Name(p(TYPE)) RETURN r(TYPE).",
  "registry.apis": "HTTP endpoints for API steps.",
  "registry.apis.id": "The part of an API step's id after API_.",
  "registry.apis.url": "The URL. {name} is replaced from pathParams.",
  "registry.apis.method": "The HTTP method. Default: GET.",
  "registry.apis.auth": "The credentials of the request.",
  "registry.apis.headers": "Headers of each request.",
  "registry.apis.desc": "The purpose of the endpoint.",
  "registry.components": "Components by name, or as objects with an id.",
  "registry.components.id": "The part of a Component step's id after Component_.",
  "registry.files": "The files that steps may read and write.",
  "registry.files.inputs": "Globs of read-only files.",
  "registry.files.artifacts": "Globs of writable files. Default: all files below the root.",
  "registry.docs": "Titles of documents by their ids, for docs of LLM steps.",
  "registry.schemas": "JSON Schemas by name, for schemaRef.",
  id: "A type, _ and a name: LLM_Plan. RETURN, BREAK, ELSE and ids that begin with __ are reserved.",
  type: "The type, if it differs from the part of the id before its first _.",
  meta: "Data for editors, such as a title or a position on a canvas.",
  print: "Evaluated at the end of the step and published as step_print.",
  if: "An expression. If it is false, the step and its children are skipped.",
  in: "The inputs. Each text that begins with = is an expression; == stands for a literal =.",
  input: "Another name of in.",
  out: `Values to write, by $path or /path: {"$x": "=_result"}, short "$x". ${result}.`,
  next: "The id of the step that follows, RETURN to end the chain, BREAK to leave the loop.",
  children:
    "The first steps of chains that run concurrently. The step continues when all have ended.",
  errorStrategy: "The effect of a failed child: abort all, drop it, or let all end first.",
  cases: 'Pairs of a condition and a step\'s id. The last condition may be "ELSE".',
  while: "An expression, tested before each iteration. Needs maxIterations.",
  source: "The place to read the file from.",
  maxIterations: "The maximum number of iterations. At this limit the loop ends normally.",
  mode: "How to write to an existing file.",
  target: "The place to write the file to.",
  value: "The value to write, or an expression.",
  reason: "The reason, for people.",
  resumeResultTarget: "The $path to write the answer to.",
  timeout: "The timeout of the call in milliseconds.",
  "timeout.sec": "Seconds to wait for an answer.",
  "timeout.on": "The id of the step to continue at if no answer arrives in time.",
  onError: "The id of the step to continue at if this step fails. That step can read _error.",
  tool: "The name of the tool.",
  toolName: "Another name of tool.",
  allowError:
    "Whether the workflow continues when the tool fails, with {ok, error, tool} as _result.",
  continueOnError: "Another name of allowError.",
  model: "The model, or provider/model. Default: LLM_MODEL.",
  provider: "The provider of the model.",
  stream: "Whether to publish tokens as they arrive.",
  "Loop.children": "The first steps of the chains that run in each iteration.",
  "Loop.source": "An expression for the list to iterate over.",
  "Loop.mode": "Whether iterations run in sequence or concurrently.",
  "Set.target": "The $path of a variable, such as $plan.steps[0].",
  "Write.target": "The path of the file, or an expression for it.",
  "Pause.timeout": "The timeout of the question.",
  "Stop.reason": "The reason for the end of the run. It is the thread's summary.",
};
