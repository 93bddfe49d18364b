import { graphBundle } from "../../packages/workflow-graph/src/bundle/bundle.ts";
import { durable } from "../../packages/workflow/src/durable/durable.ts";
import type { Bundle } from "../../packages/workflow/src/contract/contract.ts";
import type { Durability } from "../../packages/workflow/src/control/control.ts";
import { recordEvents } from "../../packages/workflow/src/worker/context.ts";
import { engineOf } from "../engine.ts";
import { inTurn, type Sample, type Take, timed } from "../measure.ts";
import { line, type Line, type Row } from "../row.ts";
import { makeStore, type Store } from "../store.ts";

const count = 1000;
const few = 250;
const times = 9;

// As workers do: what a run logs is written to the thread's debug log.
recordEvents();

type Shape = (nodes: number) => { source: string; target: string; sourceHandle?: string }[];

const numbered = (nodes: number) => Array.from({ length: nodes }, (_, at) => at);
const chain: Shape = (nodes) =>
  numbered(nodes).map((at) => ({
    source: at === 0 ? "start" : `n${at - 1}`,
    target: `n${at}`,
    ...(at > 0 && { sourceHandle: "false" }),
  }));
const parallel: Shape = (nodes) =>
  numbered(nodes).map((at) => ({ source: "start", target: `n${at}` }));

/** A graph of nodes that ask no model. */
const graphOf = (shape: Shape, nodes: number): Bundle =>
  graphBundle({
    nodes: [
      { id: "start", type: "start" },
      ...numbered(nodes).map((at) => ({ id: `n${at}`, type: "if", data: { conditions } })),
    ],
    connections: shape(nodes),
  });

const conditions = [{ operator: "contains", value: "never" }];

/** The same as a program: each step is one of `durable`. */
const byHand = (steps: number): Bundle => ({
  descriptor: { description: "by hand", roles: { start: { description: "", schema: true } } },
  run: durable(async function* (step) {
    for (const at of numbered(steps)) yield* step(`n${at}`, () => "in");
    return { returnCode: 0, summary: "" };
  }),
});

/** A node of a graph that asks no model, beside a step of `durable`, and beside a node of a smaller graph. */
export const graph: Row = {
  name: "graph",
  async measure(folder) {
    const store = await makeStore(folder);
    const lines: Line[] = [];
    for (const durability of ["step", "os"] as const) {
      const takes = [byHand(count), graphOf(chain, count)].map((bundle) =>
        threadsOf(store, bundle, count, durability),
      );
      const what = `a node without a model${durability === "os" ? ", `--durability os`" : ""}`;
      const figures = { what, unit: "µs", against: "a step of durable", target: { ratio: 2 } };
      lines.push(line(figures, await compared(takes)));
    }
    for (const [name, shape] of Object.entries({ "in a chain": chain, "in parallel": parallel })) {
      const takes = [few, count].map((nodes) =>
        threadsOf(store, graphOf(shape, nodes), nodes, "os"),
      );
      const what = `a node of ${count} ${name}`;
      const figures = { what, unit: "µs", against: `one of ${few}`, target: { ratio: 1.15 } };
      lines.push(line(figures, await compared(takes)));
    }
    return lines;
  },
};

/** Microseconds for each step of a thread. */
function threadsOf(store: Store, bundle: Bundle, steps: number, durability: Durability): Take {
  const engine = engineOf(store, bundle);
  return async () => {
    const ms = await timed(() => engine.run({}, durability));
    return (ms * 1000) / steps;
  };
}

async function compared([baseline, ours]: Take[]): Promise<[Sample, Sample]> {
  if (!baseline || !ours) throw new Error("two are compared");
  await inTurn(3, baseline, ours);
  return await inTurn(times, baseline, ours);
}
