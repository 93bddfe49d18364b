import type { StackMapper } from "../bundle/stack.ts";
import type { Bundle, Step, WorkflowOptions } from "../contract/contract.ts";
import type { Mask } from "../contract/mask.ts";
import type { DueParts } from "../engine/answer.ts";
import { ThreadEngine } from "../engine/engine.ts";
import type { InfoLog } from "./info.ts";
import type { StartRecord } from "../record/record.ts";
import { system } from "../system/system.ts";
import { journalOf, partsIn, type ThreadContext } from "./context.ts";
import { compileForAnswer } from "./create.ts";
import type { JournalPlace } from "./journal.ts";
import { recordRefusal } from "./refusal.ts";

const closingMs = 5_000;

/** A thread as its log has it, the code that it runs, and where what comes of it goes. */
export type Driving = {
  bundle: Bundle;
  start: StartRecord;
  steps: Step[];
  /** The second argument of its `run`, but for what the engine adds. */
  options: WorkflowOptions;
  /** Makes a record durable. */
  append: (record: string) => Promise<void>;
  info: InfoLog;
  journal: JournalPlace;
  stacks: StackMapper;
  mask: Mask;
  due: DueParts;
  onWait: () => void;
};

/** The engine of a thread, in an async context of its own, and what fails it for something that nobody caught. */
export function engineFor({ bundle, start, steps, options, append, ...driving }: Driving): {
  engine: ThreadEngine;
  fail: (thrown: unknown) => void;
} {
  const { info, journal, stacks, mask, due, onWait } = driving;
  const { threadId } = start;
  const { prompt, params } = start.parameters;
  const fail = (thrown: unknown) => void engine.fail(thrown).catch(() => undefined);
  const open = new Set<string>();
  const outside = { attempt: null, outermost: null };
  const context: ThreadContext = { threadId, info, ...outside, open, engine: () => engine, fail };
  const recorded = journalOf(context, journal, mask);
  const engine = new ThreadEngine(
    {
      ...{ run: bundle.run, prompt, steps, params },
      options: { ...options, journal: recorded.journal },
    },
    {
      log: { append, counts: () => recorded.counts() },
      ...partsIn(context, bundle, stacks, recorded),
      onRefused: (stepID, reason) => recordRefusal(info, stepID, reason, engine.steps + 1),
      judge: compileForAnswer,
      mask,
      due,
      onWait,
      now: () => system.clock.now(),
      closingMs,
    },
  );
  return { engine, fail };
}
