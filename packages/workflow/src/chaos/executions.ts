import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attempts,
  type AttemptSpec,
  type OpenAttempt,
  opensAttempts,
} from "../contract/attempt.ts";
import {
  INPUT,
  type RoleOutput,
  WAIT,
  type WorkflowFn,
  type WorkflowOptions,
} from "../contract/contract.ts";
import { withoutDelays } from "../durable/tries.ts";
import { tryOf } from "../durable/output.ts";
import { system } from "../system/system.ts";
import type { Fault, FaultPlan } from "./faults.ts";
import type { Random } from "./random.ts";

/** The executions of a role for one step. `times` excludes executions that failed before the role's code began. */
export type Execution = { slot: string; role: string; times: number };

/** Changes the options of `run` so that a recording answers only some of the roles. */
export type AnswerRoles = (options: WorkflowOptions) => WorkflowOptions;

/**
 * An execution in progress. `isFrozen`: it waits for a call of a dead process, so it never continues. Its random
 * numbers depend on its slot, so a repetition gets the same numbers.
 */
type Running = {
  isFrozen: boolean;
  readonly random: Random;
  readonly since: number;
  readonly slot: string;
  /** The executions that began within this execution. */
  readonly parts: Set<Running>;
};

const running = new AsyncLocalStorage<Running>();

/** An attempt that the workflow opened. `within` is the slot of the surrounding execution; null at the top. */
type Attempt = { place: string; slot: string; within: string | null };

/** Returns the running role's random numbers, and the time since the role began; undefined outside of roles. */
export const runningRole = (): { random: Random; elapsedMs: number } | undefined => {
  const one = running.getStore();
  return one && { random: one.random, elapsedMs: system.clock.elapsed() - one.since };
};

const lateTurns = 25;

type ExecutionsParts = {
  plan: FaultPlan;
  /** Returns the number of steps in the log. */
  steps: () => number;
  answers: AnswerRoles;
  /** Returns a new generator of a slot's random numbers. */
  randomOf: (slot: string) => Random;
};

/**
 * Counts the executions of each role in one run, over all its processes and retries, and injects the faults of roles. A
 * slot identifies one step of a role: a second execution of a slot is a repetition.
 */
export class Executions {
  /** Executions by slot, in the order of the first executions. */
  readonly #all = new Map<string, Execution>();
  /** Slots with a committed step. */
  readonly #stepSlots = new Set<string>();
  /** Slots around a slot with a committed step, such as the slot of a loop. */
  readonly #containers = new Set<string>();
  /** The time of the longest execution. */
  longestMs = 0;
  readonly #plan: FaultPlan;
  readonly #steps: () => number;
  /** Committed steps, by role and path. */
  readonly #committed = new Map<string, number>();
  readonly #attempts = new Map<string, Attempt>();
  /** The number of steps at the first attempt of a slot. */
  readonly #openedAt = new Map<string, number>();
  readonly #running = new Set<Running>();
  /** Faults whose error was thrown but is not yet recorded, by role. */
  readonly #unrecorded = new Map<string, Fault>();
  readonly #answers: AnswerRoles;
  readonly #randomOf: (slot: string) => Random;

  constructor({ plan, steps, answers, randomOf }: ExecutionsParts) {
    this.#plan = plan;
    this.#steps = steps;
    this.#answers = answers;
    this.#randomOf = randomOf;
  }

  /** Returns a workflow that runs like `run`, counts the executions of its roles, and has the faults of roles. */
  watch(run: WorkflowFn): WorkflowFn {
    const watched: WorkflowFn = (input, given) => {
      const options = this.#answers(given);
      const { attempts } = options;
      if (!(opensAttempts in run) || !attempts) return this.#counted(run(input, options));
      const own = { attempts: this.#watched(attempts), [withoutDelays]: true };
      return run(input, { ...options, ...own });
    };
    return Object.assign(watched, run);
  }

  /** Notes a durable record. Call it for each record after the start record. */
  recorded(step: RoleOutput & { attempt?: string }): void {
    const { role, attempt } = step;
    const opened = this.#attempts.get(attempt ?? "");
    if (opened) {
      const { place, slot, within } = opened;
      this.#committed.set(place, (this.#committed.get(place) ?? 0) + 1);
      this.#stepSlots.add(slot);
      if (within !== null) this.#containers.add(within);
    }
    for (const [of, fault] of this.#unrecorded) {
      if (of !== role && role !== "__end__" && tryOf(step) === null) continue;
      this.#unrecorded.delete(of);
      this.#plan.over(fault);
    }
  }

  /** Returns the number of steps in the log when the first work on a step began; null when unknown. */
  openedAt(step: RoleOutput): number | null {
    const slot = this.#attempts.get(step.attempt ?? "")?.slot;
    return slot === undefined ? null : (this.#openedAt.get(slot) ?? null);
  }

  /** Marks the running execution as never continuing. */
  freeze(): void {
    const one = running.getStore();
    if (one) one.isFrozen = true;
  }

  /**
   * Resolves when no execution that may still have an effect is in progress, at the latest after `patienceMs`. In
   * undisturbed runs every execution takes less time, so an execution that is still in progress then waits for a commit
   * or an answer.
   */
  async settled(patienceMs: number): Promise<void> {
    const isAtWork = ({ isFrozen, parts }: Running) => !isFrozen && parts.size === 0;
    const until = system.clock.elapsed() + patienceMs;
    while ([...this.#running].some(isAtWork) && system.clock.elapsed() < until) {
      await system.clock.sleep(1);
    }
  }

  /** Returns the executions by slot, without slots that contain steps, and without parts of a role without a step. */
  counted(): Execution[] {
    const within = new Set(
      [...this.#attempts.values()].flatMap((one) => (one.within ? one.slot : [])),
    );
    return [...this.#all.values()].filter(({ slot }) => {
      const isPart = within.has(slot) && !this.#stepSlots.has(slot);
      return !isPart && !this.#containers.has(slot);
    });
  }

  #watched(attempts: Attempts): Attempts {
    return {
      open: (spec) => this.#opened(spec, attempts.open(spec)),
      get current() {
        return attempts.current ?? null;
      },
      get outermost() {
        return attempts.outermost ?? null;
      },
    };
  }

  #opened({ role, path = [] }: AttemptSpec, opened: OpenAttempt): OpenAttempt {
    const place = JSON.stringify([role, path]);
    const slot = `${place} ${this.#committed.get(place) ?? 0}`;
    if (opened.id !== undefined) {
      const within = running.getStore()?.slot ?? null;
      this.#attempts.set(opened.id, { place, slot, within });
      if (!this.#openedAt.has(slot)) this.#openedAt.set(slot, this.#steps());
    }
    return {
      id: opened.id,
      path: opened.path,
      run: (work) => this.#run({ slot, role }, () => opened.run(work)),
      end: (...given) => opened.end(...given),
    };
  }

  #run<T>(at: { slot: string; role: string }, work: () => T): T {
    const fault = this.#plan.atRole(at.slot);
    if (fault?.kind === "providerError") return this.#fails(at.role, fault) as T;
    this.#count(at.slot, at.role);
    const since = system.clock.elapsed();
    const random = this.#randomOf(at.slot);
    const one: Running = { isFrozen: false, random, since, slot: at.slot, parts: new Set() };
    const around = running.getStore();
    around?.parts.add(one);
    const result = running.run(one, work);
    if (!(result instanceof Promise)) return result;
    this.#running.add(one);
    const done = (): void => {
      this.#running.delete(one);
      this.longestMs = Math.max(this.longestMs, system.clock.elapsed() - since);
    };
    result.then(done, done);
    if (fault?.kind === "cutStream") return result.then(() => this.#fails(at.role, fault)) as T;
    if (fault?.kind !== "lateAnswer") return result;
    this.#plan.over(fault);
    return result.then(async (value: unknown) => {
      for (let turn = 0; turn < lateTurns; turn += 1) await system.clock.turn();
      return value;
    }) as T;
  }

  async #fails(role: string, fault: Fault): Promise<never> {
    this.#unrecorded.set(role, fault);
    const isCut = fault.kind === "cutStream";
    const message = isCut ? "the answer broke off" : "the provider is overloaded (529)";
    throw Object.assign(new Error(`chaos: ${message}`), {
      code: isCut ? "LLM_CUT_OFF" : "LLM_OVERLOADED",
    });
  }

  #count(slot: string, role: string): void {
    const before = this.#all.get(slot);
    this.#all.set(slot, { slot, role, times: (before?.times ?? 0) + 1 });
  }

  /** Counts the executions in a workflow without attempts: the code before a yield is the execution for its step. */
  #counted(generator: ReturnType<WorkflowFn>): ReturnType<WorkflowFn> {
    const next = async (...given: [] | [unknown]) => {
      const at = this.#steps();
      const pulled = await generator.next(...(given as []));
      if (pulled.done !== true && typeof pulled.value?.role === "string") {
        const { role } = pulled.value;
        if (role !== WAIT && role !== INPUT) this.#count(`${role} ${at}`, role);
      }
      return pulled;
    };
    return new Proxy(generator, {
      get(target, key) {
        if (key === "next") return next;
        const value: unknown = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }
}
