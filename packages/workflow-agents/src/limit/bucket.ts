/*
 * What is known of a provider's limits, for one key and one model, by all of this machine who call it.
 *
 * B1 Each call has a place in line: a range of each unit, requests and tokens, behind all that were given before.
 * B2 A call goes when every limit is open to the end of its place. It is open to as many as had gone with the call that was
 *    answered last, and as many more as the provider says remained then; and from there on to one more each `interval`.
 * B3 Places of those who will never go are skipped: whoever has died, or was ended, holds nobody up.
 * B4 Whatever a provider says, a limit that lets one call through in more than ten minutes is none.
 *
 * It is a value of JSON in a file that processes of several versions read: what is not as here is taken for nothing known.
 */
import { type LimitName, limitNames, type SeenLimit, type SeenLimits } from "./headers.ts";

type Unit = (typeof units)[number];
type Positions = Record<Unit, number>;

/** A call's place in line: it goes when what is before `to` may go. */
export type Place = { from: Positions; to: Positions };

/** How many had gone with a call, itself included. */
export type Mark = Positions;

/** Until when a call waits, and for what: a limit, a pause that the provider asked for, or the first answer. */
export type Opening = { at: number; for: LimitName | "pause" | "first" };

/** `open` is how far calls may go at the time `at`. One that is guessed was never shown. */
type Limit = { limit: number; interval: number; open: number; at: number; guessed?: boolean };

type State = {
  version: 1;
  /** How far places were given, how much has gone of them, and how much will never go. */
  issued: Positions;
  gone: Positions;
  skipped: Positions;
  newest: number;
  firstAt: number;
  isKnown: boolean;
  limits: Partial<Record<LimitName, Limit>>;
  /** How much slower than it was computed a limit is taken to be, since calls were refused. */
  slack: number;
  refusedAt: number;
  pausedUntil: number;
  /** Who waits: from where on, and when that was last heard of. */
  lines: Record<string, { from: Positions; seenAt: number }>;
};

// So many go before the provider has answered at all, and twice as many each time that it takes so much longer.
const firstCalls = 8;
const firstMs = 1000;
const longestMs = 10 * 60_000;
const minuteMs = 60_000;
const silentMs = 3000;
const heardMs = 500;
// The provider has counted a call by then, however long its answer takes to begin.
const countedMs = 100;
const guessedMs = 100;
// Of what remains: others may be on their way that the provider has not counted yet.
const usedOf = 0.9;

const units = ["requests", "tokens"] as const;
const unitOf = (name: LimitName): Unit => (name === "requests" ? name : "tokens");

export class Bucket {
  readonly #now: number;
  readonly #state: State;

  constructor(value: unknown, now: number) {
    this.#now = now;
    this.#state = isState(value) ? structuredClone(value) : nothingKnown(now);
    const state = this.#state;
    // The clock may have been set back.
    for (const limit of Object.values(state.limits)) limit.at = Math.min(limit.at, now);
    if (state.pausedUntil > now + longestMs) state.pausedUntil = 0;
    state.refusedAt = Math.min(state.refusedAt, now);
    state.firstAt = Math.min(state.firstAt, now);
  }

  get value(): unknown {
    return this.#state;
  }

  /** Gives the next place in line to a call that will take so many tokens, where these are limited. */
  give(tokens: () => number): Place {
    const { issued, limits } = this.#state;
    const tokenLimits = this.#limits.filter(([name]) => unitOf(name) === "tokens");
    const most = Math.min(...tokenLimits.map(([, { limit }]) => limit));
    const size = { requests: 1, tokens: tokenLimits.length > 0 ? Math.min(tokens(), most) : 0 };
    for (const name of limitNames) {
      const limit = limits[name];
      if (!limit) continue;
      // What nobody has used does not add up to more than the limit.
      const full = issued[unitOf(name)] + limit.limit;
      if (this.#openTo(limit) > full) Object.assign(limit, { open: full, at: this.#now });
    }
    const from = { ...issued };
    issued.requests += size.requests;
    issued.tokens += size.tokens;
    return { from, to: { ...issued } };
  }

  /** When a call with this place may go. */
  opening({ to }: Place): Opening {
    const { isKnown, firstAt, pausedUntil, slack } = this.#state;
    const isFirst = !isKnown && this.#limits.length === 0 && to.requests > firstCalls;
    const doublings = Math.floor(Math.log2(1 + (to.requests - 1) / firstCalls));
    const opening: Opening = isFirst
      ? { at: firstAt + doublings * firstMs, for: "first" }
      : { at: 0, for: "pause" };
    if (pausedUntil > opening.at) Object.assign(opening, { at: pausedUntil, for: "pause" });
    for (const [name, { open, at, interval }] of this.#limits) {
      const opens = at + (to[unitOf(name)] - open) * interval * slack;
      if (opens > opening.at) Object.assign(opening, { at: opens, for: name });
    }
    return opening;
  }

  /** A call goes. */
  go({ from, to }: Place): Mark {
    const { gone } = this.#state;
    for (const unit of units) gone[unit] += to[unit] - from[unit];
    return { ...gone };
  }

  /** Notes from where on somebody waits, null when nobody of theirs does; false when there is nothing new in it. */
  wait(line: string, head: Place | null): boolean {
    const { lines } = this.#state;
    const before = lines[line];
    if (head) lines[line] = { from: head.from, seenAt: this.#now };
    else delete lines[line];
    this.#skip();
    if (!head || !before) return head !== null || before !== undefined;
    return before.from.requests !== head.from.requests || this.#now - before.seenAt > heardMs;
  }

  /** Takes what the answer to a call shows that was sent at a time. */
  answered(mark: Mark, sentAt: number, { status, limits, retryAfterMs }: SeenLimits): void {
    const state = this.#state;
    const isOk = status >= 200 && status < 300;
    const isNewest = mark.requests >= state.newest;
    state.isKnown = true;
    state.newest = Math.max(state.newest, mark.requests);
    for (const name of limitNames) {
      const seen = limits[name];
      const known = state.limits[name];
      if (!seen) {
        if (isOk && !known?.guessed) delete state.limits[name];
        continue;
      }
      const limit = seenLimit(seen, known, this.#now);
      if (limit.interval > longestMs) delete state.limits[name];
      else if (known && !known.guessed && !isNewest) {
        Object.assign(known, { limit: limit.limit, interval: limit.interval });
      } else {
        const at = Math.max(sentAt, Math.min(this.#now, sentAt + countedMs));
        const unit = unitOf(name);
        const open = mark[unit] + state.skipped[unit] + Math.floor(seen.remaining * usedOf);
        state.limits[name] = { ...limit, open, at };
      }
    }
    if (isOk) this.#accepted();
    else if (status === 429) this.#refused(retryAfterMs);
    else if (status === 503 || status === 529) this.#pause(retryAfterMs ?? 0);
  }

  get #limits(): [LimitName, Limit][] {
    return Object.entries(this.#state.limits) as [LimitName, Limit][];
  }

  #openTo({ open, at, interval }: Limit): number {
    return open + (this.#now - at) / (interval * this.#state.slack);
  }

  /** @see B3. Of what is before the first who waits, nobody but those who have gone will go. */
  #skip(): void {
    const { lines, issued, gone, skipped } = this.#state;
    for (const [line, { seenAt }] of Object.entries(lines)) {
      if (Math.abs(this.#now - seenAt) > silentMs) delete lines[line];
    }
    for (const unit of units) {
      const heads = Object.values(lines).map(({ from }) => from[unit]);
      const dead = Math.min(issued[unit], ...heads) - gone[unit] - skipped[unit];
      if (dead <= 0) continue;
      skipped[unit] += dead;
      for (const [name, limit] of this.#limits) if (unitOf(name) === unit) limit.open += dead;
    }
  }

  #accepted(): void {
    const { limits } = this.#state;
    this.#state.slack = Math.max(1, this.#state.slack * 0.998);
    if (!limits.requests?.guessed) return;
    limits.requests.interval *= 0.9;
    if (limits.requests.interval < guessedMs / 10) delete limits.requests;
  }

  /** Calls were made too fast: several that were refused together count as one. */
  #refused(retryAfterMs: number | null): void {
    const state = this.#state;
    const { requests } = state.limits;
    const isNew = this.#now - state.refusedAt >= 1000;
    if (isNew) state.refusedAt = this.#now;
    const isShown = this.#limits.some(([, { guessed }]) => !guessed);
    if (!requests && !isShown) {
      const guess = { limit: 1, interval: guessedMs, open: state.issued.requests, at: this.#now };
      state.limits.requests = { ...guess, guessed: true };
    } else if (isNew && requests?.guessed) {
      requests.interval = Math.min(requests.interval * 2, minuteMs / 6);
    } else if (isNew) state.slack = Math.min(state.slack * 1.5, 4);
    this.#pause(retryAfterMs ?? (isShown ? 0 : 1000));
  }

  // Whoever asks for longer than calls wait is not waited for: then each of them learns it itself.
  #pause(ms: number): void {
    if (ms > longestMs) return;
    this.#state.pausedUntil = Math.max(this.#state.pausedUntil, this.#now + ms);
  }
}

/** A limit as it is seen now. A provider may show too short an interval, and by chance hardly too long a one. */
function seenLimit(
  { limit, remaining, resetAt }: SeenLimit,
  known: Limit | undefined,
  now: number,
): Pick<Limit, "limit" | "interval"> {
  const before = known?.guessed ? undefined : known?.interval;
  const isTelling = remaining < limit && resetAt !== null && resetAt > now;
  if (!isTelling) return { limit, interval: before ?? minuteMs / limit };
  const shown = (resetAt - now) / (limit - remaining);
  if (before === undefined || shown >= before) return { limit, interval: shown };
  return { limit, interval: before + (shown - before) * 0.02 };
}

const nothingKnown = (now: number): State => ({
  version: 1,
  issued: { requests: 0, tokens: 0 },
  gone: { requests: 0, tokens: 0 },
  skipped: { requests: 0, tokens: 0 },
  newest: 0,
  firstAt: now,
  isKnown: false,
  limits: {},
  slack: 1,
  refusedAt: 0,
  pausedUntil: 0,
  lines: {},
});

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const hasNumbers = (value: unknown, names: readonly string[]): value is Fields =>
  isFields(value) &&
  names.every((name) => Number.isFinite(value[name]) && Number(value[name]) >= 0);
const isPositions = (value: unknown) => hasNumbers(value, ["requests", "tokens"]);

function isState(value: unknown): value is State {
  if (!hasNumbers(value, ["newest", "firstAt", "slack", "refusedAt", "pausedUntil"])) return false;
  const { version, issued, gone, skipped, isKnown, limits, lines, slack } = value;
  if (version !== 1 || typeof isKnown !== "boolean" || Number(slack) < 1) return false;
  if (![issued, gone, skipped].every(isPositions) || !isFields(limits) || !isFields(lines))
    return false;
  const areLimits = Object.entries(limits).every(
    ([name, limit]) =>
      (limitNames as readonly string[]).includes(name) &&
      hasNumbers(limit, ["limit", "interval", "open", "at"]) &&
      Number(limit.interval) > 0 &&
      Number(limit.limit) >= 1,
  );
  const areLines = Object.values(lines).every(
    (line) => hasNumbers(line, ["seenAt"]) && isPositions(line.from),
  );
  return areLimits && areLines;
}
