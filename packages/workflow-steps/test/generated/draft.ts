import type { StepDocument, WorkflowDocument } from "../../src/document/format.ts";
import type { CallKind, Chains, Plan, When, WorkflowPlan } from "./plan.ts";

/** A generated workflow, with the properties of its runs. */
export type Generated = {
  document: WorkflowDocument;
  subflows: Record<string, WorkflowDocument>;
  maxConcurrency: number;
  seed: number;
  /** The number of steps, including the steps of subflows. */
  steps: number;
} & Traits;

type Traits = {
  /** Whether the workflow's progress depends on timing, because a Stop or a failure ends concurrent steps. */
  isTimed: boolean;
  /** Whether all its steps run in sequence. */
  isSerial: boolean;
  /** Whether a step can fail without a handler. */
  mayFail: boolean;
  /** Whether a step may run several times at the same place. */
  hasCycles: boolean;
};

/** The place of a chain in the workflow, and the limits for its steps. */
type Place = {
  /** The variable of this chain, which no other chain writes, with the key of the iteration. */
  variable: string;
  key: "" | "[_index]" | "[_item.key]";
  /** The loop that a BREAK ends. */
  loop: "none" | "serial" | "parallel";
  isBesideOthers: boolean;
  /** The steps that may read their earlier writes. Steps that run again after a checkpoint may not. */
  counting: "all" | "simple" | "none";
  isFailureTimed: boolean;
};

const tree = [
  {
    key: "a",
    subs: [
      { key: "aa", subs: [{ key: "aaa", subs: [] }] },
      { key: "ab", subs: [{ key: "aba", subs: [] }] },
    ],
  },
  {
    key: "b",
    subs: [
      { key: "ba", subs: [] },
      { key: "bb", subs: [] },
    ],
  },
  { key: "c", subs: [] },
];

const calls: Record<CallKind, [before: string, after: string]> = {
  Tool: ["Tool_", "_Work"],
  Service: ["Service_", "_Send"],
  Component: ["Component_", "_Chart"],
  Custom: ["Custom_", ""],
};

/** The shared state of one generated workflow and its children. */
type Shared = Pick<Generated, "subflows" | "steps"> & Traits & { plan: WorkflowPlan };

/** Returns the workflow of a plan. */
export function generatedOf(plan: WorkflowPlan): Generated {
  const traits: Traits = { isTimed: false, isSerial: true, mayFail: false, hasCycles: false };
  const shared: Shared = { plan, subflows: {}, steps: 0, ...traits };
  const document = new Draft(shared).document("generated", plan.entries, plan.isCounting);
  const { plan: _, ...rest } = shared;
  const { maxConcurrency, seed } = plan;
  return { document, maxConcurrency, seed, ...rest };
}

/** Builds one document. Steps are built from last to first, because each names the next. */
class Draft {
  readonly #shared: Shared;
  readonly #steps: StepDocument[] = [];
  #variables = 0;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  document(name: string, entries: Plan[][], isCounting: boolean): WorkflowDocument {
    const isBesideOthers = entries.length > 1;
    if (isBesideOthers) this.#shared.isSerial = false;
    for (const chain of entries) {
      const counting = isCounting ? "all" : isBesideOthers ? "none" : "simple";
      const variable = this.#variable();
      const around = { isBesideOthers, isFailureTimed: isBesideOthers, counting } as const;
      this.#chain(chain, { variable, key: "", loop: "none", ...around }, "RETURN");
    }
    const vars = Array.from({ length: this.#variables }, (_, at) => `$v${at + 1}(OBJECT)`);
    return {
      version: "3.18",
      name,
      registry: {
        params: [`tree(ARRAY) = ${JSON.stringify(tree)}`, "flag(BOOL) = true"],
        vars: [...vars, "$none(ARRAY)"],
        services: ["Send(of(STRING)) RETURN sent(OBJECT)"],
        components: ["Chart"],
      },
      steps: this.#steps,
    };
  }

  /** Builds the steps of a chain and returns the first step's id. */
  #chain(plans: readonly Plan[], place: Place, end: string): string {
    const last = plans.findIndex(({ kind }) => kind === "stop" || kind === "break");
    const reached = last < 0 ? plans : plans.slice(0, last + 1);
    const first = reached.reduceRight((next, plan) => this.#node(plan, place, next), end);
    return first === end ? this.#add("Noop", {}, end) : first;
  }

  #node(plan: Plan, place: Place, next: string): string {
    const around = { ...ifOf(plan, place), ...this.#inside(plan, place) };
    switch (plan.kind) {
      case "stop":
        if (place.isBesideOthers) this.#shared.isTimed = true;
        return this.#add("Stop", { reason: "enough" });
      case "break":
        return this.#add("Noop", around, this.#breakIn(place));
      case "noop":
        return this.#add("Noop", around, next);
      case "set":
        return this.#add("Set", { ...around, ...this.#set(plan, place) }, next);
      case "pause":
        return this.#add("Pause", { ...around, ...this.#pause(plan, place) }, next);
      case "write":
        return this.#add("Write", { ...around, ...this.#write(plan, place) }, next);
      case "call":
        return this.#call(plan, place, next, around);
      case "branch":
        return this.#branch(plan, place, next, around);
      case "loop":
        return this.#loop(plan, place, next);
      case "while":
        return this.#while(plan, place, next);
      case "cycle":
        return this.#cycle(plan, place, next);
      case "subflow":
        return this.#add("Subflow", { ...around, ...this.#subflow(plan, place) }, next);
    }
  }

  #set(plan: Of<"set">, place: Place): Partial<StepDocument> {
    const target = this.#targetFor(plan, place);
    const isCounted = mayCount(plan, place);
    const count = { target: `${target}.n`, value: isCounted ? `=${target}.n + 1` : 1 };
    const shapes: Partial<StepDocument>[] = [
      { target: `${target}.a`, value: { at: "=_index", text: "==x", deep: [["=flag"]] } },
      { target: `${target}.b.c[1].d`, value: "=tree[1].key" },
      { target: `${target}.list[2]`, value: { one: [2, null] } },
      { target: `${target}.copy`, value: isCounted ? `=${target}.b` : "=tree" },
      { out: { [`${target}.o`]: "=tree[0]", [`${target}.list[2].x`]: 7 } },
      { target, value: { list: [{ first: true }], n: 5 } },
    ];
    return shapes[plan.shape] ?? count;
  }

  #pause(plan: Plan, place: Place): Partial<StepDocument> {
    const resumeResultTarget = `${this.#targetFor(plan, place)}.answer`;
    return { reason: "=SYSVAR.workflow + '?'", resumeResultTarget };
  }

  /** Returns the target of a step. A step that may run again must not undo later writes. */
  #targetFor(plan: Plan, place: Place): string {
    return mayCount(plan, place) ? targetOf(place) : `${targetOf(place)}.s${this.#shared.steps}`;
  }

  #write(plan: Plan, place: Place): Partial<StepDocument> {
    const key = place.key === "[_item.key]" ? "{_item.key}" : place.key;
    const target = `/out/${this.#shared.steps}-${key}.txt`;
    return { target, value: mayCount(plan, place) ? `=${targetOf(place)}` : "=tree" };
  }

  #call(plan: Of<"call">, place: Place, next: string, around: Partial<StepDocument>): string {
    const { call, failing, handler } = plan;
    const target = this.#targetFor(plan, place);
    const isAllowed = failing?.then === "allowed" && failing.at === "call" && call === "Tool";
    const isFatal = failing?.then === "fatal";
    if (isFatal) this.#shared.mayFail = true;
    if (isFatal && place.isFailureTimed) this.#shared.isTimed = true;
    const isCounted = mayCount(plan, place) && !isFatal;
    const id = this.#id(...calls[call]);
    const fields = {
      ...around,
      in: { of: id, n: "=_index", ...(failing?.at === "call" && { fail: true }) },
      out: {
        [`${target}.calls`]: isCounted ? `=${target}.calls + 1` : 1,
        [`${target}.list[1].${id}`]: "=_result",
        ...(failing?.at === "out" && { [`${target}.bad[$none.x]`]: 1 }),
      },
      ...(isAllowed && { allowError: true }),
    };
    if (failing === null || isFatal || isAllowed) return this.#put(id, fields, next);
    const after = handler.length > 0 ? this.#chain(handler, place, next) : next;
    const error = { out: { [`${target}.error`]: "=_error.type" } };
    return this.#put(id, { ...fields, onError: this.#add("Set", error, after) }, next);
  }

  #branch(plan: Of<"branch">, place: Place, next: string, around: Partial<StepDocument>): string {
    const { cases, hasElse, isShared } = plan;
    // A checkpoint in an arm names the step, so earlier steps of the arm do not run again.
    const counting = plan.inside.chains.length > 0 ? countingInside(place) : place.counting;
    const inner = { ...place, counting };
    const last = cases.length - 1;
    const made: [string, string][] = [];
    for (const [at, { when, chain }] of cases.entries()) {
      const [first] = made;
      const isSame = isShared && at === last && first !== undefined;
      const child = isSame ? first[1] : this.#chain(chain, inner, "RETURN");
      made.push([hasElse && at === last ? "ELSE" : testOf(when, inner), child]);
    }
    return this.#add("Branch", { ...around, cases: made }, next);
  }

  #loop(plan: Of<"loop">, place: Place, next: string): string {
    const { inside, mode } = plan;
    const isKeyed = place.key !== "";
    const isParallel = mode === "parallel";
    const sources = { tree: "=tree", subs: "=tree[0].subs", none: "=$none" };
    // Serial iterations may share a variable, unless that hides the number of iterations that ran.
    const isOwn = isKeyed || isParallel || place.counting !== "all";
    const itemKey = isParallel && !isKeyed && isFlat(inside) ? "[_index]" : "[_item.key]";
    const fields = {
      source: isKeyed ? "=_item.subs" : sources[plan.source],
      mode,
      ...this.#chains(inside, isParallel, {
        ...place,
        variable: isOwn ? this.#variable() : place.variable,
        key: isOwn ? itemKey : "",
        loop: isParallel && this.#shared.plan.maxConcurrency !== 1 ? "parallel" : "serial",
      }),
    };
    return this.#add("Loop", { ...ifOf(plan, place), ...fields }, next);
  }

  #while(plan: Of<"while">, place: Place, next: string): string {
    const { inside, isCounted, rounds, when } = plan;
    // A while loop has no item that distinguishes the enclosing iterations.
    if (place.key !== "") {
      return this.#loop(
        { kind: "loop", mode: "serial", source: "subs", inside, when },
        place,
        next,
      );
    }
    const isOwn = place.counting !== "all" && isFlat(inside);
    const own = isOwn ? { variable: this.#variable(), key: "[_index]" as const } : {};
    const around = this.#chains(inside, false, { ...place, ...own, loop: "serial" });
    const fields = { ...ifOf(plan, place), ...around, maxIterations: Math.max(1, rounds) };
    const [first, ...others] = around.children;
    if (!isCounted || place.counting !== "all" || others.length > 0) {
      return this.#add("Loop", { ...fields, while: `_index < ${rounds}` }, next);
    }
    const counter = `${this.#variable()}.rounds`;
    const count = this.#add("Set", { target: counter, value: `=${counter} + 1` }, first);
    const test = `${counter} == null || ${counter} < ${rounds}`;
    return this.#add("Loop", { ...fields, children: [count], while: test }, next);
  }

  #cycle({ chain, leave, rounds }: Of<"cycle">, place: Place, next: string): string {
    // Omit steps that end the chain, because the steps after them would be unreachable.
    const body = chain.filter(({ kind }) => kind !== "stop" && kind !== "break");
    if (place.counting === "none") return this.#chain(body, place, next);
    this.#shared.hasCycles = true;
    const counter = `${this.#variable()}${place.key}.c`;
    const count = this.#id("Set_", "");
    const branch = this.#id("Branch_", "");
    const first = body.length > 0 ? this.#chain(body, place, branch) : branch;
    this.#put(count, { target: counter, value: `=${counter} + 1` }, first);
    const isStop = leave === "stop" && next === "RETURN" && !place.isBesideOthers;
    const isBreak = leave === "break" && next === "RETURN" && place.loop !== "none";
    if (isStop || isBreak) {
      const out = isStop ? this.#add("Stop", {}) : this.#add("Noop", {}, this.#breakIn(place));
      this.#put(branch, { cases: [[`${counter} >= ${rounds}`, out]] }, count);
    } else this.#put(branch, { cases: [[`${counter} < ${rounds}`, count]] }, next);
    return this.#add("Noop", {}, count);
  }

  #subflow(plan: Of<"subflow">, place: Place): Partial<StepDocument> {
    const path = this.#id("child-", ".json");
    this.#shared.subflows[path] = new Draft(this.#shared).document(path, plan.entries, true);
    const target = this.#targetFor(plan, place);
    const out = {
      [`${target}.child`]: "=_result.variables",
      [`${target}.ended`]: "=_result.status",
    };
    return { in: { workflow_path: path }, out, allowError: true };
  }

  /** Returns the children of a step other than a Loop. */
  #inside(plan: Plan, place: Place): Partial<StepDocument> {
    const { inside, kind } = plan;
    if (kind === "loop" || kind === "while" || inside.chains.length === 0) return {};
    return this.#chains(inside, false, place);
  }

  #chains(
    { chains, strategy }: Chains,
    isParallel: boolean,
    place: Place,
  ): { children: string[]; errorStrategy?: string } {
    const isAlone = chains.length === 1 && !isParallel;
    if (!isAlone) this.#shared.isSerial = false;
    const isFatal = place.isFailureTimed || (!isAlone && strategy !== "collect");
    const children = chains.map((chain, at) =>
      this.#chain(
        chain,
        {
          ...place,
          variable: at === 0 && isAlone ? place.variable : this.#variable(),
          counting: countingInside(place),
          isBesideOthers: place.isBesideOthers || !isAlone,
          isFailureTimed: strategy === "continue" ? false : isFatal,
        },
        "RETURN",
      ),
    );
    return { children, ...(strategy && { errorStrategy: strategy }) };
  }

  // After a crash, the log may not show which iterations of a parallel loop began before a BREAK.
  #breakIn({ loop }: Place): string {
    if (loop === "parallel") this.#shared.isTimed = true;
    return loop === "none" ? "RETURN" : "BREAK";
  }

  #variable(): string {
    this.#variables += 1;
    return `$v${this.#variables}`;
  }

  #id(before: string, after: string): string {
    this.#shared.steps += 1;
    return `${before}${this.#shared.steps}${after}`;
  }

  #add(type: string, fields: Partial<StepDocument>, next?: string): string {
    return this.#put(this.#id(`${type}_`, ""), fields, next);
  }

  #put(id: string, fields: Partial<StepDocument>, next?: string): string {
    this.#steps.push({ id, ...fields, ...(next !== undefined && { next }) });
    return id;
  }
}

type Of<Kind extends Plan["kind"]> = Extract<Plan, { kind: Kind }>;

const targetOf = ({ variable, key }: Place): string => variable + key;

const countingInside = ({ counting }: Place): Place["counting"] =>
  counting === "all" ? "all" : "none";

const mayCount = ({ inside }: Plan, { counting }: Place): boolean =>
  counting === "all" || (counting === "simple" && inside.chains.length === 0);

function ifOf(plan: Plan, place: Place): { if?: string } {
  const isSimple = ["set", "noop", "write", "call"].includes(plan.kind) && mayCount(plan, place);
  const counting = isSimple ? place.counting : countingInside(place);
  return plan.when === "always" ? {} : { if: testOf(plan.when, { ...place, counting }) };
}

function testOf(when: When, place: Place): string {
  const tests: Record<When, string> = {
    always: "true",
    yes: "true",
    never: "false",
    first: "_index == 0",
    flag: "flag",
    counted: place.counting === "none" ? "flag" : `${targetOf(place)}.calls > 0`,
  };
  return tests[when];
}

/** Returns whether these chains contain no loop, because `_index` belongs to the innermost loop. */
function isFlat({ chains }: Chains): boolean {
  return chains.flat().every((plan) => {
    if (plan.kind === "loop" || plan.kind === "while" || !isFlat(plan.inside)) return false;
    const inner = (own: Plan[][]) => isFlat({ chains: own, strategy: null });
    if (plan.kind === "call") return inner([plan.handler]);
    if (plan.kind === "branch") return inner(plan.cases.map(({ chain }) => chain));
    return plan.kind === "cycle" ? inner([plan.chain]) : true;
  });
}
