import { encodeText, lengthOf } from "../contract/intrinsics.ts";
import { close, duplicate, readText, replace, write } from "./libc.ts";
import type { SocketResponse } from "./port.ts";
import type { WorkerOrder } from "./prewarm.ts";

// A bundle shares this process: what it does to JSON later must not reach the response.
const { parse, stringify } = JSON;

const [stdin, stdout, stderr] = [0, 1, 2];

/** Waits for the order of a process that was prewarmed, which is a line; null when nobody is left to give one. */
export function readOrder(): WorkerOrder | null {
  const text = readText(stdin);
  // What is there of a line whose writer has ended is no order.
  return text.endsWith("\n") ? (parse(text) as WorkerOrder) : null;
}

/**
 * Has all that this process prints go to an open file. Its stdout leads to who gave the order, until the response to
 * it is sent with what this gives.
 */
export function redirectPrints(log: number): (response: SocketResponse) => void {
  const answer = duplicate(stdout);
  for (const fd of [stdout, stderr]) replace(fd, log);
  close(log);
  return (response) => {
    try {
      const bytes = encodeText(stringify(response));
      for (let done = 0; done < lengthOf(bytes); ) done += write(answer, bytes, done);
    } catch {
      // Who waited for it has ended.
    }
    close(answer);
  };
}
