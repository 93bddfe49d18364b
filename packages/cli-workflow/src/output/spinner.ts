import type { Sink } from "./output.ts";
import { truncate } from "./text.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 100;
const eraseLine = "\r\u001b[2K";

/** A line on stderr that shows that something goes on; nothing where stderr is no terminal. */
export type Spinner = {
  /** Takes the line away until the next frame, so that something else can be written. */
  clear(): void;
  stop(): void;
};

/** Starts a spinner; `line` gives its text for each frame, or null for none now. */
export function startSpinner(sink: Sink, dumb: boolean, line: () => string | null): Spinner {
  if (!sink.terminal || dumb) return { clear: () => {}, stop: () => {} };
  let frame = 0;
  let shown = false;
  const clear = () => {
    if (shown) sink.write(eraseLine);
    shown = false;
  };
  const timer = setInterval(() => {
    const text = line();
    if (text === null) return clear();
    frame = (frame + 1) % frames.length;
    sink.write(`${eraseLine}${truncate(`${frames[frame]} ${text}`, sink.columns - 1)}`);
    shown = true;
  }, frameMs);
  return {
    clear,
    stop() {
      clearInterval(timer);
      clear();
    },
  };
}
