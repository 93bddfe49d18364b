import { Engine } from "../../packages/workflow-steps/src/engine/engine.ts";
import type { WorkflowDocument } from "../../packages/workflow-steps/src/document/format.ts";
import type { RunEvent } from "../../packages/workflow-steps/src/document/event.ts";
import { inTurn, type Sample, type Take, timed } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { forkByHand, loopByHand } from "../steps/by-hand.ts";
import { adding, forkOf, loopOf, numbers } from "../steps/documents.ts";

const times = 15;
const count = 10_000;
const children = 1000;

type Work = (hear: (event: RunEvent) => void) => Promise<unknown>;

/** A step of the interpreter in a program of one's own, beside the same work and events by hand. */
export const interpreter: Row = {
  name: "interpreter",
  async measure() {
    const items = numbers(count);
    const steps = await compare(
      { count, byHand: (hear) => loopByHand(items, hear) },
      interpreted(loopOf(adding), { items }),
    );
    const what = "a step of a workflow, no storage";
    const against = "a loop by hand, its events";
    return [line({ what, unit: "µs", against, target: { most: 30 } }, steps)];
  },
};

/** 1,000 concurrent children, of a fork and of a parallel loop, beside 1,000 promises. */
export const fan: Row = {
  name: "fan",
  async measure() {
    const baseline = {
      count: children,
      byHand: (hear: (event: RunEvent) => void) => forkByHand(children, hear),
    };
    const items = numbers(children);
    const fork = await compare(baseline, interpreted(forkOf(children)));
    const item = { id: "Set_Item", target: "$list[_index]", value: "=_item" };
    const loop = await compare(baseline, interpreted(loopOf(item, "parallel"), { items }));
    const against = "1,000 promises, their events";
    const target = { most: 60 };
    return [
      line({ what: "a child of a fork of 1,000", unit: "µs", against, target }, fork),
      line({ what: "an iteration of 1,000 at once", unit: "µs", against, target }, loop),
    ];
  },
};

function interpreted(document: WorkflowDocument, params = {}): Work {
  let hear = (_event: RunEvent): void => {};
  const engine = new Engine(document, { onEvent: (event) => hear(event) });
  return (onEvent) => {
    hear = onEvent;
    return engine.execute(params);
  };
}

type Baseline = { count: number; byHand: Work };

async function compare(baseline: Baseline, ours: Work): Promise<[Sample, Sample]> {
  const taker = (work: Work): Take => {
    return async () => (await timedWith(work)).ms * (1000 / baseline.count);
  };
  await refuseOthers(baseline.byHand, ours);
  await inTurn(times, taker(baseline.byHand), taker(ours));
  return inTurn(times, taker(baseline.byHand), taker(ours));
}

async function timedWith(work: Work): Promise<{ ms: number; events: number }> {
  let events = 0;
  const ms = await timed(() =>
    work(() => {
      events += 1;
    }),
  );
  return { ms, events };
}

// They are the same work only if they publish the same events.
async function refuseOthers(byHand: Work, ours: Work): Promise<void> {
  const [published, wanted] = [(await timedWith(ours)).events, (await timedWith(byHand)).events];
  if (published !== wanted) throw new Error(`${published} events, and ${wanted} by hand`);
}
