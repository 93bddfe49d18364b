import { writeSync } from "node:fs";

const channel = 3;

/**
 * What the parent asks of this child, and the way to answer it: once, with JSON.
 *
 * To be called before any foreign code runs. It takes the request out of what such code can see,
 * and keeps the functions that the answer needs, for a bundle may replace them.
 */
export function openChannel(): { request: unknown; answer: (value: unknown) => void } {
  const [token, request] = process.argv.splice(2);
  delete process.env.BUN_FEATURE_FLAG_NO_ORPHANS;
  const write = writeSync;
  const stringify = JSON.stringify;
  const toBytes = Buffer.from.bind(Buffer);
  let answered = false;
  return {
    request: JSON.parse(request ?? "null"),
    answer(value) {
      if (answered) return;
      answered = true;
      const bytes = toBytes(`${token}${stringify(value)}\n`);
      for (let done = 0; done < bytes.length; ) done += write(channel, bytes, done);
    },
  };
}
