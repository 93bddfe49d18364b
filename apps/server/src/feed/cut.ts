import {
  type Position,
  parsePosition,
  show,
  showPosition,
  threadIdPattern,
  WorkflowError,
} from "@uncaged/workflow/host";

/**
 * How far all threads of a storage root were told of: those that `told` names up to their positions, any
 * other up to all that was written before `time`.
 *
 * `told` names the threads that were at work then. There are more of them than have room when it is not
 * `whole`.
 */
export type Cut = { time: number; whole: boolean; told: ReadonlyMap<string, Position> };

/**
 * The id of an event of all threads: a cut; or the way from one to another, on which the threads are told
 * in the order of their ids: those before `threadId` up to the second, it up to `position`, and the
 * others up to the first.
 */
export type Place = { cut: Cut; way: Way | null };
export type Way = { to: Cut; threadId: string; position: Position };

/** What was written so shortly before a cut's time may not have been told of, in ms. */
export const slackMs = 4_000;

/** The most threads that a cut names: an id is a header, and has to fit in one. */
export const mostNamed = 40;

const longestId = 8 * 1024;
const idPattern = /^([^/]+)(?:\/([^/]+)\/([^/]+))?$/;
const timePattern = /^(\d{1,15})(~?)$/;
const namedPattern = /^([^:]+):(.+)$/;

/** A cut as text: `1732258043123,01JD0Q8ZC4T9M2V6X5B7N3K1RA:d558.i102`, with `~` when it is not whole. */
export function showCut({ time, whole, told }: Cut): string {
  let text = `${time}${whole ? "" : "~"}`;
  for (const [threadId, position] of told) text += `,${showNamed(threadId, position)}`;
  return text;
}

/** A place on the way from a cut to another, both as text. */
export const showWay = (from: string, to: string, threadId: string, position: Position): string =>
  `${from}/${to}/${showNamed(threadId, position)}`;

const showNamed = (threadId: string, position: Position): string =>
  `${threadId}:${showPosition(position)}`;

/** The place that an id means. @throws WorkflowError `BAD_POSITION` (usage). */
export function parsePlace(id: string): Place {
  try {
    if (id.length > longestId) throw badId(id);
    const [, from = "", to, named = ""] = idPattern.exec(id) ?? [];
    const cut = parseCut(from);
    if (to === undefined) return { cut, way: null };
    const [threadId, position] = parseNamed(named);
    return { cut, way: { to: parseCut(to), threadId, position } };
  } catch {
    throw badId(id);
  }
}

function parseCut(text: string): Cut {
  const [head = "", ...named] = text.split(",");
  const [, time, more] = timePattern.exec(head) ?? [];
  if (time === undefined) throw badId(text);
  return { time: Number(time), whole: more === "", told: new Map(named.map(parseNamed)) };
}

function parseNamed(text: string): [string, Position] {
  const [, threadId = "", position] = namedPattern.exec(text) ?? [];
  if (position === undefined || !threadIdPattern.test(threadId)) throw badId(text);
  return [threadId, parsePosition(position)];
}

const badId = (id: string): WorkflowError =>
  new WorkflowError({
    code: "BAD_POSITION",
    kind: "usage",
    message: `${show(id)} is no id of this stream`,
    hint: "give the id of an event that /api/events has sent, or none to begin now",
  });
