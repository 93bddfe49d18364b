import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { GraphDocument } from "@uncaged/workflow-graph";
import { importProblem } from "@uncaged/workflow-graph/run";
import { type ThreadRow, toErrorRecord } from "@uncaged/workflow/host";
import { writeFileLater } from "@uncaged/workflow/internal";
import type { Context } from "../routes/route.ts";
import { projectRoot } from "./config.ts";
import type { GraphControl } from "./control.ts";
import { type GraphRun, type GraphRuns, isOldId, isRunId, threadIdOf } from "./graph-run.ts";

type Kept = { run: GraphRun; file: string };

/** The record of a run in its file. */
type Recorded = {
  runId?: unknown;
  status?: unknown;
  waitingForInput?: unknown;
  state?: unknown;
  currentNodeId?: unknown;
  workflow?: Partial<GraphDocument>;
};

const namePattern = /^run_(\w+)\.json$/;

/**
 * Copies of runs for other programs: `data/runs/run_<runId>.json`, written at the start of a run, at each pause and at
 * its end. The thread is authoritative, so the server only logs a failed write of a copy.
 */
export class Records {
  readonly #context: Context;
  readonly #runs: GraphRuns;
  readonly #control: GraphControl;
  readonly #folder: string;
  /** The open runs, by thread. */
  readonly #open = new Map<string, Kept>();
  readonly #writing = new Map<string, Promise<void>>();
  readonly #names = new Map<string, string>();
  #watching: AbortController | null = null;

  constructor(context: Context, runs: GraphRuns, control: GraphControl) {
    this.#context = context;
    this.#runs = runs;
    this.#control = control;
    this.#folder = join(projectRoot(context), "data", "runs");
  }

  /** Writes the copy of a run, now and at each pause and end. */
  async keep(run: GraphRun): Promise<void> {
    const { threadId } = run.ref;
    const file = this.#names.get(threadId) ?? `run_${threadId}.json`;
    this.#open.set(threadId, { run, file });
    this.#watch();
    await this.#write(threadId);
  }

  /** Returns the result of a run after writing its copy, because programs read the copy after the response. */
  async result(run: GraphRun): Promise<Awaited<ReturnType<GraphRuns["result"]>>> {
    const { threadId } = run.ref;
    const file = this.#names.get(threadId) ?? `run_${threadId}.json`;
    await this.#write(threadId, { run, file });
    return await this.#runs.result(run);
  }

  close(): void {
    this.#watching?.abort();
  }

  /**
   * Restores the copies of an earlier server. Updates the copies of threads, and turns paused runs of another program
   * into waiting threads.
   */
  async restore(): Promise<void> {
    const files = await readdir(this.#folder).catch(() => []);
    for (const file of files) {
      const [, runId = ""] = namePattern.exec(file) ?? [];
      if (!isRunId(runId)) continue;
      try {
        await this.#restoreOne(file, runId);
      } catch (error) {
        console.warn(
          `${join(this.#folder, file)}: ${toErrorRecord(error).message}; skipped the file`,
        );
      }
    }
  }

  async #restoreOne(file: string, runId: string): Promise<void> {
    const text = await readFile(join(this.#folder, file), "utf8");
    const record = JSON.parse(text) as Recorded | null;
    const threadId = isOldId(runId) ? threadIdOf(runId) : runId;
    this.#names.set(threadId, file);
    const run = (await this.#runs.ofThread(runId)) ?? (await this.#runs.ofThread(threadId));
    if (run) {
      if (record?.status !== "completed" && record?.status !== "cancelled") await this.keep(run);
    } else if (record?.status === "paused" && record.waitingForInput === true) {
      await this.#import(record, threadId);
    }
  }

  async #import({ workflow, ...record }: Recorded, threadId: string): Promise<void> {
    if (!Array.isArray(workflow?.nodes) || !Array.isArray(workflow.connections)) {
      throw new Error("missing workflow");
    }
    if (typeof record.state !== "object" || record.state === null || record.currentNodeId === null)
      return;
    const problem = importProblem({ ...record, workflow });
    if (problem !== null) throw new Error(problem);
    const ref = await this.#control.startImported(workflow, threadId, record);
    await this.keep({ ref, document: workflow });
  }

  #watch(): void {
    if (this.#watching) return;
    const watching = (this.#watching = new AbortController());
    void this.#follow(watching.signal).catch((error: unknown) => {
      if (this.#watching === watching) this.#watching = null;
      console.error(error);
    });
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for await (const change of this.#context.host.changes(signal)) {
      if (change.kind === "ready") {
        for (const threadId of this.#open.keys()) await this.#write(threadId);
      } else if (change.kind === "removed") this.#open.delete(change.threadId);
      else if (change.kind === "thread") await this.#look(change.row);
      if (this.#open.size === 0) break;
    }
    this.#watching = null;
  }

  async #look({ status, threadId }: ThreadRow): Promise<void> {
    if (!this.#open.has(threadId) || status === "running" || status === "paused") return;
    await this.#write(threadId);
    if (isOver(status)) this.#open.delete(threadId);
  }

  /** Writes the copies of a run in sequence, so that the last copy has the latest state. */
  async #write(threadId: string, kept = this.#open.get(threadId)): Promise<void> {
    if (!kept) return;
    const before = this.#writing.get(threadId) ?? Promise.resolve();
    const writing = before.then(() => this.#copy(kept));
    this.#writing.set(threadId, writing);
    await writing;
    if (this.#writing.get(threadId) === writing) this.#writing.delete(threadId);
  }

  async #copy({ file, run }: Kept): Promise<void> {
    const path = join(this.#folder, file);
    try {
      const text = JSON.stringify(await this.#runs.result(run), null, 2);
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await writeFileLater(path, `${text}\n`);
    } catch (error) {
      console.error(
        `${path}: the copy of the run can't be written: ${toErrorRecord(error).message}`,
      );
    }
  }
}

const isOver = (status: ThreadRow["status"]): boolean =>
  status === "completed" || status === "failed" || status === "killed" || status === "corrupt";
