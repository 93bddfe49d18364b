import type { LoadedBundle } from "../bundle/store.ts";
import { checkStartParams } from "../bundle/params.ts";
import { type Bundle, INPUT, type Step, WAIT } from "../contract/contract.ts";
import type { WorkflowError } from "../contract/error.ts";
import { isQuestion } from "../contract/wait.ts";
import {
  defaultMaxRounds,
  type ForkRequest,
  type InputRequest,
  isRounds,
  type StartRequest,
} from "../control/control.ts";
import { blobsNamedIn } from "../record/blob-names.ts";
import { LogFold } from "../record/fold.ts";
import type { JournalRecord } from "../record/journal.ts";
import {
  type JournalHead,
  type StartedIn,
  type StartRecord,
  textOf,
  withHead,
} from "../record/record.ts";
import { firstSum, sealed, sumText } from "../record/sum.ts";
import { requestIdOf, takenIds } from "../record/selection.ts";
import { keptBy, startRecord } from "../record/start-record.ts";
import { checkRole, type ThreadRef } from "../record/thread.ts";
import { stateAfter } from "../store/state.ts";
import type { NewThread, ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import { answerTo, edited, inputStep } from "./fork-answer.ts";
import { JournalReader } from "./journal-reader.ts";
import { bundleSwapped, notAQuestion, questionNotKept, threadStepNotFound } from "./errors.ts";
import { corruptError, notFound } from "../record/errors.ts";

/** A thread to create, in the form of the store and as records. */
export type PreparedThread = { thread: NewThread; start: StartRecord; steps: Step[] };

/** Facts about a bundle that a new thread records. */
export type BundleFacts = { rounds?: number; sha256?: string; startedIn?: StartedIn };

/**
 * Returns the error for a thread whose bundle's bytes changed since its start; null when they are unchanged, the thread
 * runs another version, or its log has an earlier format. `where` names the log.
 */
export function otherBundle(
  where: string,
  { hash, sha256 }: StartRecord,
  bundle: { hash: string; sha256?: string },
): WorkflowError | null {
  const isKnown = hash === bundle.hash && sha256 !== undefined && bundle.sha256 !== undefined;
  if (!isKnown || sha256 === bundle.sha256) return null;
  return bundleSwapped(where, hash);
}

/**
 * Prepares a requested thread: its start record, and the recorded steps that a fork copies. `rounds` is the default
 * limit when neither the request nor the fork's source sets one.
 * @throws WorkflowError `THREAD_NOT_FOUND`, `NO_SUCH_STEP`, `NEWER_LOG`, `LOG_CORRUPT`, `NOT_A_QUESTION`,
 * `QUESTION_NOT_KEPT`, the errors of `answerStep`; `BUNDLE_CHANGED` when the source ran another bundle of the same
 * hash.
 */
export async function prepareThread(
  store: ThreadStore,
  hash: string,
  request: StartRequest,
  { rounds = defaultMaxRounds, sha256, startedIn }: BundleFacts = {},
): Promise<PreparedThread> {
  const { threadId, fork } = request;
  const source = fork ? await copiedSteps(store, fork) : null;
  const other =
    fork && source && otherBundle(store.where(fork, "data"), source.start, { hash, sha256 });
  if (other) throw other;
  const timestamp = system.clock.now();
  const facts = { source: source?.start, rounds, sha256, timestamp, startedIn };
  const start = startRecord(hash, request, facts);
  const isTaken = fork && source?.isAll && !fork.anew;
  const recorded = isTaken ? await copiedJournal(store, fork, source.head) : [];
  const journal = recorded.length > 0 ? [firstOf(hash, threadId, timestamp), ...recorded] : [];
  const records = [withHead(textOf(start), headOf(journal)), ...(source?.records ?? [])];
  const steps = [...(source?.steps ?? [])];
  const { input } = fork ?? request;
  if (input) {
    const isAnswer = fork && fork.isRerun !== true;
    const step = isAnswer ? await answerIn(store, fork, input, steps.at(-1)) : inputStep(input);
    steps.push(step);
    records.push(textOf(step));
  }
  const state = stateAfter(steps.at(-1) ?? null, steps.length, start.parameters.options.maxRounds);
  const thread: NewThread = {
    ...{ hash, threadId, name: start.name, createdAt: timestamp, records, state },
    ...(journal.length > 0 && { journal }),
    ...(fork && source && { blobsFrom: await namedBlobs(store, fork, source.steps) }),
  };
  return { thread, start, steps };
}

/**
 * Checks a start request against its bundle and prepares the thread.
 * @throws WorkflowError the errors of {@link checkParams} and {@link prepareThread}
 */
export async function newThread(
  store: ThreadStore,
  hash: string,
  bundle: Pick<LoadedBundle, "descriptor" | "sha256">,
  request: StartRequest,
): Promise<NewThread> {
  await checkParams(bundle, request);
  const facts = { rounds: roundsOf(bundle), sha256: bundle.sha256 };
  return (await prepareThread(store, hash, request, facts)).thread;
}

/** The default maxRounds of a bundle's threads: from the descriptor, else 100. */
export function roundsOf({ descriptor: { maxRounds } }: Pick<Bundle, "descriptor">): number {
  return isRounds(maxRounds) ? maxRounds : defaultMaxRounds;
}

/** Yields the lines of a thread's data log in the store. */
async function* linesOf(store: ThreadStore, ref: ThreadRef): AsyncGenerator<string> {
  let cursor: string | undefined;
  for (;;) {
    const page = await store.read(ref, "data", cursor);
    yield* page.lines;
    if (page.isEnd) return;
    cursor = page.cursor;
  }
}

/**
 * Returns the answer of a fork to one of its kept questions. @throws WorkflowError `NOT_A_QUESTION`, the errors of
 * {@link answerTo}
 */
async function answerIn(
  store: ThreadStore,
  { hash, threadId, keep }: ForkRequest,
  input: InputRequest,
  step: Step | undefined,
): Promise<Step> {
  const number = "first" in keep ? keep.first : (keep.at(-1) ?? -1) + 1;
  const answer = await answerTo({ threadId, step, number }, input);
  if (answer !== null) return answer;
  const question = await questionNear(store, { hash, threadId }, number);
  throw notAQuestion(threadId, number, question);
}

/**
 * Returns the number of a thread's first question after a step, else of the last question before it; null if there is
 * none.
 */
async function questionNear(
  store: ThreadStore,
  ref: ThreadRef,
  number: number,
): Promise<number | null> {
  let [at, found]: [number, number | null] = [0, null];
  try {
    for await (const { step } of stepLines(store, ref)) {
      at += 1;
      if (isQuestion(step)) found = at;
      if (at > number && found === at) break;
    }
  } catch {
    // Damage after the kept steps hides the later questions.
  }
  return found;
}

type StepLine = { step: Step; record: string };

/** The steps of a thread with their records, without checksums. `fold` collects the rest of the log's state. */
async function* stepLines(
  store: ThreadStore,
  ref: ThreadRef,
  fold = new LogFold(ref),
): AsyncGenerator<StepLine> {
  let start = 0;
  for await (const line of linesOf(store, ref)) {
    const bytes = Buffer.from(line);
    const position = start + bytes.length + 1;
    const record = fold.take({ value: parsed(line), bytes, start, position });
    if (fold.broken) throw corruptError(store.where(ref, "data"), fold.broken);
    start = position;
    if (record !== null && record === fold.last) {
      yield { step: record, record: withoutSum(line, fold.sum !== null) };
    }
  }
}

/** Whether a thread has this answer already. Answers without a `requestId` are always new. */
export async function hasTaken(
  store: ThreadStore,
  ref: ThreadRef,
  input: InputRequest,
): Promise<boolean> {
  const id = requestIdOf(input);
  if (id === undefined) return false;
  for await (const { step } of stepLines(store, ref)) {
    if (takenIds([step]).includes(id)) return true;
  }
  return false;
}

/**
 * The steps copied by a fork. `isAll`: the fork keeps all steps of a thread that has not returned, so it continues from
 * the journal of that thread. `head` is the journal's head in the log.
 */
type Copied = {
  start: StartRecord;
  steps: Step[];
  records: string[];
  isAll: boolean;
  head: JournalHead | null;
};

/** Returns the recorded steps that a fork keeps, with the edit of the last step. */
async function copiedSteps(store: ThreadStore, fork: ForkRequest): Promise<Copied> {
  const { hash, threadId, keep, edit } = fork;
  const count = keptBy(keep);
  const fold = new LogFold({ hash, threadId });
  const steps: Step[] = [];
  const records: string[] = [];
  /** The previous step of the source thread, and whether the fork keeps it. */
  let [before, isBeforeKept]: [Step | undefined, boolean] = [undefined, false];
  try {
    for await (const line of stepLines(store, { hash, threadId }, fold)) {
      const kept = steps.length;
      if (kept === count) break;
      const last = before;
      const isLastKept = isBeforeKept;
      before = line.step;
      isBeforeKept = fold.steps - 1 === ("first" in keep ? kept : keep[kept]);
      if (!isBeforeKept) continue;
      checkRole(store.where({ hash, threadId }, "data"), line.step);
      const isAnswer = line.step.role === INPUT && last?.role === WAIT;
      if (isAnswer && !isLastKept) throw questionNotKept(fold.steps);
      const isEdited = edit !== undefined && kept + 1 === count;
      const asked = { threadId, step: last, number: fold.steps - 1 };
      const step = isEdited ? await edited(line.step, edit, asked) : line.step;
      steps.push(step);
      records.push(isEdited ? textOf(step) : line.record);
    }
  } catch (error) {
    // Damage after the kept steps is not copied.
    if (!fold.broken || !fold.start || steps.length < count) throw error;
  }
  if (!fold.start) throw notFound(threadId);
  if (steps.length === count) {
    const isStopped = !fold.broken && fold.end?.meta.reason !== "returned";
    const isAll = isStopped && fold.steps === count;
    return { start: fold.start, steps, records, isAll, head: fold.journal };
  }
  const needed = "first" in keep ? keep.first : (keep.at(-1) ?? 0) + 1;
  throw threadStepNotFound(threadId, fold.steps, needed);
}

const copiedKinds: ReadonlySet<JournalRecord["kind"]> = new Set(["attempt", "failed", "entry"]);

/**
 * Copies the journal entries of a thread's steps, without the costs of its model calls.
 * @throws WorkflowError `LOG_CORRUPT`
 */
async function copiedJournal(
  store: ThreadStore,
  { hash, threadId }: ForkRequest,
  head: JournalHead | null,
): Promise<string[]> {
  const ref = { hash, threadId };
  const records: string[] = [];
  await JournalReader.open(store, { ref, journalHead: head }, (record) => {
    if (copiedKinds.has(record.kind)) records.push(JSON.stringify(record));
  });
  return records;
}

const firstOf = (hash: string, threadId: string, at: number): string =>
  JSON.stringify({ kind: "journal", hash, threadId, at });

/** The head of a journal with the given records. */
function headOf(records: readonly string[]): JournalHead | null {
  if (records.length === 0) return null;
  const sum = records.reduce((last, record) => sealed(record, last).sum, firstSum);
  return { records: records.length, sum: sumText(sum) };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

// The checksum is the last field of a record; the copy gets a new checksum.
const withoutSum = (line: string, hasSum: boolean): string =>
  hasSum ? `${line.slice(0, line.lastIndexOf(',"sum":"'))}}` : line;

async function namedBlobs(store: ThreadStore, { hash, threadId }: ForkRequest, steps: Step[]) {
  const ref = { hash, threadId };
  const there = new Set(await store.listBlobs(ref));
  if (there.size === 0) return { ref, ids: [] };
  return { ref, ids: steps.flatMap(blobsNamedIn).filter((id) => there.has(id)) };
}

/**
 * Checks the params of a new thread. A fork without new params, and a thread that starts with an answer, skip the
 * check.
 * @throws WorkflowError the errors of {@link checkStartParams}
 */
export async function checkParams(
  bundle: Pick<Bundle, "descriptor">,
  request: StartRequest,
): Promise<void> {
  if (request.input || (request.fork && request.params === undefined)) return;
  await checkStartParams(bundle, request, request.workflow);
}
