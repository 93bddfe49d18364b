import type { RunStreamEvent, StreamedRunResult } from "@openai/agents";
import { Readable } from "node:stream";

type Result = StreamedRunResult<never, never>;

/**
 * Returns a streamed result that continues with the results of `next`, until `next` returns null. All properties except
 * the streams and `completed` come from the newest result.
 */
export function continued(first: Result, next: (result: Result) => Promise<Result | null>): Result {
  let current = first;
  let events: AsyncIterator<RunStreamEvent> = first[Symbol.asyncIterator]();
  let isCancelled = false;
  const { promise: completed, resolve, reject } = Promise.withResolvers<void>();
  // A program may read only the stream, which also reports the error.
  completed.catch(() => undefined);

  const stream = new ReadableStream<RunStreamEvent>({
    start(controller) {
      // Like a run of the SDK, the run continues even if the program does not read the events.
      pump((event) => {
        if (!isCancelled) controller.enqueue(event);
      }).then(
        () => {
          if (!isCancelled) controller.close();
          resolve();
        },
        (error: unknown) => {
          if (!isCancelled) controller.error(error);
          reject(error);
        },
      );
    },
    async cancel() {
      isCancelled = true;
      await events.return?.();
    },
  });

  async function pump(send: (event: RunStreamEvent) => void): Promise<void> {
    for (;;) {
      for (let one = await events.next(); one.done !== true; one = await events.next()) {
        send(one.value);
      }
      await current.completed;
      const later = isCancelled ? null : await next(current);
      if (later === null) return;
      current = later;
      events = later[Symbol.asyncIterator]();
    }
  }

  const own = {
    completed,
    toStream: () => stream,
    toTextStream: ({ compatibleWithNodeStreams = false } = {}) => {
      const text = stream.pipeThrough(new TransformStream(textOnly));
      return compatibleWithNodeStreams ? Readable.fromWeb(text as never) : text;
    },
    [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator](),
  };
  return new Proxy(first, {
    get(_, key) {
      if (Object.hasOwn(own, key)) return own[key as keyof typeof own];
      const value: unknown = Reflect.get(current, key, current);
      return typeof value === "function" ? value.bind(current) : value;
    },
  });
}

const textOnly: Transformer<RunStreamEvent, string> = {
  transform(event, controller) {
    if (event.type !== "raw_model_stream_event") return;
    if (event.data.type === "output_text_delta") controller.enqueue(event.data.delta);
  },
};
