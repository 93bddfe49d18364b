import { toErrorRecord } from "@uncaged/workflow/host";
import { type Message, type Messages, messageOf } from "./streams.ts";

type Sources = Iterable<readonly [key: number | string, messages: Messages]>;

/**
 * Merges several sources, so that a client needs only one connection. An event `of` with the key of a source precedes
 * the messages of that source. Holds at most one message of each source. A source that fails ends with an event
 * `refused`.
 */
export async function* merged(sources: Sources): Messages {
  const open = new Map(sources);
  const next: { key: number | string; message: Message }[] = [];
  let news = Promise.withResolvers<void>();
  const read = async (key: number | string): Promise<void> => {
    try {
      const { done, value } = (await open.get(key)?.next()) ?? { done: true };
      if (done) open.delete(key);
      else next.push({ key, message: value });
    } catch (error) {
      open.delete(key);
      const { code, message } = toErrorRecord(error);
      next.push({ key, message: messageOf("refused", { code, message }) });
    }
    news.resolve();
  };
  let named: number | string | null = null;
  try {
    for (const key of open.keys()) void read(key);
    while (open.size > 0 || next.length > 0) {
      const { key, message } = next.shift() ?? {};
      if (key === undefined || message === undefined) {
        await news.promise;
        news = Promise.withResolvers();
        continue;
      }
      if (key !== named) yield messageOf("of", (named = key));
      yield message;
      void read(key);
    }
  } finally {
    for (const messages of open.values()) void messages.return();
  }
}
