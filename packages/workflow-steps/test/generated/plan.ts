import fc from "fast-check";

/** The `if` of a step; most steps have none. */
export type When = "always" | "never" | "yes" | "first" | "flag" | "counted";

/** Steps that make a call. A call fails at once or while its `out` is mapped. */
export type CallKind = "Tool" | "Service" | "Component" | "Custom";
export type Failing = { at: "call" | "out"; then: "handled" | "allowed" | "fatal" } | null;

/** Chains that run concurrently inside a step. */
export type Chains = { chains: Plan[][]; strategy: "fail_fast" | "continue" | "collect" | null };

/** One action of a chain: one step, or several steps for a cycle. */
export type Plan = { when: When; inside: Chains } & (
  | { kind: "noop" | "pause" | "stop" | "break" | "write" }
  | { kind: "set"; shape: number }
  | { kind: "call"; call: CallKind; failing: Failing; handler: Plan[] }
  | { kind: "branch"; cases: { when: When; chain: Plan[] }[]; isShared: boolean; hasElse: boolean }
  | { kind: "loop"; mode: "serial" | "parallel"; source: "tree" | "subs" | "none" }
  | { kind: "while"; rounds: number; isCounted: boolean }
  | { kind: "cycle"; rounds: number; chain: Plan[]; leave: "case" | "stop" | "break" }
  | { kind: "subflow"; entries: Plan[][] }
);

/** A whole workflow, before it has ids and variables. */
export type WorkflowPlan = {
  entries: Plan[][];
  /** Whether steps may count their earlier writes, which reveals repeated runs. */
  isCounting: boolean;
  maxConcurrency: number;
  /** Determines the duration of calls. */
  seed: number;
};

const whens: fc.Arbitrary<When> = fc.oneof(
  { arbitrary: fc.constant<When>("always"), weight: 6 },
  { arbitrary: fc.constantFrom<When>("never", "yes", "first", "flag", "counted"), weight: 3 },
);

const failings: fc.Arbitrary<Failing> = fc.oneof(
  { arbitrary: fc.constant(null), weight: 6 },
  {
    arbitrary: fc.record({
      at: fc.constantFrom("call" as const, "out" as const),
      then: fc.constantFrom("handled" as const, "handled" as const, "allowed" as const),
    }),
    weight: 3,
  },
  // A step with an unhandled failure runs again after a crash, so it must not read its earlier writes.
  { arbitrary: fc.constant({ at: "call" as const, then: "fatal" as const }), weight: 1 },
);

const strategies = fc.constantFrom(null, null, "fail_fast", "continue", "collect");

const nodes = fc.letrec<{ node: Plan; chain: Plan[]; inside: Chains; body: Chains }>((tie) => {
  const none = fc.constant<Chains>({ chains: [], strategy: null });
  const chainsOf = (least: number, most: number): fc.Arbitrary<Chains> =>
    fc.record({
      chains: fc.array(tie("chain"), { minLength: least, maxLength: most }),
      strategy: strategies,
    });
  const leaf = fc.oneof(
    fc.record({
      kind: fc.constant("set" as const),
      shape: fc.nat(6),
      when: whens,
      inside: none,
    }),
    fc.record({
      kind: fc.constant("call" as const),
      call: fc.constantFrom<CallKind>("Tool", "Service", "Component", "Custom"),
      failing: failings,
      handler: fc.constant<Plan[]>([]),
      when: whens,
      inside: none,
    }),
    fc.record({
      kind: fc.constantFrom("noop" as const, "write" as const),
      when: whens,
      inside: none,
    }),
    fc.record({
      kind: fc.constantFrom("pause" as const, "pause" as const, "break" as const, "stop" as const),
      when: whens,
      inside: none,
    }),
  );
  const nested = fc.oneof(
    fc.record({ kind: fc.constant("noop" as const), when: whens, inside: chainsOf(2, 3) }),
    fc.record({
      kind: fc.constantFrom("write" as const, "pause" as const),
      when: whens,
      inside: chainsOf(1, 2),
    }),
    fc.record({
      kind: fc.constant("set" as const),
      shape: fc.nat(6),
      when: whens,
      inside: chainsOf(1, 3),
    }),
    fc.record({
      kind: fc.constant("call" as const),
      call: fc.constantFrom<CallKind>("Tool", "Service", "Component", "Custom"),
      failing: failings,
      handler: tie("chain"),
      when: whens,
      inside: tie("inside"),
    }),
    fc.record({
      kind: fc.constant("branch" as const),
      cases: fc.array(fc.record({ when: whens, chain: tie("chain") }), {
        minLength: 1,
        maxLength: 3,
      }),
      isShared: fc.boolean(),
      hasElse: fc.boolean(),
      when: whens,
      inside: tie("inside"),
    }),
    fc.record({
      kind: fc.constant("loop" as const),
      mode: fc.constantFrom("serial" as const, "parallel" as const),
      source: fc.constantFrom("tree" as const, "tree" as const, "subs" as const, "none" as const),
      when: whens,
      inside: tie("body"),
    }),
    fc.record({
      kind: fc.constant("while" as const),
      rounds: fc.nat(3),
      isCounted: fc.boolean(),
      when: whens,
      inside: tie("body"),
    }),
    fc.record({
      kind: fc.constant("cycle" as const),
      rounds: fc.integer({ min: 1, max: 3 }),
      chain: tie("chain"),
      leave: fc.constantFrom("case" as const, "case" as const, "stop" as const, "break" as const),
      when: fc.constant<When>("always"),
      inside: none,
    }),
    fc.record({
      kind: fc.constant("subflow" as const),
      entries: fc.array(tie("chain"), { minLength: 1, maxLength: 2 }),
      when: whens,
      inside: tie("inside"),
    }),
  );
  return {
    node: fc.oneof({ maxDepth: 3, depthSize: "small", withCrossShrink: true }, leaf, nested),
    chain: fc.array(tie("node"), { maxLength: 3 }),
    inside: fc.oneof({ arbitrary: none, weight: 3 }, { arbitrary: chainsOf(1, 2), weight: 1 }),
    body: fc.oneof(
      { arbitrary: chainsOf(1, 1), weight: 3 },
      { arbitrary: chainsOf(2, 2), weight: 1 },
    ),
  };
});

/** Plans of workflows with one to three entries. */
export const workflowPlans = (isCounting: boolean): fc.Arbitrary<WorkflowPlan> =>
  fc.record({
    entries: fc.oneof(
      {
        arbitrary: fc.tuple(fc.array(nodes.node, { minLength: 1, maxLength: 4 })),
        weight: 5,
      },
      { arbitrary: fc.array(nodes.chain, { minLength: 2, maxLength: 3 }), weight: 1 },
    ),
    isCounting: fc.constant(isCounting),
    maxConcurrency: fc.constantFrom(0, 0, 0, 1, 2),
    seed: fc.nat(10_000),
  });

// Most chains are one construct, to test chains that end with it or continue after it.
const deep = fc.letrec<{ node: Plan; chain: Plan[] }>((tie) => {
  const none = fc.constant<Chains>({ chains: [], strategy: null });
  const when = fc.oneof(
    { arbitrary: fc.constant<When>("always"), weight: 5 },
    { arbitrary: fc.constantFrom<When>("never", "flag", "first"), weight: 1 },
  );
  const bodyOf = (chains: number): fc.Arbitrary<Chains> =>
    fc.record({
      chains: fc.array(tie("chain"), { minLength: chains, maxLength: chains }),
      strategy: fc.constant(null),
    });
  const set = fc.record({
    kind: fc.constant("set" as const),
    shape: fc.constant(6),
    when,
    inside: none,
  });
  const leaf = fc.record({
    kind: fc.constantFrom("pause" as const, "break" as const),
    when,
    inside: none,
  });
  const loop = fc.record({
    kind: fc.constant("loop" as const),
    mode: fc.constantFrom(
      "serial" as const,
      "serial" as const,
      "serial" as const,
      "parallel" as const,
    ),
    source: fc.constant("subs" as const),
    when,
    inside: fc.oneof({ arbitrary: bodyOf(1), weight: 3 }, { arbitrary: bodyOf(2), weight: 1 }),
  });
  const branch = fc.record({
    kind: fc.constant("branch" as const),
    cases: fc.array(fc.record({ when, chain: tie("chain") }), { minLength: 1, maxLength: 2 }),
    isShared: fc.boolean(),
    hasElse: fc.boolean(),
    when,
    inside: none,
  });
  const fork = fc.record({ kind: fc.constant("noop" as const), when, inside: bodyOf(2) });
  const cycle = fc.record({
    kind: fc.constant("cycle" as const),
    rounds: fc.constant(2),
    chain: tie("chain"),
    leave: fc.constant("case" as const),
    when: fc.constant<When>("always"),
    inside: none,
  });
  const repeated = fc.record({
    kind: fc.constant("while" as const),
    rounds: fc.constant(2),
    isCounted: fc.boolean(),
    when,
    inside: bodyOf(1),
  });
  const subflow = fc.record({
    kind: fc.constant("subflow" as const),
    entries: fc.tuple(tie("chain")),
    when,
    inside: none,
  });
  return {
    node: fc.oneof(
      { maxDepth: 4, depthSize: "max", withCrossShrink: true },
      { arbitrary: set, weight: 4 },
      { arbitrary: loop, weight: 4 },
      { arbitrary: branch, weight: 4 },
      { arbitrary: fork, weight: 2 },
      { arbitrary: leaf, weight: 1 },
      { arbitrary: repeated, weight: 1 },
      { arbitrary: cycle, weight: 1 },
      { arbitrary: subflow, weight: 1 },
    ),
    chain: fc.oneof(
      { arbitrary: fc.tuple(tie("node")), weight: 3 },
      { arbitrary: fc.tuple(tie("node"), tie("node")), weight: 1 },
    ),
  };
});

/** Plans of small workflows with deeply nested constructs. */
export const nestedPlans = (isCounting: boolean): fc.Arbitrary<WorkflowPlan> =>
  fc.record({
    entries: fc.tuple(deep.chain),
    isCounting: fc.constant(isCounting),
    maxConcurrency: fc.constantFrom(0, 1, 2),
    seed: fc.nat(10_000),
  });
