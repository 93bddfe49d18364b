import type { Attributes } from "@opentelemetry/api";
import type { Attempt, StartRecord, ThreadRow } from "@uncaged/workflow/host";
import type { AttemptError, AttemptTurn } from "@uncaged/workflow/records";
import { type Amount, amountOf, type ModelCall } from "./calls.ts";
import { rootKey } from "./ids.ts";
import { errorTypeOf, nameOf, providerOf } from "./names.ts";

/** A span to export. Times are in milliseconds since the epoch, `key` and `parent` identify spans of the thread. */
export type PlannedSpan = {
  key: string;
  parent: string | null;
  name: string;
  kind: "internal" | "client";
  start: number;
  end: number;
  attributes: Attributes;
  /** The type of the error if the work failed, and the message if contents are exported. */
  error?: { type: string; message?: string };
};

/**
 * The work of one ended attempt, to be exported and counted once: the span of the attempt, and the spans of its calls
 * and tools.
 */
export type EndedWork = {
  attempt: Attempt;
  spans: PlannedSpan[];
  calls: ModelCall[];
  /** Spending that the step recorded without reporting model calls, by model. */
  unreported: { model: string; amount: Amount }[];
};

/** The records of a thread from which spans are made. */
export type ThreadFacts = {
  row: ThreadRow;
  start: StartRecord;
  attempts: readonly Attempt[];
  calls: readonly ModelCall[];
};

type ToolTurn = Extract<AttemptTurn, { kind: "tool" }>;

/** Tells whether a thread has ended for good. */
export const isOver = ({ status }: Pick<ThreadRow, "status">): boolean =>
  status === "completed" || status === "failed" || status === "killed";

/** Statuses that later records can still change while the thread is not over. */
const unsettled: ReadonlySet<Attempt["status"]> = new Set(["lost", "parked", "cancelled"]);

/**
 * Yields the ended work that is not in `exported`. Omits steps that a fork copied, because those steps belong to the
 * trace of the original thread. With `showsContent`, spans also have the texts of models, and the inputs and results of
 * tools, as in the debug log.
 */
export function* endedWork(
  facts: ThreadFacts,
  exported: ReadonlySet<string>,
  showsContent: boolean,
): Generator<EndedWork> {
  const { attempts, calls, row } = facts;
  const own = new Map(
    attempts.filter(({ saved }) => !saved).map((attempt) => [attempt.attempt, attempt]),
  );
  const callsBy = Map.groupBy(calls, ({ attempt }) => attempt ?? "");
  const reporting = withAncestors(callsBy.keys(), own);
  for (const attempt of own.values()) {
    const { attempt: id, endedAt, status } = attempt;
    const isSettled = endedAt !== null && (isOver(row) || !unsettled.has(status));
    if (!isSettled || exported.has(id)) continue;
    const made = callsBy.get(id) ?? [];
    const parent = own.has(attempt.parent ?? "") ? attempt.parent : rootKey;
    const spans = [
      attemptSpan(facts, attempt, { parent, isAgent: made.length > 0, showsContent }),
      ...made.map((call) => callSpan(row, call, attempt, endedAt)),
      ...toolsOf(attempt).map((turn, index) =>
        toolSpan(row, turn, attempt, { index, showsContent }),
      ),
    ];
    const isCounted = reporting.has(id) || !attempt.recorded || attempt.paid !== null;
    const models = isCounted ? [] : Object.entries(attempt.models);
    const unreported = models.map(([model, { usage, cost }]) => ({
      ...{ model, amount: amountOf(usage, cost) },
    }));
    yield { attempt, spans, calls: made, unreported };
  }
}

/** Returns the attempts with these ids and all of their ancestors. */
function withAncestors(ids: Iterable<string>, all: ReadonlyMap<string, Attempt>): Set<string> {
  const found = new Set<string>();
  for (const id of ids) {
    for (let one = all.get(id); one && !found.has(one.attempt); one = all.get(one.parent ?? "")) {
      found.add(one.attempt);
    }
  }
  return found;
}

/** Returns the root span of an ended thread. */
export function rootSpan({ row, start }: ThreadFacts): PlannedSpan {
  const { threadId, workflow, hash, status, createdAt, updatedAt, steps, spent } = row;
  const { forkFrom } = start;
  return {
    key: rootKey,
    parent: null,
    name: `invoke_workflow ${nameOf(workflow)}`,
    kind: "internal",
    start: createdAt,
    end: updatedAt,
    attributes: {
      "gen_ai.operation.name": "invoke_workflow",
      "gen_ai.workflow.name": nameOf(workflow),
      "uncaged.thread.id": threadId,
      "uncaged.workflow": nameOf(workflow),
      "uncaged.version": hash,
      "uncaged.status": status,
      "uncaged.steps": steps,
      "uncaged.cost": spent.cost,
      ...(forkFrom && { "uncaged.fork.from": forkFrom.threadId }),
    },
    ...(status === "failed" && { error: { type: "failed" } }),
  };
}

type AttemptPlace = { parent: string | null; isAgent: boolean; showsContent: boolean };

function attemptSpan(
  { row }: ThreadFacts,
  attempt: Attempt,
  { parent, isAgent, showsContent }: AttemptPlace,
): PlannedSpan {
  const { role, stepID, step, status, startedAt, cost, retries } = attempt;
  const end = attempt.endedAt ?? row.updatedAt;
  const shown = nameOf(role ?? stepID ?? "step");
  const text = attempt.turns.flatMap((turn) => (turn.kind === "text" ? [turn.text] : [])).join("");
  return {
    key: attempt.attempt,
    parent,
    name: isAgent ? `invoke_agent ${shown}` : shown,
    kind: "internal",
    start: startedAt ?? end,
    end,
    attributes: {
      "uncaged.thread.id": row.threadId,
      "uncaged.workflow": nameOf(row.workflow),
      "uncaged.version": row.hash,
      "uncaged.attempt": attempt.attempt,
      "uncaged.role": shown,
      "uncaged.status": status,
      ...(step !== null && { "uncaged.step": step }),
      ...(cost !== null && { "uncaged.cost": cost }),
      ...(retries.length > 0 && { "uncaged.retries": retries.length }),
      ...(isAgent && {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": shown,
        "gen_ai.conversation.id": row.threadId,
        ...(attempt.model !== null && {
          "gen_ai.request.model": nameOf(attempt.model),
          "gen_ai.provider.name": providerOf(attempt.model),
        }),
      }),
      ...(showsContent && text !== "" && { "gen_ai.output.messages": messagesOf(text) }),
    },
    ...(status === "failed" && { error: errorOf(attempt.error, showsContent) }),
    ...(status === "lost" && { error: { type: "lost" } }),
  };
}

const messagesOf = (text: string): string =>
  JSON.stringify([{ role: "assistant", parts: [{ type: "text", content: text }] }]);

const errorOf = (error: AttemptError | null, showsContent: boolean) => ({
  type: error ? errorTypeOf(error) : "_OTHER",
  ...(error && showsContent && { message: error.message }),
});

function callSpan(
  { threadId }: ThreadRow,
  call: ModelCall,
  { attempt }: Attempt,
  attemptEnd: number,
): PlannedSpan {
  const { id, startedAt, endedAt, isWhole, amount } = call;
  const model = nameOf(call.model);
  return {
    key: `${attempt} call ${id}`,
    parent: attempt,
    name: `chat ${model}`,
    kind: "client",
    start: startedAt,
    end: endedAt ?? Math.max(attemptEnd, startedAt),
    attributes: {
      "uncaged.thread.id": threadId,
      ...chatAttributes(call),
      ...amountAttributes(amount),
    },
    ...(!isWhole && { error: { type: "incomplete" } }),
  };
}

/** The attributes that name a model call, also on its metrics. */
export const chatAttributes = ({ model }: Pick<ModelCall, "model">): Attributes => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": providerOf(model),
  "gen_ai.request.model": nameOf(model),
});

const amountAttributes = (amount: Amount): Attributes => ({
  "gen_ai.usage.input_tokens": amount.input,
  "gen_ai.usage.output_tokens": amount.output,
  ...(amount.cacheRead > 0 && { "gen_ai.usage.cache_read.input_tokens": amount.cacheRead }),
  ...(amount.cacheWrite > 0 && { "gen_ai.usage.cache_creation.input_tokens": amount.cacheWrite }),
  ...(amount.thinking > 0 && { "gen_ai.usage.reasoning.output_tokens": amount.thinking }),
  ...(amount.cost !== null && { "uncaged.cost": amount.cost }),
});

const toolsOf = ({ turns }: Attempt): ToolTurn[] => turns.filter((turn) => turn.kind === "tool");

function toolSpan(
  { threadId }: ThreadRow,
  { id, name, input, output, status, at, endedAt }: ToolTurn,
  { attempt, endedAt: attemptEnd }: Attempt,
  { index, showsContent }: { index: number; showsContent: boolean },
): PlannedSpan {
  const tool = nameOf(name);
  return {
    key: `${attempt} tool ${index}`,
    parent: attempt,
    name: `execute_tool ${tool}`,
    kind: "internal",
    start: at,
    end: Math.max(endedAt ?? attemptEnd ?? at, at),
    attributes: {
      "uncaged.thread.id": threadId,
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.type": "function",
      ...(id !== "" && { "gen_ai.tool.call.id": nameOf(id) }),
      ...(showsContent && { "gen_ai.tool.call.arguments": JSON.stringify(input) ?? "null" }),
      ...(showsContent &&
        output !== undefined && { "gen_ai.tool.call.result": JSON.stringify(output) ?? "null" }),
    },
    ...(status === "failed" && { error: { type: "tool_error" } }),
  };
}
