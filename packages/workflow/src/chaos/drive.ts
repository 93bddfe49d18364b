import type { LoadedBundle } from "../bundle/store.ts";
import { END, type Step } from "../contract/contract.ts";
import { isWorkflowError } from "../contract/error.ts";
import type { Fixture } from "../contract/fixture.ts";
import { isQuestion, sleepsUntil, wakesAt } from "../contract/wait.ts";
import type { StartRequest, InputRequest } from "../control/control.ts";
import { recordedInput } from "../host/fixture.ts";
import { retryOptions } from "../host/rules.ts";
import { type EndRecord, isEnd, type StartRecord } from "../record/record.ts";
import type { ThreadView } from "../record/thread.ts";
import { Memory } from "../store/memory.ts";
import { memoryStore } from "../store/memory-store.ts";
import { system } from "../system/system.ts";
import type { ThreadsParts } from "../worker/parts.ts";
import type { Surprise } from "./clock.ts";
import { type AnswerRoles, type Execution, Executions } from "./executions.ts";
import { type Boundaries, type Fault, FaultPlan, isSeen } from "./faults.ts";
import type { FilesIn, WorkFolder } from "./folder.ts";
import { Life } from "./life.ts";
import { Random } from "./random.ts";

/** The parts that all runs of a workflow share. */
export type Scene = {
  hash: string;
  /** Resets the storage root and the working folder, and returns the parts of the root. */
  reset: () => ThreadsParts["place"];
  /** Loads another copy of the module. With `isSecond`, returns the last copy, as for a second thread of a process. */
  load: (isSecond: boolean) => Promise<LoadedBundle>;
  /** The start of the thread. Its id is the same in each run, because roles see it. */
  request: StartRequest;
  /** The recording that answers questions. It also answers roles if the request's options contain it. */
  fixture: Fixture | null;
  surprise: Surprise;
  seed: number;
  /** Decides which roles the fixture answers. */
  answers: AnswerRoles;
  /** The working folder of live roles; null when a recording answers all roles. */
  folder: WorkFolder | null;
  /** The time in milliseconds for which roles of a killed process may continue. */
  patienceMs: number;
};

/** The plan of a run. */
export type Plan = {
  /** The number of the run, which determines the clock and the random numbers of its processes after the first. */
  number: number;
  /** The start time in hours, from the first start time. It also determines the first process's random numbers. */
  hour?: number;
  faults?: readonly Fault[];
  /** The records of a log to continue; without it, the run starts a thread. */
  log?: readonly string[];
  /** Whether the thread runs in a process that has run another thread. */
  isSecond?: boolean;
};

/** One run of the workflow under faults. */
export type Run = {
  steps: Step[];
  /** For each step, the number of steps in the log when its work began; null if unknown. */
  openedAt: (number | null)[];
  /** The end record; null for a thread that waits for an answer. */
  end: EndRecord | null;
  executions: readonly Execution[];
  boundaries: Boundaries;
  /** The faults that occurred. */
  faults: readonly Fault[];
  /** Whether the workflow handled an injected error without failing: its path may then differ. */
  hasCaught: boolean;
  /** The files of the working folder at the end; null when a recording answers all roles. */
  files: FilesIn | null;
  /** The records of the log without the end and the checksums. */
  log: readonly string[];
  /** The time of the longest execution of a role. */
  longestMs: number;
};

const hourMs = 3_600_000;
/** Maximum number of hours between the end of a process and the start of the next process. */
const longestLeap = 200;
/** Maximum number of processes of a run. No plan of faults ends so many. */
const mostLives = 100;
/** Maximum number of retries of a failed thread; each injected error needs a retry. */
const mostRetries = 8;

/** Runs a thread from its start to its end under faults. Starts a new process after each kill. */
export async function drive(scene: Scene, plan: Plan): Promise<Run> {
  return await new Driver(scene, plan).run();
}

class Driver {
  readonly #scene: Scene;
  readonly #given: Plan;
  readonly #plan: FaultPlan;
  // A fixed clock: the leaps of the clock that roles see would expire claims.
  readonly #memory = new Memory({ now: () => 0 });
  readonly #executions: Executions;
  readonly #place: ThreadsParts["place"];
  readonly #questions: number[] = [];
  #threadId: string;
  #lives = 0;
  #retries = 0;

  constructor(scene: Scene, given: Plan) {
    this.#scene = scene;
    this.#place = scene.reset();
    this.#given = given;
    this.#plan = new FaultPlan(given.faults ?? []);
    this.#threadId = scene.request.threadId;
    const { hash, request, seed, answers } = scene;
    const { hour = 0 } = given;
    this.#executions = new Executions({
      ...{ plan: this.#plan, answers, steps: () => this.#log().steps.length },
      randomOf: (slot) => new Random(seed, `hour ${hour} ${slot}`),
    });
    const { threadId, workflow: name } = request;
    const created = { hash, threadId, name, createdAt: 0, state: { kind: "running" as const } };
    if (given.log) this.#memory.add({ ...created, records: given.log });
  }

  async run(): Promise<Run> {
    let life = this.#begin();
    for (;;) {
      const next = await this.#goOn(life);
      if (next === "done") break;
      if (next !== "again") continue;
      const { folder, patienceMs } = this.#scene;
      if (folder) await this.#executions.settled(patienceMs);
      if (this.#lives >= mostLives)
        throw new Error(`the thread did not end in ${mostLives} processes`);
      life = this.#begin();
    }
    await life.close();
    return this.#outcome();
  }

  #begin(): Life {
    const { hash, load, seed, surprise } = this.#scene;
    const { number, hour = 0, isSecond = false } = this.#given;
    const [plan, executions] = [this.#plan, this.#executions];
    const isFirst = this.#lives === 0;
    // The first process gets the clock and the random numbers of an undisturbed run.
    const name = isFirst ? `hour ${hour}` : `run ${number} process ${this.#lives}`;
    const random = new Random(seed, name);
    const leap = (1 + random.below(longestLeap)) * hourMs + random.below(hourMs);
    const first = hour * hourMs + (hour === 0 ? 0 : random.below(hourMs));
    surprise.begin(isFirst ? first : surprise.offset + this.#withinDeadline(leap), random);
    this.#lives += 1;
    for (const thread of this.#memory.threads.values()) thread.holder = null;
    const store = memoryStore(this.#memory);
    return new Life({
      ...{ hash, place: this.#place, store, plan, executions },
      load: () => load(isFirst && isSecond),
      onRecord: (record, at) => at > 0 && executions.recorded(JSON.parse(record) as Step),
    });
  }

  /** Shortens a leap of the clock so that an open question does not expire. */
  #withinDeadline(leap: number): number {
    const last = this.#log().steps.at(-1);
    const at = last && isQuestion(last) ? wakesAt(last) : null;
    if (at === null) return leap;
    return Math.min(leap, Math.max(0, (at - this.#scene.surprise.now()) / 2));
  }

  /**
   * Takes one action on the thread: starts, resumes, answers, wakes or retries it, or waits for a change. Returns
   * `done` at the end of the run, and `again` when the process is dead.
   */
  async #goOn(life: Life): Promise<"done" | "again" | "next"> {
    const changed = life.changed;
    // Let the workflow run: it needs turns of the event loop too.
    await system.clock.turn();
    if (life.isDead) return "again";
    if (life.unacknowledged > 0) return "next";
    const { threads } = life;
    const { request } = this.#scene;
    const { start, steps, end } = this.#log();
    if (!start) {
      const twice = this.#plan.atStart();
      await life.call(threads.start(request));
      if (twice) await life.call(threads.start(request));
      return "next";
    }
    if (end) return (await this.#retry(life, steps, end)) ? "next" : "done";
    const live = threads.list().find(({ threadId }) => threadId === this.#threadId);
    if (!live) {
      const last = steps.at(-1) ?? null;
      if (isQuestion(last ?? noStep) || sleepsUntil(last) !== null)
        return await this.#answer(life, steps);
      await life.call(threads.resume(this.#threadId, { env: request.env }).catch(ignored));
      return "next";
    }
    if (live.status === "waiting") return await this.#answer(life, steps);
    await changed;
    return "next";
  }

  async #answer(life: Life, steps: readonly Step[]): Promise<"done" | "again" | "next"> {
    const { fixture, surprise, request } = this.#scene;
    const last = steps.at(-1) as Step;
    const threadId = this.#threadId;
    const input = sleepsUntil(last) === null ? answerIn(fixture, steps) : null;
    if (input === null) {
      const at = wakesAt(last);
      if (at === null) return "done";
      surprise.advance(at);
      const folders = { [String(request.options?.cwd)]: { env: {} } };
      await life.call(life.threads.wake({ env: request.env, folders }));
      const isStill = this.#log().steps.length === steps.length && !life.isDead;
      if (isStill)
        await life.call(life.threads.resume(threadId, { env: request.env }).catch(ignored));
      return "next";
    }
    const question = steps.length;
    if (!this.#questions.includes(question)) this.#questions.push(question);
    const fault = this.#plan.atAnswer(question);
    if (fault === "answerLate") {
      life.die();
      return "again";
    }
    const give = () =>
      life.call(life.threads.answer(threadId, { env: request.env, input, question }));
    const given = fault === "answerTwice" ? Promise.all([give(), give().catch(ignored)]) : give();
    await given.catch((error: unknown) => {
      // The disk rejected the answer: send it again.
      if (isWorkflowError(error) && isOfDisk.has(error.code)) return;
      if (!life.isDead && this.#log().steps.length === question) throw error;
    });
    return "next";
  }

  /** Retries a thread that failed with an injected error, as the command `retry` does. Returns false otherwise. */
  async #retry(life: Life, steps: readonly Step[], end: EndRecord): Promise<boolean> {
    const { hash, request } = this.#scene;
    const { reason, error } = end.meta;
    if (reason !== "failed" || !end.content.startsWith("chaos: ") || this.#retries >= mostRetries) {
      return false;
    }
    const view = {
      ...{ threadId: this.#threadId, steps, status: "failed", error: error ?? null },
      result: { returnCode: end.meta.returnCode, summary: end.content },
    } as unknown as ThreadView;
    const { keep } = retryOptions(view, { env: request.env });
    const first = keep && "atStep" in keep ? keep.atStep : steps.length;
    this.#retries += 1;
    const threadId = `${this.#threadId.slice(0, -2)}${String(this.#retries).padStart(2, "0")}`;
    const fork = { hash, threadId: this.#threadId, keep: { first } };
    const { env, workflow, options } = request;
    const done = await life.call(life.threads.start({ env, workflow, options, threadId, fork }));
    if (done !== "dead" || this.#memory.threads.has(threadId)) this.#threadId = threadId;
    return true;
  }

  #log(): { start: StartRecord | null; steps: Step[]; end: EndRecord | null } {
    const [start = null, ...records] = this.#records() as unknown[];
    const all = records as (Step | EndRecord)[];
    return {
      start: start as StartRecord | null,
      steps: all.filter((record): record is Step => !isEnd(record)),
      end: all.find(isEnd) ?? null,
    };
  }

  #records(): Record<string, unknown>[] {
    const lines = this.#memory.threads.get(this.#threadId)?.logs.data ?? [];
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  #outcome(): Run {
    const { steps, end } = this.#log();
    const executions = this.#executions.counted();
    const handled = this.#retries + steps.filter((step) => isInjected(step)).length;
    return {
      steps,
      openedAt: steps.map((step) => this.#executions.openedAt(step)),
      end,
      executions,
      boundaries: {
        records: steps.length + (end ? 1 : 0),
        slots: executions.map(({ slot, role }) => ({ slot, role })),
        questions: this.#questions,
      },
      faults: this.#plan.came,
      hasCaught: this.#plan.came.filter(isSeen).length > handled,
      longestMs: this.#executions.longestMs,
      files: this.#scene.folder?.files() ?? null,
      log: this.#records().flatMap((record) => {
        const { sum: _, journal: _head, ...own } = record;
        return own.role === END ? [] : [JSON.stringify(own)];
      }),
    };
  }
}

const isInjected = ({ meta }: Step): boolean =>
  (meta.__durable__ as { retry?: unknown } | undefined)?.retry !== undefined;

const isOfDisk: ReadonlySet<string> = new Set(["DISK_FULL", "DISK_ERROR"]);

const noStep = { role: "", meta: {} };
const ignored = (): undefined => undefined;

const answerIn = (fixture: Fixture | null, steps: readonly Step[]): InputRequest | null =>
  fixture && recordedInput(fixture, steps);
