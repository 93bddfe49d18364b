import { anthropicServer } from "../anthropic-server.ts";
import { openaiServer } from "../openai-server.ts";
import type { Reply, WireServer } from "../wire.ts";

/** The way in which a server restores capacity: call by call, or in full at the beginning of each second. */
export type Counting = "bucket" | "window";

export const perSecond = 10;

/**
 * Starts a server that allows {@link perSecond} calls a second, and reports the limit in its provider's headers.
 * `served` and `refused` have the prompts in order. `hang` selects the prompts that get no response. `hold` suspends
 * each answer in its middle, and returns a function that releases the answers.
 */
export async function limitedServer(provider: "claude" | "gpt", counting: Counting = "bucket") {
  const [served, refused]: [string[], string[]] = [[], []];
  const allows = allowances[counting](Date.now());
  let hangs = (_prompt: string) => false;
  let held: Promise<void> | undefined;
  const answer = (body: object): Reply => {
    const prompt = /(?:claude|gpt) thread \d+/.exec(JSON.stringify(body))?.[0] ?? "";
    if (hangs(prompt)) return { fault: { kind: "hang" } };
    const allowed = allows(Date.now());
    const { isAllowed } = allowed;
    const headers = headersOf(provider, allowed);
    (isAllowed ? served : refused).push(prompt);
    if (isAllowed) return { text: "well", headers, held };
    return { fault: { kind: "status", status: 429, type: "", message: "too many", headers } };
  };
  const open = provider === "claude" ? anthropicServer : openaiServer;
  const server: WireServer<{ model: string }> = await open(answer);
  const hang = (which: typeof hangs) => void (hangs = which);
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return () => {
      held = undefined;
      resolve();
    };
  };
  return { ...server, served, refused, hang, hold };
}

export type Allowed = { isAllowed: boolean; remaining: number; resetMs: number; waitMs: number };

/** Returns a provider's headers for an allowed or a refused call. */
export function headersOf(
  provider: "claude" | "gpt",
  { isAllowed, remaining, resetMs, waitMs }: Allowed,
  now = Date.now(),
): Record<string, string> {
  const asked = { "retry-after": String(Math.max(1, Math.ceil(waitMs / 1000))) };
  const own = {
    claude: {
      "anthropic-ratelimit-requests-limit": String(perSecond),
      "anthropic-ratelimit-requests-remaining": String(remaining),
      "anthropic-ratelimit-requests-reset": new Date(now + resetMs).toISOString(),
    },
    gpt: {
      "x-ratelimit-limit-requests": String(perSecond),
      "x-ratelimit-remaining-requests": String(remaining),
      "x-ratelimit-reset-requests": `${Math.ceil(resetMs)}ms`,
    },
  };
  return { ...own[provider], ...(!isAllowed && asked) };
}

function bucket(start: number): (now: number) => Allowed {
  let [level, at] = [perSecond, start];
  return (now) => {
    level = Math.min(perSecond, level + ((now - at) * perSecond) / 1000);
    at = now;
    const isAllowed = level >= 1;
    if (isAllowed) level -= 1;
    const msFor = (missing: number) => (Math.max(0, missing) * 1000) / perSecond;
    const left = Math.floor(level);
    return {
      isAllowed,
      remaining: left,
      resetMs: msFor(perSecond - level),
      waitMs: msFor(1 - level),
    };
  };
}

function window(): (now: number) => Allowed {
  let [begin, used] = [0, 0];
  return (now) => {
    if (now - begin >= 1000) [begin, used] = [now, 0];
    const isAllowed = used < perSecond;
    if (isAllowed) used += 1;
    const resetMs = begin + 1000 - now;
    return { isAllowed, remaining: perSecond - used, resetMs, waitMs: resetMs };
  };
}

export const allowances = { bucket, window } satisfies Record<Counting, unknown>;
