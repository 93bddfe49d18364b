import { join } from "node:path";
import type { Step } from "@uncaged/workflow";
import fc from "fast-check";
import type { Chance } from "../../../../test/check/chance.ts";
import { agent } from "../../../workflow-graph/test/parts.ts";
import { generatedGraph } from "../../../workflow-graph/test/generated/graphs.ts";
import { isEach, runGenerated as runGraph } from "../../../workflow-graph/test/generated/run.ts";
import { generatedPlan } from "../../../workflow-plan/test/generated/plans.ts";
import { runGenerated as runPlan } from "../../../workflow-plan/test/generated/run.ts";
import { step } from "../../../workflow-plan/test/parts.ts";
import { runBundle } from "../../../workflow-steps/test/generated/run.ts";
import { generatedWorkflows } from "../../../workflow-steps/test/generated/workflows.ts";
import { moduleOf } from "./home.ts";

/** A recorded thread of a document, and the changes of that document. */
export type Recorded = {
  document: unknown;
  steps: Step[];
  /** Renames a recorded step. */
  renamed: (chance: Chance) => unknown;
  /** Adds a first step without a recorded answer; absent if the documents have no such place. */
  added?: () => unknown;
  /** Whether the status shows the renamed step, because its work has a recorded answer. */
  isAnswered: boolean;
};

/** A kind of documents: its module, its recorded threads, and an edit that keeps their steps. */
export type Kind = {
  module: string;
  recorded: (seed: number) => Promise<Recorded | null>;
  edited: (document: unknown, version: number) => unknown;
};

const packages = join(import.meta.dir, "../../..");
const marker = '"@@TEXT@@"';
const moduleFor = (name: string, call: string): string =>
  `import { ${call.split("(", 1)[0]} } from "${packages}/${name}/src/entry/index.ts";
const unused = () => { throw new Error("a role ran"); };
const given = JSON.parse(${marker});
export const { descriptor, run } = ${call};`;

/** Returns a function that makes the bundle of a document. */
export async function documentBundler({ module }: Kind): Promise<(document: unknown) => string> {
  const bundle = await moduleOf(module, marker);
  return (document) => bundle(JSON.stringify(JSON.stringify(document)));
}

/** Replaces a JSON string everywhere in a document. */
const replaced = (document: unknown, text: string, by: string): unknown =>
  JSON.parse(JSON.stringify(document).replaceAll(JSON.stringify(text), JSON.stringify(by)));

type Named = { id: string };
const withEach = (list: readonly Named[], change: object) =>
  list.map((one) => ({ ...one, ...change }));

const graphs: Kind = {
  module: moduleFor("workflow-graph", "graphBundle(given, { agents: unused })"),
  edited: (document, version) => {
    const { nodes } = document as { nodes: Named[] };
    return { ...(document as object), nodes: withEach(nodes, { x: version }) };
  },
  async recorded(seed) {
    const document = generatedGraph(seed);
    if (isEach(seed)) return null;
    const { end, steps } = await runGraph(document, seed, { kills: seed % 2 === 0 });
    const isWork = (role: string) =>
      document.nodes.some((n) => n.id === role && n.type === "agent");
    const first = document.nodes[0]?.id ?? "";
    return end === "rounds"
      ? null
      : recordedIn(document, steps, isWork, {
          renamed: (role) => replaced(document, role, `${role}x`),
          added: () => ({
            nodes: [...document.nodes, agent("planted", { userPrompt: "go" })],
            connections: [...document.connections, { source: first, target: "planted" }],
          }),
        });
  },
};

const plans: Kind = {
  module: moduleFor("workflow-plan", "planBundle(given, { agent: unused })"),
  edited: (document, version) => ({ ...(document as object), description: `Version ${version}.` }),
  async recorded(seed) {
    const document = generatedPlan(seed);
    const { result, steps } = await runPlan(seed, document, { kills: false });
    if (result.returnCode !== 0) return null;
    return recordedIn(document, steps, () => true, {
      renamed(role) {
        const text = JSON.stringify(document).replaceAll(`$steps.${role}.`, `$steps.${role}x.`);
        return replaced(JSON.parse(text), role, `${role}x`);
      },
      added: () => ({ ...document, steps: [...document.steps, step("planted")] }),
    });
  },
};

const flows: Kind = {
  module: moduleFor(
    "workflow-steps",
    `stepsBundle(given.document, {
  adapters: {
    tool: { execute: unused }, service: { call: unused }, component: { call: unused },
    file: { read: unused, write: unused, exists: unused, remove: unused, list: unused },
  },
  customHandlers: { Custom: unused }, subflows: given.subflows,
  maxConcurrency: given.maxConcurrency, isChecked: true,
})`,
  ),
  edited: (document, version) => ({
    ...(document as object),
    document: { ...(document as { document: object }).document, note: version },
  }),
  async recorded(seed) {
    const [generated] = fc.sample(generatedWorkflows(true), { seed, numRuns: 1 });
    if (!generated || generated.isTimed) return null;
    const { status, steps } = await runBundle(generated);
    if (status !== "completed") return null;
    const { document, subflows, maxConcurrency } = generated;
    // A step that its condition skips has no work.
    const works = document.steps.filter((one) => one.if === undefined).map(({ id }) => id);
    const isWork = (role: string) =>
      works.includes(role) && /^(Tool|Service|Component|Custom)_/.test(role);
    return recordedIn({ document, subflows, maxConcurrency }, steps, isWork, {
      renamed: (role) => ({
        ...{ subflows, maxConcurrency },
        document: replaced(document, role, role.replace("_", "_X")),
      }),
    });
  },
};

type Changes = { renamed: (role: string) => unknown; added?: () => unknown };

function recordedIn(
  document: unknown,
  steps: Step[],
  isWork: (role: string) => boolean,
  { renamed, ...more }: Changes,
): Recorded | null {
  const roles = steps.map(({ role }) => role).filter((role) => !/^__|\//.test(role));
  const works = roles.filter(isWork);
  const victims = works.length > 0 ? works : roles;
  if (victims.length === 0) return null;
  return {
    ...{ document, steps, ...more },
    renamed: (chance) => renamed(victims[chance.below(victims.length)] as string),
    isAnswered: works.length > 0,
  };
}

export const documentKinds: Record<string, Kind> = {
  "agent graphs": graphs,
  plans,
  "step workflows": flows,
};
