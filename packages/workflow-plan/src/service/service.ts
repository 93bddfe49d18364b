import type { Environment, Host, ThreadRef } from "@uncaged/workflow/host";
import { isAnythingDue } from "@uncaged/workflow/internal";
import { threadIdOf } from "../plan/terms.ts";
import { removeCheckFolders } from "../runs/folders.ts";
import { openHome } from "../store/home.ts";
import type { Plans } from "../home/plans.ts";
import type { Begun, OnRunError } from "../runs/runs.ts";
import { isoOf } from "../trigger/state.ts";
import {
  drainedThreads,
  forgetStop,
  lockService,
  rememberDrained,
  stopRequest,
  type StopRequest,
  waitForTriggers,
  writeInfo,
} from "./control.ts";
import { Triggers, type TriggersOptions } from "./triggers.ts";

/** An action or a problem of the service, for notices and the log. Actions are already committed. */
export type ServiceEvent =
  | { kind: "fired"; workflowId: string; runId: string }
  | { kind: "ended"; workflowId: string; runId: string; status: string; error: string | null }
  | { kind: "interrupted"; workflowId: string; runId: string }
  | { kind: "error"; workflowId: string | null; error: unknown };

/** The channels to users while the service runs. */
export type ServiceMessaging = {
  notices: { send(): Promise<void> };
  connect(): void;
  close(): Promise<void>;
};

export type ServiceOptions = Pick<TriggersOptions, "commandOf" | "limits" | "now"> & {
  home: string;
  host: Host;
  env: Environment;
  /** Opens the plans of the home after this process has become the home's service. */
  open: () => Plans | Promise<Plans>;
  /** Opens the channels. They connect after the recovery of runs. */
  messaging?: (plans: Plans) => ServiceMessaging | Promise<ServiceMessaging>;
  report: (event: ServiceEvent) => void;
  /** Called when the service starts to check triggers. */
  onReady?: () => void;
  /** Ends the service when it is aborted. */
  signal: AbortSignal;
  /** The interval between checks for changes, in milliseconds. */
  everyMs?: number;
};

const defaultEveryMs = 1_000;
const drainPollMs = 100;
/**
 * Minimum wait between turns, in milliseconds. A running check stays due until it ends, so the time of the next trigger
 * may be in the past.
 */
const shortestRestMs = 100;
/** Timeout for unfinished work at the end of the service, in milliseconds. */
const longestEndMs = 4_000;

/**
 * Runs the service of a plan home until its signal is aborted or a stop is requested.
 *
 * - **D1** A lock of the operating system permits one service per home.
 * - **D2** Order of the start: lock, database, recovery, channels, triggers.
 * - **D3** Between turns the service keeps only the time of the next trigger. The database's change counter shows
 *   changes by other processes and by the service's channels.
 * - **D4** The service does not end runs, which have separate processes.
 * - **D5** The service reports an error in one turn, and the next turn tries again.
 *
 * @throws ExecutorError if another service runs for the home.
 */
export async function runService(options: ServiceOptions): Promise<void> {
  const { home, open, now = Date.now } = options;
  openHome(home);
  const lock = lockService(home);
  try {
    forgetStop(home);
    writeInfo(home, { pid: process.pid, startedAt: isoOf(now()) });
    const plans = await open();
    try {
      await new Service(plans, options, await options.messaging?.(plans)).run();
    } finally {
      plans.close();
    }
  } finally {
    lock.release();
  }
}

class Service {
  readonly #plans: Plans;
  readonly #options: ServiceOptions;
  readonly #now: () => number;
  readonly #triggers: Triggers;
  readonly #messaging: ServiceMessaging | undefined;
  #isSending = false;
  #counter = "";
  #nextDue: number | null = null;
  #lookedAt = 0;
  readonly #errors = new Map<string, string>();

  constructor(plans: Plans, options: ServiceOptions, messaging?: ServiceMessaging) {
    this.#plans = plans;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#messaging = messaging;
    const { commandOf, limits, now, report } = options;
    this.#triggers = new Triggers(plans, {
      ...{ commandOf, now, limits },
      onFire: (fired) => report({ kind: "fired", ...fired }),
      onError: (workflowId, error) => this.#reportOnce(workflowId, workflowId, error),
    });
  }

  async run(): Promise<void> {
    const { env, home, onReady, signal } = this.#options;
    await this.#attempt(() => this.#recover());
    this.#messaging?.connect();
    const lock = await waitForTriggers(this.#plans.store, signal).catch(() => null);
    if (lock) {
      removeCheckFolders(home, env);
      onReady?.();
    }
    try {
      const request = lock && (await this.#untilStopped());
      if (request?.drainSeconds) await this.#drain(request.drainSeconds);
    } finally {
      if (this.#messaging) await within(longestEndMs, this.#messaging.close());
      forgetStop(home);
      await lock?.release();
    }
  }

  /** Takes turns until the signal is aborted or a stop is requested. No trigger fires after that. */
  async #untilStopped(): Promise<StopRequest | null> {
    const { home, signal } = this.#options;
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => aborted.resolve());
    let turn = Promise.resolve();
    let request: StopRequest | null = null;
    while (!signal.aborted && request === null) {
      turn = this.#attempt(() => this.#turn());
      await Promise.race([turn, aborted.promise]);
      await this.#rest();
      request = stopRequest(home);
    }
    await within(longestEndMs, Promise.all([turn, this.#triggers.stop()]));
    return request;
  }

  async #recover(): Promise<void> {
    const { home, report } = this.#options;
    const drained = drainedThreads(home);
    const onInterrupted = ({ workflowId, runId }: Begun) =>
      report({ kind: "interrupted", workflowId, runId });
    const onError = this.#onError;
    const { ended } = await this.#plans.recover({ drained, onError, onInterrupted });
    await this.#plans.list((id, error) => this.#reportOnce(id, id, error));
    for (const one of ended) report({ kind: "ended", ...one });
    rememberDrained(home, []);
  }

  /** Reports an error of a run or a trigger once, although each turn retries it. */
  readonly #onError: OnRunError = ({ workflowId, runId }, error) =>
    this.#reportOnce(runId, workflowId, error);

  #reportOnce(of: string, workflowId: string, error: unknown): void {
    if (this.#errors.get(of) === String(error)) return;
    this.#errors.set(of, String(error));
    this.#options.report({ kind: "error", workflowId, error });
  }

  /** Checks for changes and due triggers, and acts on them. */
  async #turn(): Promise<void> {
    const { env, host } = this.#options;
    await this.#plans.sync();
    const now = this.#now();
    const counter = this.#plans.changeCounter();
    const isChanged = counter !== this.#counter || now < this.#lookedAt;
    this.#counter = counter;
    this.#lookedAt = now;
    if (isChanged || (this.#nextDue !== null && this.#nextDue <= now))
      this.#nextDue = await this.#triggers.look();
    if (isAnythingDue(host.root)) await host.wake({ env });
    if (isChanged || this.#plans.runs().length > 0) await this.#followRuns();
    this.#send();
  }

  /** Sends notices without waiting for channels. */
  #send(): void {
    if (this.#isSending || !this.#messaging) return;
    this.#isSending = true;
    const { notices } = this.#messaging;
    void this.#attempt(() => notices.send()).then(() => (this.#isSending = false));
  }

  async #followRuns(): Promise<void> {
    const ended = await this.#plans.refresh(this.#onError);
    for (const one of ended) this.#options.report({ kind: "ended", ...one });
    await this.#plans.startQueued(this.#onError);
  }

  /** Waits until the next turn is due. */
  async #rest(): Promise<void> {
    const { everyMs = defaultEveryMs, signal } = this.#options;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wait = Math.min(everyMs, Math.max(0, (this.#nextDue ?? Infinity) - this.#now()));
    const timer = setTimeout(resolve, Math.max(wait, shortestRestMs));
    const wake = () => resolve();
    signal.addEventListener("abort", wake);
    if (!signal.aborted) await promise;
    clearTimeout(timer);
    signal.removeEventListener("abort", wake);
  }

  /** Pauses the open runs between steps, and waits until they are paused. */
  async #drain(seconds: number): Promise<void> {
    const { home, host } = this.#options;
    const running = await this.#runningThreads();
    rememberDrained(
      home,
      running.map(({ threadId }) => threadId),
    );
    for (const ref of running) await this.#attempt(() => host.control(ref, { kind: "pause" }));
    const late = performance.now() + seconds * 1000;
    while (performance.now() < late && (await this.#runningThreads()).length > 0)
      await Bun.sleep(drainPollMs);
  }

  async #runningThreads(): Promise<ThreadRef[]> {
    const own = new Set(this.#plans.runs().map(({ id }) => threadIdOf(id)));
    const live = await this.#options.host.live();
    return live.filter(({ status, threadId }) => status === "running" && own.has(threadId));
  }

  async #attempt(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#options.report({ kind: "error", workflowId: null, error });
    }
  }
}

/** Waits for a promise, but at most `ms` milliseconds. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise.catch(() => undefined), late]);
  clearTimeout(timer);
}
