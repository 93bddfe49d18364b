import {
  chain,
  error,
  type Faulty,
  type Fields,
  llm,
  one,
  set,
  warning,
  workflow,
} from "./faulty.ts";

const loop = (fields: Fields = {}): Fields[] => [
  ...chain({ id: "Loop_A", children: ["Set_A"], ...fields }),
  set({ next: "RETURN" }),
];

/** Documents with errors in one step. */
export const faultySteps: Faulty[] = [
  {
    what: "a missing id",
    document: workflow([...chain({ id: "Noop_A" }), { type: "Noop", next: "RETURN" }]),
    payloads: [error("steps[2]: id is missing")],
    inSchema: true,
  },
  {
    what: "an id that is a number",
    document: workflow([...chain({ id: "Noop_A" }), { id: 4, next: "RETURN" }]),
    payloads: [error("steps[2]: id must be a non-empty string, not 4")],
    inSchema: true,
  },
  {
    what: "an id without a type",
    document: one({ id: "LLM" }),
    payloads: [error('LLM: id must be a type, "_" and a name, such as LLM_Plan')],
    inSchema: true,
  },
  ...["RETURN", "BREAK", "ELSE", "__entry__"].map(
    (id): Faulty => ({
      what: `the reserved id ${id}`,
      document: workflow([...chain({ id: "Noop_A" }), { id, next: "Stop_End" }]),
      payloads: [error(`${id}: reserved id: RETURN, BREAK, ELSE, or an id that begins with __`)],
      inSchema: true,
    }),
  ),
  ...["Noop_a/b", "Noop_..", "Noop_a\\b"].map(
    (id): Faulty => ({
      what: `the id ${id}`,
      document: one({ id }),
      payloads: [error(`${id}: id must not contain "/", "\\" or ".."`)],
      inSchema: true,
    }),
  ),
  {
    what: "an id with a line break",
    document: one({ id: "Noop_a\nb" }),
    payloads: [error('"Noop_a\\nb": id must not contain control characters')],
  },
  {
    what: "an id of 201 characters",
    document: one({ id: `Noop_${"a".repeat(196)}` }),
    payloads: [error(`"Noop_${"a".repeat(55)}…": id must have at most 200 characters`)],
    inSchema: true,
  },
  {
    what: "an unknown prefix",
    document: one({ id: "Foo_A" }),
    payloads: [
      error(
        'Foo_A: "Foo" is not a step type: Service, API, Component, LLM, Set, Write, Download, Unzip, Pause, Branch, Loop, Stop, Noop, Tool, Subflow',
      ),
    ],
  },
  {
    what: "a type that is not a text",
    document: one({ id: "Noop_A", type: 3 }),
    payloads: [error("Noop_A: type must be a string, not 3")],
    inSchema: true,
  },
  {
    what: "a duplicate id",
    document: workflow([...chain({ id: "Noop_A" }), { id: "Noop_A", next: "RETURN" }]),
    payloads: [error("Noop_A: steps[0] has the same id")],
  },
  {
    what: "a Stop with a next",
    document: workflow([
      { id: "Noop_A", next: "Stop_A" },
      { id: "Stop_A", next: "RETURN" },
    ]),
    payloads: [error("Stop_A: a Stop ends the run, so it can't have next")],
    inSchema: true,
  },
  {
    what: "a Stop with children",
    document: workflow([
      { id: "Stop_A", children: ["Noop_A"] },
      { id: "Noop_A", next: "RETURN" },
    ]),
    payloads: [error("Stop_A: a Stop ends the run, so it can't have children")],
    inSchema: true,
  },
  {
    what: "a field of another type of step",
    document: one({ id: "Noop_A", cases: [] }),
    payloads: [warning("Noop_A: cases has no effect on a Noop")],
  },
  {
    what: "in and input together",
    document: llm({ in: { prompt: "a" }, input: { prompt: "b" } }),
    payloads: [warning("LLM_A: input has no effect when in is set")],
  },
  {
    what: "in as an array",
    document: llm({ in: [] }),
    payloads: [error("LLM_A: in must be an object, not an array")],
    inSchema: true,
  },
  {
    what: "out as a number",
    document: llm({ out: 1 }),
    payloads: [error("LLM_A: out must be a string or an object, not 1")],
    inSchema: true,
  },
  {
    what: "an unknown errorStrategy",
    document: one({ id: "Noop_A", errorStrategy: "retry" }),
    payloads: [
      error('Noop_A: errorStrategy must be "fail_fast", "continue" or "collect", not "retry"'),
    ],
    inSchema: true,
  },
  {
    what: "an empty model",
    document: llm({ model: " " }),
    payloads: [error("LLM_A: model is empty")],
  },
  {
    what: "a model without a name",
    document: llm({ in: { model: "openai/" } }),
    payloads: [error('LLM_A: in.model "openai/" is missing a provider or a model')],
  },
  {
    what: "a schema with a schemaRef",
    document: workflow(
      chain({ id: "LLM_A", in: { output_config: { format: { schema: {}, schemaRef: "s" } } } }),
      { registry: { schemas: { s: {} } } },
    ),
    payloads: [error("LLM_A: in.output_config.format has a schema and a schemaRef")],
  },
  {
    what: "an unregistered schemaRef",
    document: llm({ in: { output_config: { type: "json_schema", schemaRef: "s" } } }),
    payloads: [error('LLM_A: the schema "s" is not in registry.schemas')],
  },
  {
    what: "an unknown answer format",
    document: llm({ in: { output_config: { type: "xml" } } }),
    payloads: [
      error('LLM_A: in.output_config.type must be "text", "json_object" or "json_schema"'),
    ],
  },
  {
    what: "an unregistered service",
    document: one({ id: "Service_F" }),
    payloads: [error('Service_F: the service "F" is not in registry.services')],
  },
  {
    what: "an unregistered API",
    document: one({ id: "API_users_get" }),
    payloads: [error('API_users_get: the API "users_get" is not in registry.apis')],
  },
  {
    what: "an unregistered component",
    document: one({ id: "Component_F" }),
    payloads: [warning('Component_F: the component "F" is not in registry.components')],
  },
  {
    what: "a Download without a source",
    document: one({ id: "Download_A", in: {} }),
    payloads: [error("Download_A: a Download needs source in its in")],
  },
  {
    what: "a Set without a target",
    document: one({ id: "Set_A", value: 1 }),
    payloads: [error("Set_A: a Set needs a target")],
    inSchema: true,
  },
  {
    what: "a Set without a value",
    document: one({ id: "Set_A", target: "$x" }),
    payloads: [warning('Set_A: value is missing, so null is written to "$x"')],
  },
  {
    what: "a Set whose target is an expression",
    document: one(set({ target: "=$x" })),
    payloads: [error('Set_A: target "=$x": not a $variable or a /path')],
  },
  {
    what: "a Set whose target is a file",
    document: one(set({ target: "/x" })),
    payloads: [error('Set_A: target must be a path such as $result, not "/x"')],
  },
  {
    what: "a Set whose target reaches a prototype",
    document: one(set({ target: "$x.__proto__" })),
    payloads: [error('Set_A: target "$x.__proto__": the key __proto__ is not allowed')],
  },
  {
    what: "a Write with an empty target",
    document: one({ id: "Write_A", target: "", value: 1 }),
    payloads: [error('Write_A: target must be a path such as /out/report.md, not ""')],
    inSchema: true,
  },
  {
    what: "a Write to a variable",
    document: one({ id: "Write_A", target: "$x", value: 1 }),
    payloads: [error('Write_A: target must be a path such as /out/report.md, not "$x"')],
  },
  {
    what: "an unknown mode of a Write",
    document: one({ id: "Write_A", target: "/a", value: 1, mode: "serial" }),
    payloads: [
      error(
        'Write_A: mode must be "overwrite", "failIfExists", "append" or "prepend", not "serial"',
      ),
    ],
    inSchema: true,
  },
  {
    what: "a timeout of 0 seconds",
    document: one({ id: "Pause_A", resumeResultTarget: "$x", timeout: { sec: 0, on: "Stop_End" } }),
    payloads: [error("Pause_A: timeout.sec must be a number above 0, not 0")],
    inSchema: true,
  },
  {
    what: "a timeout to a missing step",
    document: one({ id: "Pause_A", resumeResultTarget: "$x", timeout: { sec: 1 } }),
    payloads: [error("Pause_A: timeout.on is missing")],
    inSchema: true,
  },
  {
    what: "allowError as a text",
    document: one({ id: "Tool_A", allowError: "yes" }),
    payloads: [error('Tool_A: allowError must be true or false, not "yes"')],
    inSchema: true,
  },
  {
    what: "a negative timeout of a tool",
    document: one({ id: "Tool_A", timeout: -1 }),
    payloads: [error("Tool_A: timeout must be a number of milliseconds above 0, not -1")],
    inSchema: true,
  },
  {
    what: "a type that is newer than the version",
    document: workflow(chain({ id: "Tool_A" }), { version: "3.16" }),
    payloads: [warning("Tool_A: a Tool needs version 3.17, but the workflow has version 3.16")],
  },
  {
    what: "a Branch without cases",
    document: one({ id: "Branch_A" }),
    payloads: [error("Branch_A: cases is missing: a Branch needs it")],
    inSchema: true,
  },
  {
    what: "cases that are not pairs",
    document: one({ id: "Branch_A", cases: ["Noop_B", ["ELSE"]] }),
    payloads: [
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
    payloads: [error("Branch_A: ELSE must be the last of the cases")],
  },
  {
    what: "a Loop without source and while",
    document: workflow(loop()),
    payloads: [error("Loop_A: a Loop needs source or while")],
    inSchema: true,
  },
  {
    what: "a Loop with while and source",
    document: workflow(loop({ while: "goal", maxIterations: 1, source: "=$list" })),
    payloads: [error("Loop_A: a Loop can't have both source and while")],
    inSchema: true,
  },
  {
    what: "a Loop with while but without maxIterations",
    document: workflow(loop({ while: "goal" })),
    payloads: [error("Loop_A: a Loop with while needs maxIterations")],
    inSchema: true,
  },
  {
    what: "a parallel Loop with while",
    document: workflow(loop({ while: "goal", maxIterations: 1, mode: "parallel" })),
    payloads: [error("Loop_A: a Loop with while can't be parallel")],
    inSchema: true,
  },
  {
    what: "a limit below 1",
    document: workflow(loop({ while: "goal", maxIterations: 0 })),
    payloads: [error("Loop_A: maxIterations must be a whole number from 1, not 0")],
    inSchema: true,
  },
  {
    what: "a Loop that writes to its source",
    document: workflow([
      ...chain({ id: "Loop_A", children: ["Set_A"], source: "=$list" }),
      set({ target: "$list[0]", next: "RETURN" }),
    ]),
    payloads: [
      warning(
        'Loop_A: source: "Set_A" in the loop writes $list: a resumed loop would iterate over a different list',
      ),
    ],
  },
];
