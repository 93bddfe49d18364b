/** A document with one thing wrong, all that is told of it, and whether the JSON Schema refuses it too. */
export type Faulty = { what: string; document: unknown; told: string[]; inSchema?: true };

type Fields = Record<string, unknown>;

/** A valid workflow of the steps given; `more` replaces fields of the document. */
export const workflow = (steps: unknown, more: Fields = {}): Fields => ({
  version: "3.18",
  name: "sample",
  registry: { params: ["goal(STRING)"], vars: ["$x(OBJECT)", "$list(ARRAY)"] },
  steps,
  ...more,
});

/** Steps one after the other, the last one before a Stop. */
export const chain = (...steps: Fields[]): Fields[] => [
  ...steps.map((step, index) => ({ next: steps[index + 1]?.id ?? "Stop_End", ...step })),
  { id: "Stop_End" },
];

const withRegistry = (registry: unknown, ...steps: Fields[]) =>
  workflow(chain(...(steps.length > 0 ? steps : [{ id: "Noop_A" }])), { registry });

const error = (text: string) => `error: ${text}`;
const warning = (text: string) => `warning: ${text}`;

const set = (fields: Fields = {}): Fields => ({ id: "Set_A", target: "$x", value: 1, ...fields });
const one = (step: Fields) => workflow(chain(step));
const loop = (fields: Fields = {}): Fields[] => [
  ...chain({ id: "Loop_A", children: ["Set_A"], ...fields }),
  set({ next: "RETURN" }),
];
const llm = (fields: Fields) => one({ id: "LLM_A", ...fields });

/** What is wrong with a document as a whole. */
export const faultyDocuments: Faulty[] = [
  {
    what: "no object",
    document: [],
    told: [error("a workflow must be an object, not an array")],
    inSchema: true,
  },
  {
    what: "no version",
    document: workflow(chain({ id: "Noop_A" }), { version: undefined }),
    told: [error('version is missing: give one from "3.0" to "3.18"')],
    inSchema: true,
  },
  {
    what: "a version that is a number",
    document: workflow(chain({ id: "Noop_A" }), { version: 3.16 }),
    told: [error('version must be a text such as "3.18", not 3.16')],
    inSchema: true,
  },
  ...["4.0", "3.19", "3.016", " 3.1", ""].map(
    (version): Faulty => ({
      what: `the version ${JSON.stringify(version)}`,
      document: workflow(chain({ id: "Noop_A" }), { version }),
      told: [error(`version "${version}" is not supported: "3.0" to "3.18" are`)],
      inSchema: true,
    }),
  ),
  {
    what: "neither name nor registry nor steps",
    document: { version: "3.18" },
    told: [error("name is missing"), error("registry is missing"), error("steps is missing")],
    inSchema: true,
  },
  {
    what: "a name that is no text",
    document: workflow(chain({ id: "Noop_A" }), { name: "" }),
    told: [error('name must be a text that is not empty, not ""')],
    inSchema: true,
  },
  {
    what: "a registry that is no object",
    document: workflow(chain({ id: "Noop_A" }), { registry: [] }),
    told: [error("registry must be an object, not an array")],
    inSchema: true,
  },
  {
    what: "steps that are an object",
    document: workflow({ Noop_A: {} }),
    told: [error("steps must be an array that is not empty, not an object")],
    inSchema: true,
  },
  {
    what: "no steps",
    document: workflow([]),
    told: [error("steps must be an array that is not empty, not an empty array")],
    inSchema: true,
  },
  {
    what: "a step that is no object",
    document: workflow([...chain({ id: "Noop_A" }), 3]),
    told: [error("steps[2] must be a step, not 3")],
    inSchema: true,
  },
  {
    what: "an unknown workflowType",
    document: workflow(chain({ id: "Noop_A" }), { workflowType: "Home" }),
    told: [error('workflowType must be "IDE", "Business", "Approval" or "Local", not "Home"')],
    inSchema: true,
  },
  {
    what: "a service in the type IDE",
    document: workflow(chain({ id: "Service_F" }), {
      workflowType: "IDE",
      registry: { services: ["F() RETURN r(INT)"] },
    }),
    told: [
      error("a workflow of the type IDE has no services"),
      error("Service_F: a workflow of the type IDE calls no service"),
    ],
  },
];

/** What is wrong with a registry. */
export const faultyRegistries: Faulty[] = [
  {
    what: "params that are an object",
    document: withRegistry({ params: { a: 1 } }),
    told: [error("registry.params must be an array, not an object")],
    inSchema: true,
  },
  {
    what: "a variable that is no text",
    document: withRegistry({ vars: [1] }),
    told: [error("registry.vars[0] must be a text, not 1")],
    inSchema: true,
  },
  {
    what: "a param that is declared twice",
    document: withRegistry({ params: ["a(INT)", "a(STRING)"] }),
    told: [error('registry.params[1]: "a" is declared twice')],
  },
  {
    what: "a variable with the name of a param",
    document: withRegistry({ params: ["a(INT)"], vars: ["$a(INT)"] }),
    told: [error('registry.vars[0]: "$a" has the name of a param')],
  },
  {
    what: "a service that is declared twice",
    document: withRegistry({ services: ["F()", "F(a(INT))"] }),
    told: [error('registry.services[1]: "F" is declared twice')],
  },
  {
    what: "an API without a url",
    document: withRegistry({ apis: [{ id: "a" }] }),
    told: [error("registry.apis[0].url is missing")],
    inSchema: true,
  },
  {
    what: "an API's header that is no text",
    document: withRegistry({ apis: [{ id: "a", url: "u", headers: { b: 1 } }] }),
    told: [error("registry.apis[0].headers.b must be a text, not 1")],
    inSchema: true,
  },
  ...[
    ["params", "$a(INT)", "the name of a param has no $"],
    ["vars", "a(INT)", "the name of a variable begins with $"],
    ["vars", "$a", "it has no name and type"],
    ["services", "F", "it has no name and ("],
  ].map(
    ([field = "", text = "", why = ""]): Faulty => ({
      what: `the declaration ${text} in ${field}`,
      document: withRegistry({ [field]: [text] }),
      told: [error(`registry.${field}[0]: declaration "${text}": ${why}`)],
    }),
  ),
  {
    what: "a type that is not known",
    document: withRegistry({ vars: ["$a(DATE)"] }),
    told: [
      warning(
        'registry.vars[0]: the type "DATE" of "$a" is not known, so its values are not checked',
      ),
    ],
  },
  {
    what: "a component without a name",
    document: withRegistry({ components: [{}] }),
    told: [
      error("registry.components[0] must be a text that is not empty or an object, not an object"),
    ],
    inSchema: true,
  },
  {
    what: "files that are a list",
    document: withRegistry({ files: ["a"] }),
    told: [error("registry.files must be an object, not an array")],
    inSchema: true,
  },
  {
    what: "artifacts that are a text",
    document: withRegistry({ files: { artifacts: "out/**" } }),
    told: [error('registry.files.artifacts must be an array, not "out/**"')],
    inSchema: true,
  },
  {
    what: "a document's title that is no text",
    document: withRegistry({ docs: { "1": 2 } }),
    told: [error("registry.docs.1 must be a text, not 2")],
    inSchema: true,
  },
  {
    what: "a schema that is a text",
    document: withRegistry({ schemas: { plan: "object" } }),
    told: [error('registry.schemas.plan must be a JSON Schema, not "object"')],
    inSchema: true,
  },
];

/** What is wrong with one step. */
export const faultySteps: Faulty[] = [
  {
    what: "no id",
    document: workflow([...chain({ id: "Noop_A" }), { type: "Noop", next: "RETURN" }]),
    told: [error("steps[2]: id is missing")],
    inSchema: true,
  },
  {
    what: "an id that is a number",
    document: workflow([...chain({ id: "Noop_A" }), { id: 4, next: "RETURN" }]),
    told: [error("steps[2]: id must be a text that is not empty, not 4")],
    inSchema: true,
  },
  {
    what: "an id without a type",
    document: one({ id: "LLM" }),
    told: [error('LLM: an id is a type, "_" and a name, such as LLM_Plan')],
  },
  ...["RETURN", "BREAK", "ELSE", "__entry__"].map(
    (id): Faulty => ({
      what: `the reserved id ${id}`,
      document: workflow([...chain({ id: "Noop_A" }), { id, next: "Stop_End" }]),
      told: [error(`${id}: this id is reserved: RETURN, BREAK, ELSE and what begins with __ are`)],
      inSchema: true,
    }),
  ),
  ...["Noop_a/b", "Noop_..", "Noop_a\\b"].map(
    (id): Faulty => ({
      what: `the id ${id}`,
      document: one({ id }),
      told: [error(`${id}: an id has no "/", no "\\" and no ".."`)],
      inSchema: true,
    }),
  ),
  {
    what: "an id with a line break",
    document: one({ id: "Noop_a\nb" }),
    told: [error('"Noop_a\\nb": an id has no control characters')],
  },
  {
    what: "an id of 201 characters",
    document: one({ id: `Noop_${"a".repeat(196)}` }),
    told: [error(`"Noop_${"a".repeat(55)}…": an id has at most 200 characters`)],
    inSchema: true,
  },
  {
    what: "an unknown prefix",
    document: one({ id: "Foo_A" }),
    told: [
      error(
        'Foo_A: "Foo" is no type of step: Service, API, Component, LLM, Set, Write, Download, Unzip, Pause, Branch, Loop, Stop, Noop, Tool, Subflow are',
      ),
    ],
  },
  {
    what: "a type that is no text",
    document: one({ id: "Noop_A", type: 3 }),
    told: [error("Noop_A: type must be a text, not 3")],
    inSchema: true,
  },
  {
    what: "an id that is given twice",
    document: workflow([...chain({ id: "Noop_A" }), { id: "Noop_A", next: "RETURN" }]),
    told: [error("Noop_A: this id has been given to steps[0] already")],
  },
  {
    what: "a Stop with a next",
    document: workflow([
      { id: "Noop_A", next: "Stop_A" },
      { id: "Stop_A", next: "RETURN" },
    ]),
    told: [error("Stop_A: a Stop ends the run, so it has no next")],
    inSchema: true,
  },
  {
    what: "a Stop with children",
    document: workflow([
      { id: "Stop_A", children: ["Noop_A"] },
      { id: "Noop_A", next: "RETURN" },
    ]),
    told: [error("Stop_A: a Stop ends the run, so it has no children")],
    inSchema: true,
  },
  {
    what: "a field that its type does not have",
    document: one({ id: "Noop_A", cases: [] }),
    told: [warning("Noop_A: cases has no effect on a Noop")],
  },
  {
    what: "in and input together",
    document: llm({ in: { prompt: "a" }, input: { prompt: "b" } }),
    told: [warning("LLM_A: input has no effect beside in")],
  },
  {
    what: "in that is a list",
    document: llm({ in: [] }),
    told: [error("LLM_A: in must be an object, not an array")],
    inSchema: true,
  },
  {
    what: "out that is a number",
    document: llm({ out: 1 }),
    told: [error("LLM_A: out must be a text or an object, not 1")],
    inSchema: true,
  },
  {
    what: "meta that is a text",
    document: one({ id: "Noop_A", meta: "a" }),
    told: [error('Noop_A: meta must be an object, not "a"')],
    inSchema: true,
  },
  {
    what: "an unknown errorStrategy",
    document: one({ id: "Noop_A", errorStrategy: "retry" }),
    told: [
      error('Noop_A: errorStrategy must be "fail_fast", "continue" or "collect", not "retry"'),
    ],
    inSchema: true,
  },
  {
    what: "an empty model",
    document: llm({ model: " " }),
    told: [error("LLM_A: model is empty")],
  },
  {
    what: "a model with an empty side",
    document: llm({ in: { model: "openai/" } }),
    told: [error('LLM_A: in.model "openai/" has an empty side')],
  },
  {
    what: "a schema with a schemaRef",
    document: workflow(
      chain({ id: "LLM_A", in: { output_config: { format: { schema: {}, schemaRef: "s" } } } }),
      { registry: { schemas: { s: {} } } },
    ),
    told: [error("LLM_A: in.output_config.format has a schema and a schemaRef")],
  },
  {
    what: "a schemaRef that is not registered",
    document: llm({ in: { output_config: { type: "json_schema", schemaRef: "s" } } }),
    told: [error('LLM_A: the schema "s" is not in registry.schemas')],
  },
  {
    what: "an unknown form of the answer",
    document: llm({ in: { output_config: { type: "xml" } } }),
    told: [error('LLM_A: in.output_config.type must be "text", "json_object" or "json_schema"')],
  },
  {
    what: "a service that is not registered",
    document: one({ id: "Service_F" }),
    told: [error('Service_F: the service "F" is not in registry.services')],
  },
  {
    what: "an API that is not registered",
    document: one({ id: "API_users_get" }),
    told: [error('API_users_get: the API "users_get" is not in registry.apis')],
  },
  {
    what: "a component that is not registered",
    document: one({ id: "Component_F" }),
    told: [warning('Component_F: the component "F" is not in registry.components')],
  },
  {
    what: "a Download without a source",
    document: one({ id: "Download_A", in: {} }),
    told: [error("Download_A: a Download needs source in its in")],
  },
  {
    what: "an Unzip without a source",
    document: one({ id: "Unzip_A", in: { overwrite: false } }),
    told: [error("Unzip_A: an Unzip needs source in its in")],
  },
  {
    what: "a Set without a target",
    document: one({ id: "Set_A", value: 1 }),
    told: [error("Set_A: a Set needs a target")],
    inSchema: true,
  },
  {
    what: "a Set without a value",
    document: one({ id: "Set_A", target: "$x" }),
    told: [warning('Set_A: value is missing, so "$x" gets nothing')],
  },
  {
    what: "a Set whose target is an expression",
    document: one(set({ target: "=$x" })),
    told: [error('Set_A: target "=$x": it is neither a $variable nor a /path')],
  },
  {
    what: "a Set whose target is a file",
    document: one(set({ target: "/x" })),
    told: [error('Set_A: target must be a path such as $result, not "/x"')],
  },
  {
    what: "a Set whose target reaches a prototype",
    document: one(set({ target: "$x.__proto__" })),
    told: [error('Set_A: target "$x.__proto__": the key __proto__ is refused')],
  },
  {
    what: "a Write without a target",
    document: one({ id: "Write_A", value: 1 }),
    told: [error("Write_A: a Write needs a target")],
    inSchema: true,
  },
  {
    what: "a Write with an empty target",
    document: one({ id: "Write_A", target: "", value: 1 }),
    told: [error('Write_A: target must be a path such as /out/report.md, not ""')],
    inSchema: true,
  },
  {
    what: "a Write to a variable",
    document: one({ id: "Write_A", target: "$x", value: 1 }),
    told: [error('Write_A: target must be a path such as /out/report.md, not "$x"')],
  },
  {
    what: "an unknown mode of a Write",
    document: one({ id: "Write_A", target: "/a", value: 1, mode: "serial" }),
    told: [
      error(
        'Write_A: mode must be "overwrite", "failIfExists", "append" or "prepend", not "serial"',
      ),
    ],
    inSchema: true,
  },
  {
    what: "a Pause without a target",
    document: one({ id: "Pause_A" }),
    told: [error("Pause_A: resumeResultTarget is missing: a Pause needs it")],
    inSchema: true,
  },
  {
    what: "a timeout of no seconds",
    document: one({ id: "Pause_A", resumeResultTarget: "$x", timeout: { sec: 0, on: "Stop_End" } }),
    told: [error("Pause_A: timeout.sec must be a number above 0, not 0")],
    inSchema: true,
  },
  {
    what: "a timeout that leads nowhere",
    document: one({ id: "Pause_A", resumeResultTarget: "$x", timeout: { sec: 1 } }),
    told: [error("Pause_A: timeout.on is missing")],
    inSchema: true,
  },
  {
    what: "a tool that is no text",
    document: one({ id: "Tool_A", tool: 1 }),
    told: [error("Tool_A: tool must be a text that is not empty, not 1")],
    inSchema: true,
  },
  {
    what: "allowError that is a text",
    document: one({ id: "Tool_A", allowError: "yes" }),
    told: [error('Tool_A: allowError must be true or false, not "yes"')],
    inSchema: true,
  },
  {
    what: "a timeout of a tool that is below 0",
    document: one({ id: "Tool_A", timeout: -1 }),
    told: [error("Tool_A: timeout must be a number of milliseconds above 0, not -1")],
    inSchema: true,
  },
  {
    what: "a type that is newer than the version",
    document: workflow(chain({ id: "Tool_A" }), { version: "3.16" }),
    told: [warning("Tool_A: a Tool is of version 3.17, and the workflow says 3.16")],
  },
  {
    what: "a Branch without cases",
    document: one({ id: "Branch_A" }),
    told: [error("Branch_A: cases is missing: a Branch needs it")],
    inSchema: true,
  },
  {
    what: "cases that are no pairs",
    document: one({ id: "Branch_A", cases: ["Noop_B", ["ELSE"]] }),
    told: [
      error('Branch_A: cases[0] must be a pair of a condition and a step\'s id, not "Noop_B"'),
      error("Branch_A: cases[1] must be a pair of a condition and a step's id, not an array"),
    ],
    inSchema: true,
  },
  {
    what: "ELSE in the middle",
    document: workflow([
      ...chain({
        id: "Branch_A",
        cases: [
          ["ELSE", "Set_A"],
          ["goal", "Set_A"],
        ],
      }),
      set({ next: "RETURN" }),
    ]),
    told: [error("Branch_A: ELSE must be the last of the cases")],
  },
  {
    what: "a Loop without children",
    document: one({ id: "Loop_A", source: "=$list" }),
    told: [error("Loop_A: children is missing: a Loop needs it")],
    inSchema: true,
  },
  {
    what: "a Loop over nothing",
    document: workflow(loop()),
    told: [error("Loop_A: a Loop needs source or while")],
    inSchema: true,
  },
  {
    what: "a Loop with while and source",
    document: workflow(loop({ while: "goal", maxIterations: 1, source: "=$list" })),
    told: [error("Loop_A: a Loop has source or while, not both")],
    inSchema: true,
  },
  {
    what: "a Loop with while and no limit",
    document: workflow(loop({ while: "goal" })),
    told: [error("Loop_A: a Loop with while needs maxIterations")],
    inSchema: true,
  },
  {
    what: "a parallel Loop with while",
    document: workflow(loop({ while: "goal", maxIterations: 1, mode: "parallel" })),
    told: [error("Loop_A: a Loop with while can't be parallel")],
    inSchema: true,
  },
  {
    what: "a limit below 1",
    document: workflow(loop({ while: "goal", maxIterations: 0 })),
    told: [error("Loop_A: maxIterations must be a whole number from 1, not 0")],
    inSchema: true,
  },
  {
    what: "an unknown mode of a Loop",
    document: workflow(loop({ source: "=$list", mode: "append" })),
    told: [error('Loop_A: mode must be "serial" or "parallel", not "append"')],
    inSchema: true,
  },
  {
    what: "a Loop that writes what it goes over",
    document: workflow([
      ...chain({ id: "Loop_A", children: ["Set_A"], source: "=$list" }),
      set({ target: "$list[0]", next: "RETURN" }),
    ]),
    told: [
      warning(
        'Loop_A: source: "Set_A" in the loop writes $list: a resumed loop would go over another list',
      ),
    ],
  },
];

/** What is wrong with expressions and targets. */
export const faultyExpressions: Faulty[] = [
  {
    what: "an undeclared variable in a value",
    document: one(set({ value: "=$y + 1" })),
    told: [error('Set_A: value: "$y" is not declared in registry.vars')],
  },
  {
    what: "an undeclared variable deep in an input",
    document: llm({ in: { messages: [{ content: "=$y" }] } }),
    told: [error('LLM_A: in.messages[0].content: "$y" is not declared in registry.vars')],
  },
  {
    what: "an undeclared variable that is written",
    document: llm({ out: "$y" }),
    told: [error('LLM_A: out: "$y" is not declared in registry.vars')],
  },
  {
    what: "an undeclared variable in a placeholder",
    document: llm({ out: { "$x[$y]": "=_result", "/{$z.a}.md": "=_result" } }),
    told: [
      error('LLM_A: out["$x[$y]"]: "$y" is not declared in registry.vars'),
      error('LLM_A: out["/{$z.a}.md"]: "$z" is not declared in registry.vars'),
    ],
  },
  {
    what: "an undeclared variable for a pause's answer",
    document: one({ id: "Pause_A", resumeResultTarget: "$y" }),
    told: [error('Pause_A: resumeResultTarget: "$y" is not declared in registry.vars')],
  },
  {
    what: "an undeclared variable in conditions, which need no =",
    document: workflow([
      ...chain({ id: "Branch_A", if: "$a", cases: [["$b", "Loop_A"]] }),
      { id: "Loop_A", while: "$c", maxIterations: 1, children: ["Noop_B"], next: "RETURN" },
      { id: "Noop_B", print: "=$d", next: "RETURN" },
    ]),
    told: [
      error('Branch_A: if: "$a" is not declared in registry.vars'),
      error('Branch_A: cases[0][0]: "$b" is not declared in registry.vars'),
      error('Loop_A: while: "$c" is not declared in registry.vars'),
      error('Noop_B: print: "$d" is not declared in registry.vars'),
    ],
  },
  {
    what: "a name that is no param",
    document: one(set({ value: "=gaol" })),
    told: [warning('Set_A: value: "gaol" is not declared in registry.params')],
  },
  {
    what: "an expression that ends too early",
    document: one(set({ value: "=1 +" })),
    told: [error('Set_A: value: a value is missing at the end, at character 4 of "1 +"')],
  },
  {
    what: "a target that is none",
    document: llm({ out: { x: "=_result" } }),
    told: [error('LLM_A: out: target "x": it is neither a $variable nor a /path')],
  },
];

/** What is wrong with how steps hang together. */
export const faultyFlows: Faulty[] = [
  {
    what: "references to steps that are not there",
    document: workflow([
      { id: "Noop_A", children: ["Set_1"], next: "Set_2" },
      { id: "Branch_A", cases: [["goal", "Set_3"]], next: "Pause_A" },
      { id: "Pause_A", resumeResultTarget: "$x", timeout: { sec: 1, on: "Set_4" }, next: "LLM_A" },
      { id: "LLM_A", onError: "Set_5", next: "Stop_End" },
      { id: "Stop_End" },
    ]),
    told: [
      error('Noop_A: children[0]: there is no step "Set_1"'),
      error('Noop_A: next: there is no step "Set_2"'),
      error('Branch_A: cases[0][1]: there is no step "Set_3"'),
      error('Pause_A: timeout.on: there is no step "Set_4"'),
      error('LLM_A: onError: there is no step "Set_5"'),
    ],
  },
  {
    what: "children that are no array",
    document: one({ id: "Noop_A", children: "Set_A" }),
    told: [error('Noop_A: children must be an array, not "Set_A"')],
    inSchema: true,
  },
  {
    what: "a child that is no text",
    document: one({ id: "Noop_A", children: [{ id: "Set_A" }] }),
    told: [error("Noop_A: children[0] must be the id of a step, not an object")],
    inSchema: true,
  },
  {
    what: "a child that is named twice",
    document: workflow([
      ...chain({ id: "Noop_A", children: ["Set_A", "Set_A"] }),
      set({ next: "RETURN" }),
    ]),
    told: [error('Noop_A: children[1]: "Set_A" is named twice')],
  },
  {
    what: "BREAK outside of a loop",
    document: workflow([{ id: "Noop_A", next: "BREAK" }, { id: "Stop_End" }]),
    told: [error("Noop_A: next: BREAK ends a loop, and this step is in none")],
  },
  {
    what: "a case that goes to RETURN",
    document: one({ id: "Branch_A", cases: [["goal", "RETURN"]] }),
    told: [error("Branch_A: cases[0][1]: RETURN can only stand in next")],
  },
  {
    what: "no entry",
    document: workflow(
      [
        { id: "Noop_A", next: "Noop_B" },
        { id: "Noop_B", next: "Noop_A" },
        { id: "Stop_End", if: 1 },
      ].slice(0, 2),
    ),
    told: [
      error("there is no entry: each step is named by another, so none is the first"),
      warning("no step is a Stop"),
      warning(
        'Noop_A: it leads back to itself through "Noop_B": the limit on rounds alone bounds that',
      ),
    ],
  },
  {
    what: "a step that is never reached",
    document: workflow([
      ...chain({ id: "Noop_A" }),
      { id: "Noop_B", next: "Noop_C" },
      { id: "Noop_C", next: "Noop_B" },
    ]),
    told: [
      error("Noop_B: no way leads here from an entry"),
      error("Noop_C: no way leads here from an entry"),
      warning(
        'Noop_B: it leads back to itself through "Noop_C": the limit on rounds alone bounds that',
      ),
    ],
  },
  {
    what: "a step that is its own child",
    document: one({ id: "Noop_A", children: ["Noop_A"] }),
    told: [
      error('Noop_A: children[0]: "Noop_A" leads back here, so the step would run inside itself'),
    ],
  },
  {
    what: "a loop whose body goes on at the loop",
    document: workflow(
      [
        ...chain({ id: "Loop_A", children: ["Set_A"], source: "=$list" }),
        set({ next: "Loop_A" }),
      ].toSpliced(0, 0, { id: "Noop_Start", next: "Loop_A" }),
    ),
    told: [
      error('Loop_A: children[0]: "Set_A" leads back here, so the step would run inside itself'),
    ],
  },
  {
    what: "a next that goes back",
    document: workflow([
      { id: "Noop_A", next: "Noop_B" },
      { id: "Noop_B", next: "Noop_B" },
      { id: "Stop_End" },
    ]),
    told: [warning("Noop_B: it leads back to itself: the limit on rounds alone bounds that")],
  },
  {
    what: "no Stop, which is no error",
    document: workflow([{ id: "Noop_A", next: "RETURN" }]),
    told: [warning("no step is a Stop")],
  },
  {
    what: "no next",
    document: workflow([{ id: "Noop_A" }, { id: "Stop_End" }]),
    told: [warning("Noop_A: next is missing, so the chain ends here, as with RETURN")],
  },
  {
    what: "constructs 101 deep",
    document: workflow(
      Array.from({ length: 102 }, (_, level) => ({
        id: `Noop_${level}`,
        next: "RETURN",
        children: level < 101 ? [`Noop_${level + 1}`] : [],
      })),
    ),
    told: [error("Noop_101: it lies in more than 100 constructs"), warning("no step is a Stop")],
  },
];
