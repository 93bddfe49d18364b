import type { ThreadContext } from "@uncaged/workflow";
import { isObject } from "../run/error.ts";
import { currentRun, digest, publish } from "../run/run.ts";

/** A command's session, how many of the thread's steps it had when its last run began, and digests of what it heard. */
export type Session = { command: string; session: string; steps: number; heard?: Heard };
type Heard = { prompt: string; system: string; steps: string };

/** What is no longer as a session heard it. */
export type Changed = { prompt: boolean; system: boolean };

/** Which command is asked: the `index` is that among the agents of its role. */
type Asked = { command: string; index: number; system: string };

export const heardOf = ({ start, steps }: ThreadContext, known: number, system: string): Heard => ({
  prompt: digest(start.content),
  system: digest(system),
  steps: digest(JSON.stringify(steps.slice(0, known).map(({ role, content }) => [role, content]))),
});

/** Whether the steps are still those that a session was given: a fork may have edited them. */
const hasSeen = ({ heard, steps }: Session, ctx: ThreadContext): boolean =>
  heard === undefined || heard.steps === heardOf(ctx, steps, "").steps;

/**
 * The sessions that a command can go on with, the best one first: those that an execution of this step began that came to no
 * end, and that of the role's last step. `stale` is one whose steps have changed since.
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
    const message = `goes on with the session ${newest.session}, in which this step was begun`;
    publish("tool_message", { name: asked.command, level: "info", message, data: null });
  }
  const kept = keptSession(asked);
  const isStale = kept !== null && !hasSeen(kept, ctx);
  const known = kept && !isStale ? [withOwnStep(kept)] : [];
  const stale = isStale && !newest ? kept.session : null;
  return { sessions: [...begun, ...known], stale };
}

/** The session that the same agent of the role's last step had: the first that it ran, the second, … */
function keptSession({ command, index }: Asked): Session | null {
  const { sessions } = currentRun().memory as { sessions?: (Session | null)[] };
  const known = Array.isArray(sessions) ? sessions[index] : null;
  return known?.command === command && typeof known.session === "string" ? known : null;
}

/** The session with its own step, which is no news to it. */
function withOwnStep(session: Session): Session {
  const { remembered = -1 } = currentRun();
  return session.steps === remembered ? { ...session, steps: remembered + 1 } : session;
}

/** Keeps a session for the role's next step. */
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

/** What a session that is begun in a step gets, by which it is known again. */
const digestOf = (ctx: ThreadContext, { command, index, system }: Asked): string =>
  digest(JSON.stringify([command, index, heardOf(ctx, ctx.steps.length, system)]));

/** Records that a session has begun: an execution that goes on with the step after a crash goes on with it. */
export function recordSession(ctx: ThreadContext, asked: Asked, session: string): void {
  const { journal, key } = ctx;
  if (!journal || key === undefined) return;
  const entry = { kind: "session", asked: digestOf(ctx, asked), session };
  // A session that could not be recorded is begun anew.
  void journal.record(key, entry).catch(() => false);
}

/** The sessions that earlier executions of the step began, the newest first. They have heard all that there is. */
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
