import type { ThreadContext } from "@uncaged/workflow";
import { isObject } from "../run/error.ts";
import { currentRun, digest, publish } from "../run/run.ts";

/**
 * A session of a command, with the number of thread steps at the start of the session's last run, and digests of its
 * input.
 */
export type Session = { command: string; session: string; steps: number; heard?: Heard };
type Heard = { prompt: string; system: string; steps: string };

/** Whether the prompt and the system prompt changed after a session got them. */
export type Changed = { prompt: boolean; system: boolean };

/** A command to run. `index` is its position among the agents of its role. */
type Asked = { command: string; index: number; system: string };

export const heardOf = ({ start, steps }: ThreadContext, known: number, system: string): Heard => ({
  prompt: digest(start.content),
  system: digest(system),
  steps: digest(JSON.stringify(steps.slice(0, known).map(({ role, content }) => [role, content]))),
});

/** Returns whether a session got exactly the thread's steps. A fork may have edited steps. */
const hasSeen = ({ heard, steps }: Session, ctx: ThreadContext): boolean =>
  heard === undefined || heard.steps === heardOf(ctx, steps, "").steps;

/**
 * Returns the sessions that a command can continue, the best first: sessions of interrupted executions of this step,
 * then the session of the role's last step. `stale` is a session whose steps have changed since.
 */
export async function sessionsOf(
  ctx: ThreadContext,
  asked: Asked,
  hasSessions: boolean,
): Promise<{ sessions: Session[]; stale: string | null }> {
  if (!hasSessions) return { sessions: [], stale: null };
  const begun = await begunSessions(ctx, asked);
  const [newest] = begun;
  if (newest) {
    const message = `continues the session ${newest.session}, in which this step began`;
    publish("tool_message", { name: asked.command, level: "info", message, data: null });
  }
  const kept = keptSession(asked);
  const isStale = kept !== null && !hasSeen(kept, ctx);
  const known = kept && !isStale ? [withOwnStep(kept)] : [];
  const stale = isStale && !newest ? kept.session : null;
  return { sessions: [...begun, ...known], stale };
}

/** Returns the session that the agent at the same position recorded in the role's last step. */
function keptSession({ command, index }: Asked): Session | null {
  const { sessions } = currentRun().memory as { sessions?: (Session | null)[] };
  const known = Array.isArray(sessions) ? sessions[index] : null;
  return known?.command === command && typeof known.session === "string" ? known : null;
}

/** Returns the session with the step that it produced counted as known. */
function withOwnStep(session: Session): Session {
  const { remembered = -1 } = currentRun();
  return session.steps === remembered ? { ...session, steps: remembered + 1 } : session;
}

/** Records a session for the role's next step. */
export function keepSession(ctx: ThreadContext, asked: Asked, session: string): void {
  const { command, index, system } = asked;
  const steps = ctx.steps.length;
  const { memory } = currentRun();
  const { sessions } = memory as { sessions?: (Session | null)[] };
  const kept = Array.isArray(sessions) ? [...sessions] : [];
  while (kept.length <= index) kept.push(null);
  kept[index] = { command, session, steps, heard: heardOf(ctx, steps, system) };
  memory.sessions = kept;
}

/**
 * Returns a digest of the input of a session that starts in a step. The digest identifies the session in the journal.
 */
const digestOf = (ctx: ThreadContext, { command, index, system }: Asked): string =>
  digest(JSON.stringify([command, index, heardOf(ctx, ctx.steps.length, system)]));

/** Records the start of a session, so that an execution after a crash continues it. */
export function recordSession(ctx: ThreadContext, asked: Asked, session: string): void {
  const { journal, key } = ctx;
  if (!journal || key === undefined) return;
  const entry = { kind: "session", asked: digestOf(ctx, asked), session };
  // If recording fails, a retry starts a new session.
  void journal.record(key, entry).catch(() => false);
}

/**
 * Returns the sessions that earlier executions of the step started, the newest first. These sessions already have all
 * steps.
 */
async function begunSessions(ctx: ThreadContext, asked: Asked): Promise<Session[]> {
  const { journal, key } = ctx;
  if (!journal || key === undefined) return [];
  const own = digestOf(ctx, asked);
  const steps = ctx.steps.length;
  const heard = heardOf(ctx, steps, asked.system);
  const begun = (await journal.read(key)).flatMap(({ entry }) => {
    if (!isObject(entry) || entry.kind !== "session" || entry.asked !== own) return [];
    const { session } = entry;
    return typeof session === "string" ? [{ command: asked.command, session, steps, heard }] : [];
  });
  return begun.toReversed();
}
