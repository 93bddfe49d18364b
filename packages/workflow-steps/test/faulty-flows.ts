import { chain, error, type Faulty, llm, one, set, warning, workflow } from "./faulty.ts";

/** Documents with errors in expressions and targets. */
export const faultyExpressions: Faulty[] = [
  {
    what: "an undeclared variable in a value",
    document: one(set({ value: "=$y + 1" })),
    payloads: [error('Set_A: value: "$y" is not declared in registry.vars')],
  },
  {
    what: "an undeclared variable deep in an input",
    document: llm({ in: { messages: [{ content: "=$y" }] } }),
    payloads: [error('LLM_A: in.messages[0].content: "$y" is not declared in registry.vars')],
  },
  {
    what: "a write to an undeclared variable",
    document: llm({ out: "$y" }),
    payloads: [error('LLM_A: out: "$y" is not declared in registry.vars')],
  },
  {
    what: "an undeclared variable in a placeholder",
    document: llm({ out: { "$x[$y]": "=_result", "/{$z.a}.md": "=_result" } }),
    payloads: [
      error('LLM_A: out["$x[$y]"]: "$y" is not declared in registry.vars'),
      error('LLM_A: out["/{$z.a}.md"]: "$z" is not declared in registry.vars'),
    ],
  },
  {
    what: "an undeclared variable for a pause's answer",
    document: one({ id: "Pause_A", resumeResultTarget: "$y" }),
    payloads: [error('Pause_A: resumeResultTarget: "$y" is not declared in registry.vars')],
  },
  {
    what: "an undeclared variable in conditions without =",
    document: workflow([
      ...chain({ id: "Branch_A", if: "$a", cases: [["$b", "Loop_A"]] }),
      { id: "Loop_A", while: "$c", maxIterations: 1, children: ["Noop_B"], next: "RETURN" },
      { id: "Noop_B", print: "=$d", next: "RETURN" },
    ]),
    payloads: [
      error('Branch_A: if: "$a" is not declared in registry.vars'),
      error('Branch_A: cases[0][0]: "$b" is not declared in registry.vars'),
      error('Loop_A: while: "$c" is not declared in registry.vars'),
      error('Noop_B: print: "$d" is not declared in registry.vars'),
    ],
  },
  {
    what: "an unknown name",
    document: one(set({ value: "=gaol" })),
    payloads: [warning('Set_A: value: "gaol" is not declared in registry.params')],
  },
  {
    what: "an incomplete expression",
    document: one(set({ value: "=1 +" })),
    payloads: [error('Set_A: value: missing value at the end, at character 4 of "1 +"')],
  },
  {
    what: "an invalid target",
    document: llm({ out: { x: "=_result" } }),
    payloads: [error('LLM_A: out: target "x": not a $variable or a /path')],
  },
];

/** Documents with errors in the connections of steps. */
export const faultyFlows: Faulty[] = [
  {
    what: "references to missing steps",
    document: workflow([
      { id: "Noop_A", children: ["Set_1"], next: "Set_2" },
      { id: "Branch_A", cases: [["goal", "Set_3"]], next: "Pause_A" },
      { id: "Pause_A", resumeResultTarget: "$x", timeout: { sec: 1, on: "Set_4" }, next: "LLM_A" },
      { id: "LLM_A", onError: "Set_5", next: "Stop_End" },
      { id: "Stop_End" },
    ]),
    payloads: [
      error('Noop_A: children[0]: no step "Set_1" found'),
      error('Noop_A: next: no step "Set_2" found'),
      error('Branch_A: cases[0][1]: no step "Set_3" found'),
      error('Pause_A: timeout.on: no step "Set_4" found'),
      error('LLM_A: onError: no step "Set_5" found'),
    ],
  },
  {
    what: "children that are not an array",
    document: one({ id: "Noop_A", children: "Set_A" }),
    payloads: [error('Noop_A: children must be an array, not "Set_A"')],
    inSchema: true,
  },
  {
    what: "a child that is not a text",
    document: one({ id: "Noop_A", children: [{ id: "Set_A" }] }),
    payloads: [error("Noop_A: children[0] must be the id of a step, not an object")],
    inSchema: true,
  },
  {
    what: "a duplicate child",
    document: workflow([
      ...chain({ id: "Noop_A", children: ["Set_A", "Set_A"] }),
      set({ next: "RETURN" }),
    ]),
    payloads: [error('Noop_A: children[1]: "Set_A" is named twice')],
  },
  {
    what: "BREAK outside of a loop",
    document: workflow([{ id: "Noop_A", next: "BREAK" }, { id: "Stop_End" }]),
    payloads: [error("Noop_A: next: BREAK ends a loop, but this step is not in a loop")],
  },
  {
    what: "a case that leads to RETURN",
    document: one({ id: "Branch_A", cases: [["goal", "RETURN"]] }),
    payloads: [error("Branch_A: cases[0][1]: RETURN is only allowed in next")],
  },
  {
    what: "a missing entry",
    document: workflow(
      [
        { id: "Noop_A", next: "Noop_B" },
        { id: "Noop_B", next: "Noop_A" },
        { id: "Stop_End", if: 1 },
      ].slice(0, 2),
    ),
    payloads: [
      error("no entry found: each step is named by another, so put a Noop before the first"),
      warning("no Stop found"),
      warning(
        'Noop_A: it leads back to itself through "Noop_B": only the limit on rounds ends this cycle',
      ),
    ],
  },
  {
    what: "an unreachable step",
    document: workflow([
      ...chain({ id: "Noop_A" }),
      { id: "Noop_B", next: "Noop_C" },
      { id: "Noop_C", next: "Noop_B" },
    ]),
    payloads: [
      error("Noop_B: no entry leads to this step"),
      error("Noop_C: no entry leads to this step"),
      warning(
        'Noop_B: it leads back to itself through "Noop_C": only the limit on rounds ends this cycle',
      ),
    ],
  },
  {
    what: "a step that is its own child",
    document: one({ id: "Noop_A", children: ["Noop_A"] }),
    payloads: [
      error('Noop_A: children[0]: "Noop_A" leads back here, so the step would run inside itself'),
    ],
  },
  {
    what: "a loop whose body continues at the loop",
    document: workflow(
      [
        ...chain({ id: "Loop_A", children: ["Set_A"], source: "=$list" }),
        set({ next: "Loop_A" }),
      ].toSpliced(0, 0, { id: "Noop_Start", next: "Loop_A" }),
    ),
    payloads: [
      error('Loop_A: children[0]: "Set_A" leads back here, so the step would run inside itself'),
    ],
  },
  {
    what: "a step whose next leads back to itself",
    document: workflow([
      { id: "Noop_A", next: "Noop_B" },
      { id: "Noop_B", next: "Noop_B" },
      { id: "Stop_End" },
    ]),
    payloads: [
      warning("Noop_B: it leads back to itself: only the limit on rounds ends this cycle"),
    ],
  },
  {
    what: "a missing Stop, which is only a warning",
    document: workflow([{ id: "Noop_A", next: "RETURN" }]),
    payloads: [warning("no Stop found")],
  },
  {
    what: "a missing next",
    document: workflow([{ id: "Noop_A" }, { id: "Stop_End" }]),
    payloads: [warning("Noop_A: next is missing, so the chain ends here, as with RETURN")],
  },
  {
    what: "101 nested constructs",
    document: workflow(
      Array.from({ length: 102 }, (_, level) => ({
        id: `Noop_${level}`,
        next: "RETURN",
        children: level < 101 ? [`Noop_${level + 1}`] : [],
      })),
    ),
    payloads: [
      error("Noop_101: it is nested in more than 100 constructs"),
      warning("no Stop found"),
    ],
  },
];
