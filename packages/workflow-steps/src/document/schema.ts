import { toJSONSchema } from "zod/v4/core";
import { documentForm, fields } from "./format.ts";
import type { Form } from "./form.ts";
import { aliases, StepType, SUPPORTED_VERSIONS } from "./document.ts";

type Schema = { [keyword: string]: unknown };

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
 * refuses the checker refuses too. It can't check what hangs together: references, expressions, names.
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

/** The JSON Schema of a step of one type: the fields of all steps, and its own. */
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

/** Whether a step is of a type: by its own word, else by its id. */
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

/** A form as a schema; `path` finds the texts of its parts, `described` its own. */
const schemaOf = (form: Form, path: string, described = path): Schema => {
  const { $schema: _, ...schema } = toJSONSchema(form);
  return told(schema, path, described);
};

/** A schema of Zod's with our texts, and without what says nothing about JSON. */
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

/** What an editor shows of each type of step. */
const typeTexts: Readonly<Record<StepType, string>> = {
  Service: "Calls the service that registry.services declares by its id: Service_<Name>.",
  API: "Calls the HTTP endpoint that registry.apis declares by its id: API_<id>.",
  Component: "Calls the component that the id names: Component_<id>.",
  LLM: "Asks a model. Its answer is _result.",
  Set: "Writes a value to a variable.",
  Write: "Writes a file.",
  Download: "Fetches a file from an http address.",
  Unzip: "Unpacks an archive.",
  Pause: "Waits for an answer from outside.",
  Branch: "Goes on in the chain of the first case that holds, then at next.",
  Loop: "Runs its children for each item of source, or as long as while holds.",
  Stop: "Ends the run.",
  Noop: "Does nothing of its own: a place for children, for print or for a join.",
  Tool: "Runs a tool. Its name is tool, or what the id names: Tool_010_ReadFile runs ReadFile.",
  Subflow: "Runs another step workflow, given as workflow_path with params.",
};

const result = "_result is what the call gave";

/**
 * What an editor shows of the fields of a document and of its steps. A path leads through objects and
 * arrays; `Type.field` wins over `field`.
 */
export const texts: Readonly<Record<string, string>> = {
  version: "The version of the format. It switches nothing; readers know by it what to expect.",
  name: "The name of the workflow.",
  workflowType: "Whom the workflow is made for. IDE workflows use no services.",
  description: "What the workflow is for.",
  registry: "What the steps may use.",
  steps: "The steps. Their order has no meaning: the first is the one that no other step names.",
  "registry.params": "What a run is started with, read-only: name(TYPE), or name(TYPE) = default.",
  "registry.vars": "What steps write and read: $name(TYPE), or $name(TYPE) = default.",
  "registry.services": "Services by their signatures: Name(p(TYPE)) RETURN r(TYPE).",
  "registry.apis": "HTTP endpoints for API steps.",
  "registry.apis.id": "What the id of an API step has after API_.",
  "registry.apis.url": "The address. {name} in it is filled in from pathParams.",
  "registry.apis.method": "The HTTP method, GET when it is missing.",
  "registry.apis.auth": "How the request is signed.",
  "registry.apis.headers": "Headers of each request.",
  "registry.apis.desc": "What the endpoint is for.",
  "registry.components": "Components by name, or as objects with an id.",
  "registry.components.id": "What the id of a Component step has after Component_.",
  "registry.files": "Which files the steps may touch.",
  "registry.files.inputs": "Globs of the files that are read only.",
  "registry.files.artifacts":
    "Globs of the files that may be written. Without one: any below the root.",
  "registry.docs": "Titles of documents by their ids, for docs of LLM steps.",
  "registry.schemas": "JSON Schemas by name, for schemaRef.",
  id: "A type, _ and a name: LLM_Plan. RETURN, BREAK, ELSE and what begins with __ are reserved.",
  type: "The type, when it is not what comes before the first _ of the id.",
  meta: "For people only: a title, a place on a canvas.",
  print: "Evaluated when the step is done, and published as step_print.",
  if: "An expression. When it is false the step and its children are skipped.",
  in: "The inputs. Each text that begins with = is an expression; == stands for a literal =.",
  input: "Another name of in.",
  out: `What is written where, by $path or /path: {"$x": "=_result"}, short "$x". ${result}.`,
  next: "The id of the step that follows, RETURN to end the chain, BREAK to leave the loop.",
  children:
    "The first steps of chains that run concurrently. The step goes on when all have ended.",
  errorStrategy:
    "What happens when a child fails: all is aborted, it is left out, or all end first.",
  cases: 'Pairs of a condition and a step\'s id. The last condition may be "ELSE".',
  while: "An expression, tested before each iteration. Needs maxIterations.",
  source: "Where the file is read from.",
  maxIterations: "The most rounds. When they are done the loop has ended as usual.",
  mode: "How a file that is there is treated.",
  target: "Where the file is written.",
  value: "What is written: a value, or an expression.",
  reason: "Why, for people.",
  resumeResultTarget: "The $path that gets the answer.",
  timeout: "The most milliseconds that the call may take.",
  "timeout.sec": "Seconds to wait for an answer.",
  "timeout.on": "The id of the step to go on at when nobody answered in time.",
  onError: "The id of the step to go on at when this one fails. _error is readable there.",
  tool: "The name of the tool.",
  toolName: "Another name of tool.",
  allowError:
    "Whether the workflow goes on when the tool fails, with {ok, error, tool} as _result.",
  continueOnError: "Another name of allowError.",
  model: "The model, also as provider/model. Without one LLM_MODEL is used.",
  provider: "Whose model it is.",
  stream: "Whether tokens are published as they come.",
  "Loop.children": "The first steps of the chains that run in each iteration.",
  "Loop.source": "An expression that gives the list to go over.",
  "Loop.mode": "Whether iterations run one after the other or concurrently.",
  "Set.target": "The $path of a variable, such as $plan.steps[0].",
  "Write.target": "The path of the file, or an expression that gives it.",
  "Pause.timeout": "What to do when nobody answers.",
  "Stop.reason": "Why the run ends. It is the thread's summary.",
};
