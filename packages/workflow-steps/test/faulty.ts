/** A document with one fault, all reports about the fault, and whether the JSON Schema also refuses the document. */
export type Faulty = { what: string; document: unknown; payloads: string[]; inSchema?: true };

/** A step, or additional fields. */
export type Fields = Record<string, unknown>;

/** Returns a valid workflow of the given steps. `more` replaces fields of the document. */
export const workflow = (steps: unknown, more: Fields = {}): Fields => ({
  version: "3.18",
  name: "sample",
  registry: { params: ["goal(STRING)"], vars: ["$x(OBJECT)", "$list(ARRAY)"] },
  steps,
  ...more,
});

/** Returns steps in sequence, followed by a Stop. */
export const chain = (...steps: Fields[]): Fields[] => [
  ...steps.map((step, index) => ({ next: steps[index + 1]?.id ?? "Stop_End", ...step })),
  { id: "Stop_End" },
];

const withRegistry = (registry: unknown, ...steps: Fields[]) =>
  workflow(chain(...(steps.length > 0 ? steps : [{ id: "Noop_A" }])), { registry });

/** Returns the report of an error. */
export const error = (text: string) => `error: ${text}`;
/** Returns the report of a warning. */
export const warning = (text: string) => `warning: ${text}`;

/** Returns a valid Set, changed by `fields`. */
export const set = (fields: Fields = {}): Fields => ({
  id: "Set_A",
  target: "$x",
  value: 1,
  ...fields,
});
/** Returns a workflow of one step and a Stop. */
export const one = (step: Fields) => workflow(chain(step));
/** Returns a workflow of one LLM step and a Stop. */
export const llm = (fields: Fields) => one({ id: "LLM_A", ...fields });

/** Documents with errors outside of their steps and registry. */
export const faultyDocuments: Faulty[] = [
  {
    what: "a document that is not an object",
    document: [],
    payloads: [error("a workflow must be an object, not an array")],
    inSchema: true,
  },
  {
    what: "a missing version",
    document: workflow(chain({ id: "Noop_A" }), { version: undefined }),
    payloads: [error('version is missing: give one from "3.0" to "3.18"')],
    inSchema: true,
  },
  {
    what: "a version that is a number",
    document: workflow(chain({ id: "Noop_A" }), { version: 3.16 }),
    payloads: [error('version must be a string such as "3.18", not 3.16')],
    inSchema: true,
  },
  ...["4.0", "3.19", "3.016", " 3.1", ""].map(
    (version): Faulty => ({
      what: `the version ${JSON.stringify(version)}`,
      document: workflow(chain({ id: "Noop_A" }), { version }),
      payloads: [error(`version "${version}" is not supported: use "3.0" to "3.18"`)],
      inSchema: true,
    }),
  ),
  {
    what: "missing name, registry and steps",
    document: { version: "3.18" },
    payloads: [error("name is missing"), error("registry is missing"), error("steps is missing")],
    inSchema: true,
  },
  {
    what: "a name that is not a text",
    document: workflow(chain({ id: "Noop_A" }), { name: "" }),
    payloads: [error('name must be a non-empty string, not ""')],
    inSchema: true,
  },
  {
    what: "steps that are an object",
    document: workflow({ Noop_A: {} }),
    payloads: [error("steps must be a non-empty array, not an object")],
    inSchema: true,
  },
  {
    what: "missing steps",
    document: workflow([]),
    payloads: [error("steps must be a non-empty array, not an empty array")],
    inSchema: true,
  },
  {
    what: "a step that is not an object",
    document: workflow([...chain({ id: "Noop_A" }), 3]),
    payloads: [error("steps[2] must be a step, not 3")],
    inSchema: true,
  },
  {
    what: "an unknown workflowType",
    document: workflow(chain({ id: "Noop_A" }), { workflowType: "Home" }),
    payloads: [error('workflowType must be "IDE", "Business", "Approval" or "Local", not "Home"')],
    inSchema: true,
  },
  {
    what: "a service in the type IDE",
    document: workflow(chain({ id: "Service_F" }), {
      workflowType: "IDE",
      registry: { services: ["F() RETURN r(INT)"] },
    }),
    payloads: [
      error("a workflow of the type IDE can't declare services"),
      error("Service_F: a workflow of the type IDE can't call services"),
    ],
    inSchema: true,
  },
];

/** Documents with errors in the registry. */
export const faultyRegistries: Faulty[] = [
  {
    what: "params that are an object",
    document: withRegistry({ params: { a: 1 } }),
    payloads: [error("registry.params must be an array, not an object")],
    inSchema: true,
  },
  {
    what: "a variable that is not a text",
    document: withRegistry({ vars: [1] }),
    payloads: [error("registry.vars[0] must be a string, not 1")],
    inSchema: true,
  },
  {
    what: "a duplicate param",
    document: withRegistry({ params: ["a(INT)", "a(STRING)"] }),
    payloads: [error('registry.params[1]: "a" is declared twice')],
  },
  {
    what: "a duplicate service",
    document: withRegistry({ services: ["F()", "F(a(INT))"] }),
    payloads: [error('registry.services[1]: "F" is declared twice')],
  },
  {
    what: "an API without a url",
    document: withRegistry({ apis: [{ id: "a" }] }),
    payloads: [error("registry.apis[0].url is missing")],
    inSchema: true,
  },
  ...[
    ["params", "$a(INT)", "the name of a param must not begin with $"],
    ["vars", "a(INT)", "the name of a variable must begin with $"],
    ["vars", "$a", "missing name or type"],
    ["services", "F", 'missing name or "("'],
  ].map(
    ([field = "", text = "", why = ""]): Faulty => ({
      what: `the declaration ${text} in ${field}`,
      document: withRegistry({ [field]: [text] }),
      payloads: [error(`registry.${field}[0]: declaration "${text}": ${why}`)],
    }),
  ),
  {
    what: "an unknown type",
    document: withRegistry({ vars: ["$a(DATE)"] }),
    payloads: [
      warning(
        'registry.vars[0]: the type "DATE" of "$a" is unknown, so its values are not checked',
      ),
    ],
  },
  {
    what: "a component without a name",
    document: withRegistry({ components: [{}] }),
    payloads: [
      error("registry.components[0] must be a non-empty string or an object, not an object"),
    ],
    inSchema: true,
  },
  {
    what: "a schema that is a text",
    document: withRegistry({ schemas: { plan: "object" } }),
    payloads: [error('registry.schemas.plan must be a JSON Schema, not "object"')],
    inSchema: true,
  },
];
