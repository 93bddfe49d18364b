import type {
  AgentInputItem,
  OpenAIResponsesCompactionAwareSession,
  Session,
} from "@openai/agents";
import type { StepCalls } from "../recorded-call/calls.ts";

type Compacting = OpenAIResponsesCompactionAwareSession["runCompaction"];
type Kept = Session & { runCompaction?: Compacting };

const sessions = new WeakMap<StepCalls, Map<Session, Kept>>();

/**
 * Returns the session for a step. Reads the items once and records them, because a repeated step must send the same
 * requests. Applies each change to the author's session only once, even if the step is repeated.
 */
export function stepSession(calls: StepCalls, session: Session): Session {
  const known = sessions.get(calls) ?? new Map<Session, Kept>();
  sessions.set(calls, known);
  // The SDK gets the same object for a session in each run. A program may also pass this object to a run.
  for (const one of known.values()) if (one === session) return session;
  const made = known.get(session) ?? keptSession(calls, session);
  known.set(session, made);
  return made;
}

function keptSession(calls: StepCalls, session: Kept): Kept {
  let items: Promise<AgentInputItem[]> | null = null;

  /** Runs work once for all executions of the step, and returns the recorded value. */
  async function once<T>(
    content: Record<string, unknown>,
    work: (wasBegun: boolean) => Promise<T>,
  ): Promise<T> {
    const call = await calls.open("session", content);
    if (call.found) return call.found.value as T;
    try {
      await call.begun();
      const value = await call.within(() => work(call.wasBegun));
      await call.done({ value });
      return value;
    } catch (error) {
      await call.failed();
      throw error;
    }
  }

  const read = (): Promise<AgentInputItem[]> =>
    (items ??= once({ get: "items" }, () => session.getItems()).then((all) => [...all]));

  /** Returns whether the author's session already ends with the items, because a killed execution added them. */
  async function endsWith(added: readonly AgentInputItem[]): Promise<boolean> {
    const last = await session.getItems(added.length);
    return JSON.stringify(last) === JSON.stringify(added);
  }

  const prepare = session.prepareHistoryItemForModelInput?.bind(session);
  const compare = session.prepareHistoryItemsForPersistenceComparison?.bind(session);
  const preserve = session.preserveReasoningItemIdsForPersistence?.bind(session);
  const compact = session.runCompaction?.bind(session);
  return {
    getSessionId: () => session.getSessionId(),
    ...(prepare && { prepareHistoryItemForModelInput: prepare }),
    ...(compare && { prepareHistoryItemsForPersistenceComparison: compare }),
    ...(preserve && { preserveReasoningItemIdsForPersistence: preserve }),
    async getItems(limit) {
      const all = await read();
      return structuredClone(limit === undefined ? all : limit > 0 ? all.slice(-limit) : []);
    },
    async addItems(added) {
      const all = await read();
      await once({ add: added }, async (wasBegun) => {
        if (!(wasBegun && (await endsWith(added)))) await session.addItems(added);
      });
      all.push(...structuredClone(added));
    },
    async popItem() {
      const all = await read();
      await once({ pop: all.length }, async () => void (await session.popItem()));
      return all.pop();
    },
    async clearSession() {
      const all = await read();
      await once({ clear: all.length }, () => session.clearSession());
      all.length = 0;
    },
    ...(compact && {
      async runCompaction(...given: Parameters<Compacting>) {
        const all = await read();
        const { result, now } = await once({ compact: given[0], items: all.length }, async () => ({
          result: await compact(...given),
          now: await session.getItems(),
        }));
        all.splice(0, all.length, ...now);
        return result;
      },
    }),
  };
}
