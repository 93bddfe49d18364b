/*
 * A simulated machine: its clock, its processes, and one queue of all future events.
 *
 * W1 Events run one at a time. All code that an event runs without waiting finishes before the next event.
 * W2 Only the seed decides which event is next.
 * W3 A dead process does nothing: each of its calls throws, and its pending events never arrive.
 * W4 The files, locks and sockets of a dead process are released at once.
 */
import { drainMicrotasks } from "bun:jsc";
import { Disk, type OpenFile } from "./disk.ts";
import type { FaultPlan } from "./faults.ts";
import { Random } from "../../packages/workflow/src/chaos/random.ts";

/** Thrown by every call of a dead process. */
export class Ended extends Error {}

export type Role = "worker" | "client" | "observer";

export type Process = {
  readonly pid: number;
  readonly role: Role;
  readonly name: string;
  readonly startedAt: number;
  alive: boolean;
  /** Whether the first lines of its program have run. */
  isRunning: boolean;
  /** Time in milliseconds until which the process does nothing. */
  asleepUntil: number;
  exitCode: number | null;
  signalCode: string | null;
  readonly files: Map<number, OpenFile>;
  readonly onStop: (() => void)[];
  readonly onEnd: (() => void)[];
};

type Event = { time: number; order: number; process: Process | null; act: () => void };

const wallStart = 1_795_000_000_000;

export class World {
  readonly random: Random;
  readonly disk = new Disk();
  readonly faults: FaultPlan;
  readonly processes: Process[] = [];
  /** Process whose code is running. */
  current: Process | null = null;
  /** Time since the start of the machine, in milliseconds. */
  now = 0;
  /** Offset of the wall clock, in milliseconds. Faults change it in both directions. */
  clockOffset = 0;
  boots = 1;
  /** Number of calls. */
  calls = 0;
  /** Lines of the trace, if requested. */
  readonly lines: string[] | null;
  #hash = 0n;
  onUncaught: (error: unknown) => void = (error) => {
    throw error;
  };
  readonly #queue: Event[] = [];
  #order = 0;
  #lastPid = 100;

  constructor(seed: number, faults: FaultPlan, isTraced = false) {
    this.random = new Random(seed, "schedule");
    this.faults = faults;
    this.lines = isTraced ? [] : null;
  }

  get wall(): number {
    return Math.floor(wallStart + this.now + this.clockOffset);
  }

  get hash(): string {
    return this.#hash.toString(16).padStart(16, "0");
  }

  /** Returns the process whose code is running. @throws Ended when it is dead. */
  get running(): Process {
    this.checkAlive();
    return this.current as Process;
  }

  /** Checks that the running process is alive. @throws Ended when it is dead. */
  checkAlive(): void {
    if (!this.current?.alive) throw new Ended("the process has ended");
  }

  note(text: string): void {
    this.#hash = Bun.hash.xxHash64(text, this.#hash);
    this.lines?.push(`${this.now.toFixed(3)} ${this.current?.name ?? "-"} ${text}`);
  }

  /** Schedules an event of a process or of the machine after a time in milliseconds. Returns a cancel function. */
  plan(process: Process | null, ms: number, act: () => void): () => void {
    const event: Event = {
      time: this.now + Math.max(ms, 0),
      order: (this.#order += 1),
      process,
      act,
    };
    this.#push(event);
    return () => {
      event.act = nothing;
      event.process = null;
    };
  }

  /** Starts a process with `act`. */
  start(role: Role, name: string, delayMs: number, act: () => void): Process {
    const pid = (this.#lastPid += 1);
    const process: Process = {
      pid,
      role,
      name: `${name}:${pid}`,
      startedAt: this.now,
      alive: true,
      isRunning: false,
      asleepUntil: 0,
      exitCode: null,
      signalCode: null,
      files: new Map(),
      onStop: [],
      onEnd: [],
    };
    this.processes.push(process);
    this.plan(process, delayMs, act);
    return process;
  }

  /** Ends a process. `how` is its exit code, or null when it was killed. */
  end(process: Process, how: number | null): void {
    if (!process.alive) return;
    process.alive = false;
    process.exitCode = how;
    process.signalCode = how === null ? "SIGKILL" : null;
    this.note(`end ${process.name} ${how}`);
    for (const file of process.files.values()) {
      if (file.inode.kind === "file" && file.inode.lockedBy === file) file.inode.lockedBy = null;
    }
    process.files.clear();
    for (const act of process.onEnd) act();
  }

  /** Ends every process and drops unsynced changes. */
  losePower(random: Random): void {
    for (const process of this.processes) if (process.role !== "observer") this.end(process, null);
    this.disk.losePower(random);
    this.boots += 1;
    this.note("power");
  }

  /** Runs a function as a process within a call of another process, like a concurrent reader. */
  within<T>(process: Process, act: () => T): T {
    const before = this.current;
    this.current = process;
    try {
      return act();
    } finally {
      this.current = before;
    }
  }

  /** Runs events until `isDone`, the time limit, or the last event. */
  run(untilMs: number, isDone: () => boolean): void {
    while (!isDone()) {
      const event = this.#queue[0];
      if (!event || event.time > untilMs) {
        this.now = Math.max(this.now, untilMs);
        return;
      }
      this.#pop();
      this.now = Math.max(this.now, event.time);
      const { process, act } = event;
      if (process && !process.alive) continue;
      if (process && process.asleepUntil > this.now) {
        event.time = process.asleepUntil;
        this.#push(event);
        continue;
      }
      this.current = process;
      try {
        act();
        if (process) process.isRunning = true;
      } catch (error) {
        if (!(error instanceof Ended)) this.#crash(process, error);
      }
      drainMicrotasks();
      this.current = null;
    }
  }

  // An error in a program's first lines ends its process. The worker handles later uncaught errors.
  #crash(process: Process | null, error: unknown): void {
    if (process && !process.isRunning) this.end(process, 1);
    else this.onUncaught(error);
  }

  #push(event: Event): void {
    const queue = this.#queue;
    let at = queue.push(event) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (!isBefore(event, queue[up] as Event)) break;
      queue[at] = queue[up] as Event;
      at = up;
    }
    queue[at] = event;
  }

  #pop(): void {
    const queue = this.#queue;
    const last = queue.pop() as Event;
    if (queue.length === 0) return;
    let at = 0;
    for (;;) {
      let down = at * 2 + 1;
      if (down >= queue.length) break;
      if (down + 1 < queue.length && isBefore(queue[down + 1] as Event, queue[down] as Event))
        down += 1;
      if (!isBefore(queue[down] as Event, last)) break;
      queue[at] = queue[down] as Event;
      at = down;
    }
    queue[at] = last;
  }
}

const nothing = () => undefined;

const isBefore = (a: Event, b: Event): boolean =>
  a.time < b.time || (a.time === b.time && a.order < b.order);
