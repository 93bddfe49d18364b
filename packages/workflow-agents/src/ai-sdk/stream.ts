import { cutByLimit } from "../llm/errors.ts";
import type { RecordedCall } from "../recorded-call/calls.ts";
import type { Payment } from "../recorded-call/payment.ts";
import {
  isOwnCall,
  isWhole,
  type Model,
  reasonOf,
  report,
  type StreamPart,
  usageInChunk,
  usageOf,
} from "./answer.ts";

// The types of Bun and of Node differ in the reader's other members.
type Reader = {
  read(): Promise<{ done: false; value: StreamPart } | { done: true }>;
  cancel(reason: unknown): Promise<void>;
};
/** A call and its payment. `isRaw`: whether the program gets the provider's raw chunks. */
type Paying = { call: RecordedCall; payment: Payment; isRaw: boolean };

/** Returns a recorded answer as a stream. */
export function streamOf(value: unknown): ReadableStream<StreamPart> {
  const parts = (value as StreamPart[]).values();
  return new ReadableStream({
    pull(controller) {
      const { value: part, done } = parts.next();
      if (done) controller.close();
      else controller.enqueue(part);
    },
  });
}

/**
 * Passes on the parts of a streamed answer as they arrive, and records them. The last part waits until the answer is
 * durable, because the program's tools run after it. An answer that breaks off or is cancelled is not recorded.
 */
export class RecordedStream {
  readonly stream: ReadableStream<StreamPart>;
  readonly #model: Model;
  readonly #reader: Reader;
  readonly #call: RecordedCall;
  readonly #payment: Payment;
  readonly #isRaw: boolean;
  readonly #parts: StreamPart[] = [];
  #named: string;
  #hasError = false;
  #isOver = false;

  constructor(model: Model, parts: ReadableStream<StreamPart>, { call, payment, isRaw }: Paying) {
    this.#model = model;
    this.#named = model.modelId;
    this.#reader = parts.getReader();
    this.#call = call;
    this.#payment = payment;
    this.#isRaw = isRaw;
    this.stream = new ReadableStream<StreamPart>(
      {
        pull: (controller) => call.within(() => this.#pull(controller)),
        cancel: (reason) =>
          call.within(async () => {
            await this.#break();
            await this.#reader.cancel(reason);
          }),
      },
      { highWaterMark: 0 },
    );
  }

  async #pull(controller: ReadableStreamDefaultController<StreamPart>): Promise<void> {
    try {
      for (;;) {
        const next = await this.#reader.read();
        if (next.done) {
          await this.#break();
          return controller.close();
        }
        await this.#take(next.value);
        if (next.value.type !== "raw" || this.#isRaw) return controller.enqueue(next.value);
      }
    } catch (error) {
      await this.#break();
      controller.error(error);
    }
  }

  async #take(part: StreamPart): Promise<void> {
    report(part);
    if (part.type === "error") this.#hasError = true;
    if (part.type === "response-metadata") this.#named = part.modelId ?? this.#named;
    const usage = part.type === "raw" ? usageInChunk(part.rawValue) : null;
    if (usage) this.#payment.update(this.#named, usage);
    if (part.type !== "raw" && part.type !== "ping") this.#keep(part);
    if (part.type === "finish") await this.#finish(part);
  }

  /** Joins the deltas of a text, because a replay needs only one delta. */
  #keep(part: StreamPart): void {
    const last = this.#parts.at(-1);
    if (last && "delta" in last && "delta" in part) {
      const isSame = last.type === part.type && last.id === part.id;
      if (isSame && !last.providerMetadata && !part.providerMetadata) {
        last.delta += part.delta;
        return;
      }
    }
    this.#parts.push({ ...part });
  }

  async #finish(part: StreamPart & { type: "finish" }): Promise<void> {
    const usage = usageOf(part);
    const isAnswer = isWhole(part) && !this.#hasError;
    if (!isAnswer && usage === null) return await this.#break();
    const paid = this.#payment.whole(this.#named, usage);
    this.#isOver = true;
    if (!isAnswer) return await this.#call.failed();
    if (this.#payment.isCapped && reasonOf(part) === "length") {
      await this.#call.failed();
      throw cutByLimit(this.#model.provider, this.#payment.maxOutput ?? 0);
    }
    const isLast = !this.#parts.some(isOwnCall);
    await this.#call.done({ value: this.#parts, isLast, paid });
  }

  /** Ends a call whose answer is incomplete. */
  async #break(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#payment.broken();
    await this.#call.failed();
  }
}
