import type { Sink } from "./output.ts";
import { truncate } from "./text.ts";

const glyphs = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const tickMs = 100;
const eraseLine = "\r\u001b[2K";

/** A line on stderr that shows progress; nothing where stderr is no terminal. */
export type Spinner = {
  /** Erases the line until the next tick, so that something else can be written. */
  clear(): void;
  stop(): void;
};

/** Starts a spinner; `line` gives its text for each tick, or null for none now. */
export function startSpinner(sink: Sink, dumb: boolean, line: () => string | null): Spinner {
  if (!sink.terminal || dumb) return { clear: () => {}, stop: () => {} };
  let tick = 0;
  let shown = false;
  const clear = () => {
    if (shown) sink.write(eraseLine);
    shown = false;
  };
  const timer = setInterval(() => {
    const text = line();
    if (text === null) return clear();
    tick = (tick + 1) % glyphs.length;
    sink.write(`${eraseLine}${truncate(`${glyphs[tick]} ${text}`, sink.columns - 1)}`);
    shown = true;
  }, tickMs);
  return {
    clear,
    stop() {
      clearInterval(timer);
      clear();
    },
  };
}
