import type { MessageTokensCount } from "@anthropic-ai/sdk/resources/messages/messages";
import type { Arriving } from "../llm/stream.ts";

// The API calls its count an estimate: a call may have slightly more.
const inexact = 0.01;
const few = 16;

/** The API's count of a request's input, with what the call may have more than it. */
export class ArrivingCount implements Arriving<MessageTokensCount, number> {
  readonly told = null;
  readonly size = 0;
  #most: number | null = null;

  take({ input_tokens }: MessageTokensCount): void {
    if (!Number.isSafeInteger(input_tokens) || input_tokens < 0) throw new TypeError("no count");
    this.#most = Math.ceil(input_tokens * (1 + inexact)) + few;
  }

  answer(): number | null {
    return this.#most;
  }
}
