import { createHash } from "node:crypto";
import type { LimitName } from "../limit/headers.ts";
import { TooLong, type Turn, turnOf } from "../limit/line.ts";
import { currentRun, publish } from "../run/run.ts";
import type { CallTarget, ModelProvider, ModelRequest, Surroundings } from "./provider.ts";
import type { RecordingStep } from "./recorded.ts";
import { tokensAbout } from "./tokens.ts";
import { waitTooLong } from "./errors.ts";

/** The turn for a service without rate limits. */
const free: Turn = { send: () => () => undefined };

/**
 * Waits until a provider's rate limits allow a call. All threads of the machine with the same key and model share the
 * limits. Publishes the wait when it starts.
 * @throws ProviderError if the wait would exceed the role's deadline; the signal's reason if the signal is aborted.
 */
export async function turnAt(
  { target: targetOf }: ModelProvider,
  request: ModelRequest,
  { env, signal }: Surroundings,
  { shared }: Pick<RecordingStep, "shared">,
): Promise<Turn> {
  const target = targetOf?.(request.model, { env, signal });
  if (!target) return free;
  const { provider } = target;
  const { policy, since } = currentRun().retrying ?? {};
  const latest = policy && since !== undefined ? since + policy.deadlineMs : Infinity;
  try {
    return await turnOf(shared, bucketName(target), {
      signal,
      tokens: () => Math.ceil(tokensAbout([request.system, request.tools, request.messages])),
      onWait: (ms, reason) =>
        publish("llm_wait", { delay_ms: ms, reason: reasons[reason](provider) }),
      isTooLong: (ms) => performance.now() + ms > latest,
    });
  } catch (error) {
    if (!(error instanceof TooLong)) throw error;
    const { ms, reason } = error;
    throw waitTooLong(reasons[reason](provider), ms);
  }
}

const limitOf = (what: string) => (provider: string) => `${provider} limits ${what}`;

const reasons: Record<LimitName | "pause" | "first", (provider: string) => string> = {
  requests: limitOf("requests"),
  tokens: limitOf("tokens"),
  "input-tokens": limitOf("input tokens"),
  pause: (provider) => `${provider} asked to wait`,
  first: (provider) => `the limits of ${provider} are unknown until its first answer`,
};

// The key must not be on the disk, so the name has only a digest.
const bucketName = ({ provider, baseUrl, secrets, model }: CallTarget): string =>
  createHash("sha256")
    .update(JSON.stringify([provider, baseUrl, secrets, model]))
    .digest("hex")
    .slice(0, 32);
